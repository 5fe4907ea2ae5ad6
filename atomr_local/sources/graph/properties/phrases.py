"""Words of questions and relations: stop words, answer types, stems."""

from __future__ import annotations

import re

from atomr_local.language.words import relation_words

_LABEL = 1.0
_KIND_FITS, _KIND_MISFITS, _KIND_MISFITS_LABEL = 0.04, 0.3, 0.1

SMALL, TYPES = relation_words().small, relation_words().types
_CUES = (
    (re.compile(r"\b(?:when|(?:what|which) (?:year|date|day|month|time)|how long ago|birthday|birth ?date)\b"), "time"),
    (re.compile(r"\bhow many\b"), "count"),
    (re.compile(r"\bhow (?:much|long|tall|high|far|large|big|heavy|deep|wide|fast)\b"), "quantity"),
    (re.compile(r"\b(?:(?:what|which) (?:country|nation)|nationality)\b"), "country"),
    (re.compile(r"\b(?:where|(?:what|which) (?:place|city|town|village))\b"), "place"),
    (re.compile(r"^(?:who|whom|whose)\b"), "person"),
)
_COMPATIBLE = {
    "time": {"time"},
    "quantity": {"quantity", "string"},
    "country": {"country", "place", "other"},
    "place": {"place", "city", "country", "org", "other"},
    "person": {"person", "org", "other"},
}


def expected_kind(question: str, phrase: str) -> str:
    for text in (phrase, question):
        for pattern, kind in _CUES:
            if pattern.search(text):
                return kind
    return ""


def with_kind(score: float, kind: str, expected: str) -> float:
    fits = fits_kind(kind, expected)
    if fits is None:
        return score
    if fits:
        return min(1.0, score + _KIND_FITS)
    return score - (_KIND_MISFITS_LABEL if score >= _LABEL else _KIND_MISFITS)


def fits_kind(kind: str, expected: str) -> bool | None:
    """Whether values of the kind are what is expected; None if nothing is, or where it may be.

    Args:
        kind: what a property's values are; see KnownProperty.kind.
        expected: as :func:`expected_kind` gives it.
    """
    if not expected:
        return None
    if expected == "count":  # any values that are no times may be counted
        return True if kind == "quantity" else False if kind == "time" else None
    if kind == expected:
        return True
    return None if kind in _COMPATIBLE[expected] else False


def without(text: str, words: frozenset[str]) -> str:
    return " ".join(word for word in text.split() if word not in words)
