"""What a strategy may send to the web: words of the question and of answers that the user sees, never of passages.

A hostile passage can make the model write a query with private text of other passages in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from atomr_local.language.names import words

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")


def fit_for_web(query: str, question: str, answers: Iterable[str] = ()) -> str:
    """The words of `query` that the question or an answer has, in their order.

    The question itself goes as it is, and in place of a query of which no word is left.

    Args:
        answers: of earlier steps, as the user sees them.
    """
    if query == question:
        return question
    known = {word for text in (question, *answers) for word in words(text)}
    kept = [word for word in _WORD.findall(query) if (parts := words(word)) and known.issuperset(parts)]
    return " ".join(kept) or question
