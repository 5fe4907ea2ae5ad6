"""Training loops and the files that they write."""
