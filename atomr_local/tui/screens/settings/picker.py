"""A drop-down list in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atomr_local.sanitize import sanitize_line
from atomr_local.tui.screens.settings.choices import SettingChoice

_OTHER = "\0other"  # no setting can be this


class Picker(Widget, can_focus=True):
    """A single widget, unlike Select: a form of many settings stays quick."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space,down", "open", "Choose", show=False, tooltip="Show what to choose", id="picker.open"),
    ]
    DEFAULT_CSS = """
    Picker { height: 1; width: 1fr; padding: 0 1; background: $boost; pointer: pointer; }
    Picker.-other { width: 14; }
    Picker:hover { background: $primary 15%; }
    Picker:focus { background: $primary 20%; text-style: bold; }
    """

    @dataclass
    class Picked(Message):
        """Another choice was made."""

        picker: Picker

    def __init__(self, title: str, value: str, choices: Sequence[SettingChoice], *, free: bool = False) -> None:
        """Make the line.

        Args:
            title: of the list; our own words.
            value: the choice now; it may be one that is not offered.
            free: whether the list offers, besides, to enter something else.
        """
        super().__init__()
        self.value = value
        self.other = False
        self._title = title
        self._choices = tuple(choices)
        self._free = free

    def show(self, value: str, choices: Sequence[SettingChoice], *, other: bool) -> None:
        """Show a choice, or that something else is entered."""
        self.value, self.other, self._choices = value, other, tuple(choices)
        self.refresh()

    def render(self) -> Content:
        choice = next((choice for choice in self._choices if choice.value == self.value), SettingChoice(self.value))
        text = Text("another…", "italic") if self.other else _choice_text(choice)
        room = max(1, self.content_size.width - 2)
        text.truncate(room, overflow="ellipsis", pad=True)
        return Content.from_rich_text(text) + Content(" ▾")

    def action_open(self) -> None:
        options = [(_choice_text(choice), choice.value) for choice in self._choices]
        if not self.other and all(choice.value != self.value for choice in self._choices):
            note = "" if self._free and not self._choices else "not found"
            options.insert(0, (_choice_text(SettingChoice(self.value, note)), self.value))
        if self._free:
            options.append((Text("another…", "italic"), _OTHER))
        self.app.push_screen(_PickOne(self._title, options, _OTHER if self.other else self.value), self._picked)

    def on_click(self) -> None:
        self.action_open()

    def _picked(self, value: str | None) -> None:
        if value is None:
            return
        self.other = value == _OTHER
        if not self.other:
            self.value = value
        self.refresh()
        self.post_message(self.Picked(self))


class _PickOne(ModalScreen[str | None]):
    """The list; Escape leaves the choice as it was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Close", tooltip="Leave the choice as it was", id="picker.close"),
    ]
    DEFAULT_CSS = """
    _PickOne { align: center middle; }
    _PickOne > Vertical { width: 70; max-width: 95%; height: auto; max-height: 80%; padding: 0 1; background: $surface;
        border: round $primary; }
    _PickOne OptionList { height: auto; max-height: 1fr; border: none; background: $surface; }
    _PickOne OptionList:focus { border: none; }
    """

    def __init__(self, title: str, options: Sequence[tuple[Text, str]], current: str) -> None:
        super().__init__()
        self._title = title
        self._offered = list(options)
        self._current = current

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Text(self._title, "bold"))
            yield OptionList(*(Option(text) for text, _ in self._offered))

    def on_mount(self) -> None:
        values = [value for _, value in self._offered]
        self.query_one(OptionList).highlighted = values.index(self._current) if self._current in values else 0

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:  # beside the list
            self.dismiss(None)

    @on(OptionList.OptionSelected)
    def _chosen(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        self.dismiss(self._offered[message.option_index][1])


def _choice_text(choice: SettingChoice) -> Text:
    text = Text(sanitize_line(choice.value) or "(none)", no_wrap=True, overflow="ellipsis")
    if choice.about:
        text.append(f"  {sanitize_line(choice.about)}", "dim")
    return text
