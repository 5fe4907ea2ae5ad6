"""Question sets, scores and reports: how good are the answers, what do they cost, and where do they fail."""
