from __future__ import annotations

import pytest

from atomr_local.reasoning.expected import dates_in, expected_answer, year_asked_for


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When was Ann Lee born?", "date"),
        ("What is the date of birth of Ann Lee?", "date"),
        ("In what year did it open?", "date"),
        ("How many people live there?", "number"),
        ("What is the population of Girona?", "number"),
        ("Are both films Danish?", "yes/no"),
        ("Is it older, the oak or the elm?", "any"),
        ("Who is the director of Whenever?", "any"),
        ("In which country is Girona?", "country"),
        ("What is the country of citizenship of Ann Lee?", "country"),
        ("Where was Ann Lee born?", "place"),
        ("Which film came out first, A or B?", "any"),
        ("", "any"),
    ],
)
def test_the_type_follows_the_question(question: str, expected: str) -> None:
    assert expected_answer(question) == expected


def test_dates_as_written_and_their_years() -> None:
    text = "Born 3 May 1901 (or March 4, 1902), married in June 1930, died 1999; built 300 BC, 12345 stones."
    assert dates_in([text]) == (
        "3 May 1901", "1901", "March 4, 1902", "1902", "June 1930", "1930", "1999", "300 BC",
    )  # fmt: skip
    assert dates_in(["", "no dates"]) == ()


@pytest.mark.parametrize(
    ("question", "answer", "told"),
    [
        ("The album was produced by a man born in what year?", "May 17, 1965", "1965"),
        ("In which year did it open?", "1901-03-02", "1901"),
        ("What is the year of birth of Ann Lee?", "3 May 1901", "1901"),
        ("In which year did it open?", "1901", "1901"),
        ("In which year did it open?", "44 BC", "44 BC"),
        ("In which year did it open?", "the Bronze Age", "the Bronze Age"),
        ("When was Ann Lee born?", "3 May 1901", "3 May 1901"),
        ("How many years did it take?", "3 May 1901", "3 May 1901"),
    ],
)
def test_a_year_is_told_where_a_year_is_asked_for(question: str, answer: str, told: str) -> None:
    assert year_asked_for(question, answer) == told
