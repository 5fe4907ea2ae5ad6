"""A plan without steps gets its look-up where the question asks for a known property of a thing, and only there."""

from __future__ import annotations

import pytest

from atomr_local.language.question import read_question
from atomr_local.reasoning.planning.plan_repairs import with_asked_property
from atomr_local.tree.compact import parse_compact, to_compact


def completed(question: str, expects: str = "phrase", steps: str = "") -> str:
    tree = parse_compact(f"0. {question} = Answer({expects})\n{steps}".strip(), question)
    return to_compact(with_asked_property(tree, read_question(question))).strip().partition("\n")[2]


@pytest.mark.parametrize(
    ("question", "name", "relation"),
    [
        ("What is the motto of Belgium?", "Belgium", "motto"),
        ("What are the official languages of South Africa", "South Africa", "official languages"),
        ("Who was the father of Mary I of Scotland?", "Mary I of Scotland", "father"),
        ("What is the place of birth of Joan of Arc?", "Joan of Arc", "place of birth"),
        ("What is Belgium's motto?", "Belgium", "motto"),
    ],
)
def test_the_property_of_the_thing_is_looked_up(question: str, name: str, relation: str) -> None:
    assert completed(question) == f'1. {question} = Relate("{name}", "{relation}")'


@pytest.mark.parametrize(
    ("question", "expects"),
    [
        ("What is the secret of Belgium?", "phrase"),  # no known property
        ("What is the motto of the city?", "phrase"),  # no name
        ("What is the motto of Belgium and Luxembourg?", "phrase"),
        ("What is the motto of Ghent, the city in Belgium?", "phrase"),
        ("Why is the motto of Belgium famous?", "phrase"),
        ("What is the capital of Belgium?", "summary"),
        ("What is the capital of Belgium?", "nothing"),
        ("Is the capital of Belgium old?", "yes/no"),
    ],
)
def test_other_plans_without_steps_stay(question: str, expects: str) -> None:
    assert completed(question, expects) == ""


def test_a_plan_with_steps_stays() -> None:
    step = '1. What is the motto? = Relate("Flanders", "motto")'
    assert completed("What is the motto of Belgium?", steps=step) == step
