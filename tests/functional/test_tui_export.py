"""Writing one question to a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.history_fakes import a_trace
from support.tui.hostile import FORBIDDEN, HOSTILE
from support.tui.screens import screen_text, until
from textual.app import App
from textual.widgets import Checkbox, Input, RadioSet

from atomr_local.assistant.history.store import History, history_file
from atomr_local.assistant.history.trace_import import read_traces
from atomr_local.tui.background import ErrorScreen
from atomr_local.tui.screens.dialogs import Confirm
from atomr_local.tui.screens.history.export import FORMATS, ExportScreen, free_name

NAME = "who-is-the-mother-of-the-author-of-frankenstein"


class Bare(App[None]):
    def __init__(self, screen: Callable[[], ExportScreen]) -> None:
        super().__init__()
        self._make = screen
        self.given: list[Path | None] = []

    def on_mount(self) -> None:
        self.push_screen(self._make(), self.given.append)

    @property
    def line(self) -> Input:
        return self.screen.query_one("#path", Input)


async def test_markdown_is_written_where_it_is_offered(tmp_path: Path) -> None:
    app = Bare(lambda: ExportScreen(a_trace(), directory=tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        assert app.line.value == f"{NAME}.md"
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.given))
        assert app.given == [tmp_path / f"{NAME}.md"]
        assert any("Written to" in note.message for note in app._notifications)
    text = (tmp_path / f"{NAME}.md").read_text()
    assert text.startswith("# Who is the mother of the author of Frankenstein?")
    assert "Mary Wollstonecraft" in text
    assert "asked" not in text  # when is not known of a trace alone


@pytest.mark.parametrize("form", FORMATS)
async def test_each_form_has_its_ending_and_what_is_shared_is_read_again(form: str, tmp_path: Path) -> None:
    with History.open(history_file()) as history:
        kept = history.get(history.record(a_trace()))
    app = Bare(lambda: ExportScreen(kept, directory=tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(RadioSet).query_one(f"#{form}").value = True  # type: ignore[attr-defined]
        await until(
            pilot, lambda: app.line.value == NAME + {"markdown": ".md", "json": ".json"}.get(form, ".trace.json")
        )
        assert screen_text(app).count("▐●▌") == 1  # told without colours
        await pilot.press("ctrl+s")
        await until(pilot, lambda: bool(app.given))
    written = app.given[0]
    assert written is not None
    if form == "markdown":
        assert "- asked: 20" in written.read_text()
    else:
        assert read_traces(written) == [a_trace()]
        assert json.loads(written.read_text()) == kept.document
        assert written.read_text().count("\n") == (
            1 if form == "trace" else json.dumps(kept.document, indent=2).count("\n") + 1
        )


async def test_a_name_that_was_typed_is_kept_and_only_its_ending_follows_the_form(tmp_path: Path) -> None:
    app = Bare(lambda: ExportScreen(a_trace(), directory=tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        app.line.value = "mine.md"
        app.screen.query_one("#trace").value = True  # type: ignore[attr-defined]
        await until(pilot, lambda: app.line.value == "mine.trace.json")
        app.screen.query_one("#json").value = True  # type: ignore[attr-defined]
        await until(pilot, lambda: app.line.value == "mine.json")
        app.line.value = "mine.txt"
        app.screen.query_one("#markdown").value = True  # type: ignore[attr-defined]
        await pilot.pause()
        assert app.line.value == "mine.txt"
        await pilot.press("escape")
    assert app.given == [None]
    assert list(tmp_path.glob("mine*")) == []


@pytest.mark.parametrize(("key", "replaced"), [("n", False), ("y", True)])
async def test_a_file_is_replaced_only_after_asking(key: str, replaced: bool, tmp_path: Path) -> None:
    there = tmp_path / "there.md"
    there.write_text("precious")
    app = Bare(lambda: ExportScreen(a_trace(), directory=tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        app.line.value = "there.md"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        assert there.read_text() == "precious"
        await pilot.press(key)
        await until(pilot, lambda: bool(app.given) if replaced else isinstance(app.screen, ExportScreen))
    assert (there.read_text() == "precious") is not replaced


@pytest.mark.parametrize("typed", ["", "nowhere/answer.md", "a" * 300])
async def test_what_cannot_be_written_is_a_panel_and_asked_again(typed: str, tmp_path: Path) -> None:
    app = Bare(lambda: ExportScreen(a_trace(), directory=tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        app.line.value = typed
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ErrorScreen))
        assert "Input not usable" in screen_text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, ExportScreen)
        assert app.given == []


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 14)])
async def test_a_hostile_question_reaches_no_strip_and_no_file_name(size: tuple[int, int], tmp_path: Path) -> None:
    trace = a_trace(f"../../{HOSTILE}", answer=HOSTILE)
    app = Bare(lambda: ExportScreen(trace, directory=tmp_path))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert not FORBIDDEN.search(screen_text(app).replace("\n", ""))
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.given))
    written = app.given[0]
    assert written is not None
    assert written.parent == tmp_path
    assert not FORBIDDEN.search(written.read_text().replace("\n", ""))


def test_a_free_name_is_offered(tmp_path: Path) -> None:
    assert free_name("Où est l'été?", ".md", tmp_path) == "ou-est-l-ete.md"
    assert free_name("где?", ".md", tmp_path) == "question.md"
    assert free_name(f"{'long ' * 100}?", ".md", tmp_path) == f"{'-'.join(['long'] * 10)[:48].strip('-')}.md"
    (tmp_path / "who.json").touch()
    (tmp_path / "who-2.json").symlink_to(tmp_path / "gone")
    assert free_name("Who?", ".json", tmp_path) == "who-3.json"


async def test_the_whole_conversation_is_written_when_that_is_ticked(tmp_path: Path) -> None:
    first = a_trace("Who wrote Emma?", id="a", answers=["Jane Austen"])
    second = a_trace("and Persuasion?", id="b", conversation="a", took_from=["a"])
    app = Bare(lambda: ExportScreen(second, conversation=[first, second], directory=tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        assert "The whole conversation: 2 questions" in screen_text(app)
        app.screen.query_one(Checkbox).value = True
        await pilot.press("ctrl+s")
        await until(pilot, lambda: bool(app.given))
    assert app.given[0] is not None
    text = app.given[0].read_text()
    assert text.startswith(
        "# Conversation: Who wrote Emma?\n\n1. Who wrote Emma? → **Jane Austen**\n2. and Persuasion?"
    )
    app = Bare(lambda: ExportScreen(second, conversation=[second], directory=tmp_path))
    async with app.run_test(size=(80, 24)):
        assert not app.screen.query(Checkbox)
