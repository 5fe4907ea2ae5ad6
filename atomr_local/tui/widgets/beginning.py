"""The first start's guided choice, above the examples: no window, so that a question can be typed at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rich.text import Text
from textual import on
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

Way = Literal["starter", "get", "build"]
_WAYS: tuple[tuple[Way, str, str], ...] = (
    ("starter", "Use the starter: ask right away", "nothing to download"),
    ("get", "Get a larger model, and a Wikipedia", "sizes and times first"),
    ("build", "Build from files of yours", "dumps, Parquet, ZIM, JSON"),
)


class Beginning(OptionList):
    BORDER_TITLE = "How to begin? Type a question at any time; F5 offers the same later"
    DEFAULT_CSS = """
    Beginning { height: auto; border: round $accent; scrollbar-size-vertical: 0; }
    """

    @dataclass
    class Chosen(Message):
        """The user wants to begin this way."""

        way: Way

    def __init__(self) -> None:
        super().__init__(
            *(Option(Text.assemble(title, ("  " + told, "dim")), id=way) for way, title, told in _WAYS), id="beginning"
        )

    @on(OptionList.OptionSelected)
    def _selected(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        self.post_message(self.Chosen(_WAYS[message.option_index][0]))
