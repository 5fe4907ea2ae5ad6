"""One setting of the form: its name and editor, what it is about, where its value comes from, what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Static

from atomr_local.sanitize import sanitize_line
from atomr_local.tui.settings_choices import Choice
from atomr_local.tui.settings_form import Check, FieldError, FormField, checked
from atomr_local.tui.widgets.setting_editor import SettingEditor


class SettingRow(Vertical):
    """Knows the value as it was and the value as it is entered."""

    DEFAULT_CSS = """
    SettingRow { height: auto; margin-bottom: 1; padding: 0 1; border-left: blank; }
    SettingRow:focus-within { border-left: thick $accent; }
    SettingRow .line { height: auto; }
    SettingRow .name { width: 21; }
    SettingRow .reset { width: 9; padding: 0 1; color: $text-muted; }
    SettingRow .reset:hover { text-style: underline; }
    SettingRow .about { color: $text-muted; }
    SettingRow .problem { color: $error; display: none; }
    SettingRow.-wrong .problem { display: block; }
    SettingRow.-changed .name { text-style: bold; }
    """

    class Edited(Message):
        """The value entered is another one now, or has become wrong."""

    def __init__(
        self,
        field: FormField,
        value: Any,
        origin: str,
        *,
        choices: Sequence[Choice] | None = None,
        free: bool = False,
        check: Check | None = None,
    ) -> None:
        super().__init__()
        self.field = field
        self.origin = origin
        self.problem = ""
        self._before = value
        self._value = value
        self._reset = False
        self._check = check
        self._choices, self._free = choices, free
        self._shown: Any = None

    def compose(self) -> ComposeResult:
        with Horizontal(classes="line"):
            yield Static(self.field.name, classes="name", markup=False)
            yield SettingEditor(self.field, self._before, self._choices, self._free)
            reset = Static("", classes="reset", markup=False)
            reset.tooltip = "Click: back to the default"
            yield reset
        yield Static(self._about(), classes="about", markup=False)
        yield Static("", classes="problem", markup=False)

    def on_mount(self) -> None:
        self._shown = self.editor.entered
        self._tell()

    @property
    def editor(self) -> SettingEditor:
        return self.query_one(SettingEditor)

    @property
    def changed(self) -> bool:
        """Whether saving would change something."""
        return bool(self.problem) or self._value != self._before or self._reset

    @property
    def to_save(self) -> Any:
        """The value for the settings file; None for the default, which is not written down."""
        value = self._value
        return None if value == self.field.default else list(value) if isinstance(value, tuple) else value

    def offer(self, choices: Sequence[Choice]) -> None:
        self.editor.offer(choices)

    def reset(self) -> None:
        """Enter the default; saving takes the setting out of the file."""
        self._value, self.problem = self.field.default, ""
        self._reset = self.origin == "settings file"
        with self.prevent(SettingEditor.Edited):
            self.editor.put(self.field.default)
        self._tell()
        self.post_message(self.Edited())

    @on(SettingEditor.Edited)
    def _edited(self, message: SettingEditor.Edited) -> None:
        message.stop()
        entered = self.editor.entered
        if self.field.secret and not entered:
            # An empty line means that nothing was typed; the way to empty it is its default.
            entered, self._value, self.problem = None, self.field.default if self._reset else self._before, ""
        elif entered == self._shown and not self._reset:
            self._value, self.problem = self._before, ""  # as it was, whatever today's rules say of it
        else:
            self._read(entered)
        self._tell()
        self.post_message(self.Edited())

    def _read(self, entered: Any) -> None:
        try:
            value = self.field.parse(entered)
            if self._check is not None:
                checked(self._check, value)
        except FieldError as error:
            self.problem = sanitize_line(str(error))
            return
        self.problem, self._value = "", value
        if value != self.field.default:
            self._reset = False

    def _tell(self) -> None:
        self.set_class(bool(self.problem), "-wrong")
        self.set_class(self.changed, "-changed")
        self.query_one(".problem", Static).update(f"✗ {self.problem}")
        self.query_one(".name", Static).update(f"{'* ' if self.changed else ''}{self.field.name}")
        can_reset = bool(self.problem) or self._value != self.field.default
        self.query_one(".reset", Static).update("default" if can_reset or self._may_leave_file() else "")

    def _may_leave_file(self) -> bool:
        return self.origin == "settings file" and not self._reset

    def _about(self) -> Text:
        field = self.field
        text = Text(field.description)
        facts = [field.bounds, f"default: {field.told(field.default)}"]
        if self.origin.startswith("ATOMR_"):
            text.append(f" ({'; '.join(filter(None, facts))}; ")
            text.append(f"set by {self.origin} in the environment, which wins over what is saved here", "bold")
            text.append(")")
        else:
            facts.append("" if self.origin == "default" else f"from: {self.origin}")
            text.append(f" ({'; '.join(filter(None, facts))})")
        return text

    @on(events.Click, ".reset")
    def _clicked(self) -> None:
        self.reset()
