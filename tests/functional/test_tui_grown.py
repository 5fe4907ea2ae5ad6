"""A tree that grows while the question runs, and what each of its steps thought, did, saw and weighed."""

from __future__ import annotations

from typing import Any

import pytest
from support.fake_parts import FakeBackbone, FakeSource, Run, Said, passages
from support.grown_steps import GROWN_QUESTION, grown_events, grown_trace
from support.tui.fake_assistant import FakeAssistant
from support.tui.hostile import assert_harmless, hostile
from support.tui.screens import SIZES, answered, ask, done, opened, screen_text, until

from atomr_local.reasoning.trace.events import AnswerReady, NodeAdded
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.keys import NOT_IN_PLAN
from atomr_local.tui.widgets.reasoning_view import ReasoningTree


def added(number: int) -> int:
    """The place of the event that adds this step."""
    [place] = [
        place for place, event in enumerate(grown_events()) if isinstance(event, NodeAdded) and event.node_id == number
    ]
    return place


def assistant(**given: Any) -> FakeAssistant:
    return FakeAssistant(grown_events(**given), trace=grown_trace(**given))


def lines(app: AtomrApp) -> list[int | None]:
    tree = app.query_one(ReasoningTree)
    return [line.node.data for line in tree._tree_lines]


async def test_a_step_is_added_below_its_parent_and_cursor_and_focus_stay() -> None:
    fake = FakeAssistant(grown_events(), hold=added(3), trace=grown_trace())
    async with opened(fake) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: bool(app.query(ReasoningTree)) and 2 in app.ask_screen.state.nodes)
        await until(pilot, lambda: lines(app) == [0, 1, 2])
        tree = app.query_one(ReasoningTree)
        app.ask_screen.view.select(2)
        await until(pilot, lambda: tree.cursor_node is not None and tree.cursor_node.data == 2)
        fake.released.set()
        await until(pilot, lambda: done(app))
        assert lines(app) == [0, 1, 2, 3]
        assert tree.cursor_node is not None
        assert tree.cursor_node.data == app.ask_screen.view.selected == 2
        assert app.focused is tree


async def test_a_step_below_a_folded_one_leaves_it_folded() -> None:
    fake = FakeAssistant(grown_events(), hold=added(3), trace=grown_trace())
    async with opened(fake) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: bool(app.query(ReasoningTree)) and 2 in app.ask_screen.state.nodes)
        await until(pilot, lambda: lines(app) == [0, 1, 2])
        await pilot.press("space")
        await until(pilot, lambda: lines(app) == [0])
        fake.released.set()
        await until(pilot, lambda: done(app))
        assert lines(app) == [0]
        await pilot.press("space")
        await until(pilot, lambda: lines(app) == [0, 1, 2, 3])


@pytest.mark.parametrize("size", SIZES)
async def test_line_and_pane_tell_what_a_step_thought_did_saw_and_weighed(size: tuple[int, int]) -> None:
    async with answered(assistant(), size=size) as (app, pilot):
        text = screen_text(app)
        assert "1 ● round 1 search[Metropolis]  I need the director of Met" in text
        assert "2 ● follow-up Fritz Lang ← Who directed" in text
        assert "3 ● round 2 Vienna (text -0.21) ←" in text
        app.ask_screen.view.select(1)
        await until(pilot, lambda: "thought: I need the director of Metropolis first." in screen_text(app))
        text = screen_text(app)
        assert "Step 1 (round 1)" in text
        assert "action: search[Metropolis]" in text
        assert "▸ observation: Metropolis is a film directed by Fritz Lang." in text
        assert "not found" not in text
        app.ask_screen.action_focus_evidence()
        await pilot.press("home", "enter")
        await until(pilot, lambda: "▾ observation" in screen_text(app))
        app.ask_screen.view.select(3)
        app.ask_screen.action_focus_evidence()
        await pilot.press("home")
        await until(pilot, lambda: "answers weighed: 3" in screen_text(app))
        app.ask_screen.view.evidence.scroll_end(animate=False)
        await pilot.pause()
        found = [" ".join(line.strip("│┃ ").replace("│", " ").split()) for line in screen_text(app).splitlines()]
        wide = size[0] > 100  # the panes stand side by side
        for row in ("Vienna -0.21 from the text e2", "Unknown – from the steps below –", "rating: larger is better"):
            assert any(row in line if wide else line.startswith(row) for line in found), row


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        ("cot", "cot answers step by step and has no plan to edit."),
        ("tomorrow", "The strategy tomorrow is not installed here: its steps cannot run again."),
    ],
)
async def test_keys_that_need_a_plan_are_off_and_say_why(strategy: str, told: str) -> None:
    async with answered(assistant(strategy=strategy)) as (app, pilot):
        for key in ("e", "p", "r"):
            await pilot.press(key)
            await pilot.pause()
            assert len(app.screen_stack) == 1
            assert [note.message for note in app._notifications] == [told]


async def test_a_step_that_was_added_to_a_plan_is_not_edited_or_run_again() -> None:
    """The plan's own steps are; the added one says why it is not."""
    plan, asked = '1. Who made Metropolis? = Relate("Metropolis", "director")\n', "Who directed Metropolis?"
    film = passages(("Metropolis", "Metropolis is a film by Fritz Lang."))
    replies = (Said("Metropolis [1]", 0.01), asked, Said("Fritz Lang [1]", 0.99), "Done")
    source = FakeSource("text", {"Metropolis director": film, asked: film})
    made = Run(GROWN_QUESTION, plan, FakeBackbone(*replies), source, style="lean", knows_next=True)
    made.tools.recorder.emit(AnswerReady(status="answered", answer="Fritz Lang.", answers=("Fritz Lang",)))
    trace = made.tools.recorder.finish()
    assert [node.label for node in trace.nodes if node.kind == "step"] == ["follow-up"]
    async with answered(FakeAssistant(made.events, trace=trace)) as (app, pilot):
        app.ask_screen.view.select(2)
        app.ask_screen.action_focus_tree()
        for key in ("e", "r"):
            await pilot.press(key)
            await pilot.pause()
            assert len(app.screen_stack) == 1
            assert [note.message for note in app._notifications] == [NOT_IN_PLAN]
        app.ask_screen.view.select(1)
        await pilot.press("e")
        await until(pilot, lambda: len(app.screen_stack) == 2)


async def test_hostile_text_of_steps_is_text() -> None:
    async with answered(assistant(told=hostile("zgrownz")), size=(160, 48)) as (app, pilot):
        for number in (1, 3):
            app.ask_screen.view.select(number)
            app.ask_screen.action_focus_evidence()
            await pilot.press("home", "enter")
            await until(pilot, lambda: "zgrownz[b]" in screen_text(app))
            assert_harmless(app, "zgrownz")
