#!/usr/bin/env python3
"""Train a LoRA adapter on the lean prompts and export it as GGUF: see training/models/adapter.py."""

from training.models.adapter import main

if __name__ == "__main__":
    main()
