"""Lists of answers that prompts and votes see as one text."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.reasoning.results import text_values
from atomr_local.sources.protocol import Value


class Listed:
    """Tells a list of answers as one text, and takes the text apart again: a name may have a comma in it."""

    def __init__(self) -> None:
        self._lists: dict[str, tuple[str, ...]] = {}

    def text(self, answers: Sequence[str]) -> str:
        """The answers on one line."""
        told = ", ".join(answers)
        if len(answers) > 1:
            self._lists[told] = tuple(answers)
        return told

    def values(self, text: str) -> tuple[Value, ...]:
        """The answers that the text tells; it is one answer if it was not made by :meth:`text`."""
        return text_values(self._lists.get(text, (text,)))

    def __contains__(self, text: str) -> bool:
        return text in self._lists
