"""One row of the settings form: name, editor, description, origin and problem."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Checkbox, Input, TextArea

from atomr_local.tui.screens.settings.editor import editor_of
from atomr_local.tui.screens.settings.entry import SettingEntry
from atomr_local.tui.screens.settings.picker import Picker

_NAME = 18  # columns; the margin of the first editor in the style below
_RESET = 8


class SettingRow(Widget):
    """Paints the words around the editor itself: a row is two widgets, and a section is there at once."""

    DEFAULT_CSS = """
    SettingRow { layout: horizontal; height: auto; margin-bottom: 1; padding: 0 1; border-left: blank;
        link-color: $text-muted; link-background: initial; link-style: none;
        link-background-hover: $accent; }
    SettingRow:focus-within { border-left: thick $accent; }
    SettingRow > .first { margin: 0 0 0 18; }
    SettingRow > .last { margin: 0 9 0 1; }
    SettingRow > .first.last { margin: 0 9 0 18; }
    SettingRow Input { width: 1fr; background: $boost; }
    SettingRow Input:focus, SettingRow TextArea:focus { background: $primary 25%; }
    SettingRow TextArea { width: 1fr; height: auto; min-height: 2; max-height: 8; background: $boost; }
    SettingRow Checkbox { background: transparent; }
    SettingRow Checkbox:focus { border: none; }
    """

    class Edited(Message):
        """The value entered is another one now, or has become wrong."""

    def __init__(self, entry: SettingEntry) -> None:
        super().__init__(name=entry.field.key)
        self.entry = entry
        self._editor = editor_of(entry)
        self._editor_height = 1

    def compose(self) -> ComposeResult:
        widgets = self._editor.widgets
        widgets[0].add_class("first", update=False)
        widgets[-1].add_class("last", update=False)
        yield from widgets

    @property
    def first(self) -> Widget:
        """What the focus is put on to change the setting."""
        first, *others = (widget for widget in self._editor.widgets if widget.display)
        return others[0] if others and isinstance(first, Picker) else first

    def show(self) -> None:
        """Show what the entry holds and is offered now; what is entered stays."""
        with self.prevent(Checkbox.Changed, Input.Changed, TextArea.Changed):
            self._editor.show()
        self.refresh(layout=True)

    def reset(self) -> None:
        self.entry.reset()
        self.show()
        self.post_message(self.Edited())

    def action_back(self) -> None:
        """The word beside the editor was clicked."""
        self.reset()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._editor_height = super().get_content_height(container, viewport, width)
        return self._editor_height + self._below().get_height({}, width)

    def render(self) -> Content:
        entry = self.entry
        name = f"{'* ' if entry.changed else ''}{entry.field.name}"
        room = max(0, self.content_size.width - _NAME - _RESET)
        # The editor covers the room between.
        head = Content.assemble((name[: _NAME - 1].ljust(_NAME), "bold" if entry.changed else ""), " " * room)
        if entry.can_reset:
            head += Content.from_markup(" [@click=back]default[/]")
        return Content.assemble(head, "\n" * self._editor_height, self._below())

    def on_descendant_focus(self) -> None:
        self.scroll_visible(animate=False)

    @on(Checkbox.Changed)
    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Picker.Picked)
    def _edited(self, message: Message) -> None:
        message.stop()
        before = (self.entry.problem, self.entry.changed, self.entry.can_reset)
        self.entry.enter(self._editor.entered())
        if before != (self.entry.problem, self.entry.changed, self.entry.can_reset):
            self.refresh(layout=True)
        if isinstance(message, Picker.Picked) and message.picker.other:
            self._editor.widgets[-1].focus()
        self.post_message(self.Edited())

    def _below(self) -> Content:
        entry, field = self.entry, self.entry.field
        facts = [field.bounds, f"default: {field.summary(field.default)}"]
        muted = "$text-muted"
        if entry.origin.startswith("ATOMR_"):
            message = f"set by {entry.origin} in the environment, which wins over what is saved here"
            facts_told = "; ".join(filter(None, facts))
            text = Content.assemble((f"{field.description} ({facts_told}; ", muted), (message, "bold"), (")", muted))
        else:
            facts.append("" if entry.origin == "default" else f"from: {entry.origin}")
            text = Content.styled(f"{field.description} ({'; '.join(filter(None, facts))})", muted)
        if entry.problem:
            return Content("\n").join([text, Content.styled(f"✗ {entry.problem}", "$error")])
        if entry.warning and not entry.changed:
            return Content("\n").join([text, Content.styled(f"⚠ {entry.warning}", "$warning")])
        return text
