from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomr_local.indexing.graph_index.statements.terms import XSD, literal_text
from atomr_local.language.literals import Date, Quantity, format_number, parse_date, parse_quantity


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("6 July 1958", Date(1958, 7, 6)),
        ("October 5, 1987", Date(1987, 10, 5)),
        ("June 1956", Date(1956, 6)),
        ("1936", Date(1936)),
        ("2010-10-19", Date(2010, 10, 19)),
        ("+2010-10-19T00:00:00Z", Date(2010, 10, 19)),
        ("1950-00-00", Date(1950)),
        ("the 5th of May 1789", Date(1789, 5, 5)),
        ("15 March 44 BC", Date(-43, 3, 15)),
        ("-0043-03-15", Date(-43, 3, 15)),
        ("29 February 2000", Date(2000, 2, 29)),
    ],
)
def test_dates_as_people_write_them(text: str, expected: Date) -> None:
    assert parse_date(text) == expected


@pytest.mark.parametrize(
    "text", ["29 February 1900", "31 April 2000", "2010-13-01", "soon", "", "May", "12345678", "5 May"]
)
def test_what_is_no_date(text: str) -> None:
    assert parse_date(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [("1955-04-18", "18 April 1955"), ("1955-05", "May 1955"), ("1955", "1955"), ("-0043-03-15", "15 March 44 BC")],
)
def test_a_date_as_it_is_said(text: str, said: str) -> None:
    date = parse_date(text)
    assert date is not None
    assert date.spoken == said
    assert parse_date(said) == date


def test_a_bare_number_is_a_year_only_where_one_is_expected() -> None:
    assert parse_date("1936", bare_year=False) is None
    assert parse_date("June 1936", bare_year=False) == Date(1936, 6)


def test_span_of_an_imprecise_date() -> None:
    assert Date(1900, 2).last == (1900, 2, 28)
    assert (Date(1950).first, Date(1950).last) == ((1950, 1, 1), (1950, 12, 31))


@given(st.integers(-3000, 9999), st.integers(1, 12), st.integers(1, 28))
def test_normal_form_parses_to_itself(year: int, month: int, day: int) -> None:
    for date in (Date(year), Date(year, month), Date(year, month, day)):
        assert parse_date(str(date)) == date


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("1,200 km²", "1200", "km²"),
        ("3.5 million", "3500000", ""),
        ("$5 million", "5000000", "USD"),
        ("8848.86 m", "8848.86", "m"),
        ("12 metres", "12", "m"),
        ("-5 °C", "-5", "°C"),
        ("68,000,000 people", "68000000", ""),
        ("5%", "5", "%"),
    ],
)
def test_quantities(text: str, amount: str, unit: str) -> None:
    assert parse_quantity(text) == Quantity(Decimal(amount), unit)


@pytest.mark.parametrize("text", ["10 Downing Street", "7th Heaven", "U2", "", "1.2.3", "ten"])
def test_names_with_numbers_are_no_quantities(text: str) -> None:
    assert parse_quantity(text) is None


def test_units_convert_within_their_dimension() -> None:
    assert Quantity(Decimal("1.5"), "km").in_base_unit() == Quantity(Decimal(1500), "m")
    assert Quantity(Decimal(3), "USD").in_base_unit() == Quantity(Decimal(3), "USD")


@given(st.text(max_size=60))
def test_parsers_take_any_text(text: str) -> None:
    parse_date(text)
    parse_quantity(text)


def test_numbers_are_written_plainly() -> None:
    assert [format_number(Decimal(text)) for text in ("1E+6", "2.50", "100", "-0.5")] == [
        "1000000",
        "2.5",
        "100",
        "-0.5",
    ]


@pytest.mark.parametrize("lexical", ["1e999999999", "-3E-999999999", "0e999999999", "1e301"])
@pytest.mark.parametrize("datatype", ["decimal", "double", "integer"])
def test_a_number_with_a_huge_exponent_is_shown_as_it_is_written(lexical: str, datatype: str) -> None:
    assert literal_text(lexical, XSD + datatype) == lexical


def test_a_number_is_shown_without_its_exponent() -> None:
    assert literal_text("1.50e3", XSD + "double") == "1500"
    assert literal_text("+2.50", XSD + "decimal") == "2.5"
    assert literal_text("NaN", XSD + "double") == "NaN"
