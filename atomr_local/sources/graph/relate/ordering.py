""" "Current capital", "first president", "second wife": one of several values by the times for which they hold.

The order is that of the statements' own times. Where a value has none, or two cannot be put in an order, nothing is
taken: the order is then not in the evidence.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from atomr_local.language.literals import Date
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph
from atomr_local.sources.graph.properties.matching import PropertyMatch
from atomr_local.sources.graph.qualified_statements import QualifiedStatement, QualifiedStatements, qualified_statements
from atomr_local.sources.graph.query_results import SelectResult, term_text
from atomr_local.sources.graph.relate.following import distinct_values
from atomr_local.sources.protocol import Request, Retrieval

LAST, NOW = -1, 0


@dataclass(frozen=True, slots=True)
class Order:
    """One of several in time.

    Attributes:
        place: 1 for the first, 2 for the second, LAST, or NOW for what holds today.
        word: as it was asked.
    """

    place: int
    word: str


@lru_cache(maxsize=1)
def _words() -> dict[str, int]:
    text = files("atomr_local.language").joinpath("en", "orders.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return {
        **dict.fromkeys(data["now"], NOW), **dict.fromkeys(data["last"], LAST), **data["ordinals"],
    }  # fmt: skip


def requested_order(wording: str) -> tuple[str, Order | None]:
    """The wording without the word of order that it begins with, and that order; as it is and None without one."""
    tokens = wording.split()
    for size in (2, 1):
        word = " ".join(tokens[:size]).casefold()
        if len(tokens) > size and word in _words():
            return " ".join(tokens[size:]), Order(_words()[word], word)
    return wording, None


def by_order(statements: QualifiedStatements | None, plain: SelectResult, order: Order) -> SelectResult | None:
    """Of the values of a property those that the order asks for; None if the evidence gives no such order.

    Args:
        statements: those with qualifiers, if any.
        plain: all values that hold by their rank.
    """
    timed: dict[str, list[QualifiedStatement]] = {}
    for item in statements.found if statements is not None else ():
        if item.timed:
            timed.setdefault(term_text(item.value), []).append(item)
    texts = [term_text(row["value"]) for row in plain.terms]
    if order.place == NOW:
        kept = [i for i, text in enumerate(texts) if text not in timed or any(item.end is None for item in timed[text])]
        return plain.only(kept) if kept else None
    if statements is None or not timed or any(text not in timed for text in texts):
        return None
    begun = [(start, text) for text, items in timed.items() for item in items if (start := item.start or item.point)]
    if len({text for _, text in begun}) < len(timed):
        return None
    chosen = _placed(begun, order.place)
    if chosen is None:
        return None
    return statements.answer_of([item for item in statements.found if term_text(item.value) == chosen][:1])


def _placed(begun: Sequence[tuple[Date, str]], place: int) -> str | None:
    """The value at the place in the order of beginnings; None if there is none, or it is unknown."""
    in_order = sorted(begun, key=lambda pair: (pair[0].first, pair[0].last))
    distinct: list[tuple[Date, str]] = []
    for start, text in in_order:
        if not distinct or distinct[-1][1] != text:
            distinct.append((start, text))
    index = len(distinct) - 1 if place == LAST else place - 1
    if index >= len(distinct):
        return None
    neighbours = distinct[max(0, index - 1) : index + 2]
    for (one, _), (other, _) in pairwise(neighbours):
        if one.last >= other.first:
            return None
    return distinct[index][1]


def ordered_values(
    graph: KnowledgeGraph, head: str, match: PropertyMatch, order: Order, link: float, request: Request
) -> Retrieval:
    """The head's value at the place in the order; where the evidence gives no such order, all values as evidence alone.

    Args:
        link: how surely the head was linked, 0 to 1.
    """
    plain = graph.values(head, match.property, inverse=match.inverse)
    statements = qualified_statements(graph, head, match.property, inverse=match.inverse)
    found = by_order(statements, plain, order)
    answer = plain if found is None else found
    score = round(link * match.score, 4)
    values = graph.answer_values(answer, head, match.property, inverse=match.inverse, score=score)
    name, label = graph.label(head), graph.property_label(match.property)
    listed = ", ".join(value.text for value in values)
    said = f" ({order.word})" if found is not None else ""
    text = f"{listed} — {label}: {name}{said}." if match.inverse else f"{name} — {label}{said}: {listed}."
    return Retrieval(
        (answer.evidence(name, text, score, request.query),),
        tuple(distinct_values(values)) if found is not None else (),
        link,
        match.score,
        decided=found is not None,
        linked=graph.entity_value(head, link),
    )
