"""The assistant over HTTP: an API of its own, OpenAI's, and the Model Context Protocol."""
