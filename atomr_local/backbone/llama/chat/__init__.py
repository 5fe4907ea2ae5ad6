"""Chat templates: messages to tokens."""
