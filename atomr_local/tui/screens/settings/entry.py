"""The entered value of each setting, independent of widgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atomr_local.errors import AtomrError
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tui.screens.settings.choices import SettingChoice
from atomr_local.tui.screens.settings.form import Check, FormField


class SettingEntry:
    """Knows the value as it was, what is entered now and what is wrong with it.

    Attributes:
        entered: as :meth:`FormField.parse` takes it, and as an editor holds it.
        problem: why what is entered is not usable; empty if it is.
        warning: what is wrong with the value as it was, which may stay so; see :meth:`look_again`.
        offered: what there is to choose from; None: not known yet, or nothing is.
    """

    def __init__(
        self,
        field: FormField,
        value: Any,
        origin: str = "default",
        *,
        choices: Sequence[SettingChoice] | None = None,
        free: bool = False,
        check: Check | None = None,
    ) -> None:
        """Make the entry of a setting.

        Args:
            value: what is in force.
            origin: where that comes from; see :func:`atomr_local.tui.screens.settings.form.where_from`.
            choices: what is offered; None: nothing is, or it is told later by :attr:`offered`.
            free: whether there is something to choose from, and something else may be entered besides.
            check: raises an AtomrError where there is not what a value names.
        """
        self.field = field
        self.origin = origin
        self.free = free
        self.offered = (
            tuple(map(SettingChoice, field.choices)) if field.kind == "choice" and choices is None else choices
        )
        self.chosen_from_list = free or self.offered is not None
        self.problem = self.warning = ""
        self._check = check
        self._before = self._value = value
        self._reset = False
        self._shown = self._as_entered(value)
        self.entered = self._shown

    @property
    def changed(self) -> bool:
        """Whether saving would change something."""
        return bool(self.problem) or self._value != self._before or self._reset

    @property
    def can_reset(self) -> bool:
        """Whether going back to the default would change something."""
        in_file = self.origin == "settings file" and not self._reset
        return bool(self.problem) or self._value != self.field.default or in_file

    @property
    def is_set(self) -> bool:
        """Whether there is a value, for a secret that is not shown."""
        return bool(self._value)

    @property
    def to_save(self) -> Any:
        """The value for the settings file; None for the default, which is not written down."""
        value = self._value
        return None if value == self.field.default else list(value) if isinstance(value, tuple) else value

    def look_again(self) -> None:
        """Check the value as it was, which nobody has entered here."""
        try:
            if self._check is not None:
                self._check(self._before)
        except AtomrError as error:
            self.warning = _told(error)

    def reset(self) -> None:
        """Enter the default; saving takes the setting out of the file."""
        self._value, self.problem = self.field.default, ""
        self._reset = self.origin == "settings file"
        self.entered = self._as_entered(self.field.default)

    def enter(self, entered: Any) -> None:
        """Take what an editor holds now, and check it."""
        if entered == self.entered:
            return  # editors tell what they hold also when they appear
        self.entered = entered
        if self.field.secret and not entered:
            # An empty line means that nothing was typed; the way to empty it is its default.
            self._value, self.problem = self.field.default if self._reset else self._before, ""
        elif entered == self._shown and not self._reset:
            self._value, self.problem = self._before, ""  # as it was, whatever today's rules say of it
        else:
            self._read(entered)

    def _read(self, entered: Any) -> None:
        try:
            value = self.field.parse(entered)
            if self._check is not None:
                self._check(value)
        except AtomrError as error:
            self.problem = _told(error)
            return
        self.problem, self._value = "", value
        if value != self.field.default:
            self._reset = False

    def _as_entered(self, value: Any) -> Any:
        if self.field.secret:
            return ""
        if self.field.kind in {"switch", "several"} or (self.chosen_from_list and not self.free):
            return value
        shown = self.field.show(value)
        return sanitize(shown) if self.field.kind == "table" else sanitize_line(shown)


def _told(error: AtomrError) -> str:
    return sanitize_line(f"{error.message}. {error.hint}" if error.hint else error.message)
