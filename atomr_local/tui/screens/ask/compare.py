"""One question asked with several strategies: their answers side by side, and another strategy to ask it with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import DataTable, Static

from atomr_local.reasoning.trace.schema import Trace
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tui.background import in_background
from atomr_local.tui.question.conversation import ShownTurn, asked_words
from atomr_local.tui.question.state import offered
from atomr_local.tui.rendering import short_line
from atomr_local.tui.widgets.question_box import MeasuredTable
from atomr_local.tui.widgets.status_line import SteadyFooter

_COLUMNS = ("strategy", "answer", "how sure", "evidence", "calls", "seconds")
_WIDEST_NAME = 16
_LEAST_ANSWER = 12
_LONGEST = 400


@dataclass(frozen=True)
class Comparison:
    """What the user wants next: the steps of an answer, or the question asked with a strategy."""

    opened: Trace | None = None
    strategy: str = ""


class CompareScreen(ModalScreen[Comparison | None]):
    """Gives what to open or to ask; None if nothing."""

    DEFAULT_CSS = """
    CompareScreen { align: center middle; }
    #compare { width: 116; max-width: 100%; height: auto; max-height: 100%; padding: 0 1; background: $surface; border: round $accent; }
    #compare-table { height: auto; max-height: 50vh; scrollbar-size-vertical: 1; }
    #compare-about { height: auto; min-height: 3; margin-top: 1; }
    """  # noqa: E501
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open", priority=True, tooltip="Open the answer with its steps, or ask for one",
                id="compare.open"),
        Binding("r", "ask", "Run again", tooltip="Ask the question again with this strategy", id="compare.ask"),
        Binding("escape,q", "dismiss", "Close", id="compare.close"),
    ]  # fmt: skip

    def __init__(self, trace: Trace, answers: Sequence[Trace]) -> None:
        """Compare these answers; `trace` is the one on the screen."""
        super().__init__()
        self._trace = trace
        self._answers = {answer.strategy: answer for answer in answers}
        self._offered: dict[str, str] = {}  # what each strategy does
        self._names: list[str] = []  # of the rows

    def compose(self) -> ComposeResult:
        with Vertical(id="compare") as body:
            body.border_title = Text(f"Ask again with … · {short_line(self._trace.question)}")
            yield MeasuredTable(id="compare-table", cursor_type="row", zebra_stripes=True)
            yield Static(id="compare-about", markup=False)
            yield SteadyFooter()

    def on_mount(self) -> None:
        self.query_one(MeasuredTable).focus()
        self._fill()
        in_background(self, offered, self._take_offered, group="strategies")
        kept = partial(_kept, self._trace)
        in_background(self, kept, self._take_kept, failed=lambda _: None, group="kept-answers")

    def _take_offered(self, found: dict[str, str]) -> None:
        self._offered = found
        self._fill()

    def _take_kept(self, found: list[Trace]) -> None:
        self._answers = {answer.strategy: answer for answer in found} | self._answers
        self._fill()

    def on_resize(self) -> None:
        self._fill()

    @property
    def _chosen(self) -> str | None:
        row = self.query_one(MeasuredTable).cursor_row
        return self._names[row] if 0 <= row < len(self._names) else None

    def _fill(self) -> None:
        """Strategies that have answered first, then the others; the cursor stays on its strategy."""
        table = self.query_one(MeasuredTable)
        chosen = self._chosen or self._trace.strategy
        self._names = list(dict.fromkeys((*self._answers, *self._offered)))
        rows = [self._row(name) for name in self._names]
        others = sum(max(len(row[place]) for row in (*rows, _HEADS)) for place in (0, 2, 3, 4, 5))
        room = max(_LEAST_ANSWER, table.size.width - others - 2 * len(_COLUMNS) - 1)
        table.clear(columns=True)
        table.add_columns(*_HEADS)
        for row in rows:
            row[1].truncate(room, overflow="ellipsis")
            table.add_row(*row)
        table.move_cursor(row=self._names.index(chosen) if chosen in self._names else 0)
        self._tell()

    def _row(self, name: str) -> list[Text]:
        answer = self._answers.get(name)
        shown = answer is not None and answer is self._trace
        first = Text(f"{'▸ ' if shown else '  '}{short_line(name, _WIDEST_NAME)}", "bold" if shown else "")
        if answer is None:
            return [first, *(Text("–", "dim", justify="left") for _ in _COLUMNS[1:])]
        turn, totals = ShownTurn(answer), answer.totals
        figures = (str(len(answer.evidence)), str(totals.llm_calls), f"{totals.seconds:.1f}")
        return [
            first,
            Text(short_line(turn.answer) or "–"),
            Text(short_line(turn.status, _WIDEST_NAME)),
            *(Text(figure, justify="right") for figure in figures),
        ]

    @on(DataTable.RowHighlighted)
    def _tell(self) -> None:
        """What the strategy under the cursor does, and its whole answer."""
        name = self._chosen
        if name is None:
            return
        about = self._offered.get(name, "")
        text = Text.assemble((sanitize_line(name), "bold"), f": {sanitize_line(about)}" if about else "")
        if (answer := self._answers.get(name)) is not None:
            text.append(f"\n{short_line(ShownTurn(answer).answer or answer.reason or answer.answer, _LONGEST)}")
            text.append("\nEnter opens its steps. r asks again.", "dim")
        else:
            text.append("\nNot asked yet. Enter asks the question with it.", "dim")
        self.query_one("#compare-about", Static).update(text)

    @on(DataTable.RowSelected)
    def action_choose(self) -> None:
        name = self._chosen
        if name is not None:
            answer = self._answers.get(name)
            self.dismiss(Comparison(opened=answer) if answer is not None else Comparison(strategy=name))

    def action_ask(self) -> None:
        name = self._chosen
        if name is None:
            return
        if name not in self._offered:
            self.notify(sanitize_line(f"The strategy {name} is not installed here."), markup=False)
            return
        self.dismiss(Comparison(strategy=name))


_HEADS = [Text(f"  {_COLUMNS[0]}"), *(Text(name) for name in _COLUMNS[1:])]


def _kept(trace: Trace) -> list[Trace]:
    """Answers of the history to the same question, understood in the same way."""
    from atomr_local.assistant.history.store import recall_answers

    return [answer for answer in recall_answers(trace.question) if asked_words(answer) == asked_words(trace)]
