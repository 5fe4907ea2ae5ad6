#!/usr/bin/env python3
"""Make training data from texts of many kinds: see training/data/broad.py."""

from training.data.broad import main

if __name__ == "__main__":
    main()
