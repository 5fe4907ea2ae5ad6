"""Questions that are declined: the reason, what to do, and the guess one key away; outcomes told by mark and word."""

from __future__ import annotations

import pytest
from support.tui.fake_assistant import FakeAssistant, finished, script
from support.tui.screens import SIZES, answered, ask, done, opened, screen_text, until

from atomr_local.reasoning.trace.events import AnswerReady, Event, NodeJudged
from atomr_local.reasoning.trace.schema import Guess
from atomr_local.tui.widgets.answer_panel import AnswerPanel
from atomr_local.tui.widgets.node_panel import verdict
from atomr_local.tui.widgets.reasoning_view import MARKS, label_of

REASON = "Metropolis is in the graph; nothing there says who directed it."


def declined() -> list[Event]:
    return [
        *script()[:8],
        finished(4, "", outcome="not found", signals={"link": 1.0}),
        finished(1, "Fritz Lang", method="closed_book", outcome="memory"),
        finished(2, "7", method="symbolic", computation="3 + 4", outcome="computed"),
        finished(0, "Vienna", ("e1",), outcome="found", confidence=0.3),
        NodeJudged(node_id=4, outcome="not found", reason=REASON),
        NodeJudged(node_id=0, outcome="not found", reason=REASON),
        AnswerReady(
            status="unknown", answer="", answers=(), confidence=None, basis="evidence", reason=REASON,
            advice=("Allow web search: --web.",), guess=Guess(["Vienna"], 0.3),
        ),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
async def test_the_guess_is_one_key_away_and_never_shown_as_the_answer(size: tuple[int, int]) -> None:
    async with opened(FakeAssistant(declined()), size=size) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: done(app) and bool(app.query("MarkdownParagraph")))
        source = app.query_one(AnswerPanel)._source
        assert source.startswith("**? Not found.** Metropolis is in the graph; nothing there says who directed it")
        assert app.query_one(AnswerPanel).has_class("-not-found")
        assert "- Allow web search" in source
        assert "Vienna" not in source
        assert "g shows it" in source
        text = screen_text(app)
        assert "? not found" in text
        assert "Not found." in text
        assert app.ask_screen.state.citations == []
        await pilot.press("g")
        source = app.query_one(AnswerPanel)._source
        assert source.startswith("A guess"), "it would be below what is seen"
        assert "A guess, not an answer: *Vienna* [\\[e1\\]](evidence:e1)  ⚠ not sure (0.30)" in source
        assert app.ask_screen.state.citations == ["e1"]
        await pilot.press("g")
        assert "Vienna" not in app.query_one(AnswerPanel)._source


async def test_each_outcome_has_a_mark_and_a_word() -> None:
    async with answered(FakeAssistant(declined()), size=(200, 50)) as (app, _):
        text = screen_text(app)
        for told in (
            "● Search Metropolis",
            "? Relate not found",
            "◇ Fritz Lang (from memory)",
            "= Relate 7 (computed)",
            "? not found: ",
            "a guess, not an answer: Vienna",
        ):
            assert told in text
    assert {"found", "computed", "from the model's own knowledge", "not found"} <= {str(state) for state in MARKS}


async def test_a_step_is_not_told_as_sure_where_the_question_was_declined_with_its_answer() -> None:
    """The step found it, and is sure by itself; what was declined is not shown with the sign of a sure answer."""
    events = declined()
    events[9] = finished(1, "vienna", ("e1",), outcome="found", confidence=0.93)
    events[10] = finished(2, "Fritz Lang", ("e1",), outcome="found", confidence=0.91)
    async with answered(FakeAssistant(events), size=(200, 50)) as (app, _):
        lines = {number: label_of(view).plain for number, view in app.ask_screen.state.nodes.items()}
        assert "⚠ declined" in lines[1] and "✓" not in lines[1]
        assert "✓" in lines[2] and "declined" not in lines[2], "what is another answer stays as sure as it is"
        assert "vienna" in screen_text(app) and "⚠ declined" in screen_text(app)
        told = verdict(app.ask_screen.state.nodes[1]).plain
        assert told.startswith("⚠ declined as the answer to the question · by itself 0.93")


async def test_no_key_offers_a_guess_where_there_is_none() -> None:
    async with answered(size=(120, 40)) as (app, _):
        assert not app.ask_screen.check_action("guess", ())
        assert "Guess" not in screen_text(app)
