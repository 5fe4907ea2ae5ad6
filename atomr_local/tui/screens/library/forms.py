"""Forms of the library: building an index, and handing one on."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Label, Select, Static

from atomr_local.assistant import wishes
from atomr_local.errors import AtomrError, InputError
from atomr_local.indexing.store import check_name
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tui.idle_embedding import ALL
from atomr_local.tui.jobs import Command
from atomr_local.tui.screens.dialogs import PathSuggester, error_line, path_from
from atomr_local.tui.widgets.question_box import CleanInput
from atomr_local.tui.widgets.status_line import SteadyFooter

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexEntry
    from atomr_local.settings.schema import Settings


# Forms whose fields are those of a wish, and make its command.

ENDING = ".tar.zst"


class _Box(Checkbox):
    """Shows whether it is checked without colours too."""

    BUTTON_INNER = " "

    def watch_value(self) -> None:
        self.BUTTON_INNER = "X" if self.value else " "
        super().watch_value()


class WishForm(ModalScreen[Command | None]):
    """The fields of a wish that `SHOWN` names, each with its label. A field `x` is the widget `#form-x`."""

    SHOWN: ClassVar[tuple[str, ...]] = ()
    COMPACT = False
    DEFAULT_CSS = """
    WishForm { align: center middle; }
    #form { width: 92; max-width: 96%; height: auto; max-height: 94%; padding: 0 2; background: $surface; border: round $accent; scrollbar-size-vertical: 1; }
    #form Label { width: 100%; color: $text-muted; }
    #form Checkbox { width: 100%; border: none; padding: 0 1; }
    #form-error { height: auto; }
    """  # noqa: E501

    def __init__(self, wish: type[Any], heading: str, **given: str) -> None:
        """Make the form; `given` is what stands in fields at first."""
        super().__init__()
        self.wish, self._heading, self._given = wish, heading, given

    def compose(self) -> ComposeResult:
        fields = {one.name: one for one in wishes.parameters_of(self.wish)}
        with VerticalScroll(id="form", can_focus=False) as body:
            body.border_title = Text(sanitize_line(self._heading))
            for name in self.SHOWN:
                yield from self.field(fields[name])
            yield Static(id="form-error", markup=False)
        yield SteadyFooter()

    def field(self, one: wishes.Parameter) -> ComposeResult:
        """The widgets of a field."""
        name, offered = f"form-{one.name}", self.offered(one)
        if one.kind is bool:
            yield _Box(one.label, id=name)
            return
        if one.label:
            yield Label(one.label, id=f"{name}-label")
        if offered is None:
            yield CleanInput(
                self._given.get(one.name, ""), id=name, placeholder=one.example, compact=self.COMPACT,
                suggester=self.suggester(one), type="integer" if one.kind is int else "text",
            )  # fmt: skip
        else:
            blank, prompt = bool(one.example), one.example or "Select"
            yield Select(offered, prompt=prompt, allow_blank=blank, id=name, compact=self.COMPACT)

    def suggester(self, one: wishes.Parameter) -> Suggester | None:
        """What completes a field that is typed."""
        return PathSuggester(Path.cwd()) if one.kind is Path else None

    def offered(self, one: wishes.Parameter) -> list[tuple[Text, str]] | None:
        """What a field can be, as it is shown; None where it is typed."""
        kind, names = one.settings.get("type"), get_args(one.kind)
        if isinstance(kind, wishes.ArticleFormat):
            names = tuple(kind.offered())
        return [(Text("auto: detected from the content" if name == "auto" else name), name) for name in names] or None

    def on_mount(self) -> None:
        self.first.focus()

    @property
    def first(self) -> Widget:
        """What has the focus at first."""
        return self.query_one(f"#form-{self.SHOWN[0]}")

    def value(self, name: str) -> Any:
        """What is filled in a field; None where nothing is chosen."""
        widget = self.query_one(f"#form-{name}")
        value = widget.value if isinstance(widget, Input | Checkbox | Select) else None
        return value.strip() if isinstance(value, str) else None if value is Select.NULL else value

    def command(self, title: str, **given: Any) -> Command:
        """The command of what is filled in, with what else is given."""
        known = {one.name for one in wishes.parameters_of(self.wish)}.intersection(self.SHOWN) - set(given)
        return Command(title, wishes.command_of(self.wish, **{name: self.value(name) for name in known}, **given))

    def made(self) -> Command:
        """The command.

        Raises:
            InputError: it cannot be run.
        """
        raise NotImplementedError

    @on(Input.Submitted)
    def action_start(self) -> None:
        try:
            self.start()
        except AtomrError as error:
            self.query_one("#form-error", Static).update(error_line(error))

    def start(self) -> None:
        """Close with the command.

        Raises:
            AtomrError: it cannot be run.
        """
        self.dismiss(self.made())


_PRIVATE = "A new index of a folder is private: nothing read in it leaves this machine. P in the library changes that."


class BuildScreen(WishForm):
    """Builds an index in the background."""

    SHOWN = ("inputs", "format_", "name", "text_index")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", tooltip="Build nothing", id="build.close"),
        Binding("ctrl+s", "start", "Build", tooltip="Build in the background", id="build.start"),
    ]

    def __init__(self, text_indexes: Sequence[str] = ()) -> None:
        """Make the screen; a graph can be cut to the articles of one of `text_indexes`."""
        super().__init__(wishes.GraphWish, "Build an index")
        self._text_indexes = list(text_indexes)

    def field(self, one: wishes.Parameter) -> ComposeResult:
        if one.name == "inputs":
            yield Label("What")
            yield Select(
                [("text: documents or articles to search and quote", "text"), ("graph: facts to look up", "graph")],
                value="text", allow_blank=False, id="form-kind",
            )  # fmt: skip
        yield from super().field(one)
        if one.name == "inputs":
            yield Label(_PRIVATE, id="form-private")

    def offered(self, one: wishes.Parameter) -> list[tuple[Text, str]] | None:
        if one.name == "text_index":
            return [(Text(sanitize_line(name)), name) for name in self._text_indexes]
        return super().offered(one)

    def on_mount(self) -> None:
        self._kind_changed()
        super().on_mount()

    @on(Select.Changed, "#form-kind")
    def _kind_changed(self) -> None:
        self.wish = wishes.GraphWish if self._kind == "graph" else wishes.TextWish
        fields = {one.name: one for one in wishes.parameters_of(self.wish)}
        self.query_one("#form-inputs-label", Label).update(fields["inputs"].label)
        for name in ("#form-text_index", "#form-text_index-label"):
            self.query_one(name).display = "text_index" in fields and bool(self._text_indexes)
        self._file_changed()
        self.query_one("#form-format_", Select).set_options(self.offered(fields["format_"]) or [])

    @on(Input.Changed, "#form-inputs")
    def _file_changed(self) -> None:
        try:
            folder = path_from(self.value("inputs"), Path.cwd()).is_dir()
        except (InputError, OSError):
            folder = False
        self.query_one("#form-private").display = folder and self._kind == "text"

    @property
    def _kind(self) -> str:
        return str(self.query_one("#form-kind", Select).value)

    def made(self) -> Command:
        field = "inputs"
        try:
            path, field = self._path(), "name"
            name = check_name(self.value(field))
        except AtomrError:
            self.query_one(f"#form-{field}").focus()
            raise
        return self.command(f"build {self._kind} {name}", inputs=(path,))

    def _path(self) -> Path:
        """
        Raises:
            InputError: there is nothing of this kind to build from.
        """
        path = path_from(self.value("inputs"), Path.cwd(), such_as="~/notes" if self._kind == "text" else "facts.jsonl")
        if not path.is_file() and not (path.is_dir() and self._kind == "text"):
            what = "not a file" if self._kind == "graph" else "neither a file nor a folder"
            raise InputError(f"{path} is {what}", hint="Name one that is there.")
        return path


_CLOSE = Binding("escape", "dismiss", "Close", tooltip="Leave everything as it is", id="transfer.close")


class ExportIndexScreen(WishForm):
    SHOWN = ("file", "licence", "source", "replace", "share_private")
    BINDINGS: ClassVar[list[BindingType]] = [
        _CLOSE,
        Binding("ctrl+s", "start", "Write", tooltip="Write the file in the background", id="transfer.write"),
    ]

    def __init__(self, item: LibraryItem) -> None:
        """Ask where to write the index `item`."""
        heading = f"Export the {item.kind} index {item.name}"
        super().__init__(wishes.ExportWish, heading, file=f"{item.name}{ENDING}")
        self._item = item

    def field(self, one: wishes.Parameter) -> ComposeResult:
        if self._item.private or one.name != "share_private":
            yield from super().field(one)

    def made(self) -> Command:
        file, item = path_from(self.value("file"), Path.cwd(), such_as=f"index{ENDING}"), self._item
        if not file.parent.is_dir():
            raise InputError(f"{file.parent} is no folder", hint="Name one that is there.")
        if file.exists() and not self.value("replace"):
            raise InputError(f"{file} is there already", hint="Name another file, or let it be replaced.")
        if item.private and not self.value("share_private"):
            raise InputError(f"the index {item.name} is private", hint="Say below that it may be written for others.")
        return self.command(
            f"export {item.kind} {item.name}", name=item.name, file=file, kind=item.kind, share_private=item.private
        )


class ImportIndexScreen(WishForm):
    SHOWN = ("file", "called", "replace")
    BINDINGS: ClassVar[list[BindingType]] = [
        _CLOSE,
        Binding("ctrl+s", "start", "Get it", tooltip="Check the file and take it in, in the background",
                id="transfer.get"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__(wishes.ImportWish, "Import an index")

    def made(self) -> Command:
        file, name = path_from(self.value("file"), Path.cwd(), such_as=f"index{ENDING}"), self.value("called")
        if not file.is_file():
            raise InputError(f"{file} is not a file", hint="Name one that `atomr indexes export` has written.")
        return self.command(f"import {check_name(name) if name else file.name}", file=file)


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
    from atomr_local.models.catalog.find import chosen_paths, list_models

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
