#!/usr/bin/env python3
"""Make training data for pointed readings: see training/data/pointing.py."""

from training.data.pointing import main

if __name__ == "__main__":
    main()
