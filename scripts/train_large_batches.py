#!/usr/bin/env python3
"""Train an adapter within a budget of minutes, in large batches: see training/models/large_batches.py."""

from training.models.large_batches import main

if __name__ == "__main__":
    main()
