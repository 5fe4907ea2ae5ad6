"""What makes two plans alike, and what does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from atomr_lab.evaluation.datasets import DatasetRecord, GoldFact, Question, question_of
from atomr_lab.evaluation.report import Structure, gold_structure, judge_plan, plan_structure
from support.places import SHARED

from atomr_local.tree.compact import parse_compact

NESTED = """1. Who directed Jaws?
 3. What is Jaws? = Search("Jaws", "film")
 4. Who directed [3]? = Relate([3], "director")
2. Where was [1] born? = Relate([1], "place of birth")"""
FLAT = """1. What is Alien? = Search("Alien")
2. Who made [1]? = Relate([1], "maker")
3. When did [2] die? = Relate([2], "died")"""
COMPARED = """1. When was Ann born?
 4. Who is Ann? = Search("Ann")
 5. When was [4] born? = Relate([4], "born")
2. When was Bob born?
 6. Who is Bob? = Search("Bob")
 7. When was [6] born? = Relate([6], "born")
3. Given [1] and [2], who is older?"""
SEARCH = Structure.of("search")
CHAIN = Structure.of("relate", [Structure.of("relate", [SEARCH])])


def structure(plan: str) -> Structure:
    return plan_structure(parse_compact(plan, "Q?"))


def test_names_relations_and_the_way_of_writing_do_not_count() -> None:
    assert structure(NESTED) == structure(FLAT) == CHAIN
    assert dict(CHAIN.operators) == {"search": 1, "relate": 2}


def test_independent_steps_may_come_in_any_order_and_be_drawn_together_by_the_parent() -> None:
    one = Structure.of("relate", [SEARCH])
    assert structure(COMPARED) == Structure.combine([one, one])
    assert structure(COMPARED.rsplit("\n", 1)[0]) == structure(COMPARED)
    uneven = COMPARED.replace('[6], "born")', '[6], "born")\n 8. Where is [7]? = Relate([7], "place")')
    swapped = """1. Where is Bob from?
 4. Who is Bob? = Search("Bob")
 5. When? = Relate([4], "born")
 6. Where? = Relate([5], "place")
2. When was Ann born?
 7. Who is Ann? = Search("Ann")
 8. When? = Relate([7], "born")
3. Given [2] and [1], who?"""
    assert structure(uneven) == structure(swapped) != structure(COMPARED)


@pytest.mark.parametrize(
    "other",
    [
        FLAT.replace("= Relate([2]", "= Filter([2]"),  # another operator
        FLAT.replace("Relate([2]", "Relate([1]"),  # one that goes on from another step
        FLAT.rsplit("\n", 1)[0],  # a step left out
        f'{FLAT}\n4. And [3]? = Relate([3], "x")',  # a step too many
        f"{FLAT}\n4. How many are in [3]?",
        FLAT.replace('Search("Alien")', 'Relate("Alien", "x")'),
        "1. Why?",
    ],
)
def test_other_operators_or_other_joints_do(other: str) -> None:
    assert structure(other) != CHAIN


def test_equal_operators_joined_differently() -> None:
    fork = FLAT.replace("Relate([2]", "Relate([1]")
    verdict = judge_plan("Q?", {"origin": "model", "attempts": 1, "compact": fork}, CHAIN)
    assert (verdict.valid, verdict.structure_equal, verdict.operators_equal) == (True, False, False)
    crossed = '1. a? = Search("a")\n2. b? = Filter([1], "x")\n3. c? = Relate([2], "y")'
    straight = '1. a? = Search("a")\n2. b? = Relate([1], "x")\n3. c? = Filter([2], "y")'
    verdict = judge_plan("Q?", {"origin": "model", "attempts": 2, "compact": crossed}, structure(straight))
    assert (verdict.valid, verdict.at_once) == (True, False)
    assert (verdict.structure_equal, verdict.operators_equal) == (False, True)


@pytest.mark.parametrize(
    "plan",
    [
        {"origin": "fallback", "attempts": 2, "compact": FLAT},
        {"origin": "model", "attempts": 1, "compact": "1. cut off = Sea"},
        {"origin": "model", "attempts": 1, "compact": "1. Who is [2]?\n2. Who is [1]?"},
        {"origin": "model", "attempts": 1, "compact": ""},
    ],
)
def test_a_plan_that_is_not_valid_equals_none(plan: dict[str, Any]) -> None:
    verdict = judge_plan("Q?", plan, CHAIN)
    assert (verdict.valid, verdict.at_once, verdict.structure_equal, verdict.operators_equal) == (False,) * 4
    assert judge_plan("Q?", plan, None).structure_equal is None


def test_a_plan_that_shares_its_steps_many_times_over_is_judged_at_once() -> None:
    lines = ['1. a? = Search("a")', '2. b? = Relate([1], "x")']
    lines += [f"{i}. c? = Relate([{i - 1}], [{i - 2}])" for i in range(3, 40)]
    # Each step's term holds those of the two before it: the Searches in it are Fibonacci's 39th number.
    assert dict(structure("\n".join(lines)).operators)["search"] == 63_245_986


def test_gold_evidences_give_the_structure() -> None:
    chain = (GoldFact("Ann", "father", "Bob"), GoldFact("Bob", "father", "Cid"))
    assert gold_structure(Question("1", "Who is Ann's grandfather?", ("Cid",), evidences=chain)) == CHAIN
    facts = (GoldFact("Ann", "date of birth", "1901"), GoldFact("Bob", "date of birth", "1902"))
    assert gold_structure(Question("2", "Who is older, Ann or Bob?", ("Ann",), evidences=facts)) == structure(COMPARED)
    assert gold_structure(Question("3", "Who?", ("Ann",))) is None


def test_gold_evidences_and_plans_written_from_them_agree() -> None:
    file = SHARED / "qa" / "2wiki_train500_questions.jsonl"
    if not file.exists():
        pytest.skip(f"{file} is not here")
    from training.plans.gold import plan

    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        record = json.loads(line)
        question = question_of(DatasetRecord(file, number, record))
        assert structure(plan(record)) == gold_structure(question), question.question
