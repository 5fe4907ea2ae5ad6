"""A corrected answer on the starter's real parts: the steps that a change does not touch are not run again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atomr_local import Assistant
from atomr_local.assistant.history.trace_import import parse_trace
from atomr_local.errors import MissingPartError
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.trace.events import AnswerReady, Event, NodeFinished, NodeStarted, RetrievalStarted
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import LlmUse, Trace
from atomr_local.tree.compact import parse_compact

QUESTION = "In which country was the composer of Swan Lake born?"
PLAN = """1. Who composed Swan Lake?
 4. What is Swan Lake? = Search("Swan Lake", "ballet")
 5. Who composed [4]? = Relate([4], "composer")
2. Where was [1] born? = Relate([1], "place of birth")
3. In which country is [2]? = Relate([2], "country")
"""


@pytest.fixture(scope="module")
def assistant(starter_home: Path) -> Iterator[Assistant]:
    """With the home that other tests of the starter share, so that its indexes are built once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(starter_home))
        with Assistant.open() as assistant:
            try:
                assistant.preload()
            except MissingPartError as error:
                pytest.skip(f"the starter is not installed: {error.message}")
            yield assistant


class Asked:
    def __init__(self, assistant: Assistant, plan: str = PLAN, **options: Any) -> None:
        events = list(assistant.ask(QUESTION, plan=parse_compact(plan, QUESTION), **options))
        assert assistant.last_trace is not None
        self.trace: Trace = assistant.last_trace
        told = [event for event in events if isinstance(event, NodeFinished)]
        self.kept = {event.node_id for event in told if event.kept}
        self.ran = {event.node_id for event in told if not event.kept}
        self.retrieved = {event.node_id for event in events if isinstance(event, RetrievalStarted)}


def test_one_step_changed_and_only_what_rests_on_it_runs(assistant: Assistant) -> None:
    base = Asked(assistant)
    assert base.trace.answers == ["Russia"] and base.ran == {0, 1, 2, 3, 4, 5}
    changed = Asked(assistant, PLAN.replace('"place of birth"', '"place of death"'), revision=Revision(base.trace))
    assert (changed.kept, changed.ran) == ({1, 4, 5}, {0, 2, 3})
    assert not changed.retrieved & changed.kept
    for number in changed.kept:
        before, after = base.trace.node(number), changed.trace.node(number)
        assert (after.answers, after.confidence, after.resolved_question) == (
            before.answers, before.confidence, before.resolved_question,
        )  # fmt: skip
        assert after.llm == LlmUse() and after.seconds == 0
        assert len(after.evidence) == len(before.evidence) > 0

    # Changed back by hand: what comes out is what came out first.
    back = Asked(assistant, revision=Revision(changed.trace))
    assert back.ran == {0, 2, 3} and back.trace.answers == base.trace.answers


def test_a_trace_out_of_a_file_is_corrected_with_the_entities_that_its_graph_rows_name(assistant: Assistant) -> None:
    base = Asked(assistant, sources=["graph"])
    shared = parse_trace(base.trace.to_dict())
    again = Asked(assistant, sources=["graph"], revision=Revision(shared, rerun=frozenset({2})))
    assert (again.kept, again.ran) == ({1, 4, 5}, {0, 2, 3})
    assert again.trace.node(2).answers == base.trace.node(2).answers
    assert again.trace.node(2).confidence == base.trace.node(2).confidence  # linked without any doubt, as before


def test_an_answer_of_ones_own_is_followed(assistant: Assistant) -> None:
    base = Asked(assistant)
    own = Asked(assistant, revision=Revision(base.trace, answers={1: ("Georges Bizet",)}))
    assert own.kept == {4, 5} and own.trace.node(1).method is None
    assert own.trace.node(2).resolved_question == "Where was Georges Bizet born?"


def test_a_cancelled_question_keeps_what_it_had_found(assistant: Assistant, monkeypatch: pytest.MonkeyPatch) -> None:
    emit, cancelled = Recorder.emit, threading.Event()

    def held(self: Recorder, event: Event) -> None:
        emit(self, event)
        if isinstance(event, NodeStarted) and event.node_id == 2:
            assert cancelled.wait(120)  # the graph would have answered meanwhile

    monkeypatch.setattr(Recorder, "emit", held)
    events = assistant.ask(QUESTION, plan=parse_compact(PLAN, QUESTION))
    finished: set[int] = set()
    for event in events:
        if isinstance(event, NodeFinished):
            finished.add(event.node_id)
        if isinstance(event, NodeStarted) and event.node_id == 2:
            assistant.cancel()
            cancelled.set()
        if isinstance(event, AnswerReady):
            assert event.status == "cancelled"
    assert assistant.last_trace is not None and assistant.last_trace.status == "cancelled"
    rest = Asked(assistant, revision=Revision(assistant.last_trace))
    assert rest.kept == finished >= {1, 4, 5}
    assert rest.trace.answers == ["Russia"]
