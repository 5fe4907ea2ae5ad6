"""The tools for a question that is asked aside: those of the question itself, with a trace of their own, offline."""

from __future__ import annotations

from collections.abc import Sequence

from support.fake_parts import FakeBackbone, FakeSource, toolbox

from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import ROOT_ID


class Judge:
    def judge(self, question: str, passages: Sequence[str], answers: Sequence[str]) -> None:
        return None


def test_a_question_aside_is_read_as_the_question_itself() -> None:
    tools = toolbox(
        "Who?",
        FakeBackbone(),
        style="lean",
        verifies=True,
        knows_next=True,
        span_reader=Judge(),
        features={"verify": True, "follow_ups": True, "span_reader": True},
    )
    aside = tools.aside("Where?", ROOT_ID, Cancellation())
    own = tools.reader
    assert (own.verify, own.knows_next, aside.asking.lean) == (True, True, True)
    assert (aside.reader.verify, aside.reader.knows_next, aside.reader.span_reader) == (True, True, own.span_reader)
    assert own.span_reader is not None
    assert (aside.calibration, aside.ranking) == (tools.calibration, tools.ranking)


def test_a_question_aside_has_a_trace_of_its_own_and_no_web() -> None:
    tools = toolbox("Who?", FakeBackbone(), FakeSource("text"), FakeSource("web"))
    aside = tools.aside("Where?", ROOT_ID, Cancellation())
    assert aside.recorder is not tools.recorder
    assert (tools.retriever.names, aside.retriever.names) == (("text", "web"), ("text",))
