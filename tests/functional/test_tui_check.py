"""Checking an answer: from citations to evidence, from evidence to its steps, graph queries, prompts, web pages."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pytest
from support.tui.fake_assistant import FakeAssistant, finished, passage, script
from support.tui.hostile import HOSTILE
from support.tui.screens import answered, ask, done, opened, screen_text, until
from textual.widgets import DataTable, TextArea

from atomr_local.errors import InputError
from atomr_local.models.protocol import Generation
from atomr_local.reasoning.trace.events import Event, EvidenceFound, ModelCalled, PlanReady
from atomr_local.sources.protocol import Evidence, SourceName
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.screens.ask.evidence import CallsScreen, EvidenceScreen
from atomr_local.tui.screens.console import ConsoleScreen
from atomr_local.tui.screens.help import JumpScreen
from atomr_local.tui.widgets.node_panel import NodePanel
from atomr_local.tui.widgets.reasoning_view import ReasoningTree

SIZE = (120, 40)


@dataclass
class Rows:
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    truncated: bool = False
    seconds: float = 0.012


class GraphAssistant(FakeAssistant):
    """Answers graph queries too; one that holds "slow" waits until it is cancelled."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.queries: list[str] = []
        self.stopped = threading.Event()

    def query_graph(self, sparql: str, *, timeout: float = 10.0, limit: int = 500) -> Rows:
        self.queries.append(sparql)
        if "bad" in sparql:
            raise InputError("the query is not valid", hint="Mend it.")
        if "slow" in sparql:
            assert self.stopped.wait(120)
            raise InputError("cancelled")
        if "deaf" in sparql:  # too far on to be stopped
            assert self.stopped.wait(120)
        return Rows(("value", "other"), [("Vienna", HOSTILE)])

    def cancel(self) -> None:
        self.stopped.set()
        super().cancel()


async def test_from_a_citation_to_its_evidence_and_to_the_steps_that_use_it() -> None:
    async with answered(GraphAssistant(), size=SIZE) as (app, pilot):
        await pilot.press("c")
        await until(pilot, lambda: app.query_one(NodePanel).chosen == "e2")
        assert app.focused is app.query_one(NodePanel)
        assert app.ask_screen.view.selected == 0
        await pilot.press("u")
        await until(pilot, lambda: app.ask_screen.view.selected == 2)
        assert app.query_one(NodePanel).chosen == "e2"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, EvidenceScreen))
        text = screen_text(app)
        assert "Fritz Lang — place of birth: Vienna." in text
        assert "Answer: Where was the director of Metropolis born?" in text
        await pilot.press("up", "up", "enter")
        await until(pilot, lambda: app.ask_screen.view.selected == 0)


@pytest.mark.slow
async def test_a_click_on_a_citation_goes_to_its_evidence() -> None:
    async with opened(GraphAssistant(), size=SIZE) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: done(app) and "[e2]" in screen_text(app))
        lines = screen_text(app).splitlines()
        row = next(number for number, line in enumerate(lines) if "The answer is Vienna. [e2]" in line)
        await pilot.click(offset=(lines[row].index("[e2]") + 1, row))
        await until(pilot, lambda: app.query_one(NodePanel).chosen == "e2")


@pytest.mark.slow
async def test_a_graph_query_is_run_again_and_opened_in_the_console() -> None:
    fake = GraphAssistant()
    async with answered(fake, size=SIZE) as (app, pilot):
        await pilot.press("c", "enter")
        await until(pilot, lambda: isinstance(app.screen, EvidenceScreen))
        await pilot.press("r")
        await until(pilot, lambda: "1 row, unchanged (12 ms)" in screen_text(app))
        assert fake.queries == ["SELECT ?value WHERE { ?head ?relation ?value }"]
        assert "\x1b" not in screen_text(app)
        await pilot.press("f7")
        await until(pilot, lambda: isinstance(app.screen, ConsoleScreen))
        assert "?head ?relation ?value" in screen_text(app)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "1 row (12 ms)" in screen_text(app))
        assert "Vienna" in screen_text(app)


@pytest.mark.slow
async def test_a_wrong_query_is_told_in_place_without_the_rows_of_the_one_before() -> None:
    async with opened(GraphAssistant(), size=SIZE) as (app, pilot):
        app.ask_screen.open_console()
        await pilot.pause()
        console = app.screen
        assert isinstance(console, ConsoleScreen)
        console.action_run()
        await until(pilot, lambda: "Vienna" in screen_text(app))
        console.query_one(TextArea).text = "bad"
        console.action_run()
        await until(pilot, lambda: "the query is not valid" in screen_text(app))
        assert app.screen is console
        assert "Mend it." in screen_text(app)
        assert "Vienna" not in screen_text(app)
        assert console.query_one(DataTable).row_count == 0
        console.query_one(TextArea).text = "SELECT ?good"
        console.action_run()
        await until(pilot, lambda: "Vienna" in screen_text(app))
        assert "the query is not valid" not in screen_text(app)


@pytest.mark.slow
async def test_an_edited_query_is_there_when_the_console_is_opened_again() -> None:
    async with opened(GraphAssistant(), size=SIZE) as (app, pilot):

        async def console(sparql: str = "") -> TextArea:
            app.ask_screen.open_console(sparql)
            await until(pilot, lambda: isinstance(app.screen, ConsoleScreen))
            return app.screen.query_one(TextArea)

        async def close() -> None:
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.ask_screen)

        first = (await console()).text
        await close()
        query = await console()
        assert query.text == first
        query.text = "SELECT   ?mine"
        await close()
        assert "?other" in (await console("SELECT ?other")).text  # looked at, not edited
        await close()
        assert (await console()).text == "SELECT   ?mine"


@pytest.mark.slow
@pytest.mark.parametrize("query", ["slow", "deaf"])
async def test_a_query_is_stopped_and_rows_that_come_after_that_are_not_shown(query: str) -> None:
    fake = GraphAssistant()
    async with opened(fake, size=SIZE) as (app, pilot):
        app.ask_screen.open_console(query)
        await pilot.pause()
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(fake.queries) == 1)
        await pilot.press("escape")
        await until(pilot, lambda: "stopped" in screen_text(app))
        assert fake.stopped.is_set()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "stopped" in screen_text(app)
        assert "Vienna" not in screen_text(app)
        assert isinstance(app.screen, ConsoleScreen)


@pytest.mark.slow
async def test_the_prompt_and_the_output_are_one_key_away() -> None:
    made = Generation("Fritz Lang" + HOSTILE, (), "stop", 20, 5, 0.5)
    events = script()
    events.insert(7, ModelCalled(node_id=3, purpose="read", prompt=f"Who? {HOSTILE}", completion=made))
    async with answered(FakeAssistant(events), size=SIZE) as (app, pilot):
        app.ask_screen.view.select(3)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(app.screen, CallsScreen))
        text = screen_text(app)
        assert "Who?" in text
        assert "Fritz Lang" in text
        assert "20 tokens submitted, 5 read" in text
        assert "\x1b" not in text
        await pilot.press("escape")
        app.ask_screen.view.select(2)
        await pilot.press("m")
        await until(pilot, lambda: "The model was not asked for this step." in screen_text(app))


@pytest.mark.slow
@pytest.mark.parametrize(("url", "offered"), [("https://example.org/a", True), ("javascript:alert(1)", False)])
async def test_a_web_page_is_opened_only_after_asking(url: str, offered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Evidence(
        SourceName.WEB, "A page", "Vienna", 1.0, "query", {"url": url, "retrieved_at": "2026-01-02T03:04:05Z"}, id="e3"
    )
    events: list[Event] = script()
    events.insert(-1, EvidenceFound(node_id=2, source=SourceName.WEB, evidence=(page,)))
    events.insert(-1, finished(2, "Vienna", ("e3",)))
    app = AtomrApp(FakeAssistant(events))
    addresses: list[str] = []
    monkeypatch.setattr(app, "open_url", lambda address, **_: addresses.append(address))
    async with app.run_test(size=SIZE) as pilot:
        await ask(pilot)
        await until(pilot, lambda: done(app))
        app.ask_screen.view.select(2)
        await pilot.press("ctrl+o", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, EvidenceScreen))
        assert "retrieved 2026-01-02T03:04:05Z" in screen_text(app)
        await pilot.press("o")
        await pilot.pause()
        assert addresses == []
        if offered:
            await until(pilot, lambda: "Open this page in the browser?" in screen_text(app))
            await pilot.press("y")
            await until(pilot, lambda: addresses == [url])
        else:
            assert isinstance(app.screen, EvidenceScreen)


@pytest.mark.slow
async def test_jump_mode_gives_every_place_a_letter() -> None:
    async with answered(size=SIZE) as (app, pilot):
        await pilot.press("ctrl+g")
        await until(pilot, lambda: isinstance(app.screen, JumpScreen))
        letters = app.screen._places
        assert len(letters) >= 8  # four places and five steps, as far as they are seen
        await pilot.press(list(letters)[-1])
        await until(pilot, lambda: app.screen is app.ask_screen and app.ask_screen.view.selected == 2)
        assert app.focused is app.query_one(ReasoningTree)


async def test_many_pieces_keep_the_cursor_while_more_comes() -> None:
    events: list[Event] = script()[:3]
    assert isinstance(events[2], PlanReady)
    pieces = tuple(passage(f"e{n}", f"text {n}", f"Title {n}") for n in range(1, 8))
    events.append(EvidenceFound(node_id=3, source=SourceName.TEXT, evidence=pieces[:5]))
    events.append(EvidenceFound(node_id=3, source=SourceName.TEXT, evidence=pieces[5:]))
    fake = FakeAssistant([*events, *script()[7:]], hold=4)
    async with opened(fake, size=SIZE) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: len(app.ask_screen.state.evidence) == 5)
        app.ask_screen.view.select(3)
        panel = app.query_one(NodePanel)
        panel.focus()
        assert panel.go_to("e4")
        fake.released.set()
        await until(pilot, lambda: "e7" in panel.pieces or done(app))
        assert panel.chosen == "e4" or "e4" not in panel.pieces
