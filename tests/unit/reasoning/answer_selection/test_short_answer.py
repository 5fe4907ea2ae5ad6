from __future__ import annotations

import pytest

from atomr_local.reasoning.answer_selection import year_asked_for


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
        ("Which year and day did it open?", "Portland, Oregon", "Portland, Oregon"),
    ],
)
def test_a_year_is_told_where_a_year_is_asked_for(question: str, answer: str, told: str) -> None:
    assert year_asked_for(question, answer) == told
