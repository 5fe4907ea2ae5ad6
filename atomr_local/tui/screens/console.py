"""The SPARQL console: a query of the graph index, read-only, and its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Static, TextArea

from atomr_local.errors import AtomrError
from atomr_local.tui.clipboard import copy_text
from atomr_local.tui.rendering.sparql import formatted
from atomr_local.tui.screens.error import ErrorScreen
from atomr_local.tui.widgets.clean_area import CleanArea
from atomr_local.tui.widgets.rows_table import RowsTable

if TYPE_CHECKING:
    from atomr_local.tui.core import Answerer

_FIRST = "SELECT ?label (COUNT(*) AS ?facts) WHERE { ?entity ?p ?o . ?entity rdfs:label ?label } GROUP BY ?label ORDER BY DESC(?facts) LIMIT 20"  # noqa: E501
_PREFIX = "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"


class ConsoleScreen(Screen[None]):
    DEFAULT_CSS = """
    #console-title { height: 1; background: $panel; padding: 0 1; }
    #console-query { height: 2fr; border: round $panel-lighten-2; }
    #console-query:focus { border: round $accent; }
    #console-told { height: 1; padding: 0 1; color: $text-muted; }
    #console-rows { height: 3fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", priority=True, tooltip="Stop the query, else close", id="console.close"),
        Binding("f5", "run", "Run", tooltip="Run the query", id="console.run"),
        Binding("f9", "format", "Format", priority=True, tooltip="Lay the query out", id="console.format"),
        Binding("f10", "copy", "Copy", priority=True, tooltip="Copy the query", id="console.copy"),
    ]

    @dataclass
    class Ran(Message):
        number: int
        columns: Sequence[str]
        rows: Sequence[Sequence[str]]
        told: str

    @dataclass
    class Failed(Message):
        number: int
        error: AtomrError

    def __init__(self, assistant: Answerer, sparql: str = "") -> None:
        super().__init__()
        self._assistant = assistant
        self._first = formatted(sparql) if sparql else _PREFIX + formatted(_FIRST)
        self._number = 0
        self._busy = False

    def compose(self) -> ComposeResult:
        yield Static(Text("SPARQL console: read-only, on the graph index in use", "bold"), id="console-title")
        yield CleanArea.code_editor(self._first, language=None, tab_behavior="indent", id="console-query")
        yield Static(id="console-told", markup=False)
        yield RowsTable(id="console-rows")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#console-query").focus()

    def action_run(self) -> None:
        if self._busy:
            self._tell("A query is running. Escape stops it.")
            return
        self._number += 1
        self._busy = True
        self._tell("running …")
        self._query(self._number, self.query_one("#console-query", TextArea).text)

    @work(thread=True, exit_on_error=False, group="console")
    def _query(self, number: int, sparql: str) -> None:
        try:
            found = self._assistant.query_graph(sparql)
        except AtomrError as error:
            self.post_message(self.Failed(number, error))
        else:
            more = ", more were cut off" if found.truncated else ""
            told = f"{len(found.rows)} rows in {found.seconds * 1000:.0f} ms{more}"
            self.post_message(self.Ran(number, found.columns, found.rows, told))

    @on(Ran)
    def _ran(self, message: Ran) -> None:
        if message.number == self._number and self._busy:
            self._busy = False
            self.query_one(RowsTable).show(message.columns, message.rows)
            self._tell(message.told)

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        if message.number == self._number and self._busy:
            self._busy = False
            self._tell("")
            self.app.push_screen(ErrorScreen(message.error))

    def action_format(self) -> None:
        query = self.query_one("#console-query", TextArea)
        query.load_text(formatted(query.text))

    def action_copy(self) -> None:
        self._tell(copy_text(self.app, self.query_one("#console-query", TextArea).text))

    def action_leave(self) -> None:
        if self._busy:
            self._busy = False
            self._assistant.cancel()
            self._tell("stopped")
        else:
            self.dismiss()

    def _tell(self, text: str) -> None:
        self.query_one("#console-told", Static).update(text)
