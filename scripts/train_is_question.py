#!/usr/bin/env python3
"""Learn what is a question at all: see training/models/is_question.py."""

from training.models.is_question import main

if __name__ == "__main__":
    main()
