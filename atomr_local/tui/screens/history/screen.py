"""The history screen: search, open, export, share and delete past questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, VerticalScroll
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atomr_local.assistant.history.database import QuestionSummary, StoredQuestion
from atomr_local.assistant.history.store import History
from atomr_local.assistant.history.trace_import import read_traces
from atomr_local.errors import AtomrError, InputError
from atomr_local.reasoning.confidence import NOT_FOUND, confidence_text, status_word
from atomr_local.reasoning.trace import telling
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.system.sanitize import sanitize, sanitize_line
from atomr_local.tui.background import ErrorScreen, in_background
from atomr_local.tui.rendering import coloured, short_line
from atomr_local.tui.screens.dialogs import PathDialog, confirm
from atomr_local.tui.screens.history.export import ExportScreen
from atomr_local.tui.widgets.question_box import CleanInput
from atomr_local.tui.widgets.status_line import SteadyFooter

# A kept question as text: its line in the list, and what is shown of it before it is opened.

MARKS = {
    "answered": ("●", "green"),
    "unknown": ("?", "magenta"),
    "cancelled": ("⊘", "yellow"),
    "failed": ("✗", "red"),
    "interrupted": ("✗", "yellow"),
}
# What is shown is bounded: a trace from elsewhere may hold a million characters in a field.
_LONGEST_LINE = 300
_LONGEST_TEXT = 2_000
_MOST_PIECES = 20
_MOST_STEPS = 60


def listed(item: QuestionSummary) -> Text:
    """Two lines: mark and question; when, how, and the answer."""
    mark, style = MARKS.get(item.status, ("·", ""))
    text = Text()
    text.append(f"{mark} ", style)
    if item.follows is not None:  # another question of the same conversation
        text.append(f"↳ {item.follows} ", "dim")
    text.append(short_line(item.question))
    text.append(f"\n  {item.local_time}  {sanitize_line(item.strategy)}", "dim")
    if item.origin == "imported":
        text.append("  imported", "italic dim")
    if item.status == "unknown":
        text.append(f"  {NOT_FOUND}", "magenta")
    if item.answer:
        text.append("  → ", "dim").append(short_line(item.answer))
    return text


def previewed(kept: StoredQuestion) -> RenderableType:
    """The answer, what it cites, and the plan; sanitised and bounded."""
    return Group(*_blocks(kept))


def unreadable(error: AtomrError) -> Text:
    """Why a question cannot be shown, and what to do about it."""
    text = Text.assemble((f"{sanitize(error.title)}\n", "bold red"), sanitize(error.message))
    if error.hint:
        text.append(f"\n→ {sanitize(error.hint)}", "cyan")
    return text


def _blocks(kept: StoredQuestion) -> Iterator[RenderableType]:
    trace, summary = kept.trace, kept.summary
    mark, style = MARKS.get(trace.status, ("·", ""))
    yield Text(_bounded(trace.question), "bold")
    if meant := telling.understood(trace):
        yield Text.assemble(("Understood as: ", "dim"), short_line(meant))
    if summary.follows is not None:
        yield Text(f"Goes on with the conversation of question {summary.follows}", "dim")
    how = "imported" if summary.origin == "imported" else "asked"
    yield Text.assemble(
        (f"{mark} {status_word(trace.status)}", style),
        (f" · {sanitize_line(trace.strategy)} · {how} {summary.local_time}", "dim"),
        (f" · {trace.totals.seconds:.1f} s", "dim"),
    )  # fmt: skip
    yield Text()
    parts = list(telling.told_answer(trace, "terminal"))
    yield from (text for part in parts if part.role != "passages" for text in _said(part, trace))
    if given := [node.id for node in trace.nodes if node.by_user and node.parent is not None]:
        numbers = ", ".join(map(str, given[:_MOST_PIECES]))
        yield coloured(f"{telling.OWN} to step{'s' if len(given) > 1 else ''} {numbers}", "yellow")
    for warning in trace.warnings[:_MOST_PIECES]:
        yield coloured(f"⚠ {short_line(telling.warning_text(warning))}", "yellow")
    if trace.basis == "model" and trace.answers:
        yield coloured("⚠ The model's own knowledge: no evidence supports it.", "yellow")
    for part in parts:
        if part.role == "passages":
            if part.text:
                yield Text(f"\n{part.text}", "bold")
            yield from map(_passage, part.passages)
    yield from _citations(trace)
    plan = [line for line in sanitize(trace.plan.compact).splitlines() if line.strip()]
    steps = plan if trace.plan.origin != "steps" else [_step(node) for node in trace.nodes if node.parent is not None]
    if steps:
        yield Text("\nPlan" if steps is plan else "\nSteps", "bold")
        yield from (Text(line[:_LONGEST_LINE]) for line in steps[:_MOST_STEPS])
        if len(steps) > _MOST_STEPS:
            yield Text(f"and {len(steps) - _MOST_STEPS} more steps", "dim")


def _citations(trace: Trace) -> Iterator[RenderableType]:
    root = telling.root_of(trace)
    cited = telling.pieces(trace, dict.fromkeys(root.cited if root is not None else ()))
    if cited:
        yield Text("\nCitations", "bold")
    for piece in cited[:_MOST_PIECES]:
        yield Text.assemble(
            (f"[{sanitize_line(piece.id)}] ", "cyan"),
            f"{short_line(piece.title)} ({sanitize_line(piece.source)}): ",
            (short_line(piece.text), "dim"),
        )
    if len(cited) > _MOST_PIECES:
        yield Text(f"and {len(cited) - _MOST_PIECES} more", "dim")


def _step(node: NodeTrace) -> str:
    """A step that no plan has, with its answer where it has one."""
    title = telling.step_title(node, node.label, node.resolved_question or node.question)
    answer = short_line(node.answer) if telling.is_found(node) else ""
    mended = f" ({telling.correction_text(node.corrected_from)})" if answer and node.corrected_from is not None else ""
    return f"{node.id}. {title}" + (f" → {answer}{mended}" if answer else "")


def _said(part: telling.Part, trace: Trace) -> Iterator[Text]:
    """A part of the answer; the passages come below what is said of it."""
    match part.role:
        case "answer" | "quotation":
            sure = f"  {telling.OWN}" if trace.by_user else _sure(part.confidence)
            yield Text.assemble(_bounded(part.text) or "—", (sure, "yellow" if trace.by_user else "dim"))
        case "advice":
            yield from (coloured(f"→ {short_line(item)}", "cyan") for item in part.items[:_MOST_PIECES])
        case "guess":
            yield Text.assemble(f"{part.lead}: {short_line(part.text)}", (_sure(part.confidence), "dim"))
        case _:
            yield Text.assemble((f"{part.lead}: ", "bold"), _bounded(part.text))


def _passage(passage: telling.ShownPassage) -> Text:
    """Where it is from, and its text with the telling sentences bold."""
    text = Text.assemble((f"{short_line(passage.source)}\n", "dim"))
    for part, tells in passage.parts:
        text.append(part, "bold" if tells else "")
    return text


def _sure(confidence: float | None) -> str:
    return "" if confidence is None else f"  ({confidence_text(confidence)})"


def _bounded(text: str) -> str:
    shown = sanitize(text[: 2 * _LONGEST_TEXT])
    return shown if len(shown) <= _LONGEST_TEXT else f"{shown[:_LONGEST_TEXT].rstrip()} …"


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
