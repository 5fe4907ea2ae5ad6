#!/usr/bin/env python3
"""Train the span reader: see training/models/span_reader.py."""

from training.models.span_reader import main

if __name__ == "__main__":
    main()
