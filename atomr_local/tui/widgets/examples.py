"""The empty screen: example questions that work with the starter, picked with keys or mouse."""

from __future__ import annotations

import json
from contextlib import suppress

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atomr_local import paths
from atomr_local.sanitize import sanitize_line

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

    None where the file is missing or not readable.
    """
    questions: list[str] = []
    file = paths.starter_knowledge_dir() / "questions.jsonl"
    with suppress(OSError, ValueError, KeyError, TypeError), file.open(encoding="utf-8") as stream:
        for item in map(json.loads, stream):
            if item.get("shown"):
                questions.append(sanitize_line(str(item["question"])))
    return questions[:_SHOWN]


class Examples(OptionList):
    BORDER_TITLE = "Try one of these"

    def __init__(self) -> None:
        self.questions = example_questions()
        super().__init__(*(Option(Text(question)) for question in self.questions), id="examples")


class Welcome(Vertical):
    """What the program does, and the examples where there are some."""

    def __init__(self) -> None:
        super().__init__(id="welcome")
        self._examples = Examples()
        self._examples.display = bool(self.questions)

    @property
    def questions(self) -> list[str]:
        """The examples' questions, in the order shown."""
        return self._examples.questions

    def compose(self) -> ComposeResult:
        yield Static(Text(_WELCOME), id="about")
        yield self._examples

    def show_privacy(self, remote: str) -> None:
        """Say what leaves the machine: `remote` is the other machine that the model is on, or empty."""
        text = _REMOTE.format(host=sanitize_line(remote)) if remote else _LOCAL
        for about in self.query("#about").results(Static):
            about.update(Text(text))

    def offer_beginning(self) -> None:
        """Show the first start's choice above the examples."""
        from atomr_local.tui.widgets.beginning import Beginning

        if not self.query("#beginning"):
            self.mount(Beginning(), before=self._examples)

    def end_beginning(self) -> None:
        """Take the choice away."""
        self.query("#beginning").remove()
