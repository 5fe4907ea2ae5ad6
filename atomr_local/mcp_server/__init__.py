"""The assistant for programs that speak the Model Context Protocol."""
