"""What holds for every strategy that searches with its own words."""

from __future__ import annotations

from typing import Any

import pytest
from support.fake_parts import FakeBackbone, FakeSource, toolbox

from atomr_local.cancellation import Cancellation
from atomr_local.errors import Cancelled
from atomr_local.sources.protocol import Request, Retrieval
from atomr_local.strategies.registry import find_strategy
from atomr_local.tree.compact import parse_compact

QUESTION = "Who is the mother of the director of Emma Road?"
PLAN = '1. Who directed Emma Road? = Relate("Emma Road", "director")'
# Each up to its first search.
REPLIES = {
    "atomr": (),
    "rag": (),
    "self-ask": ("Needed: yes\nFollow-up: Who directed Emma Road?",),
    "ircot": (),
    "probtree": (),
    "roht": (),
    "dsp": (),
    "cok": ("First: Ann Lee made it.\nSecond: Ann Lee was born in York.\nAnswer: York", *[""] * 4),
    "searchain": ("Query 1: Who directed Emma Road?\nAnswer 1: Ann Lee\nNext 1: the end\nFinal: Ann Lee",),
    "detllm": (),
}
OPTIONS: dict[str, dict[str, Any]] = {"dsp": {"demonstrations": 0}}


class Cancelling(FakeSource):
    """Cancels the question while it is asked."""

    def __init__(self, cancellation: Cancellation) -> None:
        super().__init__("text")
        self.cancellation = cancellation

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        found = super().retrieve(request, cancellation)
        self.cancellation.cancel()
        cancellation.check()
        return found


@pytest.mark.parametrize("name", REPLIES)
def test_cancelled_while_a_source_is_asked(name: str) -> None:
    cancellation, strategy = Cancellation(), find_strategy(name)
    backbone, source = FakeBackbone(*REPLIES[name]), Cancelling(cancellation)
    options = strategy.options(**OPTIONS.get(name, {}))
    tools = toolbox(QUESTION, backbone, source, cancellation=cancellation, options=options, llm={"parallel": 1})
    plan = parse_compact(PLAN, QUESTION) if strategy.takes_plans else None
    with pytest.raises(Cancelled):
        strategy.run(QUESTION, plan, "file" if plan else "model", tools)
    assert len(source.requests) == 1 and not backbone.replies
    root = tools.recorder.trace.node(0)
    assert root.answers == [] and root.outcome is None, "nothing is told of a question that was cancelled"


@pytest.mark.parametrize("name", REPLIES)
def test_what_is_made_up_about_a_question_without_evidence_cites_nothing(name: str) -> None:
    """The model answers anything at every call; no source finds anything."""
    strategy = find_strategy(name)
    backbone = FakeBackbone(*REPLIES[name], *[_anything] * 40)
    tools = toolbox(
        QUESTION,
        backbone,
        FakeSource("text"),
        options=strategy.options(**OPTIONS.get(name, {})),
        llm={"parallel": 1},
        limits={"calls": 12},
    )
    plan = parse_compact(PLAN, QUESTION) if strategy.takes_plans else None
    result = strategy.run(QUESTION, plan, "file" if plan else "model", tools)
    trace = tools.recorder.trace
    assert trace.evidence == [] and result.cited == [] and trace.totals.llm_calls <= 12 + 8
    assert not result.values or trace.node(0).outcome == "memory"


def _anything(_prompt: Any) -> str:
    return (
        "Next: the answer\nNeeded: no\nReasons: so [1].\nQuery: x\nSummary: y\nFact: Eve Lee made it.\nAnswer: Eve Lee"
    )
