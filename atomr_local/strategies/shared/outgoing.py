"""What a strategy may send to the web: words of the question and of answers that the user sees, and ordinary words.

Never others of passages: a hostile passage can make the model write a query with private text of other passages in
it. The ordinary words, with which facts are asked for, are a fixed list. Only a few of them go with one query, so that
they cannot spell a message, and never alone. Nor can the way in which a query is written: a word goes as the question
or the answer spells it, and no more often than it stands there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from atomr_local.language.names import phrase, words
from atomr_local.language.words import english

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_MOST_ADDED = 8  # words that neither the question nor an answer has
_MOST_SMALL = 3  # times that one word such as "of" goes


def fit_for_web(query: str, question: str, answers: Iterable[str] = ()) -> str:
    """The words of `query` that the question or an answer has, and what it asks with, in their order.

    The question itself goes as it is, and in place of a query that names nothing of the question or of an answer.

    Args:
        answers: of earlier steps, as the user sees them.
    """
    if query == question:
        return question
    told = _Told((question, *answers))
    small = english().stop
    kept, added, named = list[str](), 0, False
    for place, word in enumerate(_WORD.findall(query)):
        parts = words(word)
        if told.has(parts):
            if known := told.take(parts):
                named = named or not small.issuperset(parts)
                kept.append(known)
        elif added < _MOST_ADDED and len(parts) == 1 and _is_ordinary(word, parts[0], first=not place):
            added += 1
            kept.append(parts[0].capitalize() if word[0].isupper() else parts[0])
    return " ".join(kept) if named else question


class _Told:
    """The words of texts that the user sees, as they are spelt there and as often as one of the texts has them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._spelt: dict[tuple[str, ...], str] = {}  # by the parts of the word
        self._left: Counter[str] = Counter()
        for text in texts:
            found = {tuple(words(word)): word for word in reversed(_WORD.findall(text))}
            self._spelt = found | self._spelt
            self._left |= Counter(words(text)) | Counter(part for word in _WORD.findall(text) for part in words(word))
        self._known = frozenset(self._left)
        for part in self._known & english().stop:
            self._left[part] = max(self._left[part], _MOST_SMALL)

    def has(self, parts: Sequence[str]) -> bool:
        """Whether the texts have all parts of the word."""
        return bool(parts) and self._known.issuperset(parts)

    def take(self, parts: Sequence[str]) -> str:
        """The word of these parts as it goes; "" if one of them has gone as often as it may."""
        wanted = Counter(parts)
        if not wanted <= self._left:
            return ""
        self._left -= wanted
        return self._spelt.get(tuple(parts)) or phrase([self._spelt.get((part,), part) for part in parts])


def _is_ordinary(word: str, key: str, *, first: bool) -> bool:
    """Whether the word asks for a fact; in capitals it is one of a name, but at the beginning."""
    return (first or word.islower()) and (key in english().stop or key in english().asking)
