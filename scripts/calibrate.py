#!/usr/bin/env python3
"""Fit the confidence of an adapter: see training/calibration/report.py."""

from training.calibration.report import main

if __name__ == "__main__":
    main()
