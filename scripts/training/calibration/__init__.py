"""Fitting the confidence of an adapter."""
