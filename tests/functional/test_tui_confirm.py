"""What is asked before something is lost, and the line that asks for a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tui.hostile import FORBIDDEN, HOSTILE
from support.tui.screens import screen_text, until
from textual.app import App
from textual.widgets import Button, Input

from atomr_local.errors import InputError
from atomr_local.tui.background import ErrorScreen
from atomr_local.tui.keys import current_keys
from atomr_local.tui.screens.ask.windows import BusyScreen
from atomr_local.tui.screens.dialogs import Confirm, PathDialog, UnsavedChanges, completed, path_from


class Bare(App[None]):
    pass


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("y",), True),
        (("n",), False),
        (("escape",), False),
        (("enter",), False),  # the safe button has the focus
        (("tab", "enter"), True),
        (("right", "enter"), True),
        (("right", "left", "enter"), False),
    ],
)
async def test_keys_answer(keys: tuple[str, ...], answer: bool) -> None:
    app, given = Bare(), list[bool | None]()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(Confirm("Delete it?", "It is gone then."), given.append)
        await pilot.press(*keys)
        await until(pilot, lambda: bool(given))
    assert given == [answer]


@pytest.mark.parametrize(("button", "answer"), [("#yes", True), ("#no", False)])
async def test_the_mouse_answers(button: str, answer: bool) -> None:
    app, given = Bare(), list[bool | None]()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(Confirm("Delete it?", "It is gone then.", yes="Delete", no="Keep"), given.append)
        text = screen_text(app)
        assert all(part in text for part in ("Delete it?", "It is gone then.", "Keep (n)", "Delete (y)"))
        await pilot.click(button)
        await until(pilot, lambda: bool(given))
    assert given == [answer]


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_hostile_and_endless_text_leaves_the_buttons_in_sight(size: tuple[int, int]) -> None:
    app = Bare()
    async with app.run_test(size=size) as pilot:
        await app.push_screen(Confirm(HOSTILE, HOSTILE + " word" * 2000, yes="Delete", no="Keep"))
        await until(pilot, lambda: "Keep (n)" in screen_text(app))
        assert not FORBIDDEN.search(screen_text(app).replace("\n", ""))
        app.screen.query_one("#dialog").scroll_home(animate=False)
        await pilot.pause()
        text = screen_text(app)
        assert not FORBIDDEN.search(text.replace("\n", ""))
        assert "red]x[/]" in text  # shown, not taken for markup


def test_paths_are_completed_from_their_directory(tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "answer.md").touch()
    (tmp_path / "evil\x1b[2J.md").touch()
    (tmp_path / "answers" / "one.json").touch()
    assert completed("ans", tmp_path) == "answer.md"
    assert completed("answers", tmp_path) == "answers/"
    assert completed("answers/o", tmp_path) == "answers/one.json"
    assert completed(f"{tmp_path}/answers/o", Path("/")) == f"{tmp_path}/answers/one.json"
    assert completed("ev", tmp_path) is None  # its name cannot be shown as it is
    assert completed("", tmp_path) is None
    assert completed("nowhere/x", tmp_path) is None


@pytest.mark.parametrize("typed", ["", "  ", "a\x00b", "a\u202eb", "~nobody-of-this-name/x"])
def test_what_is_no_path_is_refused(typed: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        path_from(typed, tmp_path)


def test_a_path_starts_where_it_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert path_from(" a b.md ", tmp_path) == tmp_path / "a b.md"
    assert path_from("/x/y.md", tmp_path) == Path("/x/y.md")
    assert path_from("~/y.md", tmp_path) == tmp_path / "home" / "y.md"


@pytest.mark.slow
async def test_a_file_is_asked_for_completed_and_given(tmp_path: Path) -> None:
    (tmp_path / "shared.json").touch()
    app, given = Bare(), list[Path | None]()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(PathDialog("Import", directory=tmp_path), given.append)
        await pilot.press("enter")  # nothing typed
        await until(pilot, lambda: isinstance(app.screen, ErrorScreen))
        await pilot.press("escape")
        await pilot.press("s", "h")
        line = app.screen.query_one(Input)
        await until(pilot, lambda: line._suggestion == "shared.json")
        await pilot.press("right", "enter")
        await until(pilot, lambda: bool(given))
    assert given == [tmp_path / "shared.json"]


async def test_what_is_pasted_is_clean_and_escape_gives_nothing() -> None:
    app, given = Bare(), list[Path | None]()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(PathDialog(HOSTILE, HOSTILE), given.append)
        line = app.screen.query_one(Input)
        line.insert_text_at_cursor(HOSTILE)
        await pilot.pause()
        assert "[bold red]x" in line.value
        assert not FORBIDDEN.search(line.value)
        assert not FORBIDDEN.search(screen_text(app).replace("\n", ""))
        await pilot.press("escape")
        await until(pilot, lambda: bool(given))
    assert given == [None]


async def test_a_long_question_that_runs_is_shown_and_every_answer_is_in_reach() -> None:
    """The three dialogs are one: arrows, the letters on the buttons, Escape, at 80 columns."""
    app, given = Bare(), list[str | None]()
    async with app.run_test(size=(80, 24)) as pilot:
        for keys in (("right", "enter"), ("down", "down", "enter"), ("s",), ("escape",)):
            await app.push_screen(BusyScreen("Who " + "ran " * 100, HOSTILE), given.append)
            right = max(button.region.right for button in app.screen.query(Button))
            assert right < app.screen.query_one("#dialog").region.right
            await pilot.press(*keys)
        for keys in (("enter",), ("left", "enter"), ("d",), ("escape",)):
            await app.push_screen(UnsavedChanges(2), given.append)
            await pilot.press(*keys)
        await until(pilot, lambda: len(given) == 8)
    assert given == ["stop", "back", "stop", "back", "save", "stay", "discard", "stay"]


def test_keys_of_the_dialogs_with_an_earlier_id_keep_their_effect() -> None:
    assert current_keys({"busy.next": "j", "confirm.previous": "k"}) == {"dialog.next": "j", "dialog.previous": "k"}
