"""Parses answer values as dates or quantities.

A value is exact ("6,650 km"), imprecise ("1950", "the 19th century") or neither a date nor a quantity. A measure keeps
the lowest and the highest value that it may mean, so that 1950 and 1950-03 are not ordered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import Any, Literal

from atomr_local.language.literals import (
    Date,
    Quantity,
    format_number,
    number_words,
    parse_date,
    parse_period,
    parse_quantity,
)
from atomr_local.language.names import split_qualifier
from atomr_local.language.words import word_lists
from atomr_local.sources.protocol import Value, ValueKind

Sort = Literal["date", "number"]
# From here on thousands are separated, as in "10,000"; years and small counts are not.
_GROUPED_FROM = 10_000
_LEAST_DIGITS = 4
_PLACES = 2
_YEARS = range(1000, 2101)
# The tolerance of "about 1600".
_ABOUT_YEARS = 5
_CALCULATION = Context(prec=40, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True)
class Measure:
    """A value as a date or amount.

    Attributes:
        low, high: the lowest and highest value that it may mean: days as (year, month, day), or amounts in the base
            unit.
        shown: the text for people.
        unit: base unit of an amount; "" for a plain number and for dates.
        date: the date, if it is a single one.
        quantity: the quantity, if it is a single one, in the unit it is written in.
        about: whether the quantity is approximate.
    """

    sort: Sort
    low: Any
    high: Any
    shown: str
    unit: str = ""
    date: Date | None = None
    quantity: Quantity | None = None
    about: bool = False

    @property
    def amount(self) -> Decimal | None:
        """The quantity in the base unit; None if it is not one quantity."""
        return self.quantity.in_base_unit().amount if self.quantity is not None else None

    def before(self, other: Measure) -> bool | None:
        """Whether this is smaller or earlier; None if it is unknown."""
        if self.high < other.low:
            return True
        if self.low >= other.high:
            return False
        return None

    def same(self, other: Measure) -> bool:
        """Whether both are the same exact amount, or the same date with the same precision."""
        if self.sort == "date":
            return bool(self.low == other.low and self.high == other.high)
        return bool(self.low == self.high == other.low == other.high)


def measure_words() -> Mapping[str, Any]:
    """The English words needed to read values and questions over steps."""
    return word_lists("operations")


def measure(value: Value, sort: Sort) -> Measure | None:
    """The value as a date, or as a number or quantity; None if its whole text is not one."""
    return _measure(value.text, value.kind, sort)


@lru_cache(maxsize=4096)
def _measure(text: str, kind: ValueKind, sort: Sort) -> Measure | None:
    value = Value(text, kind)
    return _date(value) if sort == "date" else _amount(value)


def _date(value: Value) -> Measure | None:
    text = _bare(value.text, "approximately", "before_a_date")
    approximate = text != _bare(value.text, "before_a_date")
    if not _may_be_date(value, text):
        return None
    date = parse_date(text)
    if date is not None and approximate:
        early, late = replace(date, year=date.year - _ABOUT_YEARS), replace(date, year=date.year + _ABOUT_YEARS)
        return Measure("date", early.first, late.last, value.text.strip())
    if date is not None:
        return Measure("date", date.first, date.last, str(date), date=date)
    period = parse_period(text)
    return Measure("date", period.first, period.last, value.text.strip()) if period is not None else None


def _may_be_date(value: Value, text: str) -> bool:
    """Whether the text may be a date. A number of one or two digits is not, unless its source says so."""
    digits = text.lstrip("+-")
    if value.kind is ValueKind.DATE or not digits.isdigit():
        return True
    return int(digits) in _YEARS if value.kind is ValueKind.NUMBER else len(digits) >= 3


def _amount(value: Value) -> Measure | None:
    if value.kind is ValueKind.DATE and not value.text.strip("+- ").isdigit():
        return None
    written = _bare(value.text)
    text = _bare(written, "approximately")
    quantity = parse_quantity(number_words(text)) or _compound(text)
    if quantity is None:
        before, inner = split_qualifier(text)
        # "6,650 km (4,130 mi)" and "5,550,203 (2024)" add another unit or a date.
        told_twice = inner and (parse_quantity(inner) is not None or parse_date(inner) is not None)
        quantity = parse_quantity(number_words(before)) if told_twice else None
    if quantity is None:
        return None
    base = quantity.in_base_unit()
    about = text != written
    off = Quantity(_half_of_last_digit(quantity), quantity.unit).in_base_unit().amount if about else Decimal(0)
    low, high = base.amount - off, base.amount + off
    return Measure("number", low, high, value.text.strip(), base.unit, quantity=quantity, about=about)


def _half_of_last_digit(quantity: Quantity) -> Decimal:
    """The tolerance of "about 6,650": half a unit of its last digit that is not zero."""
    return Decimal(5).scaleb(int(quantity.amount.normalize().as_tuple().exponent) - 1)


def _bare(text: str, *lists: str) -> str:
    """The text without the words of these lists at its beginning."""
    opening = {word for name in lists for word in measure_words()["values"][name]}
    text = " ".join(text.split()).rstrip(".,;")
    while True:
        first, _, rest = text.partition(" ")
        if rest and first.casefold() in opening:
            text = rest
        elif text[:1] in opening:
            text = text[1:].lstrip()
        else:
            return text


def _compound(text: str) -> Quantity | None:
    """ "5 ft 10 in", "1 hour and 40 minutes": parts of one dimension, each smaller than the one before."""
    words = text.replace(" and ", " ").replace(",", "").split()
    if len(words) not in (4, 6):
        return None
    parts = [parse_quantity(" ".join(words[i : i + 2])) for i in range(0, len(words), 2)]
    known = [part for part in parts if part is not None and part.unit]
    bases = [part.in_base_unit() for part in known]
    sizes = [Quantity(Decimal(1), part.unit).in_base_unit().amount for part in known]
    if len(known) != len(parts) or len({base.unit for base in bases}) != 1 or sorted(sizes, reverse=True) != sizes:
        return None
    return Quantity(sum((base.amount for base in bases), Decimal(0)) / sizes[-1], known[-1].unit)


def united(measures: Sequence[Measure]) -> Measure | None:
    """Several values of one fact as one measure that may mean any of them; exact if they are the same."""
    first, *others = measures
    if not others or all(first.same(other) for other in others):
        return first
    if len({item.unit for item in measures}) != 1:
        return None
    low, high = min(item.low for item in measures), max(item.high for item in measures)
    return Measure(first.sort, low, high, " / ".join(dict.fromkeys(item.shown for item in measures)), first.unit)


def earliest(measures: Sequence[Measure]) -> Measure:
    """Of several dates of one fact the earliest: mostly publications in several countries."""
    first = min(measures, key=lambda item: (item.low, item.high))
    return first if len(measures) == 1 else replace(first, shown=f"{first.shown} (the earliest of {len(measures)})")


def common_unit(measures: Sequence[Measure]) -> str:
    """The unit that the first quantity is written in."""
    return next((item.quantity.unit for item in measures if item.quantity is not None), measures[0].unit)


def in_unit(base_amount: Decimal, base: str, unit: str, of: Sequence[Measure]) -> Decimal:
    """An amount in the base unit as an amount in another unit of the same dimension.

    Args:
        of: what it was computed from; if these are written in other units, the result is rounded.
    """
    converted = Quantity(base_amount, base).in_unit(unit) if base != unit else None
    amount = converted.amount if converted is not None else base_amount
    exact = all(item.quantity is not None and item.quantity.unit == unit for item in of)
    return amount if exact or len(amount.normalize().as_tuple().digits) <= _LEAST_DIGITS else rounded(amount)


def divided(one: Decimal, other: Decimal) -> Decimal:
    """one / other; the caller excludes division by zero."""
    return _CALCULATION.divide(one, other)


def rounded(amount: Decimal) -> Decimal:
    """The amount rounded to four digits; amounts with more digits before the point to whole numbers."""
    if not amount:
        return amount
    places = max(0, _LEAST_DIGITS - 1 - amount.adjusted())
    return amount.quantize(Decimal(1).scaleb(-places), context=_CALCULATION)


def to_places(amount: Decimal) -> Decimal:
    """A ratio or a mean rounded to two decimal places, a small one to two significant digits."""
    if amount == amount.to_integral_value():
        return amount
    places = max(_PLACES, 1 - amount.adjusted())
    return amount.quantize(Decimal(1).scaleb(-places), context=_CALCULATION)


def amount_text(amount: Decimal, unit: str = "") -> str:
    """ "250 km", "17,098,242 km²", "0.5": thousands are separated from five digits on."""
    digits = format_number(amount)
    if abs(amount) >= _GROUPED_FROM:
        whole, point, rest = digits.partition(".")
        digits = f"{int(whole):,}{point}{rest}"
    return f"{digits}{'' if unit == '%' else ' '}{unit}".strip()
