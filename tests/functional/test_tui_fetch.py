"""What can be got from the net, told with size, time, licence and host before anything goes online."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import pytest
from support.gguf_files import gguf_bytes
from support.tui.screens import ALL_SIZES, opened, screen_text, until
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Select

from atomr_local.cli.main import atomr
from atomr_local.errors import AtomrError
from atomr_local.models.catalog.offered import catalogue
from atomr_local.settings.file import save_settings
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths
from atomr_local.tui.jobs import Command, JobState
from atomr_local.tui.screens.dialogs import Confirm
from atomr_local.tui.screens.library.downloads import FetchScreen, TextIndex, site_of
from atomr_local.tui.screens.library.screen import LibraryScreen

INDEXES = [TextIndex("news\x1b[2J", 100, "enwiki"), TextIndex("towns", 20_000, "simplewiki")]


class Alone(App[None]):
    """The screen by itself; `got` is what it was left with."""

    def __init__(self, find: Callable[[], list[TextIndex]] = lambda: INDEXES) -> None:
        super().__init__()
        self.find = find
        self.got: list[Command | None] = []

    def on_mount(self) -> None:
        self.push_screen(FetchScreen(find=self.find), self.got.append)

    @property
    def text(self) -> str:
        strips = self.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    @property
    def words(self) -> str:
        """The text as one line, however it was wrapped and framed."""
        return " ".join(self.text.replace("│", " ").split())


@asynccontextmanager
async def shown(
    name: str = "", *, size: tuple[int, int] = (80, 24), find: Callable[[], list[TextIndex]] = lambda: INDEXES
) -> AsyncIterator[tuple[Alone, Pilot[None]]]:
    """The screen with what has this name chosen."""
    app = Alone(find)
    async with app.run_test(size=size) as pilot:
        if name:
            options = app.screen.query_one("#fetch-list", OptionList)
            options.highlighted = options.get_option_index(name)
            await pilot.pause()
        yield app, pilot


async def confirmed(app: Alone, pilot: Pilot[None], *told: str) -> dict[str, object]:
    """What the command line makes of what Ctrl+S gives, once these words were confirmed."""
    await pilot.press("ctrl+s")
    await until(pilot, lambda: isinstance(app.screen, Confirm))
    for words in told:
        assert words in app.words
    await pilot.press("y")
    await until(pilot, lambda: bool(app.got))
    return understood(app.got[0])


async def stays(app: Alone, pilot: Pilot[None]) -> None:
    """Ctrl+S gives nothing as long as something is wrong."""
    await pilot.press("ctrl+s")
    await pilot.pause()
    assert isinstance(app.screen, FetchScreen)


def understood(fetch: Command | None) -> dict[str, object]:
    """What the command line makes of the command; it refuses what it does not know."""
    assert fetch is not None
    command: click.Command | None = atomr
    arguments = list(fetch.arguments)
    while isinstance(command, click.Group):
        command = command.get_command(click.Context(command), arguments.pop(0))
    assert command is not None
    return command.make_context("atomr", arguments).params


@pytest.mark.slow
@pytest.mark.parametrize("size", ALL_SIZES)
async def test_a_model_is_got_after_asking(size: tuple[int, int]) -> None:
    app = Alone()
    model = catalogue().model[0]
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: model.licence in app.text)
        for item in catalogue().model:
            assert item.name in app.text
        assert "estimates" in app.text
        assert "web switch does not change" in app.text
        assert "at 1 MB/s" in app.words
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        assert "huggingface.co" in app.words
        assert "/models" in app.words
        assert "491.0 MB" in app.words
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, FetchScreen))
        assert app.got == []
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("y")
        await until(pilot, lambda: bool(app.got))
    assert app.got == [Command(f"get {model.name}", ("models", "pull", "--yes", "--", model.name))]
    assert understood(app.got[0])["name"] == model.name


async def test_a_model_at_hand_is_marked(own_home: Path) -> None:
    (own_home / "models").mkdir()
    (own_home / "models" / f"{catalogue().model[0].name}.gguf").write_bytes(b"x")
    async with shown() as (app, pilot):
        await until(pilot, lambda: "Already downloaded" in app.words)
        assert app.text.count("✓") == 2
        await pilot.press("down")
        await until(pilot, lambda: app.text.count("✓") == 1)


async def test_what_is_chosen_stays_in_sight_when_the_list_has_less_room() -> None:
    async with shown("wikipedia") as (app, pilot):
        assert "a Wikipedia articles to search" in app.words
        await pilot.resize_terminal(80, 20)
        await pilot.pause()
        assert "a Wikipedia articles to search" in app.words


@pytest.mark.slow
@pytest.mark.parametrize("size", ALL_SIZES)
async def test_a_part_of_a_wikipedia(size: tuple[int, int]) -> None:
    async with shown("wikipedia", size=size) as (app, pilot):
        assert "Simple English, 20,000 articles" in app.words
        assert "on two cores" in app.words
        assert "CC BY-SA" in app.words
        await pilot.press("enter")
        assert app.focused is app.screen.query_one("#form-language")
        await pilot.press("ctrl+u", *"en")
        app.screen.query_one("#form-kind", Select).value = "dump"
        app.screen.query_one("#form-build", Input).value = "../evil"
        await pilot.pause()
        assert "✗" in app.text
        await stays(app, pilot)
        app.screen.query_one("#form-build", Input).value = "english"
        app.screen.query_one("#form-contact", Input).value = "me@example.org"
        await until(pilot, lambda: "English, 20,000 articles" in app.words)
        given = await confirmed(app, pilot, "dumps.wikimedia.org")
    assert {key: given[key] for key in ("language", "kind", "build", "limit", "contact", "yes")} == {
        "language": "en", "kind": "dump", "build": "english", "limit": 20_000, "contact": "me@example.org", "yes": True,
    }  # fmt: skip
    assert given["max_size"] == next(item for item in catalogue().wikipedia if item.language == "en").download_bytes(
        "dump", 20_000
    )


@pytest.mark.slow
async def test_a_wikipedia_in_any_language() -> None:
    async with shown("wikipedia") as (app, pilot):
        assert "Language: simple, en, de, fr, es or any other" in app.words
        await pilot.press("enter", "ctrl+u", *"zh yue")
        for wrong, told in (
            ("zh yue", "'zh yue' is not a language code"),
            ("x", "'x' is not a language code"),
            ("", "no language is"),
        ):
            app.screen.query_one("#form-language", Input).value = wrong
            await until(pilot, lambda told=told: told in app.words)
            assert "such as simple, en or zh-yue" in app.words
            await stays(app, pilot)
        await pilot.press("ctrl+u", *"ZH-yue")
        await until(pilot, lambda: "zh-yue, 20,000 articles. Its size is not known; the largest one" in app.words)
        assert "The index wikipedia-zh-yue" in app.words
        given = await confirmed(app, pilot, "get the zh-yue Wikipedia?")
    assert {key: given[key] for key in ("language", "build", "limit")} == {
        "language": "zh-yue", "build": "wikipedia-zh-yue", "limit": 20_000,
    }  # fmt: skip
    largest = max(catalogue().wikipedia, key=lambda item: item.articles)
    assert given["max_size"] == largest.download_bytes("parquet", 20_000)


@pytest.mark.slow
async def test_an_offered_language_is_completed_or_named() -> None:
    async with shown("wikipedia", size=(120, 40)) as (app, pilot):
        await pilot.press("enter", "ctrl+u", *"si")
        await until(pilot, lambda: app.screen.query_one("#form-language", Input)._suggestion == "simple")
        await pilot.press("right")
        await until(pilot, lambda: "Simple English, 20,000 articles" in app.words)
        await pilot.press("ctrl+u", *"German")
        await until(pilot, lambda: "German, 20,000 articles" in app.words)
        given = await confirmed(app, pilot)
    assert given["language"] == "de"


@pytest.mark.slow
async def test_a_whole_wikipedia() -> None:
    async with shown("wikipedia", size=(120, 40)) as (app, pilot):
        for wrong in ("0", "-5"):
            app.screen.query_one("#form-limit", Input).value = wrong
            await pilot.pause()
            assert "not a number of articles" in app.words
        app.screen.query_one("#form-limit", Input).value = ""
        await until(pilot, lambda: "240,000 articles" in app.words)
        given = await confirmed(app, pilot)
    assert (given["kind"], given["limit"], given["max_size"], given["build"]) == (
        "parquet",
        None,
        0,
        "wikipedia-simple",
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", ALL_SIZES)
async def test_facts_for_a_text_index(size: tuple[int, int]) -> None:
    async with shown("facts", size=size) as (app, pilot):
        await until(pilot, lambda: "100 articles" in app.words)
        assert "\x1b[2J" not in app.text
        app.screen.query_one("#form-text_index", Select).value = "towns"
        await until(pilot, lambda: "20,000 articles" in app.words)
        assert "CC0" in app.words
        given = await confirmed(app, pilot, "www.wikidata.org")
    assert (given["text_index"], given["site"], given["build"]) == ("towns", "simplewiki", "towns")


@pytest.mark.slow
async def test_facts_by_the_titles_of_any_wikipedia() -> None:
    async with shown("facts", size=(120, 40), find=lambda: [TextIndex("cantonese", 100, "zh_yuewiki")]) as (app, pilot):
        site = app.screen.query_one("#form-site", Input)
        await until(pilot, lambda: site.value == "zh_yuewiki")
        site.value = "../wiki"
        await until(pilot, lambda: "'../wiki' is not a Wikipedia that Wikidata knows" in app.words)
        site.value = "eowiki"
        await until(pilot, lambda: "Facts about 100 articles" in app.words)
        given = await confirmed(app, pilot)
    assert given["site"] == "eowiki"


@pytest.mark.parametrize(
    ("files", "site"),
    [
        ("/d/zh_yuewiki-20261101-pages-articles-multistream.xml.bz2", "zh_yuewiki"),
        ("/d/wikipedia-20231101.zh-yue-00000-of-00001.parquet", "zh_yuewiki"),
        ("/d/wikipedia-20231101.simple-00000-of-00002.parquet /d/more.jsonl", "simplewiki"),
        ("/d/articles.jsonl", "enwiki"),
    ],
)
def test_whose_titles_an_index_has_is_seen_in_its_files(files: str, site: str) -> None:
    assert site_of(files) == site


async def test_no_text_index_no_facts() -> None:
    async with shown("facts", find=list) as (app, pilot):
        assert "there is no text index" in app.words
        await stays(app, pilot)


async def test_a_model_by_its_address() -> None:
    async with shown("address") as (app, pilot):
        await pilot.press("enter")
        for wrong in ("", "file:///etc/passwd", "https://", "https://[x"):
            app.screen.query_one("#form-name", Input).value = wrong
            await pilot.press("enter")
            await pilot.pause()
            assert isinstance(app.screen, FetchScreen)
            assert "✗" in app.text
        app.screen.query_one("#form-name", Input).value = "https://models.example/tiny.gguf"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        assert "models.example" in app.words
        await pilot.press("y")
        await until(pilot, lambda: bool(app.got))
    assert understood(app.got[0])["name"] == "https://models.example/tiny.gguf"


async def test_escape_gets_nothing() -> None:
    async with shown() as (app, pilot):
        await pilot.press("escape")
        await until(pilot, lambda: bool(app.got))
    assert app.got == [None]


async def test_a_catalogue_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # A short path, which no line of the screen breaks.
    monkeypatch.setattr(paths, "catalogue_file", lambda: Path("/nowhere/none.toml"))
    with pytest.raises(AtomrError):
        catalogue()
    async with shown() as (app, pilot):
        await until(pilot, lambda: "none.toml" in app.words)
        await stays(app, pilot)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a small model on a server of this machine."""
    folder = tmp_path / "served"
    folder.mkdir()
    model = gguf_bytes({"general.architecture": "llama", "general.name": "T"}, {"w.weight": ((4, 2), bytes(32))})
    (folder / "tiny.gguf").write_bytes(model)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/tiny.gguf"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
async def test_a_model_is_fetched_in_the_background_and_listed(served: str, own_home: Path) -> None:
    save_settings({"ui.first_run_done": True})
    async with opened(size=(120, 40)) as (app, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen))
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, FetchScreen))
        options = app.screen.query_one("#fetch-list", OptionList)
        options.highlighted = options.get_option_index("address")
        await pilot.pause()
        app.screen.query_one("#form-name", Input).value = served
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and bool(list(app.jobs)))
        await until(pilot, lambda: not app.jobs.running, 240)
        job = next(iter(app.jobs))
        assert job.state is JobState.DONE, list(job.lines)
        assert any("publishes no checksum" in line for line in job.lines)
        await until(pilot, lambda: "tiny" in screen_text(app).replace("tiny.gguf", ""))
    assert (own_home / "models" / "tiny.gguf").is_file()
    assert not load_settings().web.enabled
