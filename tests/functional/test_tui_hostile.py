"""Hostile text in every place of the terminal UI that shows what came from outside: the strips hold nothing of it."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.tui.fake_assistant import FakeAssistant, finished, script
from support.tui.hostile import assert_harmless, hostile, one_line
from support.tui.screens import ask, done, screen_text, until
from textual import events as textual_events
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import DataTable, Input, TextArea

import atomr_local.tui
from atomr_local.assistant.history.store import History, history_file
from atomr_local.errors import AtomrError
from atomr_local.models.protocol import Generation
from atomr_local.reasoning.trace.events import (
    AnswerReady,
    Event,
    EvidenceFound,
    ModelCalled,
    NodeStarted,
    PlanFragment,
    PlanReady,
    SourcesSelected,
    StageChanged,
    TextGenerated,
    WarningRaised,
    planned,
)
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, PlanTrace, Trace
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.sources.protocol import Evidence, SourceName
from atomr_local.strategies.processes.process import shipped
from atomr_local.system import paths
from atomr_local.tree.nodes import Literal, Node, Operator, OperatorCall, Tree
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.background import ErrorScreen
from atomr_local.tui.jobs import Job, Jobs, JobState
from atomr_local.tui.question.state import NodeView
from atomr_local.tui.screens.ask.compare import CompareScreen
from atomr_local.tui.screens.ask.evidence import CallsScreen, EvidenceScreen
from atomr_local.tui.screens.ask.plan_editor import NodeEditor, PlanEditor, ProcessEditor
from atomr_local.tui.screens.ask.windows import BusyScreen, PartScreen, RecallScreen, RewordScreen
from atomr_local.tui.screens.console import ConsoleScreen
from atomr_local.tui.screens.dialogs import Confirm, PathDialog
from atomr_local.tui.screens.examples import ExamplesScreen
from atomr_local.tui.screens.help import HelpScreen
from atomr_local.tui.screens.history.export import ExportScreen
from atomr_local.tui.screens.history.screen import HistoryScreen
from atomr_local.tui.screens.library.downloads import FetchScreen, TextIndex
from atomr_local.tui.screens.library.forms import BuildScreen, ExportIndexScreen, ImportIndexScreen, LibraryItem
from atomr_local.tui.screens.library.screen import LibraryScreen
from atomr_local.tui.widgets.node_panel import Fold, NodePanel
from atomr_local.tui.widgets.question_box import QuestionBox
from atomr_local.tui.widgets.welcome import FirstRunChoices

LARGE = (220, 110)
SMALL = (80, 24)


class Alone(App[None]):
    """One screen, and nothing else."""

    def __init__(self, screen: Screen[Any]) -> None:
        super().__init__()
        self.given = screen

    def on_mount(self) -> None:
        self.push_screen(self.given)


@dataclass
class Rows:
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    truncated: bool = False
    seconds: float = 0.01


@dataclass
class GraphAssistant:
    """Answers every graph query with hostile rows; one that holds "bad" with a hostile error."""

    settings: Settings = field(default_factory=Settings)
    web_enabled: bool = False

    def query_graph(self, sparql: str, **_: Any) -> Rows:
        if "bad" in sparql:
            raise AtomrError(hostile("zmsgz"), hint=hostile("zhintz"), title=hostile("ztitlez"))
        return Rows((hostile("zcolz"), "b"), [(hostile("zcellz"), "1"), ("2", hostile("zmorez", repeat=500))])

    def cancel(self) -> None:
        """Nothing runs."""

    def stop_loading(self) -> None:
        """Nothing loads."""


# The main screen


def events() -> list[Event]:
    tree = Tree(
        Node(
            0,
            hostile("zquestionz"),
            children=(
                Node(1, hostile("zsearchz"), call=OperatorCall(Operator.SEARCH, (Literal(hostile("zargz")),))),
                Node(2, hostile("zsecondz"), call=OperatorCall(Operator.SEARCH, (Literal("x"),))),
            ),
        )
    )
    web = {"url": hostile("zurlz"), "retrieved_at": hostile("zwhenz")}
    graph = {
        "sparql": f'SELECT ?x {{ ?x ?y "{hostile("zsparqlz")}" }}',
        "rows": [{hostile("zcolz"): hostile("zcellz")}],
    }
    text = {"passage": hostile("zpassagez"), "span": [hostile("zfromz"), hostile("ztoz")]}
    found = [
        Evidence(SourceName.TEXT, hostile("zatitlez"), hostile("zatextz"), 0.5, "q", text, id="e1"),
        Evidence(SourceName.GRAPH, hostile("zbtitlez"), hostile("zbtextz"), 0.5, "q", graph, id="e2"),
        Evidence(SourceName.WEB, hostile("zctitlez"), hostile("zctextz"), 0.5, "q", web, id="e3"),
    ]
    failed = {"title": hostile("zerrorz"), "message": hostile("zmessagez")}
    return [
        script()[0],
        StageChanged(stage=hostile("zstagez")),
        PlanFragment(text=f"1. {hostile('zplanz')}\n 2. {hostile('zchildz')}"),
        PlanReady(tree=tree, compact="", origin="fallback", attempts=2, problems=(hostile("zproblemz"),)),
        NodeStarted(node_id=1, resolved_question=hostile("zfilledz")),
        SourcesSelected(node_id=1, sources=(SourceName.TEXT,), reason=hostile("zreasonz")),
        *(EvidenceFound(node_id=1, source=item.source, evidence=(item,)) for item in found),
        # The same piece twice, as a file of another installation may name it.
        finished(1, hostile("zanswerz"), ("e1", "e2", "e3", "e1"), computation=hostile("zcomputedz"),
                 dropped=(hostile("zdroppedz"),), supported=False),
        NodeStarted(node_id=2, resolved_question="Why?"),
        finished(2, "", error=failed),
        TextGenerated(node_id=0, text=hostile("zdraftz")),
        finished(0, hostile("zrootz"), ("e1", "e2"), supported=False),
        WarningRaised(message=hostile("zwarningz")),
        WarningRaised(message=f"step 1: {hostile('zstepz')}"),
        AnswerReady(status="answered", answer=hostile("zfinalz"), answers=(hostile("zrootz"),), confidence=0.1,
                    basis="model"),
    ]  # fmt: skip


def held(kind: type[Event]) -> int:
    """The place in `events` after the last event of this kind."""
    return max(number for number, event in enumerate(events()) if isinstance(event, kind)) + 1


@asynccontextmanager
async def main_screen(
    fake: FakeAssistant, size: tuple[int, int] = LARGE
) -> AsyncIterator[tuple[AtomrApp, Pilot[None]]]:
    """The app; whatever fails, the assistant's thread ends."""
    app = AtomrApp(fake)
    async with app.run_test(size=size, notifications=True) as pilot:
        try:
            yield app, pilot
        finally:
            fake.cancel()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last", "tags"),
    [(PlanFragment, ("zstagez", "1. zplanz", "zchildz")), (TextGenerated, ("zdraftz", "Search zanswerz"))],
)
async def test_what_streams_in_is_harmless(last: type[Event], tags: tuple[str, ...]) -> None:
    """The plan as it is written, and the draft of the answer."""
    async with main_screen(FakeAssistant(events(), hold=held(last))) as (app, pilot):
        await ask(pilot)
        state = app.ask_screen.state
        await until(pilot, lambda: bool(state.plan_text if last is PlanFragment else state.draft))
        assert_harmless(app, *tags)


async def unfold(app: AtomrApp, pilot: Pilot[None]) -> None:
    """Unfold every line of the evidence pane."""
    panel = app.query_one(NodePanel)
    for place, option in enumerate(list(panel.options)):
        if isinstance(option, Fold) and not option.is_open:
            panel.highlighted = place
            panel.action_select()
            await pilot.pause()
    panel.scroll_home(animate=False)
    await pilot.pause()


PANEL = {
    0: ("zquestionz", "zrootz", "zatitlez", "zatextz", "zbtitlez", "zsparqlz", "zcolz", "zcellz"),
    1: (
        "zsearchz", "zfilledz", "zreasonz", "zanswerz", "zcomputedz", "zdroppedz", "zatitlez", "zatextz", "zpassagez",
        "zfromz", "ztoz", "zbtitlez", "zbtextz", "zsparqlz", "zcolz", "zcellz", "zctitlez", "zctextz", "zurlz",
        "zwhenz",
    ),
    2: ("zsecondz", "zerrorz", "zmessagez"),
}  # fmt: skip


@pytest.mark.slow
async def test_an_answered_question_is_harmless_at_every_step() -> None:
    async with main_screen(FakeAssistant(events())) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: done(app))
        # The answer takes a share of the screen: what it holds further down is looked at by itself.
        app.query_one("#answer").styles.max_height = 60
        app.query_one("#answer").styles.height = 60
        app.query_one("#body").display = False
        await until(pilot, lambda: "zfinalz" in screen_text(app))
        assert_harmless(app, "zfinalz", "zwarningz", "step 1: zstepz", "zatitlez", "zbtitlez")
        app.query_one("#answer").display = False
        app.query_one("#body").display = True
        for number, tags in PANEL.items():
            app.ask_screen.view.select(number)
            await pilot.pause()
            await unfold(app, pilot)
            assert_harmless(app)
            seen = screen_text(app)
            app.query_one("#evidence").scroll_end(animate=False)
            await pilot.pause()
            assert_harmless(app)
            seen += screen_text(app)
            assert [tag for tag in tags if f"{tag}[b]" not in seen] == []
        await pilot.press("ctrl+g")
        await pilot.pause()
        assert_harmless(app)


@pytest.mark.slow
async def test_nothing_of_it_can_be_clicked() -> None:
    """A click anywhere on the answer neither quits nor opens a page."""
    opened: list[str] = []
    async with main_screen(FakeAssistant(events()), SMALL) as (app, pilot):
        app.open_url = lambda url, **_: opened.append(url)  # type: ignore[method-assign]
        await ask(pilot)
        await until(pilot, lambda: done(app))
        assert_harmless(app)
        panel = app.query_one("#answer").region
        for row in range(panel.y + 1, panel.bottom - 1):
            for column in range(panel.x + 2, panel.right - 2, 19):
                await pilot.click(offset=(column, row))
        assert app.is_running
        assert opened == []


async def test_what_the_program_tells_in_passing_is_harmless() -> None:
    async with main_screen(FakeAssistant()) as (app, pilot):
        await until(pilot, lambda: "ready" in screen_text(app))
        app.ask_screen.show_notice(hostile("ztellz"))
        app.ask_screen.show_loading(hostile("zloadz"))
        await until(pilot, lambda: "ztellz" in screen_text(app))
        assert_harmless(app, "ztellz", "zloadz")
        job = Job(1, hostile("zjobz"), (), JobState.FAILED)
        job.lines.append("the last line")
        app._job_updated(job)
        await until(pilot, lambda: "zjobz" in screen_text(app))
        assert_harmless(app, "zjobz")


async def test_a_hostile_keymap_and_theme_are_told_harmlessly() -> None:
    fake = FakeAssistant()
    fake.settings = Settings(ui={"keys": {hostile("zidz"): "f1"}, "theme": hostile("zthemez")})
    async with main_screen(fake) as (app, pilot):
        await until(pilot, lambda: "Your own keys" in screen_text(app))
        assert_harmless(app, "zidz")
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert_harmless(app)


@pytest.mark.parametrize("size", [LARGE, pytest.param(SMALL, marks=pytest.mark.slow)])
async def test_the_first_starts_choice_beside_hostile_text_is_harmless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    """The choice has no words from outside; above hostile examples and what failed to load it stays whole."""
    monkeypatch.setattr(paths, "starter_knowledge_dir", lambda: tmp_path)
    examples = [{"question": hostile(tag)} for tag in ("zexamplez", "zotherz")]
    lines = [json.dumps(example).replace("\\ud800", "") for example in examples]
    (tmp_path / "examples.jsonl").write_text("\n".join(lines), encoding="utf-8")
    async with main_screen(FakeAssistant(), size) as (app, pilot):
        await until(pilot, lambda: bool(app.ask_screen.query(FirstRunChoices)))
        app.ask_screen.show_loading(hostile("zloadz"))
        await until(pilot, lambda: "zloadz" in screen_text(app))
        assert_harmless(app, "zexamplez", "zotherz", "zloadz")
        text = screen_text(app)
        for line in ("How to begin?", "Use the starter", "Get a larger model", "Build from files"):
            assert line in text


def hostile_trace() -> Trace:
    piece = EvidenceTrace("e1", "text", hostile("zatitlez"), hostile("zatextz"), 0.5, hostile("zqueryz"),
                          {"passage": hostile("zpassagez"), "span": [0, hostile("ztoz")]})  # fmt: skip
    root = NodeTrace(
        0, None, hostile("zquestionz"), "root", hostile("zfilledz"), answer=hostile("zrootz"), answers=["Vienna"],
        cited=["e1"], evidence=["e1", "e1"], method="child", computation=hostile("zcomputedz"),
        dropped=[hostile("zdroppedz")], error={"title": hostile("zerrorz"), "message": hostile("zmessagez")},
    )  # fmt: skip
    return Trace(
        hostile("zquestionz"), hostile("zstrategyz"), {"model": hostile("zmodelz")}, status="answered",
        answer=hostile("zfinalz"), answers=["Vienna"], plan=PlanTrace(f"1. {hostile('zplanz')}\n\x1b[2J"),
        warnings=[hostile("zwarningz")], nodes=[root], evidence=[piece],
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("size", [LARGE, SMALL])
async def test_a_question_of_elsewhere_is_harmless_in_the_history_and_opened(size: tuple[int, int]) -> None:
    with History.open() as history:
        history.record(hostile_trace())
    with closing(sqlite3.connect(history_file())) as connection:  # as another program may have written it
        fields = [hostile(tag) for tag in ("zlistedz", "zhowz", "zatz")]
        connection.execute("UPDATE questions SET question = ?, strategy = ?, asked_at = ?", fields)
        connection.commit()
    async with main_screen(FakeAssistant(), size) as (app, pilot):

        def check(*tags: str) -> None:
            assert_harmless(app, *(tags if size == LARGE else ()))

        await until(pilot, lambda: bool(app.ask_screen.query_one(QuestionBox)._asked))
        await pilot.press("up")
        await pilot.pause()
        check("zlistedz")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, RecallScreen) and bool(app.screen._questions))
        check("zlistedz")
        await pilot.press("escape", "f3")
        await until(pilot, lambda: isinstance(app.screen, HistoryScreen) and bool(app.screen._items))
        await until(pilot, lambda: size == SMALL or "Citations" in screen_text(app))
        check("zlistedz", "zquestionz", "zhowz", "zatz", "zfinalz", "zatitlez", "zatextz", "zplanz")
        for key, tags in {"d": ("zlistedz",), "x": ("zquestionz",), "s": ("zquestionz",), "i": ()}.items():
            await pilot.press(key)
            await until(pilot, lambda: not isinstance(app.screen, HistoryScreen))
            check(*tags)
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, HistoryScreen))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.ask_screen)
        await until(pilot, lambda: "zfinalz" in screen_text(app))
        await unfold(app, pilot)
        check("zquestionz", "zfinalz", "zwarningz", "zatitlez", "zatextz", "zpassagez", "zrootz")
        await pilot.press("f3", "slash")
        await until(pilot, lambda: isinstance(app.screen, HistoryScreen) and isinstance(app.focused, Input))
        app.screen.query_one("#search", Input).insert_text_at_cursor(hostile("zsoughtz"))
        await pilot.pause()
        check("zsoughtz")


# The other screens, each alone

GRAPH = GraphAssistant()
TREE = Tree(Node(0, hostile("zquestionz"), children=(Node(1, hostile("zstepz"), instruction=hostile("zdoz")),)))
LIMITS = Settings().limits
COMPLETION = Generation(hostile("zoutputz", repeat=3000), (), "stop", 1, 1, 0.5)
CALLS = [ModelCalled(node_id=1, purpose=hostile("zpurposez"), prompt=hostile("zpromptz"), completion=COMPLETION)]
ERROR = AtomrError(hostile("zmsgz"), hint=hostile("zhintz"), title=hostile("ztitlez"))
WEB = Evidence(
    SourceName.WEB, hostile("zatitlez"), hostile("zatextz"), 1.0, hostile("zqueryz"),
    {"url": hostile("zurlz"), "retrieved_at": hostile("zwhenz")}, id="e1",
)  # fmt: skip
GRAPH_PIECE = Evidence(
    SourceName.GRAPH, hostile("zatitlez"), hostile("zatextz"), 1.0, "q",
    {"sparql": hostile("zsparqlz"), "rows": [{hostile("zcolz"): hostile("zcellz")}]}, id="e1",
)  # fmt: skip
PASSAGE = Evidence(
    SourceName.TEXT, hostile("zatitlez"), hostile("zatextz", repeat=5000), 1.0, "q",
    {"passage": hostile("zpassagez"), "span": [hostile("zfromz"), 2]}, id="e1",
)  # fmt: skip
USERS = [(1, hostile("zuserz"))]
KEPT = hostile_trace()


def answered_view() -> NodeView:
    step = planned(TREE, TREE.node(1))
    step.answer, step.answers = hostile("zanswerz"), [hostile("zanswerz")]
    return NodeView(TREE.node(1), step, ended=True)


@dataclass
class Fed:
    """A screen that is given hostile text: what must be seen, the keys after which it is looked at again, and what then."""

    make: Callable[[], Screen[Any]]
    tags: Sequence[str]
    keys: Sequence[str] = ()
    then: Sequence[str] = ()


SCREENS: dict[str, Fed] = {
    "evidence-text": Fed(lambda: EvidenceScreen(GRAPH, PASSAGE, [hostile("zanswerz"), "W"], USERS),
                         ("zatitlez", "zatextz", "zuserz")),
    "evidence-graph": Fed(lambda: EvidenceScreen(GRAPH, GRAPH_PIECE, [], USERS),
                          ("zatitlez", "zatextz", "zsparqlz", "zcolz", "zcellz"), ("r",), ("zcolz",)),
    "evidence-web": Fed(lambda: EvidenceScreen(GRAPH, WEB), ("zatitlez", "zatextz", "zqueryz", "zurlz", "zwhenz")),
    "calls": Fed(lambda: CallsScreen(hostile("zheadz"), CALLS), ("zheadz", "zpurposez", "zpromptz", "zoutputz")),
    "compare": Fed(lambda: CompareScreen(KEPT, [KEPT]), ("zquestionz", "zstrategyz")),
    "confirm": Fed(lambda: Confirm(hostile("zheadz"), hostile("zmsgz"), hostile("zyz"), hostile("znz")),
                   ("zheadz", "zmsgz", "znz")),
    "error": Fed(lambda: ErrorScreen(ERROR), ("ztitlez", "zmsgz", "zhintz")),
    "console": Fed(lambda: ConsoleScreen(GRAPH, hostile("zsparqlz")), ("zsparqlz",), ("ctrl+s",), ("zcolz", "zcellz")),
    "console-error": Fed(lambda: ConsoleScreen(GRAPH, "bad"), (), ("ctrl+s",), ("ztitlez", "zmsgz", "zhintz")),
    "plan": Fed(lambda: PlanEditor(hostile("zquestionz"), TREE, LIMITS), ("zquestionz", "zstepz")),
    "process": Fed(lambda: ProcessEditor(shipped()[0].model_copy(update={"question": hostile("zquestionz")}),
                                         lambda process: process, lambda: None), ("zquestionz",)),
    "step": Fed(lambda: NodeEditor(TREE, answered_view(), LIMITS, ["text"]), ("zstepz", "zdoz", "zanswerz")),
    "export": Fed(lambda: ExportScreen(KEPT), ("zquestionz",)),
    "busy": Fed(lambda: BusyScreen(hostile("zfirstz"), hostile("zsecondz")), ("zfirstz", "zsecondz")),
    "path": Fed(lambda: PathDialog(hostile("zheadz"), hostile("zmsgz"), yes=hostile("zyz")), ("zheadz", "zmsgz", "zyz")),
    "build": Fed(lambda: BuildScreen([hostile("zindexz")]), ()),
    "export-index": Fed(lambda: ExportIndexScreen(LibraryItem("text", hostile("zindexz"), "", 0, "", (), private=True)),
                        ("zindexz",), ("ctrl+s",)),
    "import-index": Fed(lambda: ImportIndexScreen(), (), ("ctrl+s",)),  # noqa: PLW0108
    "fetch": Fed(lambda: FetchScreen(find=lambda: [TextIndex(hostile("zindexz"), 3, hostile("zsitez"))]), (), ("end",),
                 ("zindexz",)),
    "reword": Fed(lambda: RewordScreen(hostile("zquestionz"), hostile("zmeantz")), ("zquestionz",), ("home",),
                  ("zmeantz",)),
    "part": Fed(lambda: PartScreen([hostile("zpartz")]), ("zpartz",), ("home",)),
    "help": Fed(lambda: HelpScreen([("Keys", AtomrApp.BINDINGS)], {"app.help": hostile("zkeyz")}), ("zkeyz",)),
}  # fmt: skip


@pytest.mark.parametrize(
    "size", [pytest.param(SMALL, id="small", marks=pytest.mark.slow), pytest.param(LARGE, id="large")]
)
@pytest.mark.parametrize("name", SCREENS)
async def test_a_screen_given_hostile_text_is_harmless(name: str, size: tuple[int, int]) -> None:
    fed = SCREENS[name]
    app = Alone(fed.make())
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.screen is app.given)
        assert_harmless(app, *(fed.tags if size == LARGE else ()))
        if fed.keys:
            await pilot.press(*fed.keys)
            await app.workers.wait_for_complete()
            await pilot.pause()
            assert_harmless(app, *(fed.then if size == LARGE else ()))


ENTERED = ["console", "plan", "step", "export", "path", "build", "export-index", "import-index"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTERED)
async def test_what_is_pasted_is_harmless(name: str) -> None:
    app = Alone(SCREENS[name].make())
    async with app.run_test(size=LARGE) as pilot:
        await until(pilot, lambda: app.screen is app.given)
        entries = [*app.screen.query(Input), *app.screen.query(TextArea)]
        assert entries
        for entry in entries:
            entry.focus()
            await pilot.pause()
            entry.post_message(textual_events.Paste(hostile("zpastedz")))
            await pilot.pause()
            assert_harmless(app, "zpastedz")


@pytest.mark.slow
async def test_a_question_that_is_pasted_is_harmless() -> None:
    async with main_screen(FakeAssistant()) as (app, pilot):
        box = app.ask_screen.query_one(QuestionBox)
        box.post_message(textual_events.Paste(hostile("zpastedz")))
        await until(pilot, lambda: "zpastedz[b]" in box.text)
        assert_harmless(app)
        app.set_focus(None)
        app.ask_screen.post_message(textual_events.Paste(hostile("zelsewherez")))
        await until(pilot, lambda: "zelsewherez[b]" in box.text)
        assert_harmless(app)
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.assistant.questions))
        assert "\x1b" not in app.assistant.questions[0]


@pytest.mark.slow
async def test_hostile_lines_of_the_examples_file_are_harmless() -> None:
    file = paths.examples_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    plan = f'1. {hostile("zplanz").splitlines()[0]} = Search("x")'
    lines = [json.dumps({"question": hostile("zexamplez"), "plan": plan}), one_line("zlinez"),
             json.dumps({"question": hostile("zbadz"), "plan": hostile("zwrongz")})]  # fmt: skip
    file.write_text("\n".join(lines), encoding="utf-8")
    app = Alone(ExamplesScreen())
    async with app.run_test(size=LARGE) as pilot:
        await until(pilot, lambda: app.screen is app.given)
        assert_harmless(app, *(("zexamplez",) if app.given._found else ()))
        await pilot.press("d")
        await pilot.pause()
        assert_harmless(app)
    file.write_text("\n".join(lines[1:]), encoding="utf-8")
    app = Alone(ExamplesScreen())
    async with app.run_test(size=LARGE) as pilot:
        await until(pilot, lambda: "skipped" in screen_text(app))
        assert_harmless(app)


@pytest.mark.slow
async def test_hostile_names_of_files_and_manifests_are_harmless_in_the_library(own_home: Path) -> None:
    index = paths.indexes_dir() / "text" / one_line("zindexz")
    index.mkdir(parents=True)
    manifest = {
        "kind": "text", "name": hostile("znamez"), "counts": {hostile("zcountz"): 3}, "settings": {}, "bytes": 5,
        "inputs": [{"path": hostile("zinputz"), "size": 1, "sha256": hostile("zsumz")}], "schema": 1,
        "built_at": "\x1b[2J\u202ezb[b]",
    }  # fmt: skip
    (index / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    broken = paths.indexes_dir() / "graph" / one_line("zbrokenz")
    broken.mkdir(parents=True)
    (broken / "manifest.json").write_text(json.dumps({"schema": hostile("zschemaz")}), encoding="utf-8")
    paths.models_dir().mkdir(parents=True, exist_ok=True)
    (paths.models_dir() / f"{one_line('zmodelz')}.gguf").write_bytes(b"GGUF\x03" + one_line("zheaderz").encode() * 9)
    jobs = Jobs(lambda _: None)
    job = Job(1, hostile("zjobz"), (), JobState.FAILED)
    job.lines.append("ended")
    jobs._jobs.append(job)
    app = Alone(LibraryScreen(load_settings, jobs, lambda *_: None))
    async with app.run_test(size=LARGE) as pilot:
        await until(pilot, lambda: "zmodelz" in screen_text(app))
        assert_harmless(app, "zindexz", "zbrokenz", "zmodelz", "zjobz", "zb")
        table = app.screen.query_one(DataTable)
        seen = ""
        for row in range(table.row_count):
            table.move_cursor(row=row)
            await pilot.pause()
            assert_harmless(app)
            seen += screen_text(app)
        for tag in ("zcountz[b]", "zinputz[b]", "zschemaz"):
            assert tag in seen
        await pilot.press("d")
        await pilot.pause()
        assert_harmless(app)


def test_every_screen_is_given_hostile_text_somewhere_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    room = atomr_local.tui
    found = {
        name
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
        for name, kind in vars(importlib.import_module(module.name)).items()
        if isinstance(kind, type) and issubclass(kind, Screen) and kind.__module__.startswith(room.__name__)
    }
    # Those that show nothing from outside, and those that are tested as the screen that they are a part of. What the
    # settings screen is given is in test_tui_settings.py.
    found -= {
        "JumpScreen",
        "SettingsScreen",
        "UnsavedChanges",
        "AskScreen",
        "_PickOne",
        "WishForm",
        "ChoiceDialog",
        "_LineDialog",
        "_TextEditor",
    }
    missing = {name for name in found if f"{name}(" not in source and f", {name})" not in source}
    assert not missing, f"no hostile text is shown to {missing}"
