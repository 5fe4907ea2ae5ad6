"""Forms that hand an index on: written to a file for others, and taken in from such a file."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Checkbox, Input, Label, Static

from atomr_local.errors import AtomrError, InputError
from atomr_local.indexing.store import check_name
from atomr_local.sanitize import sanitize_line
from atomr_local.tui.jobs import Command
from atomr_local.tui.screens.error import error_line
from atomr_local.tui.screens.library.items import LibraryItem
from atomr_local.tui.screens.path_dialog import PathSuggester, path_from
from atomr_local.tui.widgets.bottom_line import SteadyFooter
from atomr_local.tui.widgets.clean_text import CleanInput

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
