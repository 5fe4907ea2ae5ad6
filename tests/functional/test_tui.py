"""The flows of the first terminal UI, driven by keys, with a fake assistant."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.tui.fake_assistant import QUESTION, FakeAssistant, finished, script
from support.tui.screens import SIZES, answered, ask, asking, done, opened, screen_text, until
from textual import events

from atomr_local.assistant.history.store import History
from atomr_local.errors import InputError, ModelError
from atomr_local.reasoning.trace.events import AnswerReady, Event
from atomr_local.settings.schema import load_settings
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.background import ErrorScreen
from atomr_local.tui.question.state import NodeState
from atomr_local.tui.widgets.question_box import QuestionBox
from atomr_local.tui.widgets.reasoning_view import ReasoningTree
from atomr_local.tui.widgets.welcome import Examples


@pytest.mark.parametrize("size", SIZES)
async def test_ask_shows_tree_answer_and_citation(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, pilot):
        assert app.focused is app.query_one(QuestionBox)
        await ask(pilot)
        await until(pilot, lambda: done(app))
        text = screen_text(app)
        assert "The answer is Vienna. [e2]" in text
        assert "Search" in text
        assert "Relate" in text
        assert app.assistant.questions == [QUESTION]
        await app.workers.wait_for_complete()
    with History.open() as history:
        assert len(history.entries()) == 1


async def test_nodes_pass_through_their_states() -> None:
    fake = FakeAssistant(hold=6)
    async with opened(fake, size=(160, 48)) as (app, pilot):
        await ask(pilot)
        await until(
            pilot,
            lambda: 3 in app.ask_screen.state.nodes and app.ask_screen.state.nodes[3].state is NodeState.RETRIEVING,
        )
        assert app.ask_screen.state.nodes[2].state is NodeState.WAITING
        assert "◌ Search What is Metropolis?" in screen_text(app)
        fake.released.set()
        await until(pilot, lambda: done(app))
        assert {view.state for view in app.ask_screen.state.nodes.values()} == {NodeState.DONE}


async def test_selecting_a_node_shows_its_evidence() -> None:
    async with answered(size=(160, 48)) as (app, pilot):
        app.query_one(ReasoningTree).focus()
        await pilot.press("down", "down")
        await until(pilot, lambda: app.ask_screen.view.selected == 3)
        text = screen_text(app)
        assert "Metropolis is a film directed by Fritz Lang." in text
        assert "✓ the cited passage" in text
        await pilot.press("down", "down")
        await until(pilot, lambda: app.ask_screen.view.selected == 2)
        text = screen_text(app)
        assert "▸ asked the graph for: place of birth of Fritz Lang" in text
        assert "Where was Fritz Lang born?" in text


@pytest.mark.slow
async def test_a_step_chosen_in_the_same_frame_as_the_cursor_moves_stays_chosen() -> None:
    async with answered(size=(160, 48)) as (app, pilot):
        screen, tree = app.ask_screen, app.query_one(ReasoningTree)
        tree.go_to(3)
        screen.view.select(2)  # the move to 3 is told to the screen only now
        await pilot.pause(0.1)
        assert screen.view.selected == 2
        assert tree.cursor_node is not None
        assert tree.cursor_node.data == 2
        tree.action_cursor_up()
        tree.action_cursor_down()  # back where it was: what lay between is not shown
        await pilot.pause(0.1)
        assert screen.view.selected == 2
        tree.action_cursor_up()
        await until(pilot, lambda: screen.view.selected == 4)


async def test_escape_cancels_and_keeps_what_was_found() -> None:
    async with opened(FakeAssistant(hold=9), size=(120, 40)) as (app, pilot):
        await ask(pilot)
        await until(
            pilot, lambda: 3 in app.ask_screen.state.nodes and app.ask_screen.state.nodes[3].state is NodeState.DONE
        )
        await pilot.press("escape")
        await until(pilot, lambda: done(app))
        assert "Cancelled." in screen_text(app)
        assert app.ask_screen.state.nodes[3].step.answer == "Metropolis"
        assert app.ask_screen.view.selected == 0
        assert "not finished: the question ended before" in screen_text(app)  # of the step that is looked at


@pytest.mark.slow
async def test_second_question_replaces_the_first_and_history_recalls_it() -> None:
    async with answered(size=(120, 40)) as (app, pilot):
        await ask(pilot, "Another question?")
        await until(pilot, lambda: len(app.assistant.questions) == 2 and done(app))
        await pilot.press("ctrl+l", "up", "up")
        assert app.query_one(QuestionBox).value == QUESTION


async def test_web_switch_by_key_and_click() -> None:
    fake = FakeAssistant()
    async with opened(fake, size=(120, 40)) as (app, pilot):
        await until(pilot, lambda: "[ ] Web" in screen_text(app))
        await pilot.press("f2")
        await until(pilot, lambda: "WEB ON" in screen_text(app))
        assert fake.web_enabled
        assert load_settings().web.enabled  # remembered
        await pilot.click("#web")
        await until(pilot, lambda: not fake.web_enabled)
        assert not load_settings().web.enabled


async def test_quitting_while_a_question_runs_stops_it_and_keeps_it() -> None:
    fake = FakeAssistant(hold=4)
    async with asking(fake, size=(120, 40)) as (_, pilot):
        await pilot.press("ctrl+q")
    assert fake.cancelled.is_set()
    await asyncio.get_running_loop().shutdown_default_executor()  # as the end of the program does
    with History.open() as history:
        assert [entry.question for entry in history.entries()] == [QUESTION]


class Late(FakeAssistant):
    """Hears of a question only when the gate opens, as on a busy machine."""

    def __init__(self) -> None:
        super().__init__(hold=4)
        self.gate = threading.Event()

    def ask(self, question: str, **extras: Any) -> Iterator[Event]:
        assert self.gate.wait(120)
        return super().ask(question, **extras)


@pytest.mark.slow
async def test_a_question_is_stopped_that_the_assistant_has_not_heard_of_yet() -> None:
    fake = Late()
    async with opened(fake, size=(120, 40)) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: app.ask_screen.state.running)
        await pilot.press("escape")
        fake.gate.set()
        await until(pilot, lambda: done(app))
        assert app.ask_screen.state.answer is not None
        assert app.ask_screen.state.answer.status == "cancelled"
        fake.released.set()
        await ask(pilot)  # the next one is not
        await until(pilot, lambda: len(fake.questions) == 2 and done(app))
        assert app.ask_screen.state.answer.status == "answered"


async def test_quitting_stops_a_question_that_the_assistant_has_not_heard_of_yet() -> None:
    fake = Late()
    async with opened(fake, size=(120, 40)) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: app.ask_screen.state.running)
        await pilot.press("ctrl+q")
    fake.gate.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert fake.cancelled.is_set()


@pytest.mark.slow
@pytest.mark.parametrize("asked_before", [True, False])
async def test_a_question_that_is_refused_loses_nothing(asked_before: bool) -> None:
    class Strict(FakeAssistant):
        def ask(self, question: str, **extras: Any) -> Iterator[Event]:
            if len(question) > 2000:
                raise InputError(f"the question has {len(question)} characters, more than 2000", hint="Shorten it.")
            return super().ask(question, **extras)

    app = AtomrApp(Strict())
    long = "Who wrote it, and where? " * 300 + "End"
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.ask_screen
        await until(pilot, lambda: app._opened is not None)
        if asked_before:
            await ask(pilot)
            await until(pilot, lambda: done(app))
            screen.view.select(2)
        before = screen.state
        screen.action_focus_question()
        app.post_message(events.Paste(long))
        await until(pilot, lambda: app.query_one(QuestionBox).value == long)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ErrorScreen))
        assert "7503 characters" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert app.query_one(QuestionBox).value == long
        assert app.focused is app.query_one(QuestionBox)
        assert screen.state is before
        assert not screen.state.running
        shown = screen_text(app)
        if asked_before:
            assert screen.view.selected == 2
            assert "The answer is Vienna" in shown
            assert "Fritz Lang ← Who directed" in shown
        else:
            assert "Try one of these" in shown
        await pilot.press("up", "home", "x")  # the box can be edited at once
        assert len(app.query_one(QuestionBox).value) == len(long) + 1
        await ask(pilot)
        await until(pilot, lambda: done(app))


async def test_model_that_does_not_load_is_a_readable_panel() -> None:
    failure = ModelError("model.gguf is cut short", hint="Download it again.")
    async with opened(FakeAssistant(failure=failure), size=(100, 30)) as (app, pilot):
        await until(pilot, lambda: len(app.screen_stack) == 2)
        text = screen_text(app)
        assert "Model not usable" in text
        assert "model.gguf is cut short" in text
        assert "Download it again." in text
        await pilot.press("escape")
        assert len(app.screen_stack) == 1


async def test_unknown_and_model_knowledge_are_told() -> None:
    events: list[Event] = script()[:3]
    events += [
        finished(0, "Vienna", method="closed_book", supported=None),
        AnswerReady(
            status="answered",
            answer="From the model's own knowledge, not from evidence: Vienna.",
            answers=("Vienna",),
            confidence=0.2,
            basis="model",
        ),
    ]
    async with answered(FakeAssistant(events), size=(120, 40)) as (app, _):
        assert "no evidence supports it" in screen_text(app)


async def test_help_lists_the_bindings_and_the_ids_that_the_settings_take() -> None:
    async with opened(size=(100, 40)) as (app, pilot):
        await pilot.press("f1")
        await pilot.pause()
        text = screen_text(app)
        assert "Turn web search on or off" in text
        assert "Stop the running question" in text
        assert "web.toggle" in text


@pytest.mark.slow
async def test_example_is_asked_when_picked() -> None:
    async with opened(size=(120, 40)) as (app, pilot):
        examples = app.query_one(Examples)
        assert examples.questions, "the starter ships with example questions"
        examples.focus()
        await pilot.press("down", "enter")
        await until(pilot, lambda: bool(app.assistant.questions))
        assert app.assistant.questions[0] in examples.questions
