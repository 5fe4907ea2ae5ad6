"""Similarity of names, misspellings, and names with a qualifier ("Portland, Oregon")."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from rapidfuzz import fuzz
from rapidfuzz.distance import DamerauLevenshtein

# Of names with a letter wrong, all that were linked by likeness were linked rightly, and 1 of 800 names that the
# graph does not hold was linked (scripts/bench/link_scores.py, starter and 2WikiMultihopQA's facts).
FUZZY, PART, WORD = 0.96, 0.72, 0.61
_LEAST_RATIO = 0.86
_LEAST_COVERAGE = 0.6
_SHORTEST, _LONGEST = 4, 12
_POSSESSIVE = re.compile(r"['’]s?$")
_OPENING = re.compile(r"^(?:the|an?) (?=\S)", re.IGNORECASE)


def similarity(key: str, other: str) -> float:
    """How alike two keys are that are not equal; 0 where they may not be taken for each other."""
    if [w for w in key.split() if w.isdigit()] != [w for w in other.split() if w.isdigit()]:
        return 0.0
    ratio = max(fuzz.ratio(key, other), fuzz.token_sort_ratio(key, other)) / 100
    if ratio >= _LEAST_RATIO:
        return FUZZY * ratio
    if DamerauLevenshtein.distance(key, other) <= (0 if len(key) < 5 else 1 if len(key) < 9 else 2):
        return FUZZY * ratio
    return _partial(key, other)


def _partial(key: str, other: str) -> float:
    """A name with a part left out, such as a middle name."""
    mine, theirs = key.split(), other.split()
    if len(mine) == 1:
        return WORD if len(key) >= 4 and key in theirs and len(theirs) <= 3 else 0.0
    if len(theirs) == 1:
        return 0.0
    ends_agree = mine[0] == theirs[0] and mine[-1] == theirs[-1]
    if set(mine) <= set(theirs):
        return PART if ends_agree or len(key) / len(other) >= _LEAST_COVERAGE else 0.0
    return PART if ends_agree and set(theirs) <= set(mine) else 0.0


def one_slip_away(key: str) -> list[str]:
    """Keys that one slip of the pen turns into this one: a letter swapped, left out, added or another.

    None for keys shorter than four or longer than twelve letters: the former mean anything, the latter are found by
    the pieces they share.
    """
    if not _SHORTEST <= len(key) <= _LONGEST:
        return []
    found: dict[str, None] = {}
    for place in range(len(key)):
        before, after = key[:place], key[place:]
        if len(after) > 1:
            found.setdefault(before + after[1] + after[0] + after[2:])
        found.setdefault(before + after[1:])
        for letter in string.ascii_lowercase:
            found.setdefault(before + letter + after[1:])
            found.setdefault(before + letter + after)
    for letter in string.ascii_lowercase:
        found.setdefault(key + letter)
    return [other for other in found if other != key and not any(map(str.isdigit, other))]


def parted(name: str) -> Iterator[tuple[str, str, bool]]:
    """(name, what it is said to be or lie in, whether that is a place or class set off by a comma) of the ways in which
    a name that is none as a whole may fall into two: "Portland, Oregon", "Nile river", "the planet Mars", "Emma's"."""
    bare = _POSSESSIVE.sub("", name)
    if bare != name:
        yield bare, "", False
    head, comma, rest = name.partition(",")
    if comma and head.strip() and rest.strip():
        yield head.strip(), rest.strip(), True
    pieces = _OPENING.sub("", bare).split()
    if 2 <= len(pieces) <= 6:
        yield " ".join(pieces[:-1]), pieces[-1], False
        yield " ".join(pieces[1:]), pieces[0], False
