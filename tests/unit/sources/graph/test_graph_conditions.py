from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomr_local.language.literals import Date, Quantity, Span, parse_span
from atomr_local.sources.graph import conditions
from atomr_local.sources.graph.conditions import Comparison, Range, compare_dates, compare_quantities


@pytest.mark.parametrize(
    ("text", "wording", "comparison", "operand"),
    [
        ("born after 1950", "born", Comparison.MORE, "1950"),
        ("date of birth is before January 1, 1900", "date of birth", Comparison.LESS, "January 1, 1900"),
        ("released between 1900 and 1950", "released", Comparison.WITHIN, "1900 to 1950"),
        ("before 1990-05-01", "", Comparison.LESS, "1990-05-01"),
        ("was released in the 1990s", "released", Comparison.EQUAL, "the 1990s"),
        ("population over 10 million", "population", Comparison.MORE, Quantity(Decimal(10_000_000))),
        ("more than 10 million inhabitants", "population", Comparison.MORE, Quantity(Decimal(10_000_000))),
        ("has more than 3 children", "children", Comparison.MORE, Quantity(Decimal(3))),
        ("5 or more children", "children", Comparison.AT_LEAST, Quantity(Decimal(5))),
        ("no more than 5 moons", "moons", Comparison.AT_MOST, Quantity(Decimal(5))),
        ("height of 300 m or more", "height", Comparison.AT_LEAST, Quantity(Decimal(300), "m")),
        ("is over 3000 m tall", "height", Comparison.MORE, Quantity(Decimal(3000), "m")),
        ("mass<5kg", "mass", Comparison.LESS, Quantity(Decimal(5), "kg")),
        ("atomic number is 8", "atomic number", Comparison.EQUAL, Quantity(Decimal(8))),
    ],
)
def test_comparisons(text: str, wording: str, comparison: Comparison, operand: object) -> None:
    found = conditions.comparison(text)
    assert found is not None
    assert (found.wording, found.comparison) == (wording, comparison)
    assert (found.operand.text if isinstance(found.operand, Span) else found.operand) == operand


@pytest.mark.parametrize("text", ["is a film", "located in Europe", "older than 1950", "", "taller than Mount Everest"])
def test_what_compares_nothing(text: str) -> None:
    assert conditions.comparison(text) is None


def test_negation() -> None:
    assert conditions.negated("is not a film") == "a film"
    assert conditions.negated("wasn't released before 2000") == "released before 2000"
    assert conditions.negated("has no children") == "children"
    assert conditions.negated("not less than 5 moons") is None
    assert conditions.negated("is a film") is None


@pytest.mark.parametrize(
    ("superlative", "texts"),
    [
        (True, ["is the largest", "largest country", "with the second highest peak", "is the most populous"]),
        (False, ["at least 3 moons", "at most 5", "located in West Forest", "directed by Best"]),
    ],
)
def test_superlatives(superlative: bool, texts: list[str]) -> None:
    assert [conditions.is_superlative(text) for text in texts] == [superlative] * len(texts)


@pytest.mark.parametrize(
    ("texts", "first", "last"),
    [
        (["fifties", "the Fifties", "the 50s", "'50s", "1950s", "the 1950s"], (1950, 1, 1), (1959, 12, 31)),
        (["the 1990s"], (1990, 1, 1), (1999, 12, 31)),
        (["19th century"], (1801, 1, 1), (1900, 12, 31)),
    ],
)
def test_spans_of_decades_and_centuries(texts: list[str], first: tuple[int, ...], last: tuple[int, ...]) -> None:
    for text in texts:
        span = parse_span(text)
        assert span is not None
        assert (span.first, span.last) == (first, last)
    assert parse_span("5") is None


@pytest.mark.parametrize(
    ("date", "comparison", "expected"),
    [
        (Date(1951), Comparison.MORE, True),
        (Date(1950, 6), Comparison.MORE, False),
        (Date(1949), Comparison.LESS, True),
        (Date(1950), Comparison.AT_LEAST, True),
        (Date(1950), Comparison.EQUAL, True),
        (Date(1950, 3, 1), Comparison.EQUAL, True),
        (Date(1951, 1, 1), Comparison.AT_MOST, False),
    ],
)
def test_dates_compare_by_whole_spans(date: Date, comparison: Comparison, expected: bool) -> None:
    span = parse_span("1950")
    assert span is not None
    assert compare_dates(date, comparison, span) is expected


def test_an_imprecise_date_may_leave_it_open() -> None:
    span = parse_span("1 June 1950")
    assert span is not None
    assert compare_dates(Date(1950), Comparison.MORE, span) is None
    assert compare_dates(Date(1951), Comparison.MORE, span) is True


def test_quantities_compare_across_units() -> None:
    km, m = Quantity(Decimal("1.2"), "km"), Quantity(Decimal(1100), "m")
    assert compare_quantities(km, Comparison.MORE, m) is True
    assert compare_quantities(km, Comparison.MORE, Quantity(Decimal(1), "kg")) is None
    assert compare_quantities(km, Comparison.LESS, Quantity(Decimal(2))) is True
    assert compare_quantities(m, Comparison.WITHIN, Range(Quantity(Decimal(1), "km"), km, "")) is True


@given(st.text(max_size=80))
def test_any_text_is_taken(text: str) -> None:
    conditions.comparison(text)
    conditions.negated(text)
    conditions.is_superlative(text)
    conditions.described(text)
    list(conditions.parts(text))
    assert list(conditions.value_cuts(text))[-1].wording == ""
