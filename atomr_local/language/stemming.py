"""Stems: what the inflections of an English word share.

Evidence and descriptions are compared by the first letters, which also join "director" with "directed"; wordings of
properties by their suffix, because there the first letters join too much.
"""

from __future__ import annotations

_SUFFIXES = ("ing", "ers", "ors", "er", "or", "ed", "es", "s", "e")
_SHORTEST = 4


def first_letters(word: str, count: int = 5) -> str:
    """The beginning of a word: "direc" of "directed" and "director"."""
    return word[:count]


def without_suffix(word: str) -> str:
    """The word without its ending, if at least four letters are left."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST:
            return word.removesuffix(suffix)
    return word
