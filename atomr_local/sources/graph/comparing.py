"""How dates and quantities stand to each other, where either may be imprecise or in another unit."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from atomr_local.indexing.literals import Date, Quantity
from atomr_local.indexing.spans import Span
from atomr_local.sources.graph.conditions import Comparison, Range


def compare_dates(date: Date, comparison: Comparison, span: Span) -> bool | None:
    """Whether every day that the date may mean stands so to the span; None where some days do and some do not."""
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
    """Whether the value stands so to the operand; None where their units cannot be compared."""
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
