"""Passages that say the same, such as those of a page and its mirror."""

from __future__ import annotations

from atomr_local.language.names import name_key

# Two passages say the same from this share of common word triples on, unless they differ in a number.
_SAME_SHARE = 0.95


class Wording:
    """The words of a passage, to compare it with others."""

    def __init__(self, text: str) -> None:
        words = name_key(text).split()
        self._words = words
        self._triples = set(zip(words, words[1:], words[2:], strict=False))
        # Tables and lists may differ in nothing but their figures, and that is what is asked for.
        self._numbers = {word for word in words if any(character.isdigit() for character in word)}

    def is_duplicate_of(self, other: Wording) -> bool:
        if self._words == other._words:
            return True
        if self._numbers != other._numbers or not self._triples or not other._triples:
            return False
        shared = len(self._triples & other._triples)
        return shared >= _SAME_SHARE * (len(self._triples) + len(other._triples) - shared)
