"""`atomr doctor`."""
