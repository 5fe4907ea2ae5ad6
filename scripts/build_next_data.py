#!/usr/bin/env python3
"""Make training data of the task `next` from plans: see training/data/chains.py."""

from training.data.chains import main

if __name__ == "__main__":
    main()
