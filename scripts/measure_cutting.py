#!/usr/bin/env python3
"""Measure how much of the evidence can be left out of a prompt: see training/data/cutting.py."""

from training.data.cutting import main

if __name__ == "__main__":
    main()
