#!/usr/bin/env python3
"""Fit how likely a pointed reading is right: see training/calibration/pointing.py."""

from training.calibration.pointing import main

if __name__ == "__main__":
    main()
