"""Plain mode: the flows of the terminal UI line by line, for screen readers and terminals without a cursor."""
