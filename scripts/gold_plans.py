#!/usr/bin/env python3
"""Write reasoning trees for 2WikiMultihopQA questions from their gold evidence: see training/plans/gold.py."""

from training.plans.gold import main

if __name__ == "__main__":
    main()
