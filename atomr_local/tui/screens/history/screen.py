"""The history screen: search, open, export, share and delete past questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

from rich.console import RenderableType
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, VerticalScroll
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atomr_local.errors import AtomrError, InputError
from atomr_local.history.entries import QuestionSummary, StoredQuestion
from atomr_local.history.files.trace_import import read_traces
from atomr_local.history.store import History
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tui.background import in_background
from atomr_local.tui.screens.confirm import confirm
from atomr_local.tui.screens.error import ErrorScreen
from atomr_local.tui.screens.history.export import ExportScreen
from atomr_local.tui.screens.history.preview import listed, previewed, unreadable
from atomr_local.tui.screens.path_dialog import PathDialog
from atomr_local.tui.widgets.bottom_line import SteadyFooter
from atomr_local.tui.widgets.clean_text import CleanInput

_PAGE = 100
_AHEAD = 20  # lines before the end of what is listed at which the next page is read
_LONGEST_SHOWN = 300
_TYPING = 0.15  # seconds without a key after which is searched
_PASSING = 0.08  # seconds on one line after which it is read


Purpose = Literal["open", "ask", "export", "share"]
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class HistoryChoice:
    """What the user wants: to see this trace, or to ask its question again.

    Attributes:
        conversation: all traces of its conversation, oldest first, `trace` among them.
    """

    kind: Literal["open", "ask"]
    trace: Trace
    conversation: tuple[Trace, ...] = ()


class _Questions(OptionList):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Open", id="history.open")]


class HistoryScreen(Screen[HistoryChoice | None]):
    """Gives None when it is closed without a choice. The history is opened again for each access, on a thread."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "read('open')", "Open", tooltip="Open the question with its steps", id="history.open"),
        Binding("a", "read('ask')", "Ask again", tooltip="Ask the same question again", id="history.ask"),
        Binding("d,delete", "delete", "Delete", tooltip="Delete the question for good, after asking",
                id="history.delete"),
        Binding("x", "read('export')", "Export", tooltip="Write the question to a Markdown or JSON file",
                id="history.export"),
        Binding("s", "read('share')", "Share", tooltip="Write a file that another installation opens",
                id="history.share"),
        Binding("i", "import", "Import", tooltip="Take in a file of another installation", id="history.import"),
        Binding("slash,ctrl+f", "search", "Search", tooltip="Search the questions and answers", id="history.search"),
        Binding("down", "list", "List", show=False, tooltip="From the search to the list", id="history.list"),
        Binding("escape", "close", "Close", tooltip="End the search, or close the history", id="history.close"),
    ]  # fmt: skip
    HORIZONTAL_BREAKPOINTS = [(0, "narrow"), (110, "wide")]  # noqa: RUF012
    DEFAULT_CSS = """
    HistoryScreen #history-top { height: 1; background: $panel; }
    HistoryScreen #history-top Static { width: auto; padding: 0 1; }
    HistoryScreen #search { width: 1fr; }
    HistoryScreen #body { height: 1fr; layout: horizontal; }
    HistoryScreen.narrow #body { layout: vertical; }
    HistoryScreen #list, HistoryScreen #message, HistoryScreen #preview { width: 1fr; height: 1fr; padding: 0 1;
        border: round $border-blurred; scrollbar-size-vertical: 1; overflow-x: hidden; }
    HistoryScreen #list { text-wrap: nowrap; text-overflow: ellipsis; }
    HistoryScreen #list:focus, HistoryScreen #preview:focus { border: heavy $accent; }
    HistoryScreen #message { display: none; color: $text-muted; }
    HistoryScreen #preview Static { width: 100%; height: auto; }
    """

    def __init__(
        self,
        opened: Callable[[], History] = History.open,
        *,
        keeping: bool = True,
        directory: Path | None = None,
        page: int = _PAGE,
    ) -> None:
        """Show what `opened` gives.

        Args:
            opened: opens the history; called on worker threads, once for each thing that is done.
            keeping: whether new questions are kept, as the settings have it.
            directory: where exports are offered to go; by default the current one.
            page: how many questions are read at a time.
        """
        super().__init__()
        self._opened, self._page = opened, page
        self._keeping, self._directory = keeping, directory
        self._turn = 0  # of the search: what an earlier one finds comes too late
        self._searched = ""
        self._items: list[QuestionSummary] = []
        self._total = 0
        self._more = False
        self._loading = False
        self._typing: Timer | None = None
        self._passing: Timer | None = None

    def compose(self) -> ComposeResult:
        with Horizontal(id="history-top"):
            yield Static(Text("History", "bold"))
            yield CleanInput(id="search", placeholder="/ searches questions and answers", compact=True)
            yield Static(id="count")
        with Container(id="body"):
            yield _Questions(id="list", markup=False)
            yield Static(id="message")
            with VerticalScroll(id="preview"):
                yield Static(id="preview-text")
        yield SteadyFooter()

    def on_mount(self) -> None:
        self.query_one("#list").border_title = "Questions"
        self.query_one("#message").border_title = "Questions"
        self.query_one("#preview").border_title = "Answer, citations, plan"
        self.watch(self._list, "scroll_y", self._scrolled, init=False)
        self._list.focus()
        self.reload()

    @property
    def _list(self) -> OptionList:
        return self.query_one("#list", OptionList)

    @property
    def chosen(self) -> int | None:
        """The number of the question that the cursor is on."""
        place = self._list.highlighted
        return self._items[place].id if place is not None and place < len(self._items) else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What needs a question is dimmed where there is none."""
        if action in {"read", "delete"} and self.is_mounted and self.chosen is None:
            return None
        return True

    def _with_history(
        self,
        work: Callable[[History], _Read],
        then: Callable[[_Read], object],
        *,
        group: str,
        failed: Callable[[AtomrError], object] | None = None,
    ) -> None:
        def run() -> _Read:
            with self._opened() as history:
                found = work(history)
                self.call_later(self._show_notes, history.notes)
                return found

        in_background(self, run, then, failed=failed, group=group, exclusive=group != "change")

    def _show_notes(self, notes: Sequence[str]) -> None:
        for note in notes:
            self.app.notify(sanitize(note), severity="warning", markup=False)

    # The list

    def reload(self) -> None:
        """Read the list again, with the words that stand in the search box."""
        self._turn += 1
        self._searched = self.query_one("#search", Input).value.strip()
        self._load(None)

    def _load(self, before: int | None) -> None:
        """Read a page of the list: the first, or the one that follows the question `before`."""
        self._loading = True
        turn, searched = self._turn, self._searched

        def work(history: History) -> tuple[list[QuestionSummary], int, str]:
            total = history.count()
            try:
                return history.entries(search=searched or None, limit=self._page, before=before), total, ""
            except InputError as error:  # told where the list would be
                return [], total, f"{error.message}."

        def then(page: tuple[list[QuestionSummary], int, str]) -> None:
            if turn == self._turn:
                self._show_page(*page, first=before is None)

        self._with_history(work, then, failed=self._unlisted, group="list")

    def _show_page(self, items: list[QuestionSummary], total: int, text: str, *, first: bool) -> None:
        self._loading = False
        self._more = len(items) == self._page
        self._total = total
        lines = self._list
        if first:
            lines.clear_options()
            self._items.clear()
        lines.add_options(Option(listed(item)) for item in items)
        self._items.extend(items)
        if first and self._items:
            lines.highlighted = 0
            lines.scroll_home(animate=False)
        self._show_count(text)

    def _unlisted(self, error: AtomrError) -> None:
        self._loading = False
        self._list.clear_options()
        self._items.clear()
        self._more, self._total = False, 0
        self._show_count("The history cannot be read.")
        self.app.push_screen(ErrorScreen(error))

    def _show_count(self, text: str = "") -> None:
        if not self._items:
            text = text or self._nothing()
        self.query_one("#message", Static).update(Text(sanitize(text)))
        self.query_one("#message").display = not self._items
        lines, preview = self._list, self.query_one("#preview")
        focused, hidden = self.focused, not lines.display
        lines.display = bool(self._items)
        if focused is lines and not self._items:
            preview.focus()
        elif focused is preview and self._items and hidden:
            lines.focus()
        shown = f"{len(self._items)}{'+' if self._more else ''} of {self._total}"
        self.query_one("#count", Static).update(Text(shown if self._total else ""))
        self._preview_soon()
        self.refresh_bindings()

    def _nothing(self) -> str:
        if self._total:
            return f"None of the {self._total} kept questions has these words."
        if not self._keeping:
            return "No questions are kept: the settings say so (keep = false under [history])."
        return "No questions yet. Each question you ask appears here with its steps. Press i to import a file."

    def _scrolled(self) -> None:
        lines = self._list
        if lines.max_scroll_y - lines.scroll_offset.y <= _AHEAD:
            self._load_more()

    def _load_more(self) -> None:
        if self._more and not self._loading and self._items:
            self._load(self._items[-1].id)

    # Searching

    @on(Input.Changed, "#search")
    def _typed(self) -> None:
        if self._typing is not None:
            self._typing.stop()
        self._typing = self.set_timer(_TYPING, self._search_if_new)

    def _search_if_new(self) -> None:
        if self.query_one("#search", Input).value.strip() != self._searched:
            self.reload()

    @on(Input.Submitted, "#search")
    def action_list(self) -> None:
        self._search_if_new()
        self.set_focus(self._list if self._items else self.query_one("#preview"))

    def action_search(self) -> None:
        self.set_focus(self.query_one("#search"))

    def action_close(self) -> None:
        search = self.query_one("#search", Input)
        if self.focused is search or search.value:
            search.value = ""
            self.action_list()
        else:
            self.dismiss(None)

    # Looking

    @on(OptionList.OptionHighlighted, "#list")
    def _highlighted(self, message: OptionList.OptionHighlighted) -> None:
        if message.option_index >= len(self._items) - _AHEAD:
            self._load_more()
        self._preview_soon()

    def _preview_soon(self) -> None:
        if self._passing is not None:
            self._passing.stop()
        self._passing = self.set_timer(_PASSING, self._preview)

    def _preview(self) -> None:
        number = self.chosen
        if number is None:
            self.query_one("#preview-text", Static).update(Text())
            return

        def show(text: RenderableType, *, home: bool = False) -> None:
            if number == self.chosen:
                self.query_one("#preview-text", Static).update(text)
                if home:
                    self.query_one("#preview").scroll_home(animate=False)

        self._with_history(
            lambda history: history.get(number),
            lambda kept: show(previewed(kept), home=True),
            failed=lambda error: show(unreadable(error)),
            group="preview",
        )

    # Doing something with the question

    @on(OptionList.OptionSelected, "#list")
    def _picked(self) -> None:
        self.action_read("open")

    def action_read(self, purpose: Purpose) -> None:
        """Read the question with its trace and all others of its conversation, and continue with `purpose`."""
        number = self.chosen
        if number is None:
            return

        def read(history: History) -> tuple[StoredQuestion, Sequence[StoredQuestion]]:
            conversation = history.conversation(number)
            return next(item for item in conversation if item.summary.id == number), conversation

        self._with_history(read, lambda found: self._go_on(purpose, *found), group="read")

    def _go_on(self, purpose: Purpose, kept: StoredQuestion, conversation: Sequence[StoredQuestion]) -> None:
        if not self.is_current:  # a second key came before the first had its effect
            return
        if purpose in {"open", "ask"}:
            self.dismiss(HistoryChoice(purpose, kept.trace, tuple(item.trace for item in conversation)))
        else:
            form = "trace" if purpose == "share" else "markdown"
            self.app.push_screen(ExportScreen(kept, conversation=conversation, form=form, directory=self._directory))

    def action_delete(self) -> None:
        number = self.chosen
        if number is None:
            return

        def delete() -> None:
            then = partial(self._deleted, number)
            self._with_history(lambda history: history.delete([number])[1], then, group="change")

        text = next(sanitize_line(item.question)[:_LONGEST_SHOWN] for item in self._items if item.id == number)
        text += "\n\nThe question and its trace are overwritten on disk.\nThis cannot be undone."
        confirm(self.app, "Delete this question for good?", text, delete)

    def _deleted(self, number: int, erased: bool) -> None:
        for place, item in enumerate(self._items):
            if item.id == number:
                self._items.pop(place)
                self._list.remove_option_at_index(place)
                break
        self._total = max(0, self._total - 1)
        self._show_count()
        text = "Deleted."
        if not erased:
            text += " Another program has the history open. The text is removed from the disk when that program closes."
        self.app.notify(text, markup=False)
        if not self._items and self._total:
            self.reload()

    def action_import(self) -> None:
        def chosen(path: Path | None) -> None:
            if path is not None:
                self._with_history(lambda history: _import(history, path), self._imported, group="change")

        text = "A file that another installation shared, or a JSON export. It is checked field by field first."
        self.app.push_screen(PathDialog("Import questions", text, yes="Import", directory=self._directory), chosen)

    def _imported(self, counts: tuple[int, int]) -> None:
        new, known = counts
        text = f" {known} {'was' if known == 1 else 'were'} here before." if known else ""
        self.app.notify(sanitize_line(f"{new} imported.{text}"), markup=False)
        self.reload()


def _import(history: History, path: Path) -> tuple[int, int]:
    """How many of the file's questions are new, and how many were there."""
    traces = read_traces(path)
    new = sum(history.import_trace(trace)[1] for trace in traces)
    return new, len(traces) - new
