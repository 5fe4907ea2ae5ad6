"""Wikipedia templates that produce words of a sentence, and their text."""

from __future__ import annotations

import re

_FIRST = frozenset(
    {"nowrap", "nobr", "small", "big", "em", "strong", "abbr", "nobold", "val", "vanchor", "visible anchor", "tooltip"}
    | {"ill", "interlanguage link", "nihongo", "sic", "not a typo", "proper name"}
    | {"quote", "blockquote", "cquote", "quotation", "quote box"}
)
_SHIPS = frozenset({"uss", "hms", "ss", "rms", "hmas", "hmcs", "ms", "mv", "sms"})
_MEASURES = frozenset({"convert", "cvt"})
_LANGUAGES = frozenset({"lang", "transl", "transliteration"})
_PREFIXED = {"circa": "c.", "c.": "c.", "as of": "as of"} | {ship: ship.upper() for ship in _SHIPS}
_RANGE = re.compile(r"[-–+]?[\d.,/]+|to|and|or|by|x|×|-|–|to\(-\)|and\(-\)")
# The names of kept templates, casefolded.
KEPT = _FIRST | _MEASURES | _LANGUAGES | _PREFIXED.keys() | {"frac", "ship"}


def kept_text(name: str, values: list[str]) -> str:
    """The words that the template `name` shows for its positional `values`; may be empty."""
    if name.startswith("formatnum:"):
        return name.partition(":")[2].strip()
    if not values:
        return ""
    shown = values[0]
    if name in _PREFIXED:
        shown = f"{_PREFIXED[name]} {shown}"
    elif name in _LANGUAGES:
        shown = values[-1] if len(values) > 1 else ""
    elif name in _MEASURES:
        shown = _measure(values)
    elif name == "ship":
        shown = " ".join(values[:2])
    elif name == "frac" and len(values) > 1:
        shown = " ".join([*values[:-2], "/".join(values[-2:])])
    return shown


def _measure(values: list[str]) -> str:
    """What is written before the first unit, and it: "10 to 20 km" of 10|to|20|km|mi."""
    shown: list[str] = []
    for value in values:
        shown.append(value)
        if not _RANGE.fullmatch(value):
            break
    return " ".join(shown)
