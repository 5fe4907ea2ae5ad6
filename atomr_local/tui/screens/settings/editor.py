"""The editors of one setting: switch, list, line or text area."""

from __future__ import annotations

from typing import Any, Protocol

from textual import events
from textual.widget import Widget
from textual.widgets import Checkbox, Input, TextArea

from atomr_local.tui.screens.settings.entry import SettingEntry
from atomr_local.tui.screens.settings.picker import Picker
from atomr_local.tui.widgets.clean_text import CleanInput


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
