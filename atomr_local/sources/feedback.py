"""Pseudo-relevance feedback: what the first passages name is searched for with the question.

The page that answers a question of several hops often shares no word with it, but is named by a page that does. So the
names in the first passages go into a second search by words. Procedure: query expansion from the first hits as in
Rocchio (The SMART Retrieval System, 1971) and the relevance models of Lavrenko and Croft (SIGIR 2001), with names as
the only terms. The first passages keep their places, since feedback finds more and ranks worse: measured by
scripts/bench/retrieval.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from atomr_local.language.capitalised import names_in
from atomr_local.language.names import name_key
from atomr_local.language.sentences import sentences
from atomr_local.sources.protocol import Request

# The passages that are read for names, and that keep their places.
READ = 3
# Hits of the second search that are embedded where passages do not all have a vector.
EMBEDDED_AGAIN = 10
_NAMES = 8
_MARKS = " .,;:!?\"'()"
_SHORTEST = 4  # letters of a name: initials and abbreviations of two or three letters are everywhere


def searched_again(request: Request) -> bool:
    """Whether a second search can be of use: of a question, which may need pages that it does not name.

    Of few passages it could change none, since the first stay.
    """
    return request.operator is None and request.mode == "hybrid" and request.top_k > READ


def names_found(query: str, passages: Iterable[tuple[str, str]]) -> list[str]:
    """The names of the passages that the query does not have, those of more and of earlier passages first.

    Args:
        passages: title and text of each, best first.
    """
    asked = f" {name_key(query)} "
    weights: dict[str, float] = {}
    written: dict[str, str] = {}
    for rank, (title, text) in enumerate(passages, 1):
        names = [title, *names_in([text[start:end] for start, end in sentences(text)])]
        for key, name in {name_key(name): name.strip(_MARKS) for name in names}.items():
            if len(key) >= _SHORTEST and f" {key} " not in asked:
                weights[key] = weights.get(key, 0.0) + 1 / rank
                written.setdefault(key, name)
    return [written[key] for key in sorted(weights, key=lambda key: -weights[key])[:_NAMES]]


def behind(first: Sequence[float], others: Sequence[float]) -> list[float]:
    """The others' scores in proportion, all of them below the lowest of the first."""
    highest = max(others, default=0.0)
    limit = min(first) * 0.99
    return [limit * score / highest for score in others]
