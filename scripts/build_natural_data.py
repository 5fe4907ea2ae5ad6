#!/usr/bin/env python3
"""Make training data from our own natural questions: see training/data/natural.py."""

from training.data.natural import main

if __name__ == "__main__":
    main()
