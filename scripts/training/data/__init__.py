"""Builders of training data, one module for each source."""
