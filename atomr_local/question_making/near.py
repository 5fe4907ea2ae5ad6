"""Wrong values for questions whose answer is no: of the same relation, and near the right one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cache

from atomr_local.evaluation.gold_chain import mentions
from atomr_local.evaluation.metrics import same_value
from atomr_local.language.literals import Date, parse_date, parse_quantity
from atomr_local.language.names import name_key, words
from atomr_local.page_facts.passages import PagePassage
from atomr_local.page_facts.stated import short_answer, usable_name
from atomr_local.page_facts.wordings import readable
from atomr_local.question_making.hops import Candidate
from atomr_local.question_making.knowledge import Knowledge
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.graph.knowledge_graph import Statement, term_iri

_STATEMENTS, _OPENINGS = 2000, 4000
_COMPARED = 60

Nearness = Callable[[str, Sequence[str]], Sequence[str]]
"""Orders names by how near they are to one, the nearest first."""


def by_words(name: str, others: Sequence[str]) -> list[str]:
    """The names with the most words in common with one first."""
    own = set(words(name))

    def apart(other: str) -> tuple[float, str]:
        theirs = set(words(other))
        return -len(own & theirs) / max(1, len(own | theirs)), name_key(other)

    return sorted(others, key=apart)


class NearValues:
    """Finds wrong values.

    Args:
        openings: gives pages whose facts supply values of relations that texts state.
        nearness: of names; dates and quantities are compared as such.
    """

    def __init__(
        self, knowledge: Knowledge, openings: Callable[[], Iterable[PagePassage]], nearness: Nearness = by_words
    ) -> None:
        self._knowledge = knowledge
        self._openings = openings
        self._nearness = nearness
        self._of_graph = cache(self._find_in_graph)
        self._in_texts: dict[str, list[str]] | None = None

    def of(self, candidate: Candidate) -> str:
        """The nearest wrong value of the second fact; "" if there is none."""
        right = candidate.second
        if right.source == "graph":
            pool, types = self._of_graph(right.relation)
        else:
            pool, types = tuple(dict.fromkeys(self._stated().get(right.relation, ()))), {}
        wrong = [value for value in pool if value not in candidate.answers and not self._may_be_right(candidate, value)]
        kind = types.get(right.tail)
        wrong = [value for value in wrong if types.get(value) == kind] or wrong
        return self._nearest(right.tail, wrong)

    def _nearest(self, right: str, wrong: Sequence[str]) -> str:
        date = parse_date(right)
        if date is not None:
            dates = [(value, other) for value in wrong if (other := parse_date(value)) is not None]
            alike = [(value, other) for value, other in dates if other.datatype == date.datatype and other != date]
            return min(alike, key=lambda item: (_apart(date, item[1]), item[0]))[0] if alike else ""
        quantity = parse_quantity(right)
        if quantity is not None:
            known = [(value, amount) for value in wrong if (amount := parse_quantity(value)) is not None]
            same_unit = [
                (value, abs(other.amount - quantity.amount)) for value, other in known if other.unit == quantity.unit
            ]
            differing = [item for item in same_unit if item[1] > Decimal(0)]
            return min(differing, key=lambda item: (item[1], item[0]))[0] if differing else ""
        names = sorted((value for value in wrong if usable_name(value) and parse_date(value) is None), key=name_key)
        if not names:
            return ""
        # Of very many, those that are written most alike, so that few are compared.
        few = by_words(right, names)[:_COMPARED] if len(names) > _COMPARED else names
        return self._nearness(right, few)[0]

    def _may_be_right(self, candidate: Candidate, value: str) -> bool:
        """Whether it is the right value in other words, a part of it, or said of the bridge somewhere else."""
        own = set(words(value))
        for right in (*candidate.second.tails, *candidate.answers):
            told = set(words(right))
            if same_value(value, right) or own <= told or told <= own:
                return True
        page = next((text for name in candidate.names if (text := self._knowledge.page(name)) is not None), "")
        return mentions(page, value) or any(name_key(value) == name_key(name) for name in candidate.names)

    def _find_in_graph(self, relation: str) -> tuple[tuple[str, ...], dict[str, str]]:
        """Values of a relation, and what type each is of."""
        graph = self._knowledge.graph
        found: dict[str, Statement] = {}
        for prop in graph.properties:
            if graph.property_label(prop) == relation:
                for statement in graph.statements(prop=prop, limit=_STATEMENTS):
                    found.setdefault(readable(sanitize_line(graph.value(statement).text)), statement)
        types = {
            value: "; ".join(sorted(graph.types(iri)))
            for value, statement in found.items()
            if (iri := term_iri(statement.object)) is not None
        }
        return tuple(value for value in found if short_answer(value)), types

    def _stated(self) -> dict[str, list[str]]:
        if self._in_texts is None:
            self._in_texts = {}
            for number, opening in enumerate(self._openings()):
                if number == _OPENINGS:
                    break
                for fact in self._knowledge.facts(opening):
                    if short_answer(fact.value):
                        self._in_texts.setdefault(fact.relation, []).append(fact.value)
        return self._in_texts


def _apart(one: Date, other: Date) -> int:
    """Days between two dates, about."""
    return abs(_days(one) - _days(other))


def _days(date: Date) -> int:
    return date.year * 372 + (date.month or 1) * 31 + (date.day or 1)
