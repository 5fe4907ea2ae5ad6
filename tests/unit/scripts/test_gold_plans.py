"""The script that turns gold evidence into reasoning trees. The records here are made by hand."""

from __future__ import annotations

import json
import sys

import pytest
from training.plans import gold as gold_plans

from atomr_local.tree.compact import parse_compact
from atomr_local.tree.nodes import NodeKind
from atomr_local.tree.validation import Limits, validate


def record(kind: str, question: str, *facts: tuple[str, str, str]) -> dict[str, object]:
    return {
        "id": "r",
        "question": question,
        "answers": [facts[-1][2] if facts else ""],
        "type": kind,
        "evidences": facts,
    }


COMPOSITIONAL = record(
    "compositional",
    "When did the director of film The Tin Lantern (1931 Film) die?",
    ("The Tin Lantern", "director", "Ada Ferrer"),
    ("Ada Ferrer", "date of death", "4 May 1970"),
)
BRIDGE = record(
    "bridge_comparison",
    "Which film has the director who is older, Blue Gate or The Last Ferry?",
    ("The Last Ferry", "director", "Odo Grau"),
    ("Blue Gate", "director", "Ines Maro"),
    ("Odo Grau", "date of birth", "1 June 1901"),
    ("Ines Maro (director)", "date of birth", "9 May 1899"),
)


def test_a_chain_searches_once_and_relates_once_a_hop() -> None:
    assert gold_plans.plan(COMPOSITIONAL).splitlines() == [
        "1. Who is the director of The Tin Lantern?",
        ' 3. What is The Tin Lantern? = Search("The Tin Lantern", "1931 film")',
        ' 4. Who is the director of [3]? = Relate([3], "director")',
        '2. When did [1] die? = Relate([1], "date of death")',
    ]


def test_an_inference_is_expanded_into_its_hops() -> None:
    made = gold_plans.plan(
        record(
            "inference",
            "Who is Olin Brask's maternal grandfather?",
            ("Olin Brask", "mother", "Tove Brask"),
            ("Tove Brask", "father", "Nils Aho"),
        )
    )
    tree = parse_compact(made, "Who is Olin Brask's maternal grandfather?")
    assert [node.kind for node in tree.nodes()] == [
        NodeKind.ROOT, NodeKind.PARENT, NodeKind.RELATE, NodeKind.SEARCH, NodeKind.RELATE,
    ]  # fmt: skip
    assert 'Who is Olin Brask? = Search("Olin Brask")' in made


def test_a_bridge_comparison_keeps_the_order_of_the_question_and_ends_with_a_direct_node() -> None:
    made = gold_plans.plan(BRIDGE)
    tree = parse_compact(made, str(BRIDGE["question"]))
    assert tree.node(1).question == "When was the director of Blue Gate born?"
    assert tree.node(2).question == "When was the director of The Last Ferry born?"
    assert tree.node(3).kind is NodeKind.DIRECT
    assert tree.node(3).references == (1, 2)
    assert tree.node(3).question.endswith("which film has the director who is older, Blue Gate or The Last Ferry?")
    assert len(tree.node(1).children) == 3


@pytest.mark.parametrize("made", [COMPOSITIONAL, BRIDGE], ids=["compositional", "bridge"])
def test_entities_on_the_way_and_answers_never_enter_a_plan(made: dict[str, list[tuple[str, str, str]]]) -> None:
    compact = gold_plans.plan(made)
    assert not [tail for _, _, tail in made["evidences"] if tail in compact]


def test_a_comparison_of_two_facts() -> None:
    question = "Are Nordby (lake) and Sølvsø located in the same country?"
    made = gold_plans.plan(
        record("comparison", question, ("Sølvsø", "country", "A"), ("Nordby (lake)", "country", "B"))
    )
    assert "1. In which country is Nordby (lake)?" in made
    assert 'Search("Nordby (lake)", "lake")' in made
    assert made.endswith("3. Given answers of [1] and [2], are Nordby (lake) and Sølvsø located in the same country?")
    assert validate(parse_compact(made, question), Limits()) == []


def test_names_are_found_whatever_their_case_and_diacritics() -> None:
    assert gold_plans.find_name("Sølvsø på Land", "Where is SØLVSØ PA LAND?") == 9
    assert gold_plans.find_name("Blue Gate (film)", "Who made Blue Gate?") == 9
    assert gold_plans.find_name("Red Gate", "Who made Blue Gate?") == -1


@pytest.mark.parametrize(
    "bad",
    [
        record("compositional", "Who?"),
        record("comparison", "Who?", ("A", "country", "B")),
        record("bridge_comparison", "Who?", ("A", "director", "B"), ("C", "director", "D"), ("B", "country", "E")),
        record("riddle", "Who?", ("A", "country", "B"), ("C", "country", "D")),
    ],
)
def test_evidence_of_another_shape_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(gold_plans.NoPlan):
        gold_plans.plan(bad)


def test_the_command_writes_the_good_and_names_the_bad(tmp_path, monkeypatch, capsys) -> None:
    source, out = tmp_path / "questions.jsonl", tmp_path / "plans.jsonl"
    bad = record("riddle", "Who?", ("A", "country", "B")) | {"id": "bad-one"}
    source.write_text("\n".join(json.dumps(line) for line in (COMPOSITIONAL, bad, BRIDGE, BRIDGE)) + "\n")
    monkeypatch.setattr(sys, "argv", ["gold_plans.py", "--questions", str(source), "--out", str(out), "--limit", "2"])
    gold_plans.main()
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["compositional", "bridge_comparison"]
    assert lines[0]["plan"] == gold_plans.plan(COMPOSITIONAL)
    assert "bad-one" in capsys.readouterr().err
