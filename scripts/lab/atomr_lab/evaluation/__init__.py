"""Evaluation: question sets, scores, cost, diagnosis and reports."""
