"""The part of OpenAI's API that an assistant can serve: models, chat completions and embeddings."""
