"""Other words for a question are kept only if they still ask the same."""

from __future__ import annotations

import pytest
from atomr_lab.question_making.hops import Candidate, Composed, Hop, composed, confirming
from atomr_lab.question_making.reviewing import problem_with, relations, same_hops

from atomr_local.tree.compact import parse_compact

CANDIDATE = Candidate(
    Hop("text", "The Lake", "director", ("Ann Lee",), ("the-lake#0",), "", (3, 10)),
    Hop("graph", "Ann Lee", "date of birth", ("3 May 1901",), ("<a> <b> <c>",), ""),
    ("Ann Lee", "Ann of York"),
    "ann",
)
MADE = composed(CANDIDATE)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("On what day was the person who directed The Lake born?", ""),
        ("On what day was its director born?", "does not name The Lake"),
        ("On what day was Ann Lee, who directed The Lake, born?", "names Ann Lee"),
        ("Was the director of The Lake born on 3 May 1901?", "says 3 May 1901"),
        ("The director of The Lake was born.", "not one question"),
        ("Who directed The Lake? When was she born?", "not one question"),
        ("When was the director of The Lake born?", "the same question"),
        ("", "not one question"),
    ],
)
def test_words(text: str, problem: str) -> None:
    found = problem_with(text, MADE)
    assert problem in found
    assert bool(found) == bool(problem)


def test_a_value_to_be_confirmed_stays() -> None:
    made = confirming(CANDIDATE, "4 May 1901", right=False)
    assert isinstance(made, Composed)
    assert "does not name" in problem_with("Was the director of The Lake born on 5 May 1901?", made)
    assert problem_with("Is 4 May 1901 when the director of The Lake was born?", made) == ""


@pytest.mark.parametrize(
    ("plan", "same"),
    [
        ('1. a = Search("The Lake")\n2. b = Relate([1], "director")\n3. c = Relate([2], "date of birth")', True),
        ('1. a = Search("The Lake")\n2. b = Relate([1], "director")\n3. c = Relate([2], "born")', True),
        ('1. a = Search("The Lake")\n2. b = Relate([1], "director")\n3. c = Relate([2], "spouse")', False),
        ('1. a = Search("The Lake")\n2. b = Relate([1], "date of birth")\n3. c = Relate([2], "director")', False),
        ('1. a = Search("The Lake")\n2. b = Relate([1], "date of birth")', False),
    ],
)
def test_hops(plan: str, *, same: bool) -> None:
    assert same_hops(parse_compact(plan, "A question?"), MADE) is same


def test_relations_come_in_the_order_of_the_chain() -> None:
    assert relations(MADE.plan) == ["director", "date of birth"]
