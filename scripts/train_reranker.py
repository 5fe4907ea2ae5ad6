#!/usr/bin/env python3
"""Train a cross-encoder for `retrieval.reranker`: see training/models/reranker.py."""

from training.models.reranker import main

if __name__ == "__main__":
    main()
