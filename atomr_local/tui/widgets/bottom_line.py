"""The last line: active keys, and time and tokens of the question."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Footer, Static

from atomr_local.tui.question.state import QuestionState
from atomr_local.tui.widgets.status_line import show_text


class SteadyFooter(Footer):
    """Textual's footer makes all its widgets again with every change of the focus: most of what a key press cost."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)
        self._told: list[tuple[str, str, bool]] | None = None

    def bindings_changed(self, screen: Screen[object]) -> None:
        if not self.is_attached or screen is not self.screen or not screen.app.app_focus:
            return
        active = screen.active_bindings.values()
        text = [(self.app.get_key_display(one.binding), one.binding.description, one.enabled)
                for one in active if one.binding.show]  # fmt: skip
        if text != self._told:
            self._told = text
            super().bindings_changed(screen)


class BottomLine(Horizontal):
    def __init__(self) -> None:
        super().__init__(id="bottom")

    def compose(self) -> ComposeResult:
        yield SteadyFooter()
        yield Static(id="figures", markup=False)

    def show(self, state: QuestionState, running: float) -> None:
        """Show as many figures, the first first, as leave half of the line to the keys; `running`: seconds so far."""
        shown = _figures(state, running)
        while shown and len(" · ".join(shown)) > max(24, self.size.width // 2):
            shown.pop()
        show_text(self, "#figures", Text(" · ".join(shown), "dim"))


def _figures(state: QuestionState, running: float) -> list[str]:
    figures = []
    if state.running:
        figures.append(f"{running:.0f} s")
    elif state.seconds is not None:
        figures.append(f"{state.seconds:.1f} s")
    if state.calls:
        figures.append(f"{state.calls} call{'s' if state.calls > 1 else ''}")
        if state.tokens_per_second is not None:
            figures.append(f"{state.tokens_per_second:.0f} tokens/s")
        figures += [f"{state.evaluated_tokens} read", f"{state.generated_tokens} written"]
    return figures
