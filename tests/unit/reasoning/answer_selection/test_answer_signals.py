"""Collects the signals of an answer over the steps that it rests on."""

from __future__ import annotations

import pytest
from support.fake_parts import entity, passage

from atomr_local.reasoning.answer_selection import UNKNOWN, raw_confidence, step_signals, tree_signals, whole_signals
from atomr_local.reasoning.results import Result, text_values
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.nodes import Node, Tree

QUESTION = "Who was born first, Ann or Bob?"
PLAN = (
    '1. When was Ann born? = Relate("Ann", "date of birth")\n'
    '2. When was Bob born? = Relate("Bob", "date of birth")\n'
    "3. Who of [1] and [2] was born first?\n"
)


def read(text: str, share: float, **more: float) -> Result:
    return Result(text_values([text]), "operator", signals={"reading": share, **more})


def test_what_is_computed_of_unsure_steps_is_as_unsure_as_they_are() -> None:
    tree = parse_compact(PLAN, QUESTION)
    one, two = read("1900", 0.9, null=0.1, verify=0.9), read("1950", 0.5, null=0.6, verify=0.4)
    computed = Result(text_values(["Ann"]), "symbolic", 0.9, computation="1900 < 1950", computed=True)
    root = Result(text_values(["Ann"]), "child", 0.9, computation="answer of [3]", computed=True)
    told = tree_signals(tree, QUESTION, root, {1: one, 2: two, 3: computed})
    expected = {
        "reading": 0.5,
        "null": 0.6,
        "verify": 0.4,
        "verified": 0.36,
        "leaves": 0.45,
        "computed": 1.0,
        "steps": 2,
    }
    assert {name: told[name] for name in expected} == pytest.approx(expected)
    assert told["support"] == 0.0  # the steps cite nothing
    assert (told["unfinished"], told["fallback"], told["named"]) == (0.0, 0.0, 0.0)


def test_steps_without_answer_and_by_direct_rag_are_told() -> None:
    tree = parse_compact(PLAN, QUESTION)
    fell_back = Result(text_values(["1950"]), "direct_rag", signals={"reading": 0.8})
    root = Result(text_values(["1950"]), "child", signals={"reading": 0.7})
    told = tree_signals(tree, QUESTION, root, {1: Result(), 2: fell_back})
    assert (told["unfinished"], told["fallback"]) == (0.5, 0.5)
    assert told["leaves"] == pytest.approx(UNKNOWN * 0.8 * 0.7)


def test_a_graphs_match_counts_where_nothing_was_read() -> None:
    passed = Result((entity("Rome"),), "operator", signals={"link": 0.9, "relation": 0.5, "type_fit": 1.0})
    assert raw_confidence(passed) == pytest.approx(0.45)
    assert step_signals(passed) == passed.signals
    both = read("Rome", 0.7, link=0.9, relation=0.1)
    assert raw_confidence(both) == 0.7
    assert step_signals(both) == {"reading": 0.7, "support": 0.0}


def test_support_is_whether_the_citations_hold_the_answer() -> None:
    evidence = [passage("Bob", "Bob was born in Rome.")]
    result = Result(
        text_values(["Rome"]), "direct_rag", None, evidence, cited=[evidence[0].id], signals={"reading": 0.9}
    )
    told = whole_signals("Where was Bob born?", result)
    assert told == {"reading": 0.9, "support": 1.0, "named": 0.0, "answers": 1.0, "leaves": 0.9}
    result.values = tuple(text_values(["Oslo"]))
    assert whole_signals("Where was Bob born?", result)["support"] == 0.0
    result.values = tuple(text_values(["Bob"]))
    assert whole_signals("Where was Bob born?", result)["named"] == 1.0
    result.method = "closed_book"
    assert whole_signals("Where was Bob born?", result)["memory"] == 1.0


def test_in_a_tree_of_questions_every_leaf_was_looked_up() -> None:
    tree = Tree(Node(0, QUESTION, children=(Node(1, "When was Ann born?"), Node(2, "When was Bob born?"))))
    one = Result(text_values(["1900"]), "aggregate", signals={"reading": 0.9})
    root = Result(text_values(["Ann"]), "aggregate", signals={"reading": 0.7})
    told = tree_signals(tree, QUESTION, root, {1: one, 2: Result()}, natural=True)
    assert (told["steps"], told["unfinished"], told["fallback"]) == (2.0, 0.5, 0.0)
    assert told["leaves"] == pytest.approx(UNKNOWN * 0.9 * 0.7)
