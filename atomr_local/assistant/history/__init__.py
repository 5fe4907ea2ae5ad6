"""The history: past questions with their traces, in SQLite."""
