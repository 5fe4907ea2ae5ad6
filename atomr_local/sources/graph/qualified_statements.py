"""Statements with their period of validity ("in 2010", "as of 2015") and subject.

They lie in a graph of their own, which is read only for a question that asks for a time.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atomr_local.indexing.graph_index.bulk_loading import (
    END,
    OF,
    POINT,
    PROP,
    PROP_QUALIFIER,
    PROP_STATEMENT,
    QUALIFIER_GRAPH,
    START,
)
from atomr_local.indexing.graph_index.statements.terms import RANGES_OF
from atomr_local.language.literals import Date, Day, Span, parse_date
from atomr_local.language.properties import PROPERTY
from atomr_local.language.question import TimeConstraint, read_question
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, SelectResult, bound, term_text

if TYPE_CHECKING:
    from atomr_local.sources.graph.knowledge_graph import Term


def requested_time(wording: str, question: str, name: str) -> tuple[str, TimeConstraint | None]:
    """The wording without a time, and the time that it names, or else the question outside the entity's name."""
    rest, time = read_question(wording).time
    if time is not None:
        return rest or wording, time
    bare = re.sub(re.escape(name), " ", question, flags=re.IGNORECASE) if name else question
    return wording, read_question(bare).time[1]


@dataclass(frozen=True, slots=True)
class QualifiedStatement:
    """One statement: its value, and what qualifies it, None if nothing does."""

    value: Term
    start: Date | None
    end: Date | None
    point: Date | None
    of: tuple[str, ...]

    @property
    def timed(self) -> bool:
        return self.start is not None or self.end is not None or self.point is not None

    def holds(self, span: Span) -> bool:
        """Whether it may hold on some day of the span."""
        if self.point is not None:
            return self.point.first <= span.last and self.point.last >= span.first
        begun = self.start is None or self.start.first <= span.last
        return begun and (self.end is None or self.end.last >= span.first)

    def shown(self) -> str:
        """The time in words: "1949-05-23 to 1990-10-03", "since 1990", "2015"; "" where there is none."""
        if self.point is not None:
            return str(self.point)
        if self.start is not None and self.end is not None:
            return f"{self.start} to {self.end}"
        return f"since {self.start}" if self.start is not None else f"until {self.end}" if self.end is not None else ""


@dataclass(frozen=True, slots=True)
class QualifiedStatements:
    """The qualified statements of one entity and property, and the query that found them."""

    answer: SelectResult
    found: tuple[QualifiedStatement, ...]

    def at(self, time: TimeConstraint) -> list[QualifiedStatement]:
        """Those with a time that fits."""
        timed = [item for item in self.found if item.timed]
        fitting = [item for item in timed if item.holds(time.span)]
        if not fitting and time.latest:
            past = [(item.point.first, item) for item in timed if item.point and item.point.first <= time.span.last]
            last = max((when for when, _ in past), default=None)
            fitting = [item for when, item in past if when == last]
        return fitting

    def best_figures(
        self, fitting: list[QualifiedStatement], span: Span, ranked: Container[str]
    ) -> tuple[list[QualifiedStatement], list[QualifiedStatement]]:
        """Of figures that were each found at some time, those of the time that is nearest to the one asked for, and the
        others: the population "in 2019" is the one of 2019, not the one of a day in it.

        What is no figure, or holds from one time to another, is all kept: several may hold at once.

        Args:
            fitting: as :meth:`at` gives them.
            ranked: terms of the values that rank best; of figures that fit as well, one of them is taken.
        """
        if len({str(item.value) for item in fitting}) < 2 or not all(_is_figure(item) for item in fitting):
            return fitting, []
        kept: list[QualifiedStatement] = []
        for of in dict.fromkeys(item.of for item in fitting):
            group = [item for item in fitting if item.of == of]
            fits = {id(item): (_share(item.point, span), str(item.value) in ranked) for item in group}
            best = max(fits.values())
            kept += [item for item in group if fits[id(item)] == best]
        return kept, [item for item in fitting if item not in kept]

    def answer_of(self, kept: list[QualifiedStatement]) -> SelectResult:
        """The query with the rows of these statements alone."""
        return self.answer.only([place for place, item in enumerate(self.found) if item in kept])


def qualified_statements(graph: KnowledgeGraph, head: str, prop: str, *, inverse: bool) -> QualifiedStatements | None:
    """The statements of the property that have a qualifier; None if there are none.

    Args:
        inverse: the head is the property's value.
    """
    if not graph.has_qualifiers or not prop.startswith(PROPERTY):
        return None
    pid = prop[len(PROPERTY) :]
    subject, value = ("?value", bound(head)) if inverse else (bound(head), "?value")
    optional = " ".join(
        f"OPTIONAL {{ ?statement <{PROP_QUALIFIER}{qualifier}> ?{name} }}"
        for name, qualifier in (("start", START), ("end", END), ("point", POINT), ("of", OF))
    )
    answer = graph.select(
        f"SELECT ?value ?start ?end ?point ?of WHERE {{ GRAPH <{QUALIFIER_GRAPH}> {{\n"
        f"  {subject} {bound(PROP + pid)} ?statement . ?statement {bound(PROP_STATEMENT + pid)} {value} .\n"
        f"  {optional}\n}} }}"
    )
    if not answer.terms:
        return None
    found = tuple(
        QualifiedStatement(
            row["value"],
            _date(row.get("start")),
            _date(row.get("end")),
            _date(row.get("point")),
            (term_text(row["of"]),) if "of" in row else (),
        )
        for row in answer.terms
    )
    return QualifiedStatements(answer, found)


def _is_figure(item: QualifiedStatement) -> bool:
    datatype = getattr(getattr(item.value, "datatype", None), "value", "")
    return item.point is not None and RANGES_OF.get(datatype) == "numbers"


def _share(date: Date | None, span: Span) -> float:
    """How much of both the date and the span they have in common, 0 to 1."""
    if date is None:
        return 0.0
    first, last, begin, end = map(_days, (date.first, date.last, span.first, span.last))
    shared = min(last, end) - max(first, begin) + 1
    return max(0, shared) / (max(last, end) - min(first, begin) + 1)


def _days(day: Day) -> int:
    """Days, every month counted with 31 of them: enough to compare with."""
    return (day[0] * 12 + day[1]) * 31 + day[2]


def _date(term: Term | None) -> Date | None:
    return parse_date(term_text(term)) if term is not None else None
