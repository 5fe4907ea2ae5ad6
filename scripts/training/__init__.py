"""Making the adapter and the small models: their data, their training and their calibration. See docs/training.md."""
