"""What the model writes of the answer: one text at a time, not those of several calls in a row."""

from __future__ import annotations

from support.tui.fake_assistant import script

from atomr_local.models.protocol import Generation
from atomr_local.reasoning.trace.events import ModelCalled, TextGenerated
from atomr_local.tui.question.state import QuestionState


def test_the_text_of_a_call_takes_the_place_of_that_of_the_call_before() -> None:
    state = QuestionState()
    for event in script()[:3]:
        state.apply(event)
    state.apply(TextGenerated(node_id=0, text="Unk"))
    state.apply(TextGenerated(node_id=0, text="nown"))
    assert state.draft == "Unknown"
    state.apply(called(0))
    state.apply(TextGenerated(node_id=0, text="text, "))
    state.apply(called(3))  # another step's, meanwhile
    state.apply(TextGenerated(node_id=0, text="graph"))
    assert state.draft == "text, graph"


def called(node_id: int) -> ModelCalled:
    completion = Generation("x", (), "stop", 1, 1, 0.1)
    return ModelCalled(node_id=node_id, purpose="answer", prompt="", completion=completion)
