"""A statement that evidence has corrected: its line shows it with the old one struck through, its pane tells both."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.tui.fake_assistant import FakeAssistant
from support.tui.hostile import assert_harmless, hostile
from support.tui.screens import SIZES, answered, screen_text, until

from atomr_local.assistant.history.export import to_markdown, unkept
from atomr_local.assistant.history.trace_import import parse_trace
from atomr_local.cli.asking import answer_text
from atomr_local.cli.plain import tree_lines
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.steps import Steps
from atomr_local.reasoning.trace.events import AnswerReady, Event, NodeFinished
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.reasoning.trace.telling import corrected_text
from atomr_local.sources.protocol import Value
from atomr_local.system.cancellation import Cancellation
from atomr_local.tui.question.correction import replay
from atomr_local.tui.widgets.reasoning_view import label_of

QUESTION = "Where was the director of Metropolis born?"
WRONG, RIGHT = "Metropolis was directed by Bob.", "Metropolis was directed by Fritz Lang."
BIRTH = "Fritz Lang was born in Vienna."


def told(wrong: str = WRONG, right: str = RIGHT) -> tuple[list[Event], Trace]:
    events: list[Event] = []
    recorder = Recorder(QUESTION, "cok", {}, events.append)
    steps = Steps(recorder, Cancellation())
    steps.begin(QUESTION)
    with steps.open(wrong, label="rationale 1") as first:
        first.result = Result(thought=right, corrected_from=wrong)
    with steps.open(BIRTH, label="rationale 2") as second:
        second.result = Result(thought=BIRTH, dropped=["it stands"])
    with steps.open("Vienna is a city.", label="rationale 3") as third:
        third.result = Result(thought="Vienna is a city.", dropped=["nothing was found"])
    with steps.root(QUESTION) as root:
        root.result = Result((Value("Vienna"),), "child", 0.9)
    recorder.emit(AnswerReady(status="answered", answer="The answer is Vienna.", answers=("Vienna",), confidence=0.9))
    events[:] = [replace(event, seconds=0.5) if isinstance(event, NodeFinished) else event for event in events]
    return events, recorder.finish()


@pytest.mark.parametrize("size", SIZES)
async def test_the_line_says_corrected_and_strikes_what_was_written(size: tuple[int, int]) -> None:
    events, trace = told()
    async with answered(FakeAssistant(events, trace=trace), size=size) as (app, pilot):
        text = screen_text(app)
        assert "1 ● rationale 1 Metropolis was directed" in text and "↻ corrected Metrop" in text
        assert f"2 ● rationale 2 {BIRTH}" in text and "3 ● rationale 3 Vienna is a city." in text
        assert "not found" not in text
        state = app.ask_screen.state
        label = label_of(state.nodes[1], 160)
        assert label.plain.startswith(f"1 ● rationale 1 {RIGHT} ↻ corrected {WRONG}")
        struck = [label.plain[span.start : span.end] for span in label.spans if "strike" in str(span.style)]
        assert struck == [WRONG]
        assert not any("strike" in str(span.style) for span in label_of(state.nodes[2], 160).spans)
        # A narrow line shows some of both.
        for width in (10, 20, 30, 44, 60, 78):
            label = label_of(state.nodes[1], width)
            assert label.cell_len <= width
            assert width < 60 or "↻ corrected Metr" in label.plain
        app.ask_screen.view.select(1)
        await until(pilot, lambda: f"corrected: {RIGHT}" in screen_text(app))
        assert f"first written: {WRONG}" in screen_text(app) and "thought:" not in screen_text(app)
        app.ask_screen.view.select(2)
        await until(pilot, lambda: f"thought: {BIRTH}" in screen_text(app))
        assert "first written" not in screen_text(app)


async def test_hostile_statements_are_text() -> None:
    events, trace = told(hostile("zoldz"), hostile("znewz"))
    async with answered(FakeAssistant(events, trace=trace), size=(160, 48)) as (app, pilot):
        app.ask_screen.view.select(1)
        await until(pilot, lambda: "znewz[b]" in screen_text(app))
        assert_harmless(app, "znewz")


def test_command_line_plain_mode_and_export_say_so() -> None:
    _, trace = told()
    said = f"rationale 1: {WRONG} (corrected: {RIGHT})"
    assert said in answer_text(trace) and f"Step 1: {said}" in tree_lines(trace)
    assert f"rationale 2: {BIRTH}\n" in answer_text(trace)
    assert f"- (1) rationale 1: ~~{WRONG}~~ corrected: {RIGHT}\n" in to_markdown([unkept(trace)])
    [reopened] = [replay(parse_trace(trace.to_dict()))]
    assert reopened.nodes[1].is_stage and corrected_text(trace.node(1)) == RIGHT
