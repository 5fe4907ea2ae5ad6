"""Chat messages as the tokens that a model was trained on."""
