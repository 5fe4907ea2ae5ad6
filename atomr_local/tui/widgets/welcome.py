"""The empty screen: what the program does, the first start's choice, and examples that work with the starter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atomr_local import paths
from atomr_local.sanitize import sanitize_line

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
_LOCAL = f"{_WELCOME} While web is off, nothing leaves this machine."


def example_questions() -> list[str]:
    """Questions that the starter answers rightly from the knowledge that it ships with, as its file marks them.

    None if the file is missing or not readable.
    """
    questions: list[str] = []
    file = paths.starter_knowledge_dir() / "questions.jsonl"
    with suppress(OSError, ValueError, KeyError, TypeError), file.open(encoding="utf-8") as stream:
        for item in map(json.loads, stream):
            if item.get("shown"):
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

    def show_privacy(self, remote: str) -> None:
        """Say what leaves the machine: `remote` is the other machine that the model is on, or empty."""
        text = _REMOTE.format(host=sanitize_line(remote)) if remote else _LOCAL
        for about in self.query("#about").results(Static):
            about.update(Text(text))

    def offer_first_run(self) -> None:
        """Show the first start's choice above the examples."""
        if not self.query("#first-run"):
            self.mount(FirstRunChoices(), before=self._examples)

    def end_first_run(self) -> None:
        self.query("#first-run").remove()
