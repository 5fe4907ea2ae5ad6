#!/usr/bin/env python3
"""Learn when a property is what a relation's wording asks for: see training/models/relation_match.py."""

from training.models.relation_match import main

if __name__ == "__main__":
    main()
