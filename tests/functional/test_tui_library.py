"""Models and indexes in the terminal UI: listed, used, built, verified and removed in the background."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.tui.fake_assistant import FakeAssistant
from support.tui.screens import ask, check_labels, done, opened, screen_text, until
from textual import events
from textual.keys import _character_to_key as character_key
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Select, TextArea

from atomr_local import __version__
from atomr_local.settings.schema import load_settings
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.jobs import Command, Job, Jobs, JobState
from atomr_local.tui.screens.library.forms import BuildScreen, LibraryItem
from atomr_local.tui.screens.library.screen import LibraryScreen

SIZE = (120, 40)
FACTS = [
    {"s": "Petra", "p": "director", "o": "Hans Schwarz"},
    {"s": "Hans Schwarz", "p": "place of birth", "o": "Vienna"},
]


def ended(jobs: Jobs) -> Callable[[], bool]:
    return lambda: bool(list(jobs)) and not jobs.running


@asynccontextmanager
async def listing(*items: LibraryItem) -> AsyncIterator[tuple[AtomrApp, Pilot[None]]]:
    """The library, with these things in it."""
    async with opened(size=SIZE, notifications=True) as (app, pilot):
        screen = LibraryScreen(lambda: app.assistant.settings, app.jobs, lambda *_: None)
        app.push_screen(screen)
        await until(pilot, lambda: bool(screen.is_mounted and screen._items))
        screen.call_later(screen._show_items, list(items))
        await until(pilot, lambda: screen._items == list(items))
        yield app, pilot


async def go_to(pilot: Pilot[None], row: int) -> None:
    """Put the cursor on this row."""
    pilot.app.screen.query_one(DataTable).move_cursor(row=row)
    await pilot.pause()


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    file = tmp_path / "facts.jsonl"
    file.write_text("".join(json.dumps(fact) + "\n" for fact in FACTS), encoding="utf-8")
    return file


@pytest.mark.slow
async def test_a_graph_is_built_in_the_background_used_verified_and_removed(facts: Path, own_home: Path) -> None:
    fake = FakeAssistant()
    async with opened(fake, size=SIZE) as (app, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen))
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, BuildScreen))
        app.screen.query_one("#form-kind", Select).value = "graph"
        await pilot.pause()
        file, name = (app.screen.query_one(field, Input) for field in ("#form-inputs", "#form-name"))
        file.value, name.value = f"{facts}.not-there", "../evil"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "is not a file" in screen_text(app) and file.has_focus)
        file.value = str(facts)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "is not a file" not in screen_text(app) and name.has_focus)  # which is wrong
        assert "✗" in screen_text(app)
        app.screen.query_one("#form-name", Input).value = "mine"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "build graph mine" in screen_text(app))
        await pilot.press("escape")  # the job goes on
        await until(pilot, ended(app.jobs), 240)
        assert next(iter(app.jobs)).state is JobState.DONE, list(next(iter(app.jobs)).lines)
        assert (own_home / "indexes" / "graph" / "mine").is_dir()

        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and bool(app.screen._items))
        await go_to(pilot, app.screen.query_one(DataTable).row_count - 1)
        assert "2 facts" in screen_text(app) or "facts.jsonl" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: bool(fake.changes))
        assert fake.changes == [{"graph_index": "mine"}]
        await pilot.press("v")
        await until(pilot, lambda: len(list(app.jobs)) == 2 and not app.jobs.running, 240)
        assert "OK" in list(app.jobs)[1].last_line
        await pilot.press("d")
        await until(pilot, lambda: "Remove the graph index mine?" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: len(list(app.jobs)) == 3 and not app.jobs.running, 240)
        assert not (own_home / "indexes" / "graph" / "mine").exists()


async def test_keys_that_come_all_at_once_go_to_the_fields_that_they_are_for(facts: Path) -> None:
    async with opened(size=SIZE) as (app, pilot):
        made: list[Command | None] = []
        app.push_screen(BuildScreen(), made.append)
        await until(pilot, lambda: getattr(app.focused, "id", None) == "form-inputs")
        for key in (*str(facts), "tab", "tab", *"mine", "ctrl+s"):
            app.post_message(events.Key(key if len(key) > 1 else character_key(key), key if len(key) == 1 else None))
        await until(pilot, lambda: bool(made) or "✗" in screen_text(app))
        assert made == [Command("build text mine", ("text", "build", "--name=mine", "--", str(facts)))]


async def test_tab_indents_where_code_is_written_and_moves_on_elsewhere() -> None:
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("f7")
        await until(pilot, lambda: getattr(app.focused, "id", None) == "console-query")
        query = app.screen.query_one("#console-query", TextArea)
        query.load_text("")
        await pilot.press("tab")
        assert query.has_focus
        assert query.text == "    "


@pytest.mark.parametrize("kind", ["graph", "text"])
async def test_no_label_of_the_build_form_is_cut_on_a_small_terminal(kind: str) -> None:
    async with opened() as (app, pilot):
        app.push_screen(BuildScreen(["wiki"]))
        await until(pilot, lambda: isinstance(app.screen, BuildScreen) and bool(app.screen.query("#form-text_index")))
        app.screen.query_one("#form-kind", Select).value = kind
        await pilot.pause()
        check_labels(app)


@pytest.mark.slow
async def test_verify_means_the_index_under_the_cursor_and_not_one_of_the_same_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[tuple[str, ...]] = []
    async with listing(
        *(LibraryItem(kind, "mine", "OK", 5, "", (), f"{kind}_index") for kind in ("text", "graph"))
    ) as (
        app,
        pilot,
    ):
        monkeypatch.setattr(app.jobs, "start", lambda _title, arguments: started.append(tuple(arguments)))
        await go_to(pilot, 1)
        await pilot.press("v")
        assert started == [("indexes", "verify", "--kind", "graph", "mine")]


WHOLE = LibraryItem("text", "notes", "OK", 5, "", (), "text_index")
WORDS_FIRST = LibraryItem("text", "wiki", "OK", 5, "", ("words first",), "text_index", fillable=True)


@pytest.mark.slow
async def test_passages_are_embedded_in_the_background_and_stopped_with_one_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = ("text", "embed", "wiki", "--background")
    job = Job(1, "embed wiki", command)
    stopped: list[Job] = []
    async with listing(WHOLE, WORDS_FIRST) as (app, pilot):
        monkeypatch.setattr(app.jobs, "start", lambda title, arguments: app.jobs._jobs.append(job))
        monkeypatch.setattr(app.jobs, "stop", stopped.append)
        await pilot.press("l")
        assert not app.jobs.running
        await go_to(pilot, 1)
        await pilot.press("l")
        assert [running.arguments for running in app.jobs.running] == [command]
        await pilot.press("l")
        assert stopped == [job]


@pytest.mark.slow
async def test_an_index_is_embedded_while_no_question_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atomr_local.tui.screens.library.screen.library_items", lambda _settings: [WHOLE, WORDS_FIRST])
    monkeypatch.setattr("atomr_local.tui.app.lacking_vectors", lambda names: "wiki" if "wiki" in names else "")
    monkeypatch.setattr("atomr_local.tui.idle_embedding._QUIET", 0.0)
    fake = FakeAssistant(hold=4)
    app = AtomrApp(fake)
    started: list[Job] = []

    def start(title: str, arguments: Sequence[str]) -> Job:
        started.append(Job(len(started) + 1, title, tuple(arguments)))
        app.jobs._jobs.append(started[-1])
        return started[-1]

    monkeypatch.setattr(app.jobs, "start", start)
    monkeypatch.setattr(app.jobs, "stop", lambda job: setattr(job, "state", JobState.STOPPED))
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app._opened is not None and app.ask_screen.loading_stage == "")
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and "wiki" in screen_text(app))
        await pilot.press("L")  # of an index with all vectors it does nothing
        assert not fake.settings.ui.embed_idle
        await go_to(pilot, 1)
        await pilot.press("L")
        await until(pilot, lambda: len(started) == 1)
        assert fake.settings.ui.embed_idle == load_settings().ui.embed_idle == "wiki"
        assert started[0].arguments == ("text", "embed", "wiki", "--background")
        await until(pilot, lambda: "embed wiki while idle" in screen_text(app))

        await pilot.press("escape")
        await ask(pilot)
        await until(pilot, lambda: started[0].state is JobState.STOPPED)
        app.idle_embedding.look()
        assert len(started) == 1, "a question runs"
        fake.released.set()
        await until(pilot, lambda: done(app))
        app.idle_embedding.look()
        await until(pilot, lambda: len(started) == 2)
        started[1].state = JobState.RUNNING
        await pilot.press("ctrl+q")  # without a word: it goes on another day
    assert app.return_code == 0


async def test_an_empty_path_names_a_file_that_can_be_built_from() -> None:
    async with opened(size=SIZE) as (app, pilot):
        app.push_screen(BuildScreen())
        await until(pilot, lambda: getattr(app.focused, "id", None) == "form-inputs")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "no file is named" in screen_text(app))
        assert "such as ~/notes" in screen_text(app)
        assert "answer.md" not in screen_text(app)


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (LibraryItem("model", "tiny", "OK", 5, "", ("/models/[b]tiny.gguf",), "model"), ("Not removed", "/models/[b]tiny.gguf")),
        (LibraryItem("text", "wiki", "OK", 5, "", ("/indexes/text/wiki",), "text_index"), ("Remove the text index wiki?",)),
    ],
    ids=["model", "index"],
)  # fmt: skip
async def test_what_is_no_index_is_not_removed_and_the_user_is_told(item: LibraryItem, told: tuple[str, ...]) -> None:
    async with listing(item) as (app, pilot):
        screen = app.screen
        await pilot.press("d")
        await until(pilot, lambda: all(part in screen_text(app) for part in told))
        assert (app.screen is screen) is (item.kind == "model")


@pytest.mark.slow
async def test_what_cannot_be_built_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "broken.nt"
    broken.write_text("this is no triple\n" * 300, encoding="utf-8")
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen))
        app.jobs.start("build graph broken", ["graph", "build", str(broken), "--name", "broken", "--format", "nt"])
        await until(pilot, ended(app.jobs), 240)
        job = next(iter(app.jobs))
        assert job.state is JobState.FAILED
        assert any("broken.nt" in line for line in job.lines)
        await until(pilot, lambda: "failed" in screen_text(app))


def test_a_job_is_stopped_and_what_it_prints_is_sanitised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, time\nprint('begun \\x1b[2J\\x1b]52;c;eA==\\x07here', flush=True)\ntime.sleep(600)\n",
        encoding="utf-8",
    )
    python = shutil.which(sys.executable) or sys.executable
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec "{python}" "{program}"\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setattr("atomr_local.system.sandbox.sys.executable", str(script))
    told: list[tuple[JobState, str]] = []

    def changed(job: Job) -> None:
        told.append((job.state, job.last_line))

    jobs = Jobs(changed)
    job = jobs.start("waits", ["anything"])
    _wait(lambda: bool(told))
    assert job.last_line == "begun here"
    jobs.stop(job)
    _wait(lambda: job.ended is not None)
    assert job.state is JobState.STOPPED
    assert told[0] == (JobState.RUNNING, "begun here")
    assert told[-1][0] is JobState.STOPPED


def test_a_job_runs_this_very_program_wherever_the_user_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("click.py", "platformdirs.py", "atomr_local/__init__.py", "atomr_local/__main__.py"):
        file = tmp_path / "checkout" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("raise SystemExit('not this one')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "checkout")
    jobs = Jobs(lambda _job: None)
    job = jobs.start("version", ["--version"])
    _wait(lambda: job.ended is not None)
    assert (job.state, job.last_line) == (JobState.DONE, f"atomr, version {__version__}")


def test_a_command_that_cannot_be_started_has_failed() -> None:
    jobs = Jobs(lambda _job: None)
    job = jobs.start("null", ["a\0b"])
    assert job.state is JobState.FAILED
    assert "could not be started" in job.last_line


def _wait(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


async def test_quitting_while_something_is_built_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(size=SIZE) as (app, pilot):
        # A job that waits for ever: its command reads what never comes.
        job = Job(1, "build text wiki", ())
        app.jobs._jobs.append(job)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: "Stop what runs in the background?" in screen_text(app))
        await pilot.press("n")
        await until(pilot, lambda: app.screen is app.ask_screen)
        job.state = JobState.DONE
        await pilot.press("ctrl+q")


async def test_the_form_tells_that_an_index_of_a_folder_is_private(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader")
    async with opened(size=SIZE) as (app, pilot):
        await app.push_screen(BuildScreen())
        field = app.screen.query_one("#form-inputs", Input)
        private = app.screen.query_one("#form-private")
        assert not private.display
        field.value = str(tmp_path)
        await until(pilot, lambda: bool(private.display))
        assert "is private: nothing read in it leaves this machine" in screen_text(app)
        for other in (str(tmp_path / "letter.txt"), str(tmp_path / "absent"), "~nobody-of-this-name/x", "x" * 5000):
            field.value = other
            await until(pilot, lambda: not private.display)
            field.value = str(tmp_path)
            await until(pilot, lambda: bool(private.display))
        app.screen.query_one("#form-kind", Select).value = "graph"
        await until(pilot, lambda: not private.display)


@pytest.mark.slow
async def test_a_folder_is_built_and_synced(tmp_path: Path, own_home: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("Bees make honey in their hives.")
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen))
        screen = app.screen
        assert isinstance(screen, LibraryScreen)
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, BuildScreen))
        app.screen.query_one("#form-inputs", Input).value = str(folder)
        app.screen.query_one("#form-name", Input).value = "notes"
        await pilot.press("ctrl+s")
        await until(pilot, ended(screen._jobs), 240)
        await until(pilot, lambda: any(item.name == "notes" and item.follows for item in screen._items))
        (folder / "b.bin").write_bytes(b"\x00\x01" * 9)
        table = screen.query_one(DataTable)
        table.move_cursor(row=next(i for i, item in enumerate(screen._items) if item.name == "notes"))
        await until(pilot, lambda: bool(screen.check_action("sync", ())))
        await pilot.press("U")
        await until(pilot, lambda: len(list(screen._jobs)) == 2 and not screen._jobs.running, 240)
        await until(pilot, lambda: "1 could not be read" in screen_text(app))
        assert "b.bin: it is neither text nor of a kind that is read" in screen_text(app)
