"""Coverage-guided fuzzing of everything that reads text or files from outside; see run.py."""
