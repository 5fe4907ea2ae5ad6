"""The questions as people type, which stand on passages that are not in the project: what can be checked without."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "scripts" / "training_questions"


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_questions", FOLDER / "check.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").open(encoding="utf-8")]


def test_plans_are_valid_and_name_only_words_of_the_question(check: ModuleType) -> None:
    items = lines("conversational")
    assert len(items) >= 400
    assert [p for item in items for p in check.plan_problems(item["plan"], item["question"])] == []


def test_the_check_finds_what_is_wrong(check: ModuleType) -> None:
    checker = check.Checker(
        {("2wiki", "ann lee"): "Ann Lee (born 1950) wrote Rain with Bob Ray."}, {"held page"}, {"who wrote rain"}
    )
    item = {
        "corpus": "2wiki",
        "title": "Ann Lee",
        "question": "who wrote rain with her",
        "answers": ["Bob Ray"],
        "understood": "Who wrote Rain with Ann Lee?",
        "expects": {"type": "person", "several": False},
    }
    assert list(checker.problems("lists", item)) == []
    assert list(checker.problems("lists", item)), "asked twice"
    for changed in (
        {"answers": ["Bob"]},
        {"answers": ["Carl"]},
        {"question": "Who wrote Rain?"},
        {"title": "Held Page"},
        {"title": "Nobody"},
        {"expects": {"type": "colour", "several": False}},
        {"answers": [], "near_miss": "1951"},
    ):
        other = item | {"question": f"{changed}"} | changed
        assert (changed == {"answers": ["Bob"]}) == (list(checker.problems("lists", other)) == []), changed


def test_a_plan_that_names_what_was_not_asked_is_a_fault(check: ModuleType) -> None:
    plan = '0. Who wrote Rain? = Answer(person)\n1. Who wrote Rain? = Relate("Rain (song)", "author")'
    assert list(check.plan_problems(plan, "who wrote rain")) == []
    assert list(check.plan_problems(plan, "who wrote snow"))


def test_every_turn_of_a_dialogue_can_be_understood_alone() -> None:
    items = lines("dialogues")
    assert len(items) >= 600
    for item in items:
        assert 2 <= len(item["turns"]) <= 5
        for turn in item["turns"]:
            assert turn["question"].strip() and turn["understood"].strip()
