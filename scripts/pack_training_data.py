#!/usr/bin/env python3
"""Pack training data, a base and an adapter into arrays: see training/models/packing.py."""

from training.models.packing import main

if __name__ == "__main__":
    main()
