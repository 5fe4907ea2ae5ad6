"""The SPARQL console: a query of the graph index, read-only, and its rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static, TextArea

from atomr_local.errors import AtomrError
from atomr_local.tui.background import in_background
from atomr_local.tui.clipboard import copy_text
from atomr_local.tui.rendering import formatted, rows_text
from atomr_local.tui.screens.dialogs import error_text
from atomr_local.tui.widgets.question_box import CleanArea, RowsTable
from atomr_local.tui.widgets.status_line import SteadyFooter

if TYPE_CHECKING:
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.assistant.session import GraphRows

_FIRST = "SELECT ?label (COUNT(*) AS ?facts) WHERE { ?entity ?p ?o . ?entity rdfs:label ?label } GROUP BY ?label ORDER BY DESC(?facts) LIMIT 20"  # noqa: E501
_PREFIX = "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"


class ConsoleScreen(Screen["str | None"]):
    """Closes with the query as it was edited; None: it was not."""

    DEFAULT_CSS = """
    #console-title { height: 1; background: $panel; padding: 0 1; }
    #console-query { height: 2fr; border: round $border-blurred; }
    #console-query:focus { border: heavy $accent; }
    #console-status { height: auto; min-height: 1; max-height: 6; padding: 0 1; color: $text-muted; }
    #console-rows { height: 3fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", priority=True, tooltip="Stop the query, else close", id="console.close"),
        Binding("ctrl+s", "run", "Run", tooltip="Run the query", id="console.run"),
        Binding("f12", "format", "Format", priority=True, tooltip="Format the query", id="console.format"),
        Binding("ctrl+c", "copy", "Copy", tooltip="Copy the query", id="console.copy"),
    ]

    def __init__(self, assistant: Assistant, sparql: str = "", *, edited: str = "") -> None:
        """Make the screen; `edited`: a query that was edited here before, shown as it was left."""
        super().__init__()
        self._assistant = assistant
        self._first = edited or (formatted(sparql) if sparql else _PREFIX + formatted(_FIRST))
        self._number = 0
        self._busy = False

    def compose(self) -> ComposeResult:
        yield Static(Text("SPARQL console: read-only, on the graph index in use", "bold"), id="console-title")
        yield CleanArea.code_editor(self._first, language=None, theme="css", tab_behavior="indent", id="console-query")
        yield Static(id="console-status", markup=False)
        yield RowsTable(id="console-rows")
        yield SteadyFooter()

    def on_mount(self) -> None:
        self.query_one("#console-query").focus()

    def action_run(self) -> None:
        if self._busy:
            self._show_status("A query is running. Escape stops it.")
            return
        self._number += 1
        self._busy = True
        self._show_status("running …")
        sparql, number = self.query_one("#console-query", TextArea).text, self._number
        work = partial(self._assistant.query_graph, sparql)
        failed = partial(self._failed, number)
        in_background(self, work, partial(self._ran, number), failed=failed, group="console")

    def _ended(self, number: int, text: str | Text) -> bool:
        """Whether this is the query that is waited for; it is not any more."""
        if number != self._number or not self._busy:
            return False
        self._busy = False
        self._show_status(text)
        return True

    def _ran(self, number: int, found: GraphRows) -> None:
        more = ", more were cut off" if found.truncated else ""
        if self._ended(number, f"{rows_text(len(found.rows))} ({found.seconds * 1000:.0f} ms){more}"):
            self.query_one(RowsTable).show(found.columns, found.rows)

    def _failed(self, number: int, error: AtomrError) -> None:
        """Say what is wrong below the query, and show no rows of an earlier one."""
        if self._ended(number, error_text(error)):
            self.query_one(RowsTable).show((), ())

    def action_format(self) -> None:
        query = self.query_one("#console-query", TextArea)
        query.load_text(formatted(query.text))

    def action_copy(self) -> None:
        self._show_status(copy_text(self.app, self.query_one("#console-query", TextArea).text))

    def action_leave(self) -> None:
        if self._busy:
            self._busy = False
            self._assistant.cancel()
            self._show_status("stopped")
        else:
            text = self.query_one("#console-query", TextArea).text
            self.dismiss(text if text != self._first else None)

    def _show_status(self, text: str | Text) -> None:
        self.query_one("#console-status", Static).update(text)
