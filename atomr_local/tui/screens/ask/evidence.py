"""The screen of one piece of evidence: its text, its location, and the steps that use it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atomr_local.errors import AtomrError
from atomr_local.reasoning.trace.events import ModelCalled
from atomr_local.sources.document_places import place_words
from atomr_local.sources.protocol import Evidence
from atomr_local.system.sanitize import sanitize, sanitize_line
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tui.background import ErrorScreen, in_background
from atomr_local.tui.clipboard import copy_text
from atomr_local.tui.rendering import coloured, highlighted, place_text, rows_text, same_rows, table_of
from atomr_local.tui.screens.dialogs import confirm
from atomr_local.tui.widgets.node_panel import field, marked
from atomr_local.tui.widgets.question_box import RowsTable
from atomr_local.tui.widgets.status_line import SteadyFooter

if TYPE_CHECKING:
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.assistant.session import GraphRows
    from atomr_local.tui.clipboard import Opening


class EvidenceScreen(ModalScreen[int | str | None]):
    """Gives what the user wants next: a node, by its number, or a query for the console."""

    DEFAULT_CSS = """
    EvidenceScreen { align: center middle; }
    #piece { width: 100; max-width: 96%; height: 90%; padding: 0 2; background: $surface; border: round $accent; }
    #piece Static { width: 100%; height: auto; }
    #piece-body { height: 1fr; scrollbar-size-vertical: 1; }
    #piece-rows { height: auto; max-height: 12; margin: 1 0; }
    #piece-users { height: auto; max-height: 8; border: round $border-blurred; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="piece.close"),
        Binding("r", "run_again", "Run again", tooltip="Run the graph query again", id="piece.run"),
        Binding("f7", "console", "Console", tooltip="Open the query in the SPARQL console", id="piece.console"),
        Binding("o", "open_page", "Open", tooltip="Open the web page in the browser, or the file", id="piece.open"),
        Binding("y", "copy", "Copy", tooltip="Copy the evidence", id="piece.copy"),
    ]

    def __init__(
        self,
        assistant: Assistant,
        evidence: Evidence,
        answers: Sequence[str] = (),
        users: Sequence[tuple[int, str]] = (),
        rank: int = 1,
    ) -> None:
        """Make the screen; `users` are the nodes that this rests under, each with its question.

        Args:
            rank: its place among what its source found, from 1.
        """
        super().__init__()
        self._assistant = assistant
        self._evidence = evidence
        self._answers = answers
        self._users = list(users)
        self._rank = rank

    @property
    def _sparql(self) -> str:
        return str(self._evidence.locator.get("sparql", ""))

    @property
    def _answer_at(self) -> int:
        """The offset of the first answer in the text."""
        text = self._evidence.text.casefold()
        found = [at for answer in self._answers if answer and (at := text.find(answer.casefold())) >= 0]
        return min(found, default=0)

    @property
    def _url(self) -> str:
        return str(self._evidence.locator.get("url", ""))

    def compose(self) -> ComposeResult:
        item = self._evidence
        with Vertical(id="piece"):
            yield Static(Text.assemble((f"[{item.id}] ", "bold cyan"), (sanitize_line(item.title), "bold")))
            yield Static(field("source", item.source if self._sparql else f"{item.source}, rank {self._rank}"))
            yield Static(field("asked for", item.query))
            with VerticalScroll(id="piece-body"):
                yield Static(marked(item.text, self._answers, sentences_too=bool(place_words(item.locator))))
                if self._sparql:
                    yield Static(Text(""))
                    yield Static(highlighted(self._sparql))
                    yield RowsTable(id="piece-rows")
                else:
                    yield Static(place_text(item.locator))
                yield Static(id="piece-status", markup=False)
            users = OptionList(
                *(Option(Text(_user(number, question)), id=str(number)) for number, question in self._users),
                id="piece-users",
            )
            users.border_title = "Used by these steps (Enter goes there)"
            yield users
        yield SteadyFooter()

    def on_mount(self) -> None:
        if self._sparql:
            self.query_one(RowsTable).show(*table_of(self._evidence.locator.get("rows", ())))
        self.query_one("#piece-users").focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in {"run_again", "console"}:
            return bool(self._sparql)
        if action == "open_page":
            return _is_page(self._url) or "file" in self._evidence.locator
        return True

    @on(OptionList.OptionSelected, "#piece-users")
    def _user_chosen(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(self._users[message.option_index][0])

    def action_console(self) -> None:
        self.dismiss(self._sparql)

    def action_copy(self) -> None:
        item = self._evidence
        place = self._sparql or self._url or place_words(item.locator) or str(item.locator.get("passage", ""))
        self.notify(copy_text(self.app, f"{item.title}\n{item.text}\n{place}"), markup=False)

    def action_run_again(self) -> None:
        self._show_status("running …")
        work = partial(self._assistant.query_graph, self._sparql)
        in_background(self, work, self._ran, failed=self._failed, group="run-again", exclusive=True)

    def _ran(self, found: GraphRows) -> None:
        self.query_one(RowsTable).show(found.columns, found.rows)
        same = same_rows(found.columns, found.rows, self._evidence.locator.get("rows", ()))
        told = f"{rows_text(len(found.rows))}, {'unchanged' if same else 'changed'}"
        self._show_status(f"{told} ({found.seconds * 1000:.0f} ms)")

    def _failed(self, error: AtomrError) -> None:
        self._show_status("")
        self.app.push_screen(ErrorScreen(error))

    def _show_status(self, text: str) -> None:
        self.query_one("#piece-status", Static).update(Text(text, "dim"))

    def action_open_page(self) -> None:
        """Open the page or the file, after asking: it may have changed, and the browser goes online."""
        if "file" in self._evidence.locator:
            self._open_file()
            return
        open_page = partial(self.app.open_url, self._url)
        shown = sanitize_line(self._url)
        confirm(self.app, "Open this page in the browser?", shown, open_page, yes="Open", no="Do not open")

    def _open_file(self) -> None:
        from atomr_local.tui.clipboard import opening_of

        self._show_status("looking …")
        work = partial(opening_of, self._evidence.locator, self._answer_at)
        in_background(self, work, self._offer, group="open", exclusive=True)

    def _offer(self, opening: Opening | None) -> None:
        from atomr_local.tui.clipboard import missing_reason

        self._show_status("")
        locator = self._evidence.locator
        if opening is None:
            self._show_status(missing_reason(locator))
            return
        shown = sanitize_line(f"{place_words(locator)}, in {locator['folder']}")
        start = partial(self._start, opening)
        if not opening.command:
            self._show_status(f"{opening.refused} {opening.told}")
        elif opening.refused:
            text = f"{shown}\n{opening.refused}"
            confirm(self.app, "Show this file in its folder?", text, start, yes="Show", no="Do not show")
        else:
            text = f"{shown}\n{opening.told}"
            confirm(self.app, "Open this file?", text, start, yes="Open", no="Do not open")

    def _start(self, opening: Opening) -> None:
        from atomr_local.tui.clipboard import run_here, start

        if opening.in_terminal:
            with self.app.suspend():
                problem = run_here(opening)
        else:
            problem = start(opening)
        done = "Shown in its folder." if opening.refused else f"Opened. {opening.told}"
        self._show_status(problem or done)


def _user(number: int, question: str) -> str:
    return f"{'Answer:' if number == ROOT_ID else f'{number}.'} {sanitize_line(question)}"


def _is_page(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    # An address that cannot be shown as it is would be opened as another than the one asked about.
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and sanitize_line(url) == url


# What the model was shown for a step and what it wrote, as it was.


class CallsScreen(ModalScreen[None]):
    DEFAULT_CSS = """
    CallsScreen { align: center middle; }
    #calls { width: 110; max-width: 96%; height: 90%; padding: 0 2; background: $surface; border: round $accent; scrollbar-size-vertical: 1; }
    #calls Static { width: 100%; height: auto; }
    """  # noqa: E501
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,m", "dismiss", "Close", id="calls.close"),
        Binding("y", "copy", "Copy", tooltip="Copy the prompts and the output", id="calls.copy"),
    ]

    def __init__(self, title: str, calls: Sequence[ModelCalled], *, kept: bool = True) -> None:
        """Make the screen; `kept`: False if the question was opened from the history, which keeps no prompts."""
        super().__init__()
        self._title = title
        self._calls = list(calls)
        self._kept = kept

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="calls") as body:
            body.border_title = Text(sanitize_line(self._title))  # a str would be markup
            if not self._calls:
                text = (
                    "The model was not asked for this step."
                    if self._kept
                    else "Prompts are not kept in the history. Ask again to see them."
                )
                yield Static(Text(text, "dim"))
            for number, call in enumerate(self._calls, 1):
                made = call.completion
                rate = f", {made.generated_tokens / made.seconds:.0f} tokens/s" if made.seconds > 0 else ""
                yield Static(Text(f"{number}. {sanitize_line(call.purpose)}", "bold underline"))
                yield Static(
                    Text(
                        f"{made.prompt_tokens} tokens submitted, {made.evaluated_tokens} read, "
                        f"{made.generated_tokens} written, {made.seconds:.2f} s{rate}",
                        "dim",
                    )
                )
                yield Static(coloured("prompt", "cyan"))
                yield Static(Text(sanitize(call.prompt)))
                yield Static(coloured("output", "cyan"))
                yield Static(Text(sanitize(made.text) or "(nothing)", "bold"))
                yield Static(Text(""))
        yield SteadyFooter()

    def action_copy(self) -> None:
        text = "\n\n".join(f"{call.prompt}\n---\n{call.completion.text}" for call in self._calls)
        self.notify(copy_text(self.app, text), markup=False)
