"""The form for building an index in the background."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Label, Select, Static

from atomr_local.errors import AtomrError, InputError
from atomr_local.indexing.readers.detect import GRAPH_FORMATS
from atomr_local.indexing.readers.formats import format_names
from atomr_local.indexing.store import check_name
from atomr_local.sanitize import sanitize_line
from atomr_local.tui.jobs import Command
from atomr_local.tui.screens.error import error_line
from atomr_local.tui.screens.path_dialog import PathSuggester, path_from
from atomr_local.tui.widgets.bottom_line import SteadyFooter
from atomr_local.tui.widgets.clean_text import CleanInput

_PRIVATE = "A new index of a folder is private: nothing read in it leaves this machine. P in the library changes that."

_FROM = {
    "text": "A folder of documents (PDF, notes, office files, mail, …), or a file: document, dump, Parquet, ZIM, JSONL",
    "graph": "File: N-Triples, Turtle, Wikidata JSON, JSONL",
}


class BuildScreen(ModalScreen[Command | None]):
    DEFAULT_CSS = """
    BuildScreen { align: center middle; }
    #build { width: 92; max-width: 96%; height: auto; max-height: 94%; padding: 0 2; background: $surface; border: round $accent; scrollbar-size-vertical: 1; }
    #build Label { width: 100%; color: $text-muted; }
    #build-error { height: auto; }
    """  # noqa: E501
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", tooltip="Build nothing", id="build.close"),
        Binding("ctrl+s", "build", "Build", tooltip="Build in the background", id="build.start"),
    ]

    def __init__(self, text_indexes: Sequence[str] = ()) -> None:
        """Make the screen; a graph can be cut to the articles of one of `text_indexes`."""
        super().__init__()
        self._text_indexes = list(text_indexes)
        self._article_formats = format_names()

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="build", can_focus=False) as body:
            body.border_title = "Build an index"
            yield Label("What")
            yield Select(
                [("text: documents or articles to search and quote", "text"), ("graph: facts to look up", "graph")],
                value="text", allow_blank=False, id="build-kind",
            )  # fmt: skip
            yield Label(id="build-from")
            yield CleanInput(id="build-file", suggester=PathSuggester(Path.cwd()), placeholder="→ completes")
            yield Label(_PRIVATE, id="build-private")
            yield Label("Format")
            yield Select(_formats(self._article_formats), value="auto", allow_blank=False, id="build-format")
            yield Label("Name of the index; an older one is replaced when all is done")
            yield CleanInput(id="build-name", placeholder="such as simple-wiki")
            yield Label("Graph only about the articles of this text index", id="build-slice-label")
            yield Select(
                [(Text(sanitize_line(name)), name) for name in self._text_indexes],
                prompt="everything",
                id="build-slice",
            )
            yield Static(id="build-error", markup=False)
        yield SteadyFooter()

    def on_mount(self) -> None:
        self._kind_changed()
        self.query_one("#build-file").focus()

    @on(Select.Changed, "#build-kind")
    def _kind_changed(self) -> None:
        graph = self._kind == "graph"
        self.query_one("#build-from", Label).update(_FROM["graph" if graph else "text"])
        for name in ("#build-slice", "#build-slice-label"):
            self.query_one(name).display = graph and bool(self._text_indexes)
        self._file_changed()
        self.query_one("#build-format", Select).set_options(_formats(GRAPH_FORMATS if graph else self._article_formats))

    @on(Input.Changed, "#build-file")
    def _file_changed(self) -> None:
        try:
            folder = path_from(self.query_one("#build-file", Input).value, Path.cwd()).is_dir()
        except (InputError, OSError):
            folder = False
        self.query_one("#build-private").display = folder and self._kind == "text"

    @property
    def _kind(self) -> str:
        return str(self.query_one("#build-kind", Select).value)

    @on(Input.Submitted)
    def action_build(self) -> None:
        field = "#build-file"
        try:
            path = self._path()
            field = "#build-name"
            name = check_name(self.query_one(field, Input).value.strip())
        except AtomrError as error:
            self.query_one("#build-error", Static).update(error_line(error))
            self.query_one(field).focus()
        else:
            self.dismiss(self._command(path, name))

    def _path(self) -> Path:
        """
        Raises:
            InputError: there is nothing of this kind to build from.
        """
        written = self.query_one("#build-file", Input).value
        path = path_from(written, Path.cwd(), such_as="~/notes" if self._kind == "text" else "facts.jsonl")
        if not path.is_file() and not (path.is_dir() and self._kind == "text"):
            what = "not a file" if self._kind == "graph" else "neither a file nor a folder"
            raise InputError(f"{path} is {what}", hint="Name one that is there.")
        return path

    def _command(self, path: Path, name: str) -> Command:
        kind, chosen = self._kind, self.query_one("#build-format", Select).value
        arguments = [kind, "build", str(path), "--name", name, "--format", str(chosen)]
        part = self.query_one("#build-slice", Select).value
        if kind == "graph" and part in self._text_indexes:
            arguments += ["--text-index", str(part)]
        return Command(f"build {kind} {name}", tuple(arguments))


def _formats(names: Sequence[str]) -> list[tuple[str, str]]:
    return [("auto: detected from the content" if name == "auto" else name, name) for name in names]
