"""Indexes handed on from the library: the forms, the commands that they start, and a file that goes there and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.tui.fake_assistant import FakeAssistant
from support.tui.screens import check_labels, opened, screen_text, until
from textual.screen import Screen
from textual.widgets import Checkbox, DataTable, Input, Static

from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.settings.file import save_settings
from atomr_local.settings.schema import load_settings
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.jobs import Command, JobState
from atomr_local.tui.screens.library.forms import ExportIndexScreen, ImportIndexScreen, LibraryItem, library_items
from atomr_local.tui.screens.library.screen import LibraryScreen

SIZE = (120, 40)


@pytest.fixture(autouse=True)
def stands_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not absolute starts in a folder of this test."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def index(*, private: bool = False) -> LibraryItem:
    return LibraryItem("graph", "mine", "OK", 5, "", (), "graph_index", private=private)


async def filled(
    screen: ExportIndexScreen | ImportIndexScreen, check: list[str] | None = None, **fields: str
) -> tuple[list[Command | None], str]:
    """What a form gives after Ctrl+S, and what it says is wrong."""
    app = AtomrApp(FakeAssistant())
    made: list[Command | None] = []
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app._opened is not None)
        app.push_screen(screen, made.append)
        await until(pilot, lambda: getattr(app.focused, "id", None) == "form-file")
        for name, value in fields.items():
            screen.query_one(f"#form-{name}", Input).value = value
        for name in check or ():
            screen.query_one(f"#form-{name}", Checkbox).value = True
        await pilot.press("ctrl+s")
        await until(pilot, lambda: bool(made) or "✗" in wrong(screen))
        return made, wrong(screen)


def wrong(screen: ExportIndexScreen | ImportIndexScreen) -> str:
    """What the form says is wrong; "" once it is closed."""
    return "".join(str(line.render()) for line in screen.query("#form-error").results(Static))


async def test_the_form_of_an_export_makes_the_command() -> None:
    made, _ = await filled(ExportIndexScreen(index()), licence="CC0 1.0", source="-dump")
    file = str(Path.cwd() / "mine.tar.zst")
    assert made == [
        Command(
            "export graph mine",
            ("indexes", "export", "--kind=graph", "--licence=CC0 1.0", "--source=-dump", "--", "mine", file),
        )
    ]


async def test_a_file_that_is_there_is_replaced_only_if_that_is_said() -> None:
    Path("mine.tar.zst").touch()
    made, shown = await filled(ExportIndexScreen(index()))
    assert not made
    assert "mine.tar.zst is there already" in shown
    made, _ = await filled(ExportIndexScreen(index()), check=["replace"])
    assert made[0] is not None
    assert "--replace" in made[0].arguments
    made, shown = await filled(ExportIndexScreen(index()), file="nowhere/mine.tar.zst")
    assert not made
    assert "nowhere is no folder" in shown


async def test_a_private_index_is_written_only_if_that_is_said() -> None:
    made, shown = await filled(ExportIndexScreen(index(private=True)))
    assert not made
    assert "the index mine is private" in shown
    made, _ = await filled(ExportIndexScreen(index(private=True)), check=["share_private"])
    assert made[0] is not None
    assert "--share-private" in made[0].arguments


async def test_the_form_of_an_import_makes_the_command() -> None:
    made, shown = await filled(ImportIndexScreen(), file="none.tar.zst")
    assert not made
    assert "none.tar.zst is not a file" in shown
    Path("-theirs.tar.zst").touch()
    file = str(Path.cwd() / "-theirs.tar.zst")
    made, shown = await filled(ImportIndexScreen(), file="-theirs.tar.zst", called="../evil")
    assert not made
    assert "../evil" in shown
    made, _ = await filled(ImportIndexScreen(), file="-theirs.tar.zst", called="theirs", check=["replace"])
    assert made == [Command("import theirs", ("indexes", "import", "--name=theirs", "--replace", "--", file))]
    made, _ = await filled(ImportIndexScreen(), file="-theirs.tar.zst")
    assert made == [Command("import -theirs.tar.zst", ("indexes", "import", "--", file))]


@pytest.mark.parametrize("form", [lambda: ExportIndexScreen(index(private=True)), ImportIndexScreen])
async def test_no_label_is_cut_on_a_small_terminal(form: Callable[[], Screen[Command | None]]) -> None:
    async with opened() as (app, pilot):
        app.push_screen(form())
        await until(pilot, lambda: bool(app.screen.query("#form-error")))
        await pilot.pause()
        check_labels(app)


async def test_only_whole_indexes_are_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [
        LibraryItem("model", "tiny", "OK", 5, "", (), "model"),
        LibraryItem("text", "half", "half-built", 5, "", (), unfinished=True),
        LibraryItem("text", "broken", "not usable", 5, "", ()),
        index(),
    ]
    monkeypatch.setattr("atomr_local.tui.screens.library.screen.library_items", lambda _settings: items)
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and "broken" in screen_text(app))
        screen = app.screen
        for row in range(3):
            screen.query_one(DataTable).move_cursor(row=row)
            await pilot.pause()
            await pilot.press("x")
            assert app.screen is screen
        screen.query_one(DataTable).move_cursor(row=3)
        await pilot.pause()
        await pilot.press("x")
        await until(pilot, lambda: "Export the graph index mine" in screen_text(app))
        await pilot.press("escape")
        await pilot.press("i")
        await until(pilot, lambda: "Import an index" in screen_text(app))


@pytest.mark.slow
async def test_an_index_goes_into_a_file_and_comes_back_under_another_name(tmp_path: Path) -> None:
    facts = tmp_path / "facts.jsonl"
    facts.write_text('{"s": "Petra", "p": "director", "o": "Hans Schwarz"}\n')
    build_graph_index([facts], "mine")
    save_settings({"privacy.indexes": "mine"})
    assert [item.private for item in library_items(load_settings()) if item.name == "mine"] == [True]
    save_settings({"privacy.indexes": ""})
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and "mine" in screen_text(app))
        screen = app.screen
        assert isinstance(screen, LibraryScreen)
        table = screen.query_one(DataTable)
        table.move_cursor(row=next(i for i, item in enumerate(screen._items) if item.name == "mine"))
        await pilot.pause()
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, ExportIndexScreen))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(list(app.jobs)) == 1 and not app.jobs.running, 240)
        exported = next(iter(app.jobs))
        assert exported.state is JobState.DONE, list(exported.lines)
        assert "SHA-256" in exported.last_line

        for name in ("theirs", "theirs", ""):
            await pilot.press("i")
            await until(pilot, lambda: isinstance(app.screen, ImportIndexScreen))
            app.screen.query_one("#form-file", Input).value = "mine.tar.zst"
            app.screen.query_one("#form-called", Input).value = name
            await pilot.press("ctrl+s")
            await until(pilot, lambda: app.screen is screen and not app.jobs.running, 240)
        first, second, third = list(app.jobs)[1:]
        assert first.state is JobState.DONE, list(first.lines)
        assert "theirs: 2 entities" in first.last_line
        assert (second.state, third.state) == (JobState.FAILED, JobState.FAILED)
        assert any("--replace" in line for line in second.lines)
        await until(pilot, lambda: any(item.name == "theirs" for item in screen._items))
        assert "failed" in screen_text(app)
    assert store.read_manifest(store.index_path("graph", "theirs")).counts["triples"] == 1
