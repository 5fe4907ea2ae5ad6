"""Natural questions made from tables and facts, and the development questions written by hand."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from training.files import QUESTIONS, STARTER
from training.natural_questions import kinds_compare, kinds_lookup, kinds_members, make, surface
from training.natural_questions.check import is_run, problem
from training.natural_questions.make import build
from training.natural_questions.plans import Value
from training.natural_questions.tables import held_out, names
from training.natural_questions.world import Pool, World, order_of, starter

DATA = Path("../shared/data")
DEVELOPMENT = QUESTIONS / "natural_dev.jsonl"


def pool(seed: int = 1) -> Pool:
    empty = World("2wiki", (), complete=False)
    return Pool(random.Random(seed), {"starter": starter(STARTER), "2wiki": empty})


def test_every_development_question_has_a_plan_that_holds() -> None:
    lines = [json.loads(line) for line in DEVELOPMENT.read_text(encoding="utf-8").splitlines()]
    assert [line["question"] for line in lines if problem(line)] == []
    known = [line for line in lines if line["corpus"] != "none"]
    assert len(lines) >= 300
    assert sum(not line["answerable"] for line in known) >= len(known) / 4
    assert all(bool(line["answers"]) == line["answerable"] for line in known)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="needs ../shared/data")
def test_the_same_seed_gives_the_same_questions_and_each_holds() -> None:
    lines, _ = build(DATA, STARTER, 150, 3)
    again, _ = build(DATA, STARTER, 150, 3)
    assert lines == again
    assert len(lines) >= 140
    assert [line["question"] for line in lines if problem(line)] == []
    assert len(Counter(line["kind"] for line in lines)) >= 30


@pytest.mark.parametrize("kind", sorted(make._SPOKEN))
def test_spoken_questions_hold(kind: str) -> None:
    made, maker = pool(), make._SPOKEN[kind][0]
    lines = [question.line() for _ in range(60) if (question := maker(made)) is not None]
    assert len(lines) >= 5
    assert [(line["question"], wrong) for line in lines if (wrong := problem(line))] == []


def test_answers_come_from_the_facts() -> None:
    made = pool()
    for _ in range(400):
        question = kinds_compare.compare(made, 2)
        if question is not None and question.answers and question.names[0].kind == "planet":
            sizes = {name.label: made.worlds["starter"].get(name.key, "diameter") for name in question.names}
            assert set(question.answers) <= set(sizes) | {name.key for name in question.names}
            return
    pytest.fail("no comparison of planets was made")


def test_what_the_facts_lack_cannot_be_answered() -> None:
    made = pool()
    found = [question for _ in range(60) if (question := kinds_lookup.wrong_role(made)) is not None]
    assert found
    assert all(not question.line()["answerable"] and not question.line()["answers"] for question in found)


def test_names_kept_for_development_are_not_asked_about() -> None:
    assert held_out("Nile")
    assert held_out("the Nile")
    assert "Nile" not in names()["river"]
    assert all(not held_out(name.label) for kind in pool().worlds["starter"].names.values() for name in kind)


@pytest.mark.parametrize(
    ("name", "question", "whole"),
    [
        ("Emma", "who wrote emma", True),
        ("Emma (novel)", "Who wrote the novel Emma's ending?", True),
        ("The Lord of the Rings", "director of the lord of the rings?", True),
        ("Jane Austen", "who wrote emma", False),
        ("emma", "Who wrote Emma?", False),
    ],
)
def test_a_name_is_a_run_of_words_as_typed_or_with_capitals(name: str, question: str, whole: bool) -> None:
    assert is_run(name, question) is whole


def test_a_misspelt_name_keeps_its_words_and_its_first_letters() -> None:
    rng = random.Random(5)
    for _ in range(200):
        written = surface.misspelt("William Shakespeare", rng)
        assert [word[0] for word in written.split(" ")] == ["W", "S"]
    assert surface.misspelt("Ran", rng) == "Ran"


def test_the_extreme_of_values_that_cannot_be_ordered_is_not_told() -> None:
    assert kinds_compare.extreme([Value("soon"), Value("1900")], "earlier") is None
    assert kinds_compare.extreme([Value("1900-02-01"), Value("1850")], "earlier") == [Value("1850")]
    assert order_of("6 July 1958") == (1958.0, 7.0, 6.0)


@pytest.mark.parametrize(
    ("text", "number"), [("6 million people", 6e6), ("half a million km2", 5e5), ("14,000 feet", 14000), ("soon", None)]
)
def test_limits_are_read_as_people_write_them(text: str, number: float | None) -> None:
    assert kinds_members.limit_number(text) == number
