#!/usr/bin/env python3
"""Make natural questions with plans: see training/natural_questions/build.py."""

from training.natural_questions.build import main

if __name__ == "__main__":
    main()
