#!/usr/bin/env python3
"""Make training data for reading, declining, checking and rewriting: see training/data/reading.py."""

from training.data.reading import main

if __name__ == "__main__":
    main()
