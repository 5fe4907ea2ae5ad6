"""What a strategy may send to the web: words of the question and of answers that the user sees, and ordinary words.

Never others of passages: a hostile passage can make the model write a query with private text of other passages in
it. The ordinary words, with which facts are asked for, are a fixed list. Only a few of them go with one query, so that
they cannot spell a message, and never alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from atomr_local.language.names import words
from atomr_local.language.words import english

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_MOST_ADDED = 8  # words that neither the question nor an answer has


def fit_for_web(query: str, question: str, answers: Iterable[str] = ()) -> str:
    """The words of `query` that the question or an answer has, and what it asks with, in their order.

    The question itself goes as it is, and in place of a query that names nothing of the question or of an answer.

    Args:
        answers: of earlier steps, as the user sees them.
    """
    if query == question:
        return question
    known = {word for text in (question, *answers) for word in words(text)}
    small = english().stop
    kept, added, named = list[str](), 0, False
    for place, word in enumerate(_WORD.findall(query)):
        parts = words(word)
        if parts and known.issuperset(parts):
            named = named or not small.issuperset(parts)
        elif added < _MOST_ADDED and len(parts) == 1 and _is_ordinary(word, parts[0], first=not place):
            added += 1
        else:
            continue
        kept.append(word)
    return " ".join(kept) if named else question


def _is_ordinary(word: str, key: str, *, first: bool) -> bool:
    """Whether the word asks for a fact; in capitals it is one of a name, but at the beginning."""
    return (first or word.islower()) and (key in english().stop or key in english().asking)
