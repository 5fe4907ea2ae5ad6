#!/usr/bin/env python3
"""Train the span reader on a GPU within a budget of minutes: see training/models/span_batches.py."""

from training.models.span_batches import main

if __name__ == "__main__":
    main()
