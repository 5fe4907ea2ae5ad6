"""The editors of one setting: switch, list, line or text area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Checkbox, Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from atomr_local.system.sanitize import sanitize_line
from atomr_local.tui.screens.settings.form import SettingChoice, SettingEntry
from atomr_local.tui.widgets.question_box import CleanInput

# A drop-down list in one line.

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


class Editor(Protocol):
    """The widgets for one entry. It knows no rules."""

    widgets: list[Widget]

    def entered(self) -> Any:
        """What the widgets hold, as :meth:`SettingEntry.enter` takes it."""

    def show(self) -> None:
        """Let the widgets hold what the entry does."""


def editor_of(entry: SettingEntry) -> Editor:
    """The editor for a setting of its kind."""
    if entry.field.kind in {"switch", "several"}:
        return _SwitchesEditor(entry)
    if entry.field.kind == "table":
        return _TableEditor(entry)
    return _ChoiceEditor(entry) if entry.chosen_from_list else _LineEditor(entry)


class _SwitchesEditor:
    """One for a setting that is on or off, or one for each of several values."""

    def __init__(self, entry: SettingEntry) -> None:
        self._entry = entry
        names = entry.field.choices if entry.field.kind == "several" else ("",)
        self._switches = [Toggle(name, self._is_on(name)) for name in names]
        self.widgets: list[Widget] = [*self._switches]

    def entered(self) -> Any:
        if self._entry.field.kind == "switch":
            return self._switches[0].value
        return tuple(switch.name for switch in self._switches if switch.value)

    def show(self) -> None:
        for switch in self._switches:
            switch.value = self._is_on(switch.name or "")

    def _is_on(self, name: str) -> bool:
        return name in self._entry.entered if name else bool(self._entry.entered)


class _LineEditor:
    """A number, a text or a secret."""

    def __init__(self, entry: SettingEntry) -> None:
        self._entry = entry
        text = ("… set; what is typed here replaces it" if entry.is_set else "not set") if entry.field.secret else ""
        self._input = CleanInput(entry.entered, placeholder=text, password=entry.field.secret, compact=True)
        self.widgets: list[Widget] = [self._input]

    def entered(self) -> str:
        return self._input.value

    def show(self) -> None:
        self._input.value = self._entry.entered


class _ChoiceEditor:
    """What is available, and where the setting is free, a line for something else, made when it is wanted."""

    def __init__(self, entry: SettingEntry) -> None:
        self._entry = entry
        self._picker = Picker(entry.field.key, entry.entered, entry.offered or (), free=entry.free)
        self._input: Input | None = None
        self.widgets: list[Widget] = [self._picker]
        self.show()

    def entered(self) -> str:
        self._arrange()
        return self._input.value if self._input is not None and self._picker.other else self._picker.value

    def show(self) -> None:
        entered, offered = self._entry.entered, self._entry.offered
        # While it is not known what is available, nothing can be said to be another thing.
        other = self._entry.free and offered is not None and all(choice.value != entered for choice in offered)
        self._picker.show(entered, offered or (), other=other)
        self._arrange()
        if self._input is not None and other:
            self._input.value = entered

    def _arrange(self) -> None:
        other, row = self._picker.other, self._picker.parent
        self._picker.set_class(not other, "last", update=row is not None)
        self._picker.set_class(other, "-other", update=row is not None)
        if self._input is not None:
            self._input.display = other
        elif other:
            self._input = CleanInput(placeholder="name or path", compact=True, classes="last")
            self.widgets.append(self._input)
            if isinstance(row, Widget):
                row.mount(self._input)


class _TableEditor:
    def __init__(self, entry: SettingEntry) -> None:
        self._entry = entry
        self._lines = _Lines(entry.entered, compact=True, highlight_cursor_line=False)
        self.widgets: list[Widget] = [self._lines]

    def entered(self) -> str:
        return self._lines.text

    def show(self) -> None:
        self._lines.load_text(self._entry.entered)


class Toggle(Checkbox):
    """Says in a word whether it is on, so that no colour is needed to read it."""

    def __init__(self, name: str, on: bool) -> None:
        super().__init__(_word(name, on), on, name=name, compact=True)
        self.BUTTON_INNER = "x" if on else " "

    def watch_value(self) -> None:
        self.BUTTON_INNER = "x" if self.value else " "
        self.label = _word(self.name or "", self.value)
        super().watch_value()


class _Lines(TextArea):
    """Enter begins a line; Tab goes on to the next setting."""

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        if not self.allow_vertical_scroll:
            event.prevent_default()  # the form scrolls, not the field under the mouse


def _word(name: str, on: bool) -> str:
    return f"{name} {'on' if on else 'off'}".strip()
