"""One target a file: what its parser is given, and what must hold of the result."""
