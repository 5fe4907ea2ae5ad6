"""Forms of the library: building an index, and handing one on."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Checkbox, Input, Label, Select, Static

from atomr_local.errors import AtomrError, InputError
from atomr_local.indexing.readers.detect import GRAPH_FORMATS, format_names
from atomr_local.indexing.store import check_name
from atomr_local.sanitize import sanitize_line
from atomr_local.tui.idle_embedding import ALL
from atomr_local.tui.jobs import Command
from atomr_local.tui.screens.dialogs import PathSuggester, error_line, path_from
from atomr_local.tui.widgets.question_box import CleanInput
from atomr_local.tui.widgets.status_line import SteadyFooter

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexEntry
    from atomr_local.settings.schema import Settings


# The form for building an index in the background.

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


# The models and indexes on this machine: how large and old, whether whole, and which are in use.

Kind = Literal["model", "adapter", "embedder", "text", "graph"]
_UNREAD_SHOWN = 3


@dataclass(frozen=True)
class LibraryItem:
    """One thing that is available, as shown.

    Attributes:
        setting: the key that chooses it, empty if it cannot be chosen.
        follows: it is an index of a folder, which a sync brings up to date.
        fillable: whether it is a text index whose passages do not all have a vector.
        idle: whether its passages are embedded while no question runs.
        private: whether it must not leave this machine without the user's word.
    """

    kind: Kind
    name: str
    state: str
    size: int
    built: str
    details: tuple[str, ...]
    setting: str = ""
    chosen: bool = False
    unfinished: bool = False
    follows: bool = False
    fillable: bool = False
    idle: bool = False
    private: bool = False

    @property
    def is_index(self) -> bool:
        return self.kind in {"text", "graph"}


def library_items(settings: Settings) -> list[LibraryItem]:
    """Everything available. It reads the disk: call it from a worker."""
    return [*_models(settings), *_indexes(settings)]


def _models(settings: Settings) -> list[LibraryItem]:
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
        state = "not usable" if entry.problem else "OK"
        found.append(
            LibraryItem(
                entry.kind, entry.name, state, entry.size, "", tuple(details), setting, entry.path.resolve() in chosen
            )
        )
    return found


def _indexes(settings: Settings) -> list[LibraryItem]:
    from atomr_local.errors import AtomrError
    from atomr_local.indexing.builds.publishing import list_unfinished
    from atomr_local.indexing.store import KINDS, index_names, list_indexes, resolve
    from atomr_local.indexing.verify import unfinished_report

    chosen: set[tuple[str, str]] = set()
    for kind in KINDS:
        with contextlib.suppress(AtomrError):
            names = resolve(kind, settings.text_index if kind == "text" else settings.graph_index)
            chosen.update((kind, name) for name in index_names(names))
    private, idle = index_names(settings.privacy.indexes), index_names(settings.ui.embed_idle)
    found = [
        _index(
            entry,
            chosen=(entry.kind, entry.name) in chosen,
            private=entry.name in private,
            idle=entry.kind == "text" and (entry.name in idle or ALL in idle),
        )
        for entry in list_indexes()
    ]
    for item in list_unfinished():
        report = unfinished_report(item)
        details = (str(item.path), *report.problems, report.hint)
        found.append(LibraryItem(item.kind, item.name, report.state, item.bytes, "", details, unfinished=True))
    return found


def _index(entry: IndexEntry, *, chosen: bool, private: bool, idle: bool) -> LibraryItem:
    from atomr_local.indexing.store import directory_size
    from atomr_local.indexing.text_index.vectors import vector_state

    kind, manifest = entry.kind, entry.manifest
    if manifest is None:
        try:
            size = directory_size(entry.path)
        except OSError:
            size = 0
        return LibraryItem(kind, entry.name, "not usable", size, "", (str(entry.path), entry.problem or ""))
    counts = ", ".join(f"{count:,} {what}" for what, count in manifest.counts.items())
    files = ", ".join(item.path for item in manifest.inputs)
    told = vector_state(manifest, entry.path).told() if kind == "text" else ""
    told += ", embedded while no question runs" if told and idle else ""
    counts = "; ".join(part for part in (counts, told, "private" if private else "") if part)
    details = (str(entry.path), counts, f"from {files}", *_folder_details(manifest.settings))
    return LibraryItem(
        kind,
        entry.name,
        "OK",
        manifest.bytes,
        manifest.built_at[:16].replace("T", " "),
        details,
        f"{kind}_index",
        chosen,
        follows="folders" in manifest.settings,
        fillable=bool(told),
        idle=idle,
        private=private,
    )


def _folder_details(settings: dict[str, Any]) -> list[str]:
    """When the folders of an index were last read, how many files, and the first that could not be."""
    documents = settings.get("documents")
    if not isinstance(documents, dict):
        return []
    unread = documents.get("unread") or {}
    count = unread.get("count", 0)
    last = str(settings.get("last_sync", ""))[:16].replace("T", " ")
    lines = [f"last sync {last}: {documents.get('files', 0)} files read, {count} could not be read"]
    return [*lines, *(f"  {path}: {reason}" for path, reason in unread.get("samples", ())[:_UNREAD_SHOWN])]


# Forms that hand an index on: written to a file for others, and taken in from such a file.

ENDING = ".tar.zst"


class _Box(Checkbox):
    """Shows whether it is checked without colours too."""

    BUTTON_INNER = " "

    def watch_value(self) -> None:
        self.BUTTON_INNER = "X" if self.value else " "
        super().watch_value()


class _TransferScreen(ModalScreen[Command | None]):
    """A form whose fields make a command."""

    DEFAULT_CSS = """
    _TransferScreen { align: center middle; }
    .transfer { width: 92; max-width: 96%; height: auto; max-height: 94%; padding: 0 2; background: $surface; border: round $accent; scrollbar-size-vertical: 1; }
    .transfer Label { width: 100%; color: $text-muted; }
    .transfer Checkbox { width: 100%; border: none; padding: 0 1; }
    #transfer-error { height: auto; }
    """  # noqa: E501
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", tooltip="Leave everything as it is", id="transfer.close"),
    ]

    def on_mount(self) -> None:
        self.query_one("#transfer-file").focus()

    def _field(self, name: str) -> str:
        return self.query_one(f"#transfer-{name}", Input).value.strip()

    def _checked(self, name: str) -> bool:
        return any(box.value for box in self.query(f"#transfer-{name}").results(Checkbox))

    def _file(self) -> Path:
        return path_from(self.query_one("#transfer-file", Input).value, Path.cwd(), such_as=f"index{ENDING}")

    def _made(self) -> Command:
        """The command of what is filled in.

        Raises:
            InputError: it cannot be run.
        """
        raise NotImplementedError

    @on(Input.Submitted)
    def action_start(self) -> None:
        try:
            self.dismiss(self._made())
        except AtomrError as error:
            self.query_one("#transfer-error", Static).update(error_line(error))


class ExportIndexScreen(_TransferScreen):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "start", "Write", tooltip="Write the file in the background", id="transfer.write"),
    ]

    def __init__(self, item: LibraryItem) -> None:
        """Ask where to write the index `item`."""
        super().__init__()
        self._item = item

    def compose(self) -> ComposeResult:
        item = self._item
        with VerticalScroll(classes="transfer", can_focus=False) as body:
            body.border_title = Text(sanitize_line(f"Export the {item.kind} index {item.name}"))
            yield Label("File to write; it names the inputs of the index without folders")
            yield CleanInput(f"{item.name}{ENDING}", id="transfer-file", suggester=PathSuggester(Path.cwd()))
            yield Label("Licence of the content")
            yield CleanInput(id="transfer-licence", placeholder="such as CC BY-SA 4.0; empty: not stated")
            yield Label("Where the content comes from")
            yield CleanInput(id="transfer-source", placeholder="such as the address of a dump; empty: not stated")
            yield _Box("Replace a file that is there", id="transfer-replace")
            if item.private:
                yield _Box("The index is private: write it for others all the same", id="transfer-share")
            yield Static(id="transfer-error", markup=False)
        yield SteadyFooter()

    def _made(self) -> Command:
        file, item = self._file(), self._item
        if not file.parent.is_dir():
            raise InputError(f"{file.parent} is no folder", hint="Name one that is there.")
        if file.exists() and not self._checked("replace"):
            raise InputError(f"{file} is there already", hint="Name another file, or let it be replaced.")
        if item.private and not self._checked("share"):
            raise InputError(f"the index {item.name} is private", hint="Say below that it may be written for others.")
        arguments = ["indexes", "export", "--kind", item.kind]
        for name in ("licence", "source"):
            if said := self._field(name):
                arguments.append(f"--{name}={said}")
        arguments += ["--replace"] if self._checked("replace") else []
        arguments += ["--share-private"] if item.private else []
        return Command(f"export {item.kind} {item.name}", (*arguments, "--", item.name, str(file)))


class ImportIndexScreen(_TransferScreen):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "start", "Get it", tooltip="Check the file and take it in, in the background",
                id="transfer.get"),
    ]  # fmt: skip

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="transfer", can_focus=False) as body:
            body.border_title = "Import an index"
            yield Label("File exported elsewhere; checked in full before it is opened")
            yield CleanInput(
                id="transfer-file", suggester=PathSuggester(Path.cwd()), placeholder=f"index{ENDING}; → completes"
            )
            yield Label("Name for the index")
            yield CleanInput(id="transfer-name", placeholder="empty: as its maker called it")
            yield _Box("Replace an index of this name", id="transfer-replace")
            yield Static(id="transfer-error", markup=False)
        yield SteadyFooter()

    def _made(self) -> Command:
        file, name = self._file(), self._field("name")
        if not file.is_file():
            raise InputError(f"{file} is not a file", hint="Name one that `atomr indexes export` has written.")
        named = ["--name", check_name(name)] if name else []
        replaced = ["--replace"] if self._checked("replace") else []
        return Command(f"import {name or file.name}", ("indexes", "import", *named, *replaced, "--", str(file)))
