"""The empty screen: what the program does, the first start's choice, and examples that work with the starter."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atomr_local.reasoning.trace.schema import Trace
from atomr_local.reasoning.trace.telling import taken_from, understood
from atomr_local.system import paths
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tui.question.conversation import ShownTurn
from atomr_local.tui.question.state import QuestionState
from atomr_local.tui.rendering import short_line

Way = Literal["starter", "get", "build"]
_WAYS: tuple[tuple[Way, str, str], ...] = (
    ("starter", "Use the starter: ask right away", "nothing to download"),
    ("get", "Get a larger model, and a Wikipedia", "sizes and times first"),
    ("build", "Build from files of yours", "a folder of documents, a dump, JSON"),
)
_SHOWN = 8
_WELCOME = (
    "A small model on this machine breaks your question down into steps, looks each step up, and shows what every "
    "answer rests on."
)
_REMOTE = (
    "The model on {host} breaks your question down into steps, each step is looked up here, and you see what every "
    "answer rests on. ⚠ Your questions and the evidence for them leave this machine → {host} (endpoint.url)."
)
_POCKET = " It begins with a pocket encyclopedia of 6,500 topics, as of 2025, which was written for it and may err."
_LOCAL = f"{_WELCOME} While web is off, nothing leaves this machine."


def example_questions() -> list[str]:
    """Questions that the starter answers rightly from the knowledge that it ships with.

    None if the file is missing or not readable.
    """
    questions: list[str] = []
    file = paths.starter_knowledge_dir() / "examples.jsonl"
    with suppress(OSError, ValueError, KeyError, TypeError), file.open(encoding="utf-8") as stream:
        for item in map(json.loads, stream):
            questions.append(sanitize_line(str(item["question"])))
    return questions[:_SHOWN]


class _Choices(OptionList):
    """Its first line is under the cursor once it has the focus: Tab and Enter choose it."""

    def on_focus(self) -> None:
        if self.highlighted is None and self.option_count:
            self.highlighted = 0


class Examples(_Choices):
    BORDER_TITLE = "Try one of these"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Ask", tooltip="Ask the question under the cursor", id="examples.ask")
    ]

    def __init__(self) -> None:
        self.questions: list[str] = []
        super().__init__(id="examples")
        self.offer(example_questions())

    def offer(self, questions: Sequence[str]) -> None:
        """Show these; nothing where there are none."""
        shown = [sanitize_line(question) for question in questions[:_SHOWN]]
        if shown != self.questions:
            self.questions = shown
            self.set_options(Option(Text(question)) for question in shown)
        self.display = bool(shown)


class FirstRunChoices(_Choices):
    BORDER_TITLE = "How to begin? Type a question at any time; F5 offers the same later"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Choose", tooltip="Begin in this way", id="first-run.choose")
    ]
    DEFAULT_CSS = """
    FirstRunChoices { height: auto; border: round $accent; scrollbar-size-vertical: 0; }
    """

    @dataclass
    class Chosen(Message):
        """The user wants to begin this way."""

        way: Way

    def __init__(self) -> None:
        super().__init__(
            *(Option(Text.assemble(title, ("  " + text, "dim")), id=way) for way, title, text in _WAYS), id="first-run"
        )

    @on(OptionList.OptionSelected)
    def _selected(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        self.post_message(self.Chosen(_WAYS[message.option_index][0]))


class Welcome(Vertical):
    """What the program does, and the examples where there are some."""

    def __init__(self) -> None:
        super().__init__(id="welcome")
        self._examples = Examples()
        self._about, self._pocket = _WELCOME, False

    @property
    def questions(self) -> list[str]:
        """The examples' questions, in the order shown."""
        return self._examples.questions

    def compose(self) -> ComposeResult:
        yield Static(Text(_WELCOME), id="about")
        yield self._examples

    def offer(self, questions: Sequence[str] | None) -> None:
        """Offer questions made from the indexes in use; None: the starter's own."""
        self._examples.offer(example_questions() if questions is None else questions)
        self._pocket = questions is None
        self._tell()

    def show_privacy(self, remote: str) -> None:
        """Say what leaves the machine: `remote` is the other machine that the model is on, or empty."""
        self._about = _REMOTE.format(host=sanitize_line(remote)) if remote else _LOCAL
        self._tell()

    def _tell(self) -> None:
        for about in self.query("#about").results(Static):
            about.update(Text(self._about + (_POCKET if self._pocket else "")))

    def offer_first_run(self) -> None:
        """Show the first start's choice above the examples."""
        if not self.query("#first-run"):
            self.mount(FirstRunChoices(), before=self._examples)

    def end_first_run(self) -> None:
        self.query("#first-run").remove()


# The conversation so far, a line for each question; and what the present question was understood to mean in it.

LONGEST_STATUS = "well supported ✎"
_LONGEST_UNDERSTOOD = 400  # characters of a question


class Transcript(OptionList):
    """The turns; Enter opens an earlier answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open", tooltip="Open the answer with its steps", id="turns.open")
    ]

    def __init__(self) -> None:
        super().__init__(id="transcript", markup=False)
        self._shown_turns: list[tuple[str, str, str, bool]] = []
        self.display = False

    def show(self, turns: Sequence[ShownTurn], shown: int | None) -> None:
        """Show the turns, the one whose answer is on the screen marked; nothing where it is the only one."""
        self.display = len(turns) > (0 if shown is None else 1)
        lines = [(turn.question, turn.answer, turn.status, place == shown) for place, turn in enumerate(turns)]
        if lines == self._shown_turns:
            return
        self._shown_turns = lines
        self.set_options(Option(_line(*line)) for line in lines)
        if lines:
            self.highlighted = len(lines) - 1 if shown is None else shown
            self.call_after_refresh(self.scroll_to_highlight)


def _line(question: str, answer: str, status: str, shown: bool) -> Table:
    """Mark, question, answer and status in columns: a long question leaves room for the others."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=1)
    for ratio in (3, 2):
        table.add_column(ratio=ratio, no_wrap=True, overflow="ellipsis")
    table.add_column(width=len(LONGEST_STATUS), no_wrap=True)
    found = Text(short_line(answer)) if answer else Text(status, "magenta")
    table.add_row(
        Text("▸" if shown else " "),
        Text(short_line(question), "dim"),
        Text.assemble(("→ ", "dim"), found),
        Text(status if answer else "", "dim"),
    )
    return table


class UnderstoodLine(Static):
    """How the question was understood, and which earlier ones gave what it left out; hidden where that is nothing."""

    def __init__(self) -> None:
        super().__init__(id="understood", markup=False)
        self.display = False

    def show(self, state: QuestionState, earlier: Mapping[str, str], key: str) -> None:
        """Show it.

        Args:
            earlier: the questions of the conversation by trace id.
            key: that opens the question as understood for editing.
        """
        text = understood_text(state.record, earlier)
        if text and state.trace is not None:
            text.append(f" · press {sanitize_line(key)} to reword", "dim")
        self.display = bool(text)
        if text != self.content:
            self.update(text)


def understood_text(trace: Trace, earlier: Mapping[str, str]) -> Text:
    """The line; empty for a question that is taken as it was typed, from nothing before it."""
    text = Text()
    if meant := understood(trace):
        text.append("Understood as: ", "dim").append(short_line(meant, _LONGEST_UNDERSTOOD))
    taken = [f"“{short_line(question, _LONGEST_UNDERSTOOD)}”" for question in taken_from(trace, earlier)]
    if taken:
        text.append(" · from " if text else "Goes on from ", "dim").append(", ".join(taken), "dim")
    elif trace.took_from:
        text.append(" · from an earlier question" if text else "Goes on from an earlier question", "dim")
    return text
