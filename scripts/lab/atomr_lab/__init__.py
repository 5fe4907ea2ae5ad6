"""The laboratory of atomr-local: question sets, runs, scores and reports, and the making of questions."""
