"""Words of questions: stop words, and words that name the property asked for."""

from __future__ import annotations

from atomr_local.language.words import english

_STEM = 5
STOP_WORDS = english().stop
# What asks → what tells it in prose.
TOLD_BY = english().told_by


def stem(word: str) -> str:
    """The beginning of a word, which its inflections share: "direct" for "directed" and "director"."""
    return word[:_STEM]
