"""The settings screen, made from the settings model: every setting with its rules, its default and its origin."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import groupby
from typing import Any, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from atomr_local.errors import AtomrError
from atomr_local.settings import Settings
from atomr_local.tui.screens.error import ErrorScreen
from atomr_local.tui.screens.unsaved import Leaving, Unsaved
from atomr_local.tui.settings_choices import FREE, Choices, at_hand, checks, known
from atomr_local.tui.settings_form import FormField, check_keys, form_fields, group_title, value_of, where_from
from atomr_local.tui.widgets.setting_row import SettingRow

Save = Callable[[dict[str, Any]], object]
_WIDE = 100  # columns from which the list of sections has room


class SettingsScreen(Screen[dict[str, Any]]):
    """Closes with what was saved, by dotted key; None: what the file, the environment or the default says.

    Empty when nothing was saved. :func:`atomr_local.tui.settings_form.nested` makes of it what
    :meth:`Assistant.reconfigure` takes.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+s", "save", "Save", priority=True, tooltip="Save what was changed, and close", id="settings.save"
        ),
        Binding("ctrl+f", "search", "Search", priority=True, tooltip="Search the settings", id="settings.search"),
        Binding("ctrl+r", "reset", "Default", priority=True, tooltip="Back to the default", id="settings.reset"),
        Binding("ctrl+pagedown", "section(1)", "Section", tooltip="The next section", id="settings.next"),
        Binding("ctrl+pageup", "section(-1)", show=False, tooltip="The section before", id="settings.previous"),
        Binding("escape", "close", "Close", tooltip="Close; asks when something is not saved", id="settings.close"),
    ]
    DEFAULT_CSS = """
    SettingsScreen #settings-head { height: 1; background: $panel; }
    SettingsScreen #settings-head Static { width: auto; padding: 0 1; }
    SettingsScreen #settings-state { width: 1fr !important; color: $text-muted; text-align: right; }
    SettingsScreen #settings-search { width: 30; background: $boost; }
    SettingsScreen #settings-body { height: 1fr; }
    SettingsScreen #settings-sections { width: 16; height: 1fr; border: none; background: $surface; display: none; }
    SettingsScreen.-wide #settings-sections { display: block; }
    SettingsScreen #settings-form { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    SettingsScreen .section { height: auto; max-width: 110; }
    SettingsScreen .section > .title { text-style: bold; color: $accent; margin-bottom: 1; }
    SettingsScreen .hidden { display: none; }
    SettingsScreen #settings-none { display: none; padding: 1; }
    SettingsScreen #settings-none.-shown { display: block; }
    """

    class Found(Message):
        """What is at hand, or why that cannot be told."""

        def __init__(self, choices: Choices, error: AtomrError | None = None) -> None:
            super().__init__()
            self.choices = choices
            self.error = error

    def __init__(
        self,
        settings: Settings,
        save: Save,
        *,
        find: Callable[[], Choices] = at_hand,
        binding_ids: Collection[str] = (),
    ) -> None:
        """Make the screen.

        Args:
            settings: what is in force.
            save: writes settings by dotted key, None for the default; raises SettingsError.
            find: what is at hand for the settings that name something; runs on a thread.
            binding_ids: the ids that `ui.keys` may name; empty: any.
        """
        super().__init__()
        self._settings = settings
        self._save = save
        self._find = find
        self._fields = form_fields()
        self._checks = checks()
        ids = frozenset(binding_ids)
        self._checks["ui.keys"] = lambda table: check_keys(table, ids)
        self._unreadable: AtomrError | None = None
        self._origins: Mapping[str, str] = {}
        try:
            self._origins = where_from(settings)
        except AtomrError as error:
            self._unreadable = error

    def compose(self) -> ComposeResult:
        groups = [(name, list(fields)) for name, fields in groupby(self._fields, key=lambda field: field.group)]
        with Horizontal(id="settings-head"):
            yield Static(Text("Settings", "bold"))
            yield Input(placeholder="search", compact=True, id="settings-search")
            yield Static("", id="settings-state", markup=False)
        with Horizontal(id="settings-body"):
            yield OptionList(*(Option(Text(name), id=f"to-{name}") for name, _ in groups), id="settings-sections")
            with VerticalScroll(id="settings-form", can_focus=False):
                for name, fields in groups:
                    with Vertical(classes="section", id=f"section-{name}"):
                        yield Static(group_title(name), classes="title", markup=False)
                        yield from map(self._row, fields)
                yield Static("No setting has these words.", id="settings-none", markup=False)
        yield Footer(show_command_palette=False)

    def _row(self, field: FormField) -> SettingRow:
        offered = known().get(field.key)
        free = field.key in FREE
        return SettingRow(
            field,
            value_of(self._settings, field.key),
            self._origins.get(field.key, "default"),
            choices=() if free else offered,
            free=free,
            check=self._checks.get(field.key),
        )

    def on_mount(self) -> None:
        self.query_one("#settings-search", Input).focus()
        self._look()
        if self._unreadable is not None:
            self.app.push_screen(ErrorScreen(self._unreadable))

    def on_resize(self) -> None:
        self.set_class(self.size.width >= _WIDE, "-wide")

    @work(thread=True, exit_on_error=False, group="settings")
    def _look(self) -> None:
        try:
            self.post_message(self.Found(self._find()))
        except AtomrError as error:
            self.post_message(self.Found({}, error))

    @on(Found)
    def _found(self, message: Found) -> None:
        if message.error is not None:
            self.app.push_screen(ErrorScreen(message.error))
        for row in self.query(SettingRow):
            if row.field.key in message.choices:
                row.offer(message.choices[row.field.key])

    @on(SettingRow.Edited)
    def _edited(self) -> None:
        changed = [row for row in self.query(SettingRow) if row.changed]
        wrong = sum(bool(row.problem) for row in changed)
        told = f"{len(changed)} not saved" if changed else ""
        self.query_one("#settings-state", Static).update(told + (f", {wrong} not usable" if wrong else ""))

    @on(Input.Changed, "#settings-search")
    def _searched(self, message: Input.Changed) -> None:
        message.stop()
        shown = 0
        for section in self.query(".section"):
            rows = list(section.query(SettingRow))
            found = [row for row in rows if row.field.found_by(message.value)]
            for row in rows:
                row.set_class(row not in found, "hidden")
            section.set_class(not found, "hidden")
            shown += len(found)
        self.query_one("#settings-none").set_class(not shown, "-shown")
        self.query_one("#settings-form").scroll_home(animate=False)

    @on(Input.Submitted, "#settings-search")
    def _to_first(self) -> None:
        row = next((row for row in self.query(SettingRow) if not row.has_class("hidden") and row.display), None)
        if row is not None:
            row.editor.focus_first()

    @on(OptionList.OptionSelected, "#settings-sections")
    def _to_section(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        self._go(str(message.option_id).removeprefix("to-"))

    def _go(self, group: str) -> None:
        self.query_one("#settings-search", Input).value = ""
        section = self.query_one(f"#section-{group}", Vertical)
        self.call_after_refresh(section.scroll_visible, animate=False, top=True)
        section.query(SettingRow).first().editor.focus_first()

    def action_section(self, step: int) -> None:
        """Go to the next section, or the one before."""
        groups = list(dict.fromkeys(field.group for field in self._fields))
        row = self._row_in_focus()
        self._go(groups[0 if row is None else (groups.index(row.field.group) + step) % len(groups)])

    def action_search(self) -> None:
        """Go to the search box."""
        self.query_one("#settings-search", Input).focus()

    def action_reset(self) -> None:
        """Bring the default of the setting in focus back."""
        row = self._row_in_focus()
        if row is not None:
            row.reset()

    def action_save(self) -> None:
        """Save what was changed and close."""
        rows = [row for row in self.query(SettingRow) if row.changed]
        wrong = next((row for row in rows if row.problem), None)
        if wrong is not None:
            self.query_one("#settings-search", Input).value = ""
            wrong.editor.focus_first()
            self.app.notify(f"Not saved: {wrong.field.key} is not usable.", severity="warning", markup=False)
            return
        changes = {row.field.key: row.to_save for row in rows}
        if changes:
            try:
                self._save(changes)
            except AtomrError as error:
                self.app.push_screen(ErrorScreen(error))
                return
        # What the environment says stays in force.
        won = {row.field.key for row in rows if row.origin.startswith("ATOMR_")}
        self.dismiss({key: None if key in won else value for key, value in changes.items()})

    def action_close(self) -> None:
        """Close, asking first when something is not saved."""
        changes = sum(row.changed for row in self.query(SettingRow))
        if not changes:
            self.dismiss({})
            return
        self.app.push_screen(Unsaved(changes), self._leave)

    def _leave(self, leaving: Leaving | None) -> None:
        if leaving == "save":
            self.action_save()
        elif leaving == "discard":
            self.dismiss({})

    def _row_in_focus(self) -> SettingRow | None:
        focused = self.focused
        if focused is None:
            return None
        return next((widget for widget in focused.ancestors_with_self if isinstance(widget, SettingRow)), None)
