"""An answer of another kind than the question asks for is told; what may fit never is."""

from __future__ import annotations

import pytest

from atomr_local.reasoning.reading.checks import misfit, ranks_lower


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many people live in Lyon?", "47.87 km²"),
        ("How many children did Bach have?", "12 km"),
        ("Who wrote Emma?", "1815"),
        ("Who is the father of Ann Lee?", "3 May 1901"),
        ("Where was Franz Liszt born?", "22 October 1811"),
        ("When was Emma published?", "350 kg"),
    ],
)
def test_another_kind_does_not_fit(question: str, answer: str) -> None:
    assert misfit(question, [answer])
    assert misfit(question, ["Vienna" if question.startswith("W") else "7", answer])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many people live in Lyon?", "522,250"),
        ("How many people live in Lyon?", "522,250 people"),
        ("How many kilometres long is the Rhine?", "764 miles"),
        ("How many square miles is Wales?", "20,779 km²"),
        ("How many years later did he die?", "12 years"),
        ("How many minutes does the film last?", "2 hours"),
        ("How long is the Rhine?", "1,233 km"),
        ("How old was Mozart when he died?", "35 years"),
        ("Who recorded In da Club?", "50 Cent"),
        ("Who sang Kryptonite?", "3 Doors Down"),
        ("When was Emma published?", "1815"),
        ("When did Rome fall?", "the 5th century"),
        ("Which novel did Orwell write in 1948?", "1984"),
        ("Emma", "3 May 1901"),
        ("", ""),
    ],
)
def test_what_may_fit_is_left_alone(question: str, answer: str) -> None:
    assert not misfit(question, [answer])
    assert not misfit(question, [])


@pytest.mark.parametrize(
    ("question", "text", "lower"),
    [
        ("Which is Saturn's biggest moon?", "Iapetus is the third largest moon of Saturn.", True),
        ("smallest us state", "Delaware is the second-smallest state.", True),
        ("What is the highest mountain?", "It is one of the highest mountains of the range.", True),
        ("What is the most common blood group?", "A is the 2nd most common blood group.", True),
        ("Which is the largest moon?", "Titan is the largest moon of Saturn and the second largest of all.", False),
        ("Which is the second largest moon?", "Rhea is the second largest moon of Saturn.", False),
        ("Which is the largest moon?", "Rhea was the second moon to be found.", False),
        ("Who found Rhea?", "Cassini found the second largest moon.", False),
        ("", "", False),
    ],
)
def test_a_lower_rank_does_not_tell_of_the_first(question: str, text: str, lower: bool) -> None:
    assert ranks_lower(question, text) is lower
