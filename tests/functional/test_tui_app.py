"""The program around the main screen: the palette, sources, settings, the history, what is remembered, starting."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.tui.fake_assistant import QUESTION, FakeAssistant, script
from support.tui.screens import answered, ask, done, opened, screen_text, until
from textual.binding import Binding

from atomr_local.assistant.history.store import History
from atomr_local.errors import SettingsError
from atomr_local.reasoning.trace.events import Event
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.screens.ask.screen import AskScreen
from atomr_local.tui.screens.ask.windows import RecallScreen
from atomr_local.tui.screens.history.screen import HistoryScreen
from atomr_local.tui.widgets.node_panel import NodePanel
from atomr_local.tui.widgets.question_box import QuestionBox

SIZE = (120, 40)


async def test_a_question_typed_before_the_assistant_is_there_is_asked_when_it_is() -> None:
    fake, gate = FakeAssistant(), threading.Event()

    def opener() -> FakeAssistant:
        assert gate.wait(20)
        return fake

    app = AtomrApp(opener)
    async with app.run_test(size=SIZE) as pilot:
        await ask(pilot)
        await pilot.pause()
        assert fake.questions == []
        gate.set()
        await until(pilot, lambda: fake.questions == [QUESTION] and done(app))


async def test_settings_that_cannot_be_read_are_a_readable_panel() -> None:
    gate = threading.Event()

    def opener() -> FakeAssistant:
        assert gate.wait(60)
        raise SettingsError("top_k: not a number", hint="Correct the file.")

    app = AtomrApp(opener)
    async with app.run_test(size=SIZE) as pilot:
        await ask(pilot)
        assert app.query_one(QuestionBox).value == ""
        gate.set()
        await until(pilot, lambda: "top_k: not a number" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "not ready" in screen_text(app))
        assert app.query_one(QuestionBox).value == QUESTION, "it was not asked"


@pytest.mark.slow
async def test_text_and_graph_are_switched_and_remembered_and_one_stays_on() -> None:
    fake = FakeAssistant()
    async with opened(fake, size=SIZE, notifications=True) as (app, pilot):
        await pilot.press("f8")
        await until(pilot, lambda: "[ ] Text" in screen_text(app))
        assert fake.settings.sources == ("graph",)
        assert load_settings().sources == ("graph",)
        await pilot.press("f9")
        await until(pilot, lambda: "One source must stay on." in screen_text(app))
        assert fake.settings.sources == ("graph",)
        await pilot.press("f8")
        await until(pilot, lambda: fake.settings.sources == ("text", "graph"))


@pytest.mark.slow
async def test_a_question_of_the_history_is_opened_whole(tmp_path: Path) -> None:
    from support.tui.fake_assistant import answered_trace

    with History.open() as history:
        history.record(answered_trace())
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, HistoryScreen) and "Metropolis" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.ask_screen and "The answer is Vienna." in screen_text(app))
        assert app.ask_screen.state.replayed
        await pilot.press("c")
        await until(pilot, lambda: app.query_one(NodePanel).chosen == "e2")
        await pilot.press("m")
        await until(pilot, lambda: "Prompts are not kept in the history" in screen_text(app))


@pytest.mark.slow
async def test_questions_of_before_are_found_while_typing() -> None:
    from support.tui.fake_assistant import answered_trace

    with History.open() as history:
        history.record(answered_trace())
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, RecallScreen) and QUESTION in screen_text(app))
        await pilot.press(*"zzz")
        await until(pilot, lambda: "No question asked before has these words." in screen_text(app))
        await pilot.press(*["backspace"] * 3)
        await until(pilot, lambda: QUESTION in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.query_one(QuestionBox).value == QUESTION)


@pytest.mark.slow
async def test_the_panes_are_resized_by_keys_and_mouse_and_stay_so() -> None:
    async with answered(size=SIZE) as (app, pilot):
        before = app.query_one(NodePanel).size.width
        await pilot.press("right_square_bracket", "right_square_bracket")
        await until(pilot, lambda: app.query_one(NodePanel).size.width < before)
        splitter = app.ask_screen.query_one("#splitter")
        x, y = splitter.region.offset
        await pilot.mouse_down(offset=(x, y + 2))
        await pilot.hover(offset=(30, y + 2))
        await pilot.mouse_up(offset=(30, y + 2))
        await until(pilot, lambda: app.ask_screen.query_one("#tree").size.width < 35)
        share = app.ask_screen.view.moved_share
        await pilot.press("ctrl+q")
    assert load_settings().ui.tree_share == share


@pytest.mark.slow
async def test_keys_are_remapped_by_the_settings() -> None:
    fake = FakeAssistant()
    fake.settings = load_settings(ui={"keys": {"web.toggle": "f12"}})
    async with opened(fake, size=SIZE, notifications=True) as (app, pilot):
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert not app._notifications, "keys that can be used are no news"
        await pilot.press("f2")
        await pilot.pause()
        assert not fake.web_enabled
        await pilot.press("f12")
        await until(pilot, lambda: fake.web_enabled)
        await pilot.press("f1")
        await until(pilot, lambda: "f12" in screen_text(app))


async def test_keys_of_ones_own_that_do_nothing_are_told_at_the_start() -> None:
    fake = FakeAssistant()
    fake.settings = load_settings(ui={"keys": {"web.togle": "f12", "app.help": "contrl+h", "history.delete": "f8"}})
    async with opened(fake, size=SIZE, notifications=True) as (app, pilot):
        await until(pilot, lambda: "web.togle: nothing has this id" in words(app))
        assert "did you mean web.toggle?" in words(app)
        assert "there is no key 'contrl+h'" in words(app)
        assert "history.delete" not in words(app)
        assert "Correct ui.keys in the settings (F4)" in words(app)


def words(app: AtomrApp) -> str:
    """What is shown, on one line however it was wrapped and framed."""
    return " ".join(re.sub("[^ -~]", " ", screen_text(app)).split())


async def test_the_palette_offers_what_can_be_done_now() -> None:
    async with opened(size=SIZE) as (app, pilot):
        before = [command.title for command in app.get_system_commands(app.ask_screen)]
        assert len(set(before)) == len(before), "nothing stands there twice"
        assert "Turn web search on or off" in before
        assert "Edit the plan as text" not in before
        await ask(pilot)
        await until(pilot, lambda: done(app))
        after = {command.title: command for command in app.get_system_commands(app.ask_screen)}
        assert "Edit the plan as text" in after
        await after["The SPARQL console"].callback()
        await until(pilot, lambda: "SPARQL console" in screen_text(app))


def test_every_key_of_the_main_screen_has_an_id_and_no_two_are_the_same() -> None:
    bindings = [
        binding
        for binding in (*AtomrApp.BINDINGS, *AskScreen.BINDINGS, *QuestionBox.BINDINGS)
        if isinstance(binding, Binding)
    ]
    assert all(binding.id and (binding.tooltip or binding.description) for binding in bindings)
    ids = [binding.id for binding in bindings]
    assert len(set(ids)) == len(ids)
    keys = [key for binding in bindings for key in binding.key.split(",")]
    twice = {key for key in keys if keys.count(key) > 1}
    assert twice == {"escape"}, "it stops a question that runs, and leaves the box when none does"


async def test_a_fault_on_a_thread_is_a_readable_panel_and_ends_the_question() -> None:
    class Faulty(FakeAssistant):
        def ask(self, question: str, **extras: object) -> Iterator[Event]:
            yield from super().ask(question, **extras)
            raise KeyError("an \x1b[2J oversight")

    async with opened(Faulty(script()[:4]), size=SIZE) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: "Internal error" in screen_text(app))
        assert "KeyError" in screen_text(app)
        assert "\x1b" not in screen_text(app)
        assert not app.ask_screen.state.running
    assert "an \\x1b[2J oversight" in (paths.data_dir() / "fault.txt").read_text("utf-8")


async def test_a_fault_in_the_interface_ends_the_program_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(size=SIZE) as (app, pilot):
        monkeypatch.setattr(type(app), "is_headless", property(lambda _self: False))
        app._handle_exception(ValueError("an oversight"))
        await pilot.pause()
    assert app.fatal_error is not None
    assert "ValueError: an oversight" in app.fatal_error.message
    assert app.return_code == 1
