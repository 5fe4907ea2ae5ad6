"""The history's screen: find, look, open, ask again, delete, export, share, import."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from support.grown_steps import grown_trace
from support.history_fakes import a_trace
from support.tui.history_list import QUESTIONS, Bare, keep
from support.tui.screens import ALL_SIZES, SMALL, screen_text, until
from textual.pilot import Pilot
from textual.widgets import Input

from atomr_local.assistant.history.export import to_json, unkept
from atomr_local.assistant.history.store import History, history_file
from atomr_local.reasoning.trace.schema import PlanTrace, Trace
from atomr_local.system.files import write_output
from atomr_local.tui.background import ErrorScreen
from atomr_local.tui.screens.dialogs import Confirm, PathDialog
from atomr_local.tui.screens.history.export import ExportScreen
from atomr_local.tui.screens.history.screen import HistoryChoice


async def ready(pilot: Pilot[None], app: Bare, count: int = len(QUESTIONS)) -> None:
    await until(pilot, lambda: app.lines.option_count == count and not app.history._loading)


@asynccontextmanager
async def listed(
    directory: Path | None = None, *, size: tuple[int, int] = SMALL, count: int = 0, **given: Any
) -> AsyncIterator[tuple[Bare, Pilot[None]]]:
    """The history's screen with so many questions; with the usual ones, where none are said to be there."""
    if not count:
        keep(*QUESTIONS)
    app = Bare(directory, **given)
    async with app.run_test(size=size) as pilot:
        await ready(pilot, app, count or len(QUESTIONS))
        yield app, pilot


@pytest.mark.parametrize("size", ALL_SIZES)
async def test_questions_are_listed_the_latest_first_with_a_preview(size: tuple[int, int]) -> None:
    async with listed(size=size) as (app, pilot):
        await until(pilot, lambda: "Citations" in screen_text(app))
        text = screen_text(app)
        places = [text.index(question) for question, _, _ in QUESTIONS]
        assert places == sorted(places, reverse=True)
        for part in (
            "● Who wrote",
            "? Where was",
            "⊘ Which river",
            "✗ How high",
            "not found  → Unknown.",
            "→ The answer is Mary Shelley.",
            "4 of 4",
        ):
            assert part in text
        for key in ("Open", "Ask again", "Delete", "Export", "Share", "Import", "Search", "Close"):
            assert key in text
        await pilot.press("end")
        await until(pilot, lambda: "answered · atomr · asked 2026-01-02" in screen_text(app))
        text = screen_text(app)
        assert "The answer is Mary Shelley.  (not sure, confidence 0.50)" in text
        assert "[e2] Mary Shelley (graph): mother: Mary Wollstonecraft." in text


async def test_the_preview_lists_the_steps_of_a_tree_that_grew() -> None:
    with History.open() as history:
        history.record(grown_trace())
    async with listed(count=1, size=(120, 40)) as (app, pilot):
        await until(pilot, lambda: "Steps" in screen_text(app))
        text = screen_text(app)
        assert "1. round 1: search[Metropolis]" in text
        assert "2. follow-up: Who directed Metropolis? → Fritz Lang" in text


@pytest.mark.parametrize(("way", "kind"), [("enter", "open"), ("a", "ask"), ("mouse", "open")])
async def test_enter_or_the_mouse_opens_the_trace_and_a_asks_again(way: str, kind: Any) -> None:
    async with listed() as (app, pilot):
        if way == "mouse":
            await pilot.click("#list", offset=(8, 3))
        else:
            await pilot.press("down", way, way)
        await until(pilot, lambda: bool(app.given))
    question, status, answer = QUESTIONS[2]
    trace = a_trace(question, status=status, answer=answer)
    assert app.given == [HistoryChoice(kind, trace, (trace,))]


@pytest.mark.slow
async def test_what_is_typed_is_searched_in_questions_and_answers() -> None:
    async with listed(size=(120, 40)) as (app, pilot):
        await pilot.press("slash", *"shell")
        await until(pilot, lambda: app.lines.option_count == 1)
        assert "Who wrote Frankenstein?" in screen_text(app)
        await pilot.press("x")
        await until(pilot, lambda: "None of the 4 kept questions has these words." in screen_text(app))
        await pilot.press("ctrl+u", *"?!")
        await until(pilot, lambda: "there is no word to search for" in screen_text(app))
        await pilot.press("ctrl+u", *"vienna")
        await until(pilot, lambda: app.lines.option_count == 1)
        await pilot.press("down", "enter")  # from the search to the list
        await until(pilot, lambda: bool(app.given))
    assert app.given[0] is not None
    assert app.given[0].trace.question == "Which river crosses Vienna?"


@pytest.mark.slow
async def test_escape_ends_the_search_then_closes() -> None:
    async with listed() as (app, pilot):
        await pilot.press("slash", *"mont")
        await until(pilot, lambda: app.lines.option_count == 1)
        await pilot.press("escape")
        await ready(pilot, app)
        assert app.history.query_one("#search", Input).value == ""
        assert app.history.focused is app.lines
        await pilot.press("escape")
        await until(pilot, lambda: bool(app.given))
    assert app.given == [None]


@pytest.mark.slow
async def test_letters_that_are_typed_into_the_search_do_nothing_else() -> None:
    async with listed() as (app, pilot):
        await pilot.press("slash", "d", "a", "x", "s", "i", "delete")
        await pilot.pause()
        assert app.screen is app.history
        assert app.history.query_one("#search", Input).value == "daxsi"


@pytest.mark.slow
@pytest.mark.parametrize("keeping", [True, False])
async def test_an_empty_history_says_so_and_its_keys_do_nothing(keeping: bool) -> None:
    app = Bare(keeping=keeping)
    async with app.run_test(size=(80, 24)) as pilot:
        told = "No questions yet." if keeping else "the settings say so"
        await until(pilot, lambda: told in screen_text(app))
        await pilot.press("enter", "a", "d", "x", "s")
        await pilot.pause()
        assert app.screen is app.history
        await pilot.press("escape")
        await until(pilot, lambda: app.given == [None])


@pytest.mark.slow
@pytest.mark.parametrize(("key", "left"), [("enter", 4), ("n", 4), ("escape", 4), ("y", 3)])
async def test_deleting_asks_and_says_that_it_is_for_good(key: str, left: int) -> None:
    numbers = keep(*QUESTIONS)
    app = Bare()
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, app)
        await pilot.press("down", "d")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        text = screen_text(app)
        assert "Which river crosses Vienna?" in text
        assert "This cannot be undone." in text
        await pilot.press(key)
        await until(pilot, lambda: app.screen is app.history and app.lines.option_count == left)
        if left == 3:
            await until(pilot, lambda: "Which river" not in screen_text(app) and "3 of 3" in screen_text(app))
            assert app.history.chosen == numbers[1]
            assert "Deleted." in app.told
    with History.open() as history:
        assert {item.id for item in history.entries()} == (set(numbers) if left == 4 else set(numbers) - {numbers[2]})


@pytest.mark.slow
async def test_the_last_one_deleted_leaves_an_empty_history() -> None:
    keep(QUESTIONS[0])
    async with listed(count=1) as (app, pilot):
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("y")
        await until(pilot, lambda: "No questions yet." in screen_text(app) and "Frankenstein" not in screen_text(app))


@pytest.mark.slow
@pytest.mark.parametrize(("key", "form"), [("x", "#markdown"), ("s", "#trace")])
async def test_export_and_share_open_the_window_for_it(key: str, form: str, tmp_path: Path) -> None:
    keep(*QUESTIONS)
    target = tmp_path / "exports"
    target.mkdir()
    app = Bare(target)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, app)
        await pilot.press("end", key)
        await until(pilot, lambda: isinstance(app.screen, ExportScreen))
        assert app.screen.query_one(form).value is True  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.history)
        assert any("Written to" in note for note in app.told)
    (written,) = target.iterdir()
    assert "Frankenstein" in written.read_text()


@pytest.mark.slow
async def test_a_shared_file_is_imported_once(tmp_path: Path) -> None:
    keep(*QUESTIONS)
    shared = [a_trace("From elsewhere?"), a_trace("And this?")]
    write_output(tmp_path / "shared.json", to_json(map(unkept, shared), several=True))
    app = Bare(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        for told in ("2 imported.", "0 imported. 2 were here before."):
            await pilot.press("i")
            await until(pilot, lambda: isinstance(app.screen, PathDialog))
            await pilot.press(*"shared", "full_stop", *"json", "enter")
            await until(pilot, lambda told=told: told in app.told)  # type: ignore[misc]
        await ready(pilot, app, 6)
        assert "imported  → " in screen_text(app)


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    ["", "{}", "[" * 100_000, '{"schema": "atomr.trace/1", "question": 3}', "\x00"],
    ids=["empty", "object", "deep", "wrong", "nul"],
)
async def test_a_hostile_file_is_refused_with_a_panel(content: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(content)
    app = Bare(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "No questions" in screen_text(app))
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, PathDialog))
        await pilot.press("x", "enter")
        await until(pilot, lambda: isinstance(app.screen, ErrorScreen))
        assert "Input not usable" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.history)
    with History.open() as history:
        assert history.count() == 0


@pytest.mark.slow
async def test_thousands_are_read_in_pages() -> None:
    with History.open() as history:
        for number in range(60):
            history.record(Trace(f"Question {number}?", "atomr", {}))
    async with listed(count=25, page=25) as (app, pilot):
        assert "25+ of 60" in screen_text(app)
        await pilot.press("end")
        await until(pilot, lambda: app.lines.option_count == 50)
        app.lines.scroll_end(animate=False)  # as the mouse does
        await until(pilot, lambda: app.lines.option_count == 60)
        await pilot.press("end")
        await until(pilot, lambda: "Question 0?" in screen_text(app))
        assert "60 of 60" in screen_text(app)


@pytest.mark.slow
async def test_a_damaged_question_is_told_beside_the_others() -> None:
    numbers = keep(*QUESTIONS)
    with closing(sqlite3.connect(history_file())) as connection:
        connection.execute("UPDATE questions SET trace = x'00' WHERE id = ?", (numbers[3],))
        connection.commit()
    app = Bare()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        await until(pilot, lambda: "is damaged" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ErrorScreen))
        await pilot.press("escape")
        await pilot.press("down", "enter")
        await until(pilot, lambda: bool(app.given))


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["newer", "directory"])
async def test_a_history_that_cannot_be_read_is_a_panel(damage: str) -> None:
    keep(QUESTIONS[0])
    file = history_file()
    if damage == "newer":
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA user_version = 99")
    else:
        file.unlink()
        file.mkdir()
    app = Bare()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, ErrorScreen))
        assert "History not usable" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: "The history cannot be read." in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.given == [None])


async def test_a_damaged_file_is_set_aside_and_told() -> None:
    keep(QUESTIONS[0])
    history_file().write_bytes(b"no database at all" * 1000)
    app = Bare()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: any("is kept as" in note for note in app.told))
        assert "No questions yet." in screen_text(app)


async def test_a_huge_trace_is_shown_bounded() -> None:
    with History.open() as history:
        history.record(Trace("Q?", "atomr", {}, answer="word " * 200_000, plan=PlanTrace("1. step\n" * 50_000)))
    app = Bare()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Plan" in screen_text(app) or app.history.query_one("#preview").max_scroll_y > 20)
        assert app.history.query_one("#preview").max_scroll_y < 200
