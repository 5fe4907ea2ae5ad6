"""A user's own SPARQL, run in a process that can be stopped."""
