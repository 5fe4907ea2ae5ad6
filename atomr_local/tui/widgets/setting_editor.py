"""What one setting is changed with: a switch, a list to choose from, a line or several lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Select, Static, Switch, TextArea

from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tui.settings_choices import Choice
from atomr_local.tui.settings_form import FormField

_OTHER = "\0other"  # no setting can be this


class SettingEditor(Horizontal):
    """Holds what is entered; knows no rules."""

    DEFAULT_CSS = """
    SettingEditor { height: auto; width: 1fr; }
    SettingEditor Switch { border: none; padding: 0; height: 1; }
    SettingEditor Switch:focus { background: $accent; border: none; }
    SettingEditor .word { width: auto; padding: 0 2 0 1; }
    SettingEditor Select { width: 1fr; }
    SettingEditor SelectCurrent Static#label { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    SettingEditor Select:focus > SelectCurrent { background: $boost; text-style: bold; }
    SettingEditor Input { width: 1fr; background: $boost; }
    SettingEditor Input:focus, SettingEditor TextArea:focus { background: $primary 25%; }
    SettingEditor TextArea { width: 1fr; height: auto; min-height: 2; max-height: 8; background: $boost; }
    SettingEditor .free { display: none; margin-left: 1; }
    SettingEditor.-other .free { display: block; }
    """

    class Edited(Message):
        """Something else is entered now."""

    def __init__(
        self, field: FormField, value: Any, choices: Sequence[Choice] | None = None, free: bool = False
    ) -> None:
        """Make the editor of a field.

        Args:
            value: what is entered at first.
            choices: what is offered; None: nothing is.
            free: whether something else than what is offered may be entered.
        """
        super().__init__()
        self._field = field
        self._value = value
        self._choices = tuple(Choice(name) for name in field.choices) if choices is None else tuple(choices)
        self._offers = choices is not None or field.kind == "choice"
        self._free = free

    def compose(self) -> ComposeResult:
        kind, value = self._field.kind, self._value
        if kind == "switch":
            yield _worded(value)
            yield Static(_word(value), classes="word", markup=False)
        elif kind == "several":
            for name in self._field.choices:
                yield _worded(name in value, name)
                yield Static(_word(name in value, name), classes="word", markup=False)
        elif kind == "table":
            yield _Lines(sanitize(self._field.show(value)), compact=True, highlight_cursor_line=False)
        elif self._offers:
            known = self._is_offered(value)
            select: Select[str] = Select(
                self._options(), value=value if known else _OTHER, allow_blank=False, compact=True
            )
            yield select
            if self._free:
                self.set_class(not known, "-other")
                yield Input(
                    "" if known else sanitize_line(value), placeholder="name or path", compact=True, classes="free"
                )
        elif self._field.secret:
            told = "set; what is typed here replaces it" if value else "not set"
            yield Input(placeholder=told, password=True, compact=True)
        else:
            yield Input(sanitize_line(self._field.show(value)), compact=True)

    @property
    def entered(self) -> Any:
        """What is entered, as :meth:`FormField.parse` takes it."""
        kind = self._field.kind
        if kind == "switch":
            return self.query_one(Switch).value
        if kind == "several":
            return tuple(switch.name for switch in self.query(Switch) if switch.value)
        if kind == "table":
            return self.query_one(TextArea).text
        if self._offers:
            chosen = self.query_one(Select).value
            return self.query_one(Input).value if chosen == _OTHER and self._free else chosen
        return self.query_one(Input).value

    def put(self, value: Any) -> None:
        """Enter a value."""
        self._value = value
        kind = self._field.kind
        if kind == "switch":
            self.query_one(Switch).value = value
        elif kind == "several":
            for switch in self.query(Switch):
                switch.value = switch.name in value
        elif kind == "table":
            self.query_one(TextArea).load_text(sanitize(self._field.show(value)))
        elif self._offers:
            known = self._is_offered(value)
            self.query_one(Select).value = value if known else _OTHER
            if self._free and not known:
                self.query_one(Input).value = sanitize_line(value)
        else:
            self.query_one(Input).value = sanitize_line(self._field.show(value))

    def offer(self, choices: Sequence[Choice]) -> None:
        """Offer these from now on; what is entered stays."""
        if not self._offers:
            return
        entered = self.entered
        self._choices = tuple(choices)
        with self.prevent(Select.Changed, Input.Changed):
            self.query_one(Select).set_options(self._options())
            self.put(entered)
        self.set_class(self._free and not self._is_offered(entered), "-other")

    def focus_first(self) -> None:
        """Put the focus on what can be changed."""
        inner = next((widget for widget in self.query(Widget) if widget.focusable), None)
        if inner is not None:
            inner.focus()

    def _is_offered(self, value: Any) -> bool:
        return any(choice.value == value for choice in self._choices)

    def _options(self) -> list[tuple[Text, str]]:
        options = [(_option(choice), choice.value) for choice in self._choices]
        if self._free:
            options.append((Text("another…", "italic"), _OTHER))
        elif not self._is_offered(self._value):
            options.append((Text(f"{sanitize_line(str(self._value))} (not at hand)"), _OTHER))
        return options

    @on(Switch.Changed)
    @on(Select.Changed)
    @on(Input.Changed)
    @on(TextArea.Changed)
    def _changed(self, message: Message) -> None:
        message.stop()
        if isinstance(message, Switch.Changed):
            words = zip(self.query(Switch), self.query(".word").results(Static), strict=True)
            for switch, word in words:
                word.update(_word(switch.value, switch.name or ""))
        if isinstance(message, Select.Changed) and self._free:
            self.set_class(message.value == _OTHER, "-other")
        self.post_message(self.Edited())


class _Lines(TextArea):
    """Enter begins a line; Tab goes on to the next setting."""

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        if not self.allow_vertical_scroll:
            event.prevent_default()  # the form scrolls, not the field under the mouse


def _worded(on_: bool, name: str | None = None) -> Switch:
    return Switch(on_, animate=False, name=name)


def _word(on_: bool, name: str = "") -> str:
    return f"{name} {'on' if on_ else 'off'}".strip()


def _option(choice: Choice) -> Text:
    text = Text(sanitize_line(choice.value) or "(none)", no_wrap=True, overflow="ellipsis")
    if choice.about:
        text.append(f"  {sanitize_line(choice.about)}", "dim")
    return text
