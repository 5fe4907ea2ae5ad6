"""A sketch as servers that ignore grammars may write it."""

from __future__ import annotations

import re

from atomr_local.sanitize import sanitize_line

_LONGEST = 2_000
_MARKUP = "*_`\"' "
_OPENING = re.compile(
    r"(?P<form>select|count|ask)\b(?:\s+distinct\b)?\s*(?P<variable>\(?\s*\?x\s*\)?)?\s*:?\s*(?:where\b)?\s*:?\s*\{?\s*",
    re.IGNORECASE,
)


def first_line(raw: str) -> str:
    """What was written without markup, and with the opening as a sketch has it."""
    text = sanitize_line(raw[:_LONGEST]).strip(_MARKUP).rstrip(".;} ").strip(_MARKUP)
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
