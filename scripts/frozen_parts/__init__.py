"""What the program does today, recorded, so that a change of its structure can be checked against it."""
