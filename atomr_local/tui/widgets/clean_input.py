"""A line of text that takes in nothing which could drive the terminal."""

from __future__ import annotations

from textual.widgets import Input

from atomr_local.sanitize import sanitize


class CleanInput(Input):
    """Sanitises what comes into it, however it comes: typed, pasted or set."""

    def validate_value(self, value: str) -> str:
        return sanitize(value).replace("\t", " ").replace("\n", " ")
