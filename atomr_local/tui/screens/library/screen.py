"""Models and indexes: what is there, how large and old, whether whole; built, checked and removed in the background."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from atomr_local.sanitize import sanitize_line
from atomr_local.tui.jobs import Job, JobState
from atomr_local.tui.screens.confirm import Confirm
from atomr_local.tui.widgets.rows_table import MeasuredTable

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexEntry
    from atomr_local.settings import Settings
    from atomr_local.tui.jobs import Jobs

_TICK = 1.0
_JOB_LINES = 8
_STATE_STYLES = {JobState.DONE: "green", JobState.FAILED: "red", JobState.STOPPED: "yellow"}
Kind = Literal["model", "adapter", "embedder", "text", "graph"]


@dataclass(frozen=True)
class Holding:
    """One thing that is at hand, as shown. `setting` is the key that chooses it, empty where it cannot be chosen."""

    kind: Kind
    name: str
    state: str
    size: int
    built: str
    details: tuple[str, ...]
    setting: str = ""
    chosen: bool = False
    unfinished: bool = False

    @property
    def is_index(self) -> bool:
        return self.kind in {"text", "graph"}


class LibraryScreen(Screen[None]):
    DEFAULT_CSS = """
    #library-title { background: $panel; padding: 0 1; height: 1; }
    #library-table { height: 1fr; }
    #library-details { height: auto; max-height: 7; padding: 0 1; border-top: solid $panel-lighten-2; }
    #library-jobs { height: auto; max-height: 10; padding: 0 1; border-top: solid $panel-lighten-2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="library.close"),
        Binding("enter", "use", "Use", tooltip="Use the model or index from now on", priority=True, id="library.use"),
        Binding("b", "build", "Build", tooltip="Build an index from files", id="library.build"),
        Binding("p", "pull", "Get", tooltip="Download a model, a Wikipedia or a Wikidata slice", id="library.pull"),
        Binding("v", "verify", "Verify", tooltip="Read the index or model through and tell what is wrong",
                id="library.verify"),
        Binding("d,delete", "remove", "Remove", tooltip="Remove the index and free its space", id="library.remove"),
        Binding("s", "stop", "Stop job", tooltip="Stop the job that runs; begun again, it goes on", id="library.stop"),
    ]  # fmt: skip

    @dataclass
    class Listed(Message):
        holdings: list[Holding]

    def __init__(self, settings: Callable[[], Settings], jobs: Jobs, use: Callable[[str, str], None]) -> None:
        """Make the screen.

        Args:
            settings: gives those that hold now.
            use: called with the name of a setting and the thing that it shall choose.
        """
        super().__init__()
        self._use = use
        self._settings = settings
        self._jobs = jobs
        self._holdings: list[Holding] = []

    def compose(self) -> ComposeResult:
        yield Static(Text("Models and indexes on this machine; ✓ marks those in use", "bold"), id="library-title")
        yield MeasuredTable(id="library-table", cursor_type="row", zebra_stripes=True)
        yield Static(id="library-details", markup=False)
        yield Static(id="library-jobs", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns("", "kind", "name", "state", "size", "built")
        table.focus()
        self.query_one("#library-details", Static).update(Text("looking …", "dim"))
        self.refresh_list()
        self.show_jobs()
        self.set_interval(_TICK, self.show_jobs)

    @work(thread=True, exit_on_error=False, exclusive=True, group="library")
    def refresh_list(self) -> None:
        self.post_message(self.Listed(holdings(self._settings())))

    @on(Listed)
    def _listed(self, message: Listed) -> None:
        self._holdings = message.holdings
        table = self.query_one(DataTable)
        row = table.cursor_row
        table.clear()
        for item in message.holdings:
            mark = Text("✓" if item.chosen else "", "bold green")
            state = Text(item.state, "" if item.state == "whole" else "yellow")
            size = Text(_human(item.size), justify="right")
            table.add_row(mark, item.kind, Text(sanitize_line(item.name)), state, size, Text(sanitize_line(item.built)))
        if message.holdings:
            table.move_cursor(row=min(row, len(message.holdings) - 1))
        self._show_details()

    @property
    def _current(self) -> Holding | None:
        row = self.query_one(DataTable).cursor_row
        return self._holdings[row] if 0 <= row < len(self._holdings) else None

    @on(DataTable.RowHighlighted)
    def _show_details(self) -> None:
        item = self._current
        lines = item.details if item is not None else ("Nothing is here yet. Press b to build an index.",)
        self.query_one("#library-details", Static).update(Text("\n".join(map(sanitize_line, lines))))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        item = self._current if self.is_mounted else None
        if action == "use":
            return (item is not None and bool(item.setting) and not item.unfinished) or None
        if action == "remove":
            return item is not None or None  # of what is no index it tells so
        if action == "verify":
            return (item is not None and item.kind != "embedder") or None
        if action == "stop":
            return bool(self._jobs.running)
        return True

    def show_jobs(self) -> None:
        """Show the latest jobs; called at every change and every second."""
        text = Text()
        for job in list(self._jobs)[-_JOB_LINES:]:
            style = _STATE_STYLES.get(job.state, "bold cyan")
            seconds = job.seconds(self._jobs.now())
            text.append(f"{job.state:<8}", style)
            text.append(f"{sanitize_line(job.title)}  {seconds:.0f} s  ")
            text.append(f"{job.last_line}\n", "dim")
        panel = self.query_one("#library-jobs", Static)
        panel.display = bool(text)
        panel.update(text)
        self.refresh_bindings()

    def job_changed(self, job: Job) -> None:
        """A job has said something, or ended."""
        self.show_jobs()
        if job.state is not JobState.RUNNING:
            self.refresh_list()

    def action_use(self) -> None:
        item = self._current
        if item is not None and item.setting:
            self._use(item.setting, item.name)
            self.refresh_list()

    def action_build(self) -> None:
        from atomr_local.tui.screens.library.build import Build, BuildScreen

        def chosen(build: Build | None) -> None:
            if build is not None:
                self._jobs.start(build.title, build.arguments)
                self.show_jobs()

        names = [item.name for item in self._holdings if item.kind == "text" and not item.unfinished]
        self.app.push_screen(BuildScreen(names), chosen)

    def action_pull(self) -> None:
        from atomr_local.tui.screens.library.fetch import Fetch, FetchScreen

        def chosen(fetch: Fetch | None) -> None:
            if fetch is not None:
                self._jobs.start(fetch.title, fetch.arguments)
                self.show_jobs()

        self.app.push_screen(FetchScreen(), chosen)

    def action_verify(self) -> None:
        item = self._current
        if item is None:
            return
        command = ["indexes", "verify", item.name] if item.is_index else ["models", "verify", item.name]
        self._jobs.start(f"verify {item.kind} {item.name}", command)
        self.show_jobs()

    def action_remove(self) -> None:
        item = self._current
        if item is None:
            return
        if not item.is_index:
            self.app.clear_notifications()
            self.notify(
                f"Only indexes are removed here. Where this {item.kind} is kept stands below the list.",
                title="Not removed",
                severity="warning",
                markup=False,
            )
            return
        what = "the unfinished build of " if item.unfinished else ""

        def removed(yes: bool | None) -> None:
            if yes:
                extra = ["--unfinished"] if item.unfinished else []
                self._jobs.start(
                    f"remove {item.kind} {item.name}", ["indexes", "remove", item.kind, item.name, "--yes", *extra]
                )
                self.show_jobs()

        asked = Confirm(
            f"Remove {what}the {item.kind} index {item.name}?",
            f"{_human(item.size)} are freed. It can be built again from its files.",
            yes="Remove",
        )
        self.app.push_screen(asked, removed)

    def action_stop(self) -> None:
        running = self._jobs.running
        if running:
            self._jobs.stop(running[-1])


def holdings(settings: Settings) -> list[Holding]:
    """Everything at hand. It reads the disk: call it from a worker."""
    return [*_models(settings), *_indexes(settings)]


def _models(settings: Settings) -> list[Holding]:
    from atomr_local.catalog.find import chosen_paths, list_models

    found = []
    chosen = chosen_paths(settings.model, settings.adapter, settings.embedder)
    for entry in list_models():
        header, details = entry.header, [str(entry.path)]
        if header is not None:
            parameters = f"{header.parameters / 1e6:,.0f} million parameters" if header.parameters else ""
            details.append(", ".join(part for part in (parameters, header.quantisation or "") if part))
        if entry.problem:
            details.append(f"not usable: {entry.problem}")
        setting = "" if entry.problem else entry.kind
        state = "not usable" if entry.problem else "whole"
        found.append(
            Holding(
                entry.kind, entry.name, state, entry.size, "", tuple(details), setting, entry.path.resolve() in chosen
            )
        )
    return found


def _indexes(settings: Settings) -> list[Holding]:
    from atomr_local.errors import AtomrError
    from atomr_local.indexing.publishing import list_unfinished
    from atomr_local.indexing.store import KINDS, list_indexes, resolve
    from atomr_local.indexing.verify import unfinished_report

    chosen = set()
    for kind in KINDS:
        with contextlib.suppress(AtomrError):
            chosen.add((kind, resolve(kind, settings.text_index if kind == "text" else settings.graph_index)))
    found = [_index(entry, (entry.kind, entry.name) in chosen) for entry in list_indexes()]
    for item in list_unfinished():
        report = unfinished_report(item)
        told = (str(item.path), *report.problems, report.hint)
        found.append(Holding(item.kind, item.name, report.state, item.bytes, "", told, unfinished=True))
    return found


def _index(entry: IndexEntry, chosen: bool) -> Holding:
    from atomr_local.indexing.store import directory_size

    kind, manifest = entry.kind, entry.manifest
    if manifest is None:
        try:
            size = directory_size(entry.path)
        except OSError:
            size = 0
        return Holding(kind, entry.name, "not usable", size, "", (str(entry.path), entry.problem or ""))
    counts = ", ".join(f"{count:,} {what}" for what, count in manifest.counts.items())
    files = ", ".join(item.path for item in manifest.inputs)
    details = (str(entry.path), counts, f"from {files}")
    return Holding(kind, entry.name, "whole", manifest.bytes, manifest.built_at[:16], details, f"{kind}_index", chosen)


def _human(size: int) -> str:
    from atomr_local.indexing.space import human_size

    return human_size(size)
