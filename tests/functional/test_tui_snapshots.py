"""Pictures of the main screen in its states, and of the windows that it opens.

They catch what assertions on text do not: colours, borders, and what overlaps or is cut. The main screen has two layouts
(below and from 110 columns on), so each of its states has a picture of both. A window looks the same in both, with less
room in the smaller: one picture. One of each at 200 × 50 shows what a large terminal does with the room.

To add a state, add a line to `STATES` or `WINDOWS`: its name, the assistant that brings it about, and what is done before
the picture is taken. Make the pictures with `pytest tests/functional/test_tui_snapshots.py --snapshot-update`, and look at
them before they are committed.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from support.grown_steps import grown_events, grown_trace
from support.quoting_traces import closest_trace, quotation_trace
from support.tui.fake_assistant import PLAN, QUESTION, FakeAssistant, finished, passage, rows, script
from support.tui.screens import ask, done, screen_text, until
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from atomr_local.errors import ModelError
from atomr_local.models.protocol import Generation
from atomr_local.reasoning.planning.planner import fallback_tree
from atomr_local.reasoning.trace import take_over
from atomr_local.reasoning.trace.events import (
    AnswerReady,
    Event,
    EvidenceFound,
    ModelCalled,
    NodeFinished,
    NodeJudged,
    NodeStarted,
    PlanReady,
    QuestionAsked,
)
from atomr_local.reasoning.trace.schema import Guess, Trace
from atomr_local.settings.schema import Settings
from atomr_local.sources.protocol import SourceName
from atomr_local.system import paths
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.screens.dialogs import Confirm
from atomr_local.tui.screens.library.forms import LibraryItem
from atomr_local.tui.widgets.reasoning_view import ReasoningTree

SMALL, MIDDLE, LARGE = (80, 24), (120, 40), (200, 50)
Before = Callable[[Pilot[None]], Awaitable[None]]


@dataclass
class Found:
    columns: tuple[str, ...] = ("value", "valueLabel")
    rows: tuple[tuple[str, ...], ...] = (("urn:atomr:entity:Vienna", "Vienna"), ("urn:atomr:entity:Graz", "Graz"))
    truncated: bool = False
    seconds: float = 0.012


class Assistant(FakeAssistant):
    """Answers graph queries too, and has asked how to begin, unless it is not `begun`."""

    def __init__(self, *arguments: Any, web: bool = False, begun: bool = True, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.settings = Settings(ui={"first_run_done": begun})
        self.web_enabled = web

    def query_graph(self, sparql: str, *, timeout: float = 10.0, limit: int = 500) -> Found:
        return Found()


STRATEGIES = {"atomr": "plan, then answer each step", "rag": "retrieve once, then answer"}
LIBRARY = [
    LibraryItem("model", "starter", "OK", 98_362_432, "", ("135 million parameters, Q4_1",), "model", True),
    LibraryItem("adapter", "smollm2-135m-atomr", "OK", 7_185_152, "", ("4 million parameters, F16",), "adapter", True),
    LibraryItem("text", "simple-wiki", "OK", 5_000_000, "2026-01-02", ("20,000 articles",), "text_index", private=True),
    LibraryItem("graph", "half", "half-built", 1_000, "", ("The command that began it goes on.",), unfinished=True),
]


# What the assistant does


def answered() -> list[Event]:
    made = Generation("Fritz Lang [1]", (), "stop", 20, 5, 0.5)
    events = script()
    events.insert(
        7, ModelCalled(node_id=3, purpose="read", prompt="Who directed Metropolis?\nAnswer:", completion=made)
    )
    return events


def unknown() -> list[Event]:
    return [
        *script()[:3],
        *(finished(number, "", outcome="not found") for number in (3, 4, 1, 2)),
        finished(0, "Vienna", outcome="not found", confidence=0.3),
        NodeJudged(node_id=3, outcome="not found", reason="Nothing in the text is about Metropolis."),
        AnswerReady(status="unknown", answer="", answers=(), confidence=None, basis="evidence",
                    reason="Nothing in the text is about Metropolis.",
                    advice=("Check how “Metropolis” is spelt.", "Search the graph too: --sources text,graph."),
                    guess=Guess(["Vienna"], 0.3)),
    ]  # fmt: skip


def passages_of(trace: Trace) -> list[Event]:
    """The events of a question of one step."""
    ended = NodeFinished(node_id=0)
    take_over(trace.node(0), ended)
    return [
        QuestionAsked(question=trace.question, strategy="atomr", settings={}),
        PlanReady(tree=fallback_tree(trace.question), compact="", origin="rule", attempts=0),
        EvidenceFound(node_id=0, source=SourceName.TEXT, evidence=tuple(trace.evidence)),
        ended,
        AnswerReady(**{name: fixed(getattr(trace, name)) for name in AnswerReady.__dataclass_fields__}),
    ]


def fixed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def failed() -> list[Event]:
    error = {"title": "Index not usable", "message": "the graph index cannot be read"}
    return [
        *script()[:11],
        finished(2, "", error=error),
        finished(0, ""),
        AnswerReady(status="failed", answer="The question could not be answered.", answers=(), confidence=None,
                    basis="evidence"),
    ]  # fmt: skip


def mixed() -> list[Event]:
    """Every state that a step can be in while the question runs."""
    return [
        *script()[:7],
        finished(3, "Metropolis", ("e1",), kept=True),
        NodeStarted(node_id=4, resolved_question="Who directed Metropolis?"),
        finished(4, ""),
        NodeStarted(node_id=2, resolved_question="Where was Fritz Lang born?"),
        EvidenceFound(node_id=2, source=SourceName.GRAPH, evidence=(rows("e2", "Fritz Lang", "Vienna"),)),
        EvidenceFound(node_id=2, source=SourceName.TEXT, evidence=(passage("e3", "Lang was born in Vienna."),)),
        AnswerReady(status="answered", answer="", answers=(), confidence=None, basis="evidence"),
    ]  # fmt: skip


class Pictured(AtomrApp):
    """Leaves no question running behind its picture: the thread that asks would keep the test from ending."""

    def on_unmount(self) -> None:
        self.assistant.cancel()


# What is done before the picture is taken


async def ready(pilot: Pilot[None]) -> None:
    await until(pilot, lambda: pilot.app.ask_screen.loading_stage == "")


async def offered(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await until(pilot, lambda: bool(pilot.app.query("#first-run")))


async def end(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await ask(pilot)
    await until(pilot, lambda: done(pilot.app))
    await until(pilot, lambda: bool(pilot.app.query("MarkdownParagraph")))


async def planning(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await ask(pilot)
    await until(pilot, lambda: bool(pilot.app.ask_screen.state.plan_text))


async def running(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await ask(pilot)
    tree = pilot.app.query_one(ReasoningTree)
    # The plan puts the cursor on its first step a frame after it comes.
    await until(pilot, lambda: "e3" in pilot.app.ask_screen.state.evidence and cursor(tree) == 0)
    pilot.app.ask_screen.view.select(2)
    await until(pilot, lambda: cursor(tree) == 2)


def cursor(tree: ReasoningTree) -> int | None:
    return tree.cursor_node.data if tree.cursor_node is not None else None


async def guessed(pilot: Pilot[None]) -> None:
    await end(pilot)
    pilot.app.ask_screen.view.select(3)
    await pilot.press("g")
    await pilot.pause()


def after(*keys: str, node: int | None = None, first: Before = end) -> Before:
    """The window that the keys open, with this step selected."""

    async def pressed(pilot: Pilot[None]) -> None:
        await first(pilot)
        if node is not None:
            pilot.app.ask_screen.view.select(node)
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await until(pilot, lambda: len(pilot.app.screen_stack) > 1)
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()

    return pressed


async def exporting(pilot: Pilot[None]) -> None:
    await after("f5", first=ready)(pilot)
    for key in ("down", "down", "x"):
        await pilot.press(key)
        await pilot.pause()
    await until(pilot, lambda: bool(pilot.app.screen.query("#form-share_private")))
    await pilot.pause()


async def weighed(pilot: Pilot[None]) -> None:
    await end(pilot)
    pilot.app.ask_screen.view.select(3)
    await pilot.pause()


async def wrong_plan(pilot: Pilot[None]) -> None:
    await after("p")(pilot)
    pilot.app.screen.query_one(TextArea).load_text(PLAN.replace("Relate([3]", "Relate([7]"))


async def failure(pilot: Pilot[None]) -> None:
    await until(pilot, lambda: len(pilot.app.screen_stack) > 1 and pilot.app._opened is not None)


async def asked_about(pilot: Pilot[None]) -> None:
    await ready(pilot)
    pilot.app.push_screen(Confirm("Remove the graph index mine?", "5.0 MB are freed. It can be built again."))
    await pilot.pause()


async def steady(pilot: Pilot[None]) -> None:
    """No cursor blinks in a picture, and nothing is still being laid out."""
    _keep_cursors(pilot)
    pilot.app.clear_notifications()
    seen: list[str] = []
    await until(
        pilot, lambda: seen.append(screen_text(pilot.app)) or (len(seen) > 5 and len(set(seen[-5:])) == 1), every=0.04
    )
    _keep_cursors(pilot)  # on a busy machine the focus may have come only now
    await pilot.pause()


def _keep_cursors(pilot: Pilot[None]) -> None:
    for entry in (*pilot.app.screen.query(Input), *pilot.app.screen.query(TextArea)):
        entry.cursor_blink = False
        if entry.has_focus:
            entry._pause_blink(visible=True)


BROKEN = ModelError("model.gguf is cut short", hint="Download it again.")
STATES: dict[str, tuple[Callable[[], Assistant], Before]] = {
    "empty": (Assistant, ready),
    "beginning": (lambda: Assistant(begun=False), offered),
    "planning": (lambda: Assistant(hold=2), planning),
    "running": (lambda: Assistant(mixed(), hold=13), running),
    "answered": (lambda: Assistant(answered()), end),
    "unknown": (lambda: Assistant(unknown()), end),
    "guess": (lambda: Assistant(unknown()), guessed),
    "closest": (lambda: Assistant(passages_of(closest_trace()), trace=closest_trace()), end),
    "quotation": (lambda: Assistant(passages_of(quotation_trace()), trace=quotation_trace()), end),
    "failed": (lambda: Assistant(failed()), end),
    "grown": (lambda: Assistant(grown_events(), trace=grown_trace()), weighed),
    "web": (lambda: Assistant(answered(), web=True), end),
}
WINDOWS: dict[str, tuple[Callable[[], Assistant], Before]] = {
    "evidence": (lambda: Assistant(answered()), after("c", "enter")),
    "calls": (lambda: Assistant(answered()), after("m", node=3)),
    "console": (Assistant, after("f7", "f5", first=ready)),
    "compare": (lambda: Assistant(answered()), after("a")),
    "plan": (lambda: Assistant(answered()), wrong_plan),
    "step": (lambda: Assistant(answered()), after("e", node=4)),
    "examples": (Assistant, after("f6", first=ready)),
    "library": (Assistant, after("f5", first=ready)),
    "export-index": (Assistant, exporting),
    "import-index": (Assistant, after("f5", "i", first=ready)),
    "help": (Assistant, after("f1", first=ready)),
    "jump": (lambda: Assistant(answered()), after("ctrl+g")),
    "error": (lambda: Assistant(failure=BROKEN), failure),
    "confirm": (Assistant, asked_about),
}


@pytest.fixture(autouse=True)
def as_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same examples and models on every machine, and no colours of the terminal's own."""
    for name in ("NO_COLOR", "COLORFGBG", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("atomr_local.tui.screens.ask.compare.offered", lambda: STRATEGIES)
    monkeypatch.setattr("atomr_local.tui.screens.library.screen.library_items", lambda _settings: LIBRARY)
    file = paths.examples_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"question": QUESTION, "plan": PLAN}) + "\n", encoding="utf-8")


PICTURES = [
    *((state, size) for state in STATES for size in (SMALL, MIDDLE)),
    *((window, SMALL) for window in WINDOWS),
    ("answered", LARGE),
    ("evidence", LARGE),
]


@pytest.mark.parametrize(
    ("state", "size"),
    [
        pytest.param(state, size, id=f"{state}-{size[0]}x{size[1]}", marks=() if size == SMALL else pytest.mark.slow)
        for state, size in PICTURES
    ],
)
def test_the_screen(snap_compare: Any, state: str, size: tuple[int, int]) -> None:
    assistant, before = (STATES | WINDOWS)[state]
    app = Pictured(assistant(), clock=lambda: 0.0)

    async def run_before(pilot: Pilot[None]) -> None:
        await before(pilot)
        await steady(pilot)

    assert snap_compare(app, terminal_size=size, run_before=run_before)
