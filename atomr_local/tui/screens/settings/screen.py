"""The settings screen: every setting with its bounds, default and origin.

One section is mounted at a time, or what a search finds; what is entered lives in the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Checkbox, Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from atomr_local.errors import AtomrError
from atomr_local.settings.schema import Settings
from atomr_local.tui.background import ErrorScreen, in_background
from atomr_local.tui.keys import binding_ids, check_keys
from atomr_local.tui.screens.dialogs import UnsavedChanges
from atomr_local.tui.screens.settings.editor import Picker, editor_of
from atomr_local.tui.screens.settings.form import (
    FREE,
    Choices,
    SettingEntry,
    at_hand,
    checks,
    form_fields,
    group_title,
    known,
    where_from,
)
from atomr_local.tui.widgets.question_box import CleanInput
from atomr_local.tui.widgets.status_line import SteadyFooter

# One row of the settings form: name, editor, description, origin and problem.

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


Save = Callable[[dict[str, Any]], object]
_MOST = 12  # found settings shown at once; more would make typing slow, and nobody reads them
_NONE = "No setting has these words."
_KEYS = "ui.keys"


class SettingsScreen(Screen[dict[str, Any]]):
    """Closes with what was saved, by dotted key; None: what the file, the environment or the default says.

    Empty when nothing was saved.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", priority=True, tooltip="Save what was changed, and close",
                id="settings.save"),
        Binding("ctrl+f", "search", "Search", priority=True, tooltip="Search the settings", id="settings.search"),
        Binding("slash", "search", show=False, tooltip="Search the settings", id="settings.slash"),
        Binding("ctrl+d", "reset", "Default", priority=True, tooltip="Back to the default", id="settings.reset"),
        Binding("ctrl+pagedown", "section(1)", "Section", priority=True, tooltip="The next section",
                id="settings.next"),
        Binding("ctrl+pageup", "section(-1)", show=False, priority=True, tooltip="The section before",
                id="settings.previous"),
        Binding("escape", "close", "Close", tooltip="Close; asks when something is not saved", id="settings.close"),
    ]  # fmt: skip
    DEFAULT_CSS = """
    SettingsScreen #settings-head { height: 1; background: $panel; }
    SettingsScreen #settings-head Static { width: auto; padding: 0 1; }
    SettingsScreen #settings-state { width: 1fr !important; color: $text-muted; text-align: right; }
    SettingsScreen #settings-search { width: 30; background: $boost; }
    SettingsScreen #settings-body { height: 1fr; }
    SettingsScreen #settings-sections { width: 15; height: 1fr; border: none; background: $surface; }
    SettingsScreen #settings-form { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    SettingsScreen #settings-form > * { max-width: 110; }
    SettingsScreen .title { text-style: bold; color: $accent; margin-bottom: 1; }
    SettingsScreen .more, SettingsScreen .none { color: $text-muted; }
    """

    def __init__(
        self,
        settings: Settings,
        save: Save,
        *,
        find: Callable[[], Choices] = at_hand,
    ) -> None:
        """Make the screen.

        Args:
            settings: what is in force.
            save: writes settings by dotted key, None for the default; raises SettingsError.
            find: what is available for the settings that name something; runs on a thread.
        """
        super().__init__()
        self._save = save
        self._find = find
        self._unreadable: AtomrError | None = None
        origins: Mapping[str, str] = {}
        try:
            origins = where_from(settings)
        except AtomrError as error:
            self._unreadable = error
        rules = {**checks(), _KEYS: check_keys}
        offered = known()
        self.entries = {
            field.key: SettingEntry(
                field,
                attrgetter(field.key)(settings),
                origins.get(field.key, "default"),
                choices=offered.get(field.key),
                free=field.key in FREE,
                check=rules.get(field.key),
            )
            for field in form_fields()
        }
        self._group = self._groups[0]
        self._words = ""
        self._marked: set[str] = set()

    def compose(self) -> ComposeResult:
        with Horizontal(id="settings-head"):
            yield Static(Text("Settings", "bold"))
            yield CleanInput(placeholder="search", compact=True, id="settings-search")
            yield Static("", id="settings-state", markup=False)
        with Horizontal(id="settings-body"):
            yield OptionList(*(Option(Text(name), id=name) for name in self._groups), id="settings-sections")
            with VerticalScroll(id="settings-form", can_focus=False):
                yield from map(self._made, self._wanted())
        yield SteadyFooter()

    def on_mount(self) -> None:
        self.query_one("#settings-search", Input).focus()
        self._point()
        in_background(self, self._look, self._found, failed=self._not_found, group="settings")
        if self._unreadable is not None:
            self.app.push_screen(ErrorScreen(self._unreadable))

    async def go(self, group: str, key: str = "") -> None:
        """Show a section, with the focus on one of its settings, or on the first."""
        search = self.query_one("#settings-search", Input)
        with self.prevent(Input.Changed):
            search.value = ""
        self._words, self._group = "", group
        form = self.query_one("#settings-form", VerticalScroll)
        old = list(form.children)
        with self.app.batch_update():
            await form.mount_all(map(self._made, self._wanted()))
            rows = [child for child in form.children if isinstance(child, SettingRow) and child not in old]
            row = next((row for row in rows if row.name == key), rows[0])
            # Before the old ones go, or the focus would wander to something between.
            self.set_focus(row.first, scroll_visible=False)
            await form.remove_children(old)
        form.scroll_home(animate=False)
        if row is not rows[0]:
            self.call_after_refresh(row.scroll_visible, animate=False)
        self._point()

    def _wanted(self) -> list[str]:
        """What the form is to show, in its order: the keys of settings, and what :meth:`_made` makes lines of."""
        if not self._words.split():
            return [f"title {self._group}", *(key for key in self.entries if self._group_of(key) == self._group)]
        found = [key for key, entry in self.entries.items() if entry.field.found_by(self._words)]
        wanted = []
        for group, keys in groupby(found[:_MOST], self._group_of):
            wanted += [f"title {group}", *keys]
        if len(found) > _MOST:
            wanted.append(f"more {len(found) - _MOST}")
        return wanted or ["none "]

    def _made(self, wanted: str) -> Widget:
        if wanted in self.entries:
            return SettingRow(self.entries[wanted])
        kind, _, what = wanted.partition(" ")
        text = {"title": group_title(what), "more": f"{what} more have these words.", "none": _NONE}[kind]
        return Static(text, name=wanted, classes=kind, markup=False)

    async def _show(self) -> None:
        """Mount what is wanted, and nothing else; what stays is not rebuilt."""
        form = self.query_one("#settings-form", VerticalScroll)
        wanted = self._wanted()
        there = [child.name for child in form.children if child.name in wanted]
        with self.app.batch_update():
            if there == wanted:
                await form.remove_children([child for child in form.children if child.name not in wanted])
            else:
                await form.remove_children()
                await form.mount_all(map(self._made, wanted))
        form.scroll_home(animate=False)
        self._point()

    def _point(self) -> None:
        """Let the list of sections point at the one shown; a search shows of all of them."""
        sections = self.query_one("#settings-sections", OptionList)
        sections.highlighted = None if self._words.split() else self._groups.index(self._group)

    @property
    def _groups(self) -> list[str]:
        return list(dict.fromkeys(entry.field.group for entry in self.entries.values()))

    def _group_of(self, key: str) -> str:
        return self.entries[key].field.group

    def _look(self) -> Choices:
        binding_ids()  # by the time that a key is entered they are known
        return self._find()

    def _not_found(self, error: AtomrError) -> None:
        self.app.push_screen(ErrorScreen(error))
        self._found({})

    def _found(self, choices: Choices) -> None:
        for key, entry in self.entries.items():
            if entry.chosen_from_list and (key in choices or entry.offered is None):
                entry.offered = choices.get(key, ())
        if _KEYS in self.entries:
            self.entries[_KEYS].look_again()
        for row in self.query(SettingRow):
            if row.entry.chosen_from_list:
                row.show()
            elif row.entry.warning:
                row.refresh(layout=True)

    @on(SettingRow.Edited)
    def _edited(self) -> None:
        changed = [entry for entry in self.entries.values() if entry.changed]
        wrong = sum(bool(entry.problem) for entry in changed)
        text = f"{len(changed)} not saved" if changed else ""
        self.query_one("#settings-state", Static).update(text + (f", {wrong} not usable" if wrong else ""))
        marked = {entry.field.group for entry in changed}
        sections = self.query_one("#settings-sections", OptionList)
        for group in self._marked ^ marked:
            sections.replace_option_prompt(group, Text(f"{group} *" if group in marked else group))
        self._marked = marked

    @on(Input.Changed, "#settings-search")
    async def _searched(self, message: Input.Changed) -> None:
        message.stop()
        if message.value != message.input.value or message.value == self._words:
            return  # more was typed meanwhile
        self._words = message.value
        await self._show()

    @on(Input.Submitted, "#settings-search")
    def _to_first(self) -> None:
        rows = self.query(SettingRow)
        if rows:
            rows.first().first.focus()

    @on(OptionList.OptionSelected, "#settings-sections")
    async def _to_section(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        await self.go(str(message.option_id))

    async def action_section(self, step: int) -> None:
        row = self._row_in_focus()
        group = self._group if row is None else row.entry.field.group
        await self.go(self._groups[(self._groups.index(group) + step) % len(self._groups)])

    def action_search(self) -> None:
        self.query_one("#settings-search", Input).focus()

    def action_reset(self) -> None:
        row = self._row_in_focus()
        if row is not None:
            row.reset()

    async def action_save(self) -> None:
        entries = [entry for entry in self.entries.values() if entry.changed]
        wrong = next((entry.field for entry in entries if entry.problem), None)
        if wrong is not None:
            await self.go(wrong.group, wrong.key)
            self.app.notify(f"Not saved: {wrong.key} is not usable.", severity="warning", markup=False)
            return
        changes = {entry.field.key: entry.to_save for entry in entries}
        if changes:
            try:
                self._save(changes)
            except AtomrError as error:
                self.app.push_screen(ErrorScreen(error))
                return
        # What the environment says stays in force.
        won = {entry.field.key for entry in entries if entry.origin.startswith("ATOMR_")}
        self.dismiss({key: None if key in won else value for key, value in changes.items()})

    def action_close(self) -> None:
        changes = sum(entry.changed for entry in self.entries.values())
        if not changes:
            self.dismiss({})
            return
        self.app.push_screen(UnsavedChanges(changes), self._leave)

    async def _leave(self, leaving: str | None) -> None:
        if leaving == "save":
            await self.action_save()
        elif leaving == "discard":
            self.dismiss({})

    def _row_in_focus(self) -> SettingRow | None:
        focused = self.focused
        if focused is None:
            return None
        return next((widget for widget in focused.ancestors_with_self if isinstance(widget, SettingRow)), None)
