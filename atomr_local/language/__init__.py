"""Language data: word lists and small linear models, one folder for each language."""
