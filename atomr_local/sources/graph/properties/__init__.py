"""Property matching: which property of the graph a relation's wording, or a question, asks for."""
