"""A sketch as servers that ignore grammars may write it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from atomr_local.sanitize import sanitize_line

_LONGEST = 2_000
_MARKUP = "*_`\"' "
_ENDING = f"{_MARKUP}.;}}"
_MOST_ENDINGS = 12  # characters that are taken off one by one
_OPENING = re.compile(
    r"(?P<form>select|count|ask)\b(?:\s+distinct\b)?\s*(?P<variable>\(?\s*\?x\s*\)?)?\s*:?\s*(?:where\b)?\s*:?\s*\{?\s*",
    re.IGNORECASE,
)


def readings(raw: str) -> Iterator[str]:
    """What was written, without the markup before it and with the opening as a sketch has it.

    What stands at its end may be markup or belong to a name ("Washington, D.C."): it is taken off bit by bit.
    """
    text = sanitize_line(raw[:_LONGEST]).lstrip(_MARKUP).rstrip()
    bare = text.rstrip(_ENDING)
    yield _opened(text)
    for size in range(len(text) - 1, max(len(bare), len(text) - _MOST_ENDINGS) - 1, -1):
        yield _opened(text[:size])
    yield _opened(bare)


def first_line(raw: str) -> str:
    """What was written without anything around it."""
    return list(readings(raw))[-1]


def _opened(text: str) -> str:
    match = _OPENING.match(text)
    if match is None:
        return text
    form, rest = match["form"].casefold(), text[match.end() :]
    # "ask ?x | …": the variable begins the pattern.
    opened = match["variable"] is not None
    if form == "ask":
        return f"ask: {'?x ' if opened else ''}{rest}"
    if opened and rest.startswith("|"):
        return f"{form} ?x: ?x {rest}"
    return f"{form} ?x: {rest}"
