"""The line of keys, made anew only when other keys hold."""

from __future__ import annotations

from textual.screen import Screen
from textual.widgets import Footer


class SteadyFooter(Footer):
    """Textual's footer makes all its widgets anew with every change of the focus: most of what a key press cost."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)
        self._told: list[tuple[str, str, bool]] | None = None

    def bindings_changed(self, screen: Screen[object]) -> None:
        if not self.is_attached or screen is not self.screen or not screen.app.app_focus:
            return
        active = screen.active_bindings.values()
        told = [(self.app.get_key_display(one.binding), one.binding.description, one.enabled)
                for one in active if one.binding.show]  # fmt: skip
        if told != self._told:
            self._told = told
            super().bindings_changed(screen)
