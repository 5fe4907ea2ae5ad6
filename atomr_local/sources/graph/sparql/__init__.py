"""SPARQL of a user or of a strategy, run in a process that can be stopped."""
