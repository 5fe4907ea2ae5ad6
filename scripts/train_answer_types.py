#!/usr/bin/env python3
"""Learn the type of answer that a question expects: see training/models/answer_types.py."""

from training.models.answer_types import main

if __name__ == "__main__":
    main()
