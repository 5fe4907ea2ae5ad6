"""The library screen: models and indexes; builds, checks and removes them in the background."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Static

from atomr_local.indexing.builds.space import human_size
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tui.background import in_background
from atomr_local.tui.jobs import Command, Job, JobState
from atomr_local.tui.screens.dialogs import confirm
from atomr_local.tui.screens.library.forms import LibraryItem, library_items
from atomr_local.tui.widgets.question_box import MeasuredTable
from atomr_local.tui.widgets.status_line import SteadyFooter

if TYPE_CHECKING:
    from atomr_local.settings.schema import Settings
    from atomr_local.tui.jobs import Jobs

_TICK = 1.0
_JOB_LINES = 8
_STATE_STYLES = {JobState.DONE: "green", JobState.FAILED: "red", JobState.STOPPED: "yellow"}


class LibraryScreen(Screen[None]):
    DEFAULT_CSS = """
    #library-title { background: $panel; padding: 0 1; height: 1; }
    #library-table { height: 1fr; }
    #library-details { height: auto; max-height: 7; padding: 0 1; border-top: solid $border-blurred; }
    #library-jobs { height: auto; max-height: 10; padding: 0 1; border-top: solid $border-blurred; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="library.close"),
        Binding("enter", "use", "Use", tooltip="Use the model or index from now on", priority=True, id="library.use"),
        Binding("b", "build", "Build", tooltip="Build an index from files or a folder", id="library.build"),
        Binding("U", "sync", "Sync", tooltip="Bring the index up to date with its folder", id="library.sync"),
        Binding("f", "pull", "Get", tooltip="Download a model, a Wikipedia or a Wikidata slice", id="library.pull"),
        Binding("l", "embed", "Embed", tooltip="Embed passages while the machine is idle; again to stop",
                id="library.embed"),
        Binding("L", "idle", "When idle", tooltip="Embed the index whenever no question runs; again: no longer",
                id="library.idle"),
        Binding("P", "private", "Private", tooltip="Let nothing that is read in the index leave this machine; again to "
                "take that back", id="library.private"),
        Binding("v", "verify", "Verify", tooltip="Check the index or model for damage",
                id="library.verify"),
        Binding("x", "export", "Export", tooltip="Write the index to a file for others", id="library.export"),
        Binding("i", "import", "Import", tooltip="Take in an index that was exported elsewhere", id="library.import"),
        Binding("d,delete", "remove", "Remove", tooltip="Remove the index and free its space", id="library.remove"),
        Binding("k", "stop", "Stop job", tooltip="Stop the job; start it again to resume", id="library.stop"),
    ]  # fmt: skip

    def __init__(
        self,
        settings: Callable[[], Settings],
        jobs: Jobs,
        use: Callable[[str, str], None],
        embed_idle: Callable[[str], None] = lambda _: None,
        mark_private: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Make the screen.

        Args:
            settings: gives those that hold now.
            use: called with the name of a setting and the thing that it shall choose.
            embed_idle: called with the name of an index that shall be embedded while no question runs, or no longer.
            mark_private: called with the name of an index that shall be private, or no longer.
        """
        super().__init__()
        self._use, self._embed_idle, self._mark_private = use, embed_idle, mark_private
        self._settings = settings
        self._jobs = jobs
        self._items: list[LibraryItem] = []

    def compose(self) -> ComposeResult:
        yield Static(Text("Models and indexes on this machine; ✓ marks those in use", "bold"), id="library-title")
        yield MeasuredTable(id="library-table", cursor_type="row", zebra_stripes=True)
        yield Static(id="library-details", markup=False)
        yield Static(id="library-jobs", markup=False)
        yield SteadyFooter()

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns("", "kind", "name", "state", "size", "built")
        table.focus()
        self.query_one("#library-details", Static).update(Text("looking …", "dim"))
        self.refresh_list()
        self.show_jobs()
        self.set_interval(_TICK, self.show_jobs)

    def refresh_list(self) -> None:
        """Look at what is there, and show it."""
        work = partial(library_items, self._settings())
        in_background(self, work, self._show_items, group="library", exclusive=True)

    def _show_items(self, items: list[LibraryItem]) -> None:
        self._items = items
        table = self.query_one(DataTable)
        row = table.cursor_row
        table.clear()
        for item in items:
            mark = Text("✓" if item.chosen else "", "bold green")
            state = Text(item.state, "" if item.state == "OK" else "yellow").append(", private" if item.private else "")
            size = Text(human_size(item.size), justify="right")
            table.add_row(mark, item.kind, Text(sanitize_line(item.name)), state, size, Text(sanitize_line(item.built)))
        if items:
            table.move_cursor(row=min(row, len(items) - 1))
        self._show_details()

    @property
    def _current(self) -> LibraryItem | None:
        row = self.query_one(DataTable).cursor_row
        return self._items[row] if 0 <= row < len(self._items) else None

    @on(DataTable.RowHighlighted)
    def _show_details(self) -> None:
        item = self._current
        lines = item.details if item is not None else ("Nothing is here yet. Press b to build an index.",)
        self.query_one("#library-details", Static).update(Text("\n".join(map(sanitize_line, lines))))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        item = self._current if self.is_mounted else None
        if action == "stop":
            return bool(self._jobs.running)
        if action == "sync":
            return item is not None and item.follows
        if action in {"embed", "idle"}:
            return item is not None and (item.fillable or (action == "idle" and item.idle))
        possible = {
            "use": item is not None and bool(item.setting) and not item.unfinished,
            "remove": item is not None,  # of what is no index it tells so
            "verify": item is not None and item.kind != "embedder",
            "private": item is not None and item.is_index and (bool(item.setting) or item.private),
            "export": item is not None and item.is_index and bool(item.setting),
        }
        return possible.get(action, True) or None

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

    def _start(self, command: Command | None) -> None:
        if command is not None:
            self._jobs.start(command.title, command.arguments)
            self.show_jobs()

    def action_build(self) -> None:
        from atomr_local.tui.screens.library.forms import BuildScreen

        names = [item.name for item in self._items if item.kind == "text" and not item.unfinished]
        self.app.push_screen(BuildScreen(names), self._start)

    def action_sync(self) -> None:
        item = self._current
        if item is not None and item.follows:
            self._start(Command(f"sync {item.name}", ("text", "sync", item.name)))

    def action_pull(self) -> None:
        from atomr_local.tui.screens.library.downloads import FetchScreen

        self.app.push_screen(FetchScreen(), self._start)

    def action_embed(self) -> None:
        item = self._current
        if item is None or not item.fillable:
            return
        command = Command(f"embed {item.name}", ("text", "embed", item.name, "--background"))
        running = [job for job in self._jobs.running if job.arguments == command.arguments]
        if running:
            self._jobs.stop(running[-1])
        else:
            self._start(command)

    def action_export(self) -> None:
        from atomr_local.tui.screens.library.forms import ExportIndexScreen

        item = self._current
        if item is not None and item.is_index and item.setting:
            self.app.push_screen(ExportIndexScreen(item), self._start)

    def action_import(self) -> None:
        from atomr_local.tui.screens.library.forms import ImportIndexScreen

        self.app.push_screen(ImportIndexScreen(), self._start)

    def action_idle(self) -> None:
        item = self._current
        if item is not None and (item.fillable or item.idle):
            self._embed_idle(item.name)
            self.refresh_list()

    def action_private(self) -> None:
        """Mark the index at once; take the mark away after asking."""
        item = self._current
        if item is None or not item.is_index:
            return
        change = partial(self._change_private, item.name)
        if not item.private:
            change()
            return
        title = f"Is the index {item.name} private no longer?"
        text = "Words of it may then go to the web, to a model on another machine, and into files for others."
        confirm(self.app, title, text, change, yes="No longer private")

    def _change_private(self, name: str) -> None:
        self._mark_private(name)
        self.refresh_list()

    def action_verify(self) -> None:
        item = self._current
        if item is None:
            return
        # A text and a graph index may have one name; only the one under the cursor is meant.
        which = ("indexes", "verify", "--kind", item.kind) if item.is_index else ("models", "verify")
        self._start(Command(f"verify {item.kind} {item.name}", (*which, item.name)))

    def action_remove(self) -> None:
        item = self._current
        if item is None:
            return
        if not item.is_index:
            self.app.clear_notifications()
            self.notify(
                f"Only indexes are removed here. The path of this {item.kind} is shown below the list.",
                title="Not removed",
                severity="warning",
                markup=False,
            )
            return
        what = "the unfinished build of " if item.unfinished else ""
        extra = ("--unfinished",) if item.unfinished else ()
        command = Command(
            f"remove {item.kind} {item.name}", ("indexes", "remove", item.kind, item.name, "--yes", *extra)
        )
        title = f"Remove {what}the {item.kind} index {item.name}?"
        text = f"{human_size(item.size)} are freed. It can be built again from its files."
        confirm(self.app, title, text, partial(self._start, command), yes="Remove")

    def action_stop(self) -> None:
        running = self._jobs.running
        if running:
            self._jobs.stop(running[-1])
