"""The first start: a choice of how to begin that stands in nobody's way."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from support.gguf_files import gguf_bytes
from support.tui.fake_assistant import FakeAssistant
from support.tui.screens import ALL_SIZES, ask, done, opened, screen_text, until

from atomr_local.settings.file import save_settings
from atomr_local.settings.schema import load_settings
from atomr_local.tui.app import AtomrApp, only_the_starter
from atomr_local.tui.screens.library.downloads import FetchScreen
from atomr_local.tui.screens.library.forms import BuildScreen
from atomr_local.tui.screens.library.screen import LibraryScreen
from atomr_local.tui.widgets.question_box import QuestionBox
from atomr_local.tui.widgets.welcome import Examples, FirstRunChoices, Welcome


def offered(app: AtomrApp) -> bool:
    return bool(app.ask_screen.query(FirstRunChoices))


def made(home: Path) -> bool:
    file = home / "config.toml"
    return file.exists() and bool(tomllib.loads(file.read_text()).get("ui", {}).get("first_run_done"))


@pytest.mark.slow
@pytest.mark.parametrize("size", ALL_SIZES)
async def test_the_choice_is_shown_and_a_question_can_be_typed_at_once(size: tuple[int, int], own_home: Path) -> None:
    async with opened(size=size) as (app, pilot):
        await until(pilot, lambda: offered(app))
        text = screen_text(app)
        for line in ("Use the starter", "Get a larger model", "Build from files", "Try one of these"):
            assert line in text
        assert app.focused is app.query_one(QuestionBox)
        assert not made(own_home)
        await ask(pilot)  # asking is choosing the starter
        await until(pilot, lambda: done(app))
        await until(pilot, lambda: made(own_home))
        assert not offered(app)


async def test_the_starter(own_home: Path) -> None:
    async with opened() as (app, pilot):
        await until(pilot, lambda: offered(app))
        choice = app.ask_screen.query_one(FirstRunChoices)
        choice.focus()
        choice.highlighted = 0
        await pilot.press("enter")
        await until(pilot, lambda: made(own_home) and not offered(app))
        assert app.focused is app.query_one(QuestionBox)
        assert app.screen is app.ask_screen


@pytest.mark.slow
@pytest.mark.parametrize(("place", "screen"), [(1, FetchScreen), (2, BuildScreen)])
async def test_getting_and_building(own_home: Path, place: int, screen: type) -> None:
    async with opened() as (app, pilot):
        await until(pilot, lambda: offered(app))
        choice = app.ask_screen.query_one(FirstRunChoices)
        choice.focus()
        choice.highlighted = place
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, screen))
        assert made(own_home)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen))  # which shows what becomes of it
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.ask_screen)
        assert not offered(app)


async def test_it_is_chosen_once() -> None:
    save_settings({"ui.first_run_done": True})
    async with opened() as (app, pilot):
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert not offered(app)


def test_who_has_something_of_their_own_is_not_asked(own_home: Path) -> None:
    assert only_the_starter(load_settings())
    assert not only_the_starter(load_settings(model="huge"))
    assert not only_the_starter(load_settings(endpoint={"url": "http://127.0.0.1:8080/v1"}))
    (own_home / "models").mkdir()
    model = own_home / "models" / "mine.gguf"
    model.write_bytes(gguf_bytes({"general.architecture": "llama"}, {"w.weight": ((4, 2), bytes(32))}))
    assert not only_the_starter(load_settings())


@pytest.mark.slow
async def test_other_indexes_have_examples_of_their_own_and_the_starter_keeps_its(own_home: Path) -> None:
    fake = FakeAssistant()
    fake.examples = ["Who is the director of \x1b[31mPetra?", "Who or what is Vienna?"]
    async with opened(fake, size=(100, 30)) as (app, pilot):
        await until(pilot, lambda: "Who or what is Vienna?" in screen_text(app))
        assert app.ask_screen.welcome.questions == ["Who is the director of Petra?", "Who or what is Vienna?"]
        fake.examples = []
        app.load(again=True)
        await until(pilot, lambda: not app.ask_screen.welcome.questions)
        assert not app.ask_screen.query_one("#examples").display
        fake.examples = None
        app.load(again=True)
        await until(pilot, lambda: len(app.ask_screen.welcome.questions) == 8)
        assert app.ask_screen.query_one("#examples").display


async def test_tab_and_enter_ask_the_first_example() -> None:
    fake = FakeAssistant()
    async with opened(fake) as (app, pilot):
        await until(pilot, lambda: offered(app))
        first = app.query_one(Welcome).questions[0]
        await pilot.press("tab")
        await until(pilot, lambda: app.query_one(FirstRunChoices).highlighted == 0)
        await pilot.press("tab")
        await until(pilot, lambda: app.query_one(Examples).highlighted == 0)
        footer = screen_text(app).splitlines()[-1]
        assert "⏎ Ask" in footer
        assert "Edit plan" not in footer, "there is no plan yet"
        await pilot.press("enter")
        await until(pilot, lambda: fake.questions == [first])
        assert app.focused is app.query_one(QuestionBox), "the next one can be typed"
