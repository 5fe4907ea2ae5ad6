"""Evidence of several kinds in one list by the words that it shares with a query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from atomr_local.language.names import words
from atomr_local.language.words import english, without_suffix
from atomr_local.sources.protocol import Evidence

# Of BM25, as SQLite's FTS5 has them.
_K1, _B = 1.2, 0.75
_LEAST_IDF = 1e-6


def ranked_by_words(query: str, evidence: Sequence[Evidence], k: int) -> list[Evidence]:
    """The k pieces that suit the words of the query best, by BM25 over these pieces alone; ties stay in their order."""
    wanted = _stems(query)
    texts = [Counter(_stems(f"{item.title} {item.text}")) for item in evidence]
    scores = bm25(list(dict.fromkeys(wanted)), texts)
    order = sorted(range(len(evidence)), key=lambda place: -scores[place])
    return [evidence[place] for place in order[:k]]


def bm25(query: Sequence[str], texts: Sequence[Counter[str]]) -> list[float]:
    """The score of each text (its words, counted) for the words of a query."""
    sizes = [text.total() for text in texts]
    mean = sum(sizes) / len(sizes) if sizes else 0.0
    scores = [0.0] * len(texts)
    for word in query:
        holding = sum(word in text for text in texts)
        weight = max(_LEAST_IDF, math.log((len(texts) - holding + 0.5) / (holding + 0.5)))
        for place, text in enumerate(texts):
            if (count := text[word]) and mean:
                scores[place] += weight * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * sizes[place] / mean))
    return scores


def _stems(text: str) -> list[str]:
    found = words(text)
    telling = [word for word in found if word not in english().stop]
    return [without_suffix(word) for word in telling or found]
