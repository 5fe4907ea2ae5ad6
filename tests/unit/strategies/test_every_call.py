"""Every model call of a strategy, one after another: cancelled in it, failing in it, and the calls used up before it."""

from __future__ import annotations

from typing import Any

import pytest
from support.fake_graph_tools import FakeGraphWithFacts
from support.fake_parts import cancelling
from support.small_graph import FakeGraphTools
from support.strategy_scripts import SCRIPTS, notes

from atomr_local.errors import Cancelled, ModelError, QueryError
from atomr_local.models.protocol import Prompt
from atomr_local.reasoning.asking.asking import CALLS_TO_CONCLUDE
from atomr_local.sources.protocol import QueryRows
from atomr_local.strategies.registry import STRATEGIES
from atomr_local.strategies.shared.closing import CALLS_USED
from atomr_local.system.cancellation import Cancellation

EVERY = [(name, call) for name, script in SCRIPTS.items() for call in range(len(script.replies))]

# There the calls end within a step, which tells it itself.
WITHIN = {
    "dsp": (3,), "dsp, closed tasks": (2,), "react, closed tasks": (1, 4), "searchain, closed tasks": (1, 4),
    "searchain, closed tasks without asking on": (1, 3), "searchain, samples instead of log-probabilities": (2, 3),
    "cok, closed tasks": (2, 3, 9, 10), "detllm, samples": (3,), "detllm, closed tasks": (3,),
}  # fmt: skip
FAILING_AT_ONCE = {"atomr", "rag", "closed-book", "cot", "self-ask", "probtree", "roht"}
# Another call, or what was found before, gives the answer where the last one fails.
STANDING_IN = {
    "self-ask", "self-ask, closed tasks", "probtree", "react, the action asked for again", "react, to the vote",
    "react, closed tasks", "searchain, samples instead of log-probabilities", "roht, parts combined",
    "roht, the question read as well", "humaniq, closed tasks",
}  # fmt: skip


def test_every_strategy_has_a_script() -> None:
    assert {script.strategy for script in SCRIPTS.values()} == set(STRATEGIES)


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_is_the_whole_question(name: str) -> None:
    script = SCRIPTS[name]
    backbone = script.backbone(*script.replies)
    result = script.run(script.context(backbone))
    assert not backbone.replies, "the model was asked less often than expected"
    assert result.values


@pytest.mark.parametrize(("name", "call"), EVERY)
def test_cancelled_in_every_call(name: str, call: int) -> None:
    cancellation, script = Cancellation(), SCRIPTS[name]
    backbone = script.backbone(*script.replies[:call], cancelling(cancellation))
    tools = script.context(backbone, cancellation=cancellation)
    with pytest.raises(Cancelled):
        script.run(tools)
    root = tools.recorder.trace.node(0) if tools.recorder.trace.nodes else None
    assert root is None or (root.answers == [] and root.outcome is None), "nothing is told of a cancelled question"


@pytest.mark.parametrize(("name", "calls"), [(name, call) for name, call in EVERY if call])
def test_wherever_the_calls_end_the_question_is_concluded_and_it_is_said(name: str, calls: int) -> None:
    """What was found until then stands, with few calls more; nothing fails."""
    script = SCRIPTS[name]
    backbone = script.backbone(*script.replies[:calls], *[_concluding] * CALLS_TO_CONCLUDE)
    tools = script.context(backbone, limits={"calls": calls})
    result = script.run(tools)
    trace = tools.recorder.trace
    assert result.values or (name, calls) == ("cok, closed tasks", 7), "no chain has come to an answer there"
    if calls < len(script.replies) - script.concluding:  # else it ends by itself
        within = script.strategy == "atomr" or calls in WITHIN.get(name, ())
        told = "model calls" in notes(trace) if within else CALLS_USED in trace.node(0).dropped
        assert told, notes(trace)
    assert set(trace.node(0).cited) <= {item.id for item in trace.evidence}


@pytest.mark.parametrize(("name", "call"), EVERY)
def test_a_model_that_fails_in_a_call_leaves_the_others(name: str, call: int) -> None:
    """It is told where it failed, and what was found stands; the question fails only where nothing can stand in."""
    script = SCRIPTS[name]
    backbone = script.backbone(*script.replies[:call], ModelError("broken"), *[_concluding] * 40)
    tools = script.context(backbone, limits={"calls": 30})
    concludes = call >= len(script.replies) - (1 if script.strategy == "humaniq" else script.concluding)
    if (call == 0 and script.strategy in FAILING_AT_ONCE) or (concludes and name not in STANDING_IN):
        with pytest.raises(ModelError, match="broken"):
            script.run(tools)
        return
    result = script.run(tools)
    trace = tools.recorder.trace
    assert "broken" in notes(trace)
    assert result.values or name == "react, to the vote", "a vote that breaks off decides nothing"
    assert set(trace.node(0).cited) <= {item.id for item in trace.evidence}


def _concluding(prompt: Prompt) -> str:
    """An answer in the form that is asked for."""
    lean = prompt.static and len(prompt.static[0].content.split()) < 3
    return "Eve Lee" if lean else '{"reasons": "so", "answer": "Eve Lee", "answers": ["Eve Lee"], "evidence": []}'


QUERYING = [
    name for name, script in SCRIPTS.items() if any(text.startswith("Query: select") for text in script.replies)
]


@pytest.mark.parametrize("name", QUERYING)
def test_cancelled_while_a_query_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cancellation, script = Cancellation(), SCRIPTS[name]

    def query(_self: Any, sparql: str, given: Cancellation, **_: Any) -> QueryRows:
        cancellation.cancel()
        given.check()
        raise AssertionError

    monkeypatch.setattr(FakeGraphWithFacts, "query", query)
    monkeypatch.setattr(FakeGraphTools, "query", query)
    with pytest.raises(Cancelled):
        script.run(script.context(script.backbone(*script.replies), cancellation=cancellation))


@pytest.mark.parametrize("name", QUERYING)
def test_a_query_that_is_stopped_leaves_the_rest(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process was killed: told where it was asked, and the question goes on."""
    script = SCRIPTS[name]

    def query(_self: Any, _sparql: str, _given: Cancellation, **_: Any) -> QueryRows:
        raise QueryError("the query took longer than 5 seconds")

    monkeypatch.setattr(FakeGraphWithFacts, "query", query)
    monkeypatch.setattr(FakeGraphTools, "query", query)
    replies = [
        said
        for text in script.replies
        for said in ((text, "Query: none") if text.startswith("Query: select") else (text,))
    ]
    tools = script.context(script.backbone(*replies))
    script.run(tools)
    said = [note for node in tools.recorder.trace.nodes for note in (*node.dropped, node.observation)]
    assert any("longer than 5 seconds" in note for note in said)
