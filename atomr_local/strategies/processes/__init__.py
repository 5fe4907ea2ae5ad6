"""Solution processes: questions that a person has solved with the tools of a method, step by step."""
