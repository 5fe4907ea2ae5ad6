"""The error of parsing and validating a tree."""

from __future__ import annotations


class TreeError(ValueError):
    """A text is not a reasoning tree, or the tree breaks a rule.

    Attributes:
        message: what is wrong, in one line.
        line: 1-based line of the text at fault, or None if the notation has no lines.
    """

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.message = message
        self.line = line
