"""Comparisons of dates and quantities, where either may be imprecise or in another unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from atomr_local.language.literals import Date, Quantity, parse_date, parse_quantity
from atomr_local.language.periods import Span
from atomr_local.sources.graph.filter.conditions import Compare, Comparison, Range
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, value_pattern
from atomr_local.sources.graph.properties.matching import SURE, PropertyMatch, PropertyMatcher
from atomr_local.sources.graph.query_results import SelectResult
from atomr_local.sources.graph.relate.heads import Head
from atomr_local.sources.protocol import Value

_DATE_QUESTION, _NUMBER_QUESTION = "when", "how many"


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """The result of a condition for one entity.

    Attributes:
        satisfied: None if the graph does not tell.
        score: how surely the condition was matched to properties, 0 to 1.
        reasons: (sentence, the query behind it) of what was looked at.
    """

    satisfied: bool | None
    score: float = 0.0
    reasons: tuple[tuple[str, SelectResult], ...] = ()


class ComparisonCheck:
    """Decides whether an entity's dates and numbers satisfy a comparison, over one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, matcher: PropertyMatcher) -> None:
        self._graph = graph
        self._matcher = matcher

    def check(self, head: Head, compare: Compare) -> ConditionResult | None:
        """Whether the entity satisfies the comparison; None if no property is compared."""
        for match in self._compared_properties(head, compare):
            operand = compare.operand
            if isinstance(operand, Span) and match.kind != "time":
                if not operand.text.isdigit():
                    continue
                operand = Quantity(Decimal(operand.text))
            if match.kind == "time":
                if not isinstance(operand, Span):
                    continue
                verdict = self._dates(head, match, compare, operand)
            elif isinstance(operand, Span):
                continue
            else:
                verdict = self._numbers(head, match, compare, operand)
            if verdict is not None:
                return verdict
        return None

    def _compared_properties(self, head: Head, compare: Compare) -> list[PropertyMatch]:
        dated = isinstance(compare.operand, Span)
        if compare.wording:
            question = _DATE_QUESTION if dated and not _bare_number(compare.operand) else ""
            asked = _DATE_QUESTION if dated else _NUMBER_QUESTION
            ranked = self._matcher.rank(compare.wording, question)
            ranked += self._matcher.rank(compare.wording, asked)
            return sorted((m for m in ranked if m.score >= SURE - 0.1), key=lambda m: -m.score)[:8]
        if not dated:
            return []
        # "after 1950" of what has one date only.
        dates = {prop for prop in self._graph.properties_of(head.iri) if self._matcher.kind(prop) == "time"}
        return [PropertyMatch(iri, False, SURE, "time") for iri in dates] if len(dates) == 1 else []

    def _dates(self, head: Head, match: PropertyMatch, compare: Compare, span: Span) -> ConditionResult | None:
        def holds(value: Value) -> bool | None:
            date = parse_date(value.text)
            return None if date is None else compare_dates(date, compare.comparison, span)

        return self._literals(head, match, holds, f"{compare.comparison} {span.text}")

    def _numbers(
        self, head: Head, match: PropertyMatch, compare: Compare, operand: Quantity | Range
    ) -> ConditionResult | None:
        shown = operand.text if isinstance(operand, Range) else f"{operand.amount:f} {operand.unit}".strip()
        if match.kind in ("quantity", "string"):

            def holds(value: Value) -> bool | None:
                quantity = parse_quantity(value.text) or bare_number(value.text)
                return None if quantity is None else compare_quantities(quantity, compare.comparison, operand)

            return self._literals(head, match, holds, f"{compare.comparison} {shown}")
        if match.kind == "time":
            return None
        # "more than 3 children": the number of values is compared.
        answer = self._graph.first_values(head.iri, match.property, inverse=match.inverse)
        count = len({str(row["value"]) for row in answer.terms})
        if answer.cut:
            count, answer = self._graph.count(value_pattern(head.iri, match.property, inverse=match.inverse))
        satisfied = compare_quantities(Quantity(Decimal(count)), compare.comparison, operand)
        label = self._graph.property_label(match.property)
        name = self._graph.label(head.iri)
        sentence = f"{name} — number of {label}: {count}; {count} {compare.comparison} {shown}: {_yes(satisfied)}."
        return ConditionResult(satisfied if count else None, match.score, ((sentence, answer),))

    def _literals(
        self, head: Head, match: PropertyMatch, holds: Callable[[Value], bool | None], test: str
    ) -> ConditionResult | None:
        if match.inverse:
            return None
        graph = self._graph
        answer: SelectResult | None = None
        first_of: dict[bool | None, Value] = {}
        for page in graph.value_pages(head.iri, match.property):
            answer = answer or page
            for value in graph.answer_values(page, head.iri, match.property):
                first_of.setdefault(holds(value), value)
            if True in first_of:
                break
        if answer is None or not first_of:
            return None
        satisfied = True if True in first_of else False if False in first_of else None
        shown = first_of[satisfied]
        sentence = (
            f"{graph.label(head.iri)} — {graph.property_label(match.property)}: {shown.text}; "
            f"{shown.text} {test}: {_yes(satisfied)}."
        )
        return ConditionResult(satisfied, match.score, ((sentence, answer),))


def _bare_number(operand: object) -> bool:
    return isinstance(operand, Span) and operand.text.isdigit()


def _yes(satisfied: bool | None) -> str:
    return "cannot be told" if satisfied is None else "yes" if satisfied else "no"


def compare_dates(date: Date, comparison: Comparison, span: Span) -> bool | None:
    """Whether every day that the date may mean stands so to the span; None if some days do and some do not."""
    first, last = date.first, date.last
    if comparison is Comparison.MORE:
        return _settled(first > span.last, last > span.last)
    if comparison is Comparison.LESS:
        return _settled(last < span.first, first < span.first)
    if comparison is Comparison.AT_LEAST:
        return _settled(first >= span.first, last >= span.first)
    if comparison is Comparison.AT_MOST:
        return _settled(last <= span.last, first <= span.last)
    return _settled(first >= span.first and last <= span.last, first <= span.last and last >= span.first)


def _settled(all_days: bool, some_day: bool) -> bool | None:
    return True if all_days else None if some_day else False


def compare_quantities(value: Quantity, comparison: Comparison, operand: Quantity | Range) -> bool | None:
    """Whether the value stands so to the operand; None if their units cannot be compared."""
    if isinstance(operand, Range):
        low = compare_quantities(value, Comparison.AT_LEAST, operand.low)
        high = compare_quantities(value, Comparison.AT_MOST, operand.high)
        return None if low is None or high is None else low and high
    one, two = value.in_base_unit(), operand.in_base_unit()
    if one.unit != two.unit and one.unit and two.unit:
        return None
    if one.unit != two.unit:
        # A bare number is in the unit that the other side is written in.
        one, two = value, operand
    return {
        Comparison.MORE: one.amount > two.amount,
        Comparison.LESS: one.amount < two.amount,
        Comparison.AT_LEAST: one.amount >= two.amount,
        Comparison.AT_MOST: one.amount <= two.amount,
        Comparison.EQUAL: one.amount == two.amount,
        Comparison.WITHIN: one.amount == two.amount,
    }[comparison]


def bare_number(text: str) -> Quantity | None:
    """The number that a text without a unit is, or None."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return Quantity(number) if number.is_finite() else None
