"""Damaged histories: repaired, or their questions salvaged."""
