"""The baselines: one node, one answer, and no plan of the user's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.fake_pages import FakePages
from support.fake_parts import UNKNOWN, FakeBackbone, FakeSource, passages, reply, toolbox

from atomr_local.errors import InputError, SettingsError, SourceError
from atomr_local.reasoning.trace.events import NodeFinished, PlanReady
from atomr_local.strategies.protocol import Strategy
from atomr_local.strategies.registry import STRATEGIES, check_plan, check_revision, find_strategy

QUESTION = "Who painted it?"


def test_rag_asks_every_source_once_and_reads_once() -> None:
    text = FakeSource("text", {QUESTION: passages(("Ann", "Ann painted it."))})
    graph = FakeSource("graph")
    backbone = FakeBackbone(reply("Ann", evidence=[1]))
    tools = toolbox(QUESTION, backbone, text, graph)
    result = find_strategy("rag").run(QUESTION, None, "model", tools)
    assert result.texts == ("Ann",)
    assert result.method == "direct_rag"
    node = tools.recorder.trace.node(0)
    assert (node.kind, node.cited, node.supported) == ("root", ["e1"], True)
    assert text.queries == graph.queries == [QUESTION]
    assert not backbone.replies


def test_rag_without_evidence_is_unknown_and_names_the_source_that_failed() -> None:
    tools = toolbox(QUESTION, FakeBackbone(), FakeSource("text", {QUESTION: SourceError("gone")}))
    result = find_strategy("rag").run(QUESTION, None, "model", tools)
    assert result.values == ()
    assert tools.recorder.trace.warnings == ["Source failed: gone"]
    assert any("gone" in note for note in tools.recorder.trace.node(0).dropped)


@pytest.mark.parametrize("name", ["closed-book", "cot"])
def test_from_memory_nothing_is_looked_up_or_cited(name: str) -> None:
    thoughts = ["Let me see: it was Ann."] if name == "cot" else []
    backbone = FakeBackbone(*thoughts, reply("Ann"))
    text = FakeSource("text", {QUESTION: passages(("Ann", "Ann painted it."))})
    tools = toolbox(QUESTION, backbone, text)
    result = find_strategy(name).run(QUESTION, None, "model", tools)
    assert (result.texts, result.method, result.cited) == (("Ann",), "closed_book", [])
    assert text.requests == []
    if thoughts:
        assert thoughts[0] in backbone.asked[1]


@pytest.mark.parametrize("written", ["Who painted Emma = Answer(person)", "0. How long? = Difference([2],"])
@pytest.mark.parametrize("name", ["closed-book", "cot"])
def test_the_notation_of_plans_is_no_answer_from_memory(name: str, written: str) -> None:
    thoughts = ["Let me see."] if name == "cot" else []
    backbone = FakeBackbone(*thoughts, reply(written))
    tools = toolbox(QUESTION, backbone)
    result = find_strategy(name).run(QUESTION, None, "model", tools)
    assert result.values == () and any("notation of plans" in note for note in result.dropped)


@pytest.mark.parametrize("name", ["rag", "closed-book", "cot"])
def test_unreadable_output_is_the_nodes_error(name: str) -> None:
    replies = ["thinking"] * (name == "cot") + ["not json"]
    text = FakeSource("text", {QUESTION: passages(("Ann", "Ann painted it."))})
    tools = toolbox(QUESTION, FakeBackbone(*replies), text)
    find_strategy(name).run(QUESTION, None, "model", tools)
    assert tools.recorder.trace.node(0).error is not None


@pytest.mark.parametrize("check", [check_plan, check_revision])
@pytest.mark.parametrize("name", ["rag", "closed-book", "cot"])
def test_a_plan_is_refused_where_none_is_executed_and_a_correction_where_none_can_be_made(
    name: str, check: Callable[[Strategy], None]
) -> None:
    with pytest.raises(InputError, match=name if check is check_plan else f"{name} cannot correct") as told:
        check(find_strategy(name))
    assert "atomr" in told.value.hint


def test_plan_and_correction_are_taken_by_atomr() -> None:
    check_plan(find_strategy("atomr"))
    check_revision(find_strategy("atomr"))


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_every_strategy_emits_a_plan_first_and_finishes_its_root(name: str) -> None:
    events = []
    replies = {
        "atomr": ["not a plan", "not a plan", UNKNOWN],
        "rag": [],
        "closed-book": [UNKNOWN],
        "cot": ["hm", UNKNOWN],
        "ircot": [""],
        "probtree": ["not a plan", "not a plan", "Reasons: It is not known.\nAnswer: Unknown"],
        "roht": ["not a plan", "not a plan", UNKNOWN],
        "self-ask": ["Needed: no\nAnswer: Unknown"],
        "react": ["Thought: hm\nAction: finish\nInput: Unknown", *["hm"] * 10],
        "dsp": ["", "", ""],
        "cok": [""] * 10,
        "humaniq": [""] * 60,
        "searchain": ["", UNKNOWN],
        "detllm": ["", "", ""],
    }
    sources = [FakePages({})] if "pages" in find_strategy(name).needs else []
    tools = toolbox(QUESTION, FakeBackbone(*replies[name]), *sources, sink=events.append)
    assert find_strategy(name).run(QUESTION, None, "model", tools).values == ()
    kinds = [type(event) for event in events if getattr(event, "node_id", 0) == 0]
    assert kinds.count(PlanReady) == kinds.count(NodeFinished) == 1
    assert kinds.index(PlanReady) < kinds.index(NodeFinished)
    assert find_strategy(name).summary


def test_an_unknown_name_is_told_with_those_that_exist() -> None:
    with pytest.raises(SettingsError, match="'magic'") as caught:
        find_strategy("magic")
    assert "atomr" in caught.value.hint


@pytest.mark.parametrize("name", ["rag", "closed-book"])
def test_of_an_unknown_there_is_no_confidence(name: str) -> None:
    text = FakeSource("text", {QUESTION: passages(("Ann", "Ann painted it."))})
    tools = toolbox(QUESTION, FakeBackbone(UNKNOWN, UNKNOWN), text)
    assert find_strategy(name).run(QUESTION, None, "model", tools).confidence is None
    assert tools.recorder.trace.node(0).confidence is None


def test_unknown_among_other_answers_is_none_of_them() -> None:
    tools = toolbox(QUESTION, FakeBackbone("hm", reply("Unknown", "Ann")))
    assert find_strategy("cot").run(QUESTION, None, "model", tools).texts == ("Ann",)
