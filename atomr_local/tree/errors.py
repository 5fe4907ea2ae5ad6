"""The error of parsing and validating a tree, and the fixed bounds of the parsers.

The bounds are independent of the limits of validation.
"""

from __future__ import annotations

MAX_CHARACTERS = 200_000
MAX_NODES = 1_000
MAX_DEPTH = 64  # below any recursion limit, also that of comparing and printing nested nodes
MAX_ID = 9_999


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


def check_size(characters: int) -> None:
    if characters > MAX_CHARACTERS:
        raise TreeError(f"the plan is {characters:,} characters long; at most {MAX_CHARACTERS:,} are read")


def check_count(nodes: int, *, line: int | None = None) -> None:
    if nodes > MAX_NODES:
        raise TreeError(f"the plan has more than {MAX_NODES:,} questions", line=line)


def check_depth(depth: int, *, line: int | None = None) -> None:
    if depth > MAX_DEPTH:
        raise TreeError(f"the plan is more than {MAX_DEPTH} levels deep", line=line)
