from __future__ import annotations

from atomr_local.language.literals import dates_in


def test_dates_as_written_and_their_years() -> None:
    text = "Born 3 May 1901 (or March 4, 1902), married in June 1930, died 1999; built 300 BC, 12345 stones."
    assert dates_in([text]) == (
        "3 May 1901", "1901", "March 4, 1902", "1902", "June 1930", "1930", "1999", "300 BC",
    )  # fmt: skip
    assert dates_in(["", "no dates"]) == ()


def test_decades_and_centuries_and_iso_dates() -> None:
    assert dates_in(["in the 1990s, or the 19th century, or the 3rd century BC, on 1950-07-06"]) == (
        "1990s", "19th century", "3rd century BC", "1950-07-06",
    )  # fmt: skip


def test_words_that_are_months_too_are_no_dates() -> None:
    assert dates_in(["they may 12 times march 5 miles"]) == ()


def test_dates_without_a_year_and_centuries_in_words() -> None:
    text = "On December 12, in the sixteenth century, before 800 CE, on 3 May; AD 79 and the twenty-first century."
    assert dates_in([text]) == (
        "December 12", "sixteenth century", "800 CE", "3 May", "AD 79", "twenty-first century",
    )  # fmt: skip
