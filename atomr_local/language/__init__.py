"""What a text is and what a question asks for: small linear models and word lists, one folder for each language."""
