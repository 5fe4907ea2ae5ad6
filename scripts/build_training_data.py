#!/usr/bin/env python3
"""Make the training data of an adapter from the question sets and our own questions: see training/data/builder.py."""

from training.data.builder import main

if __name__ == "__main__":
    main()
