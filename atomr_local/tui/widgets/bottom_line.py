"""The last line: active keys, and time and tokens of the question."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Footer, Static
from textual.widgets._footer import FooterKey

from atomr_local.tui.question.state import QuestionState
from atomr_local.tui.widgets.status_line import show_text

# Ids of keys, the most needed first, where there is no room for all; those not named come after them, in their order.
_NEEDED = (
    "app.help", "ask.cancel", "question.ask", "examples.ask", "first-run.choose", "turns.open", "evidence.open",
    "citation.next", "answer.guess", "focus.question", "step.edit", "plan.edit", "step.rerun", "evidence.users",
    "copy.answer", "trace.export", "conversation.new", "step.calls", "web.toggle", "app.history", "app.holdings",
    "app.settings",
)  # fmt: skip
_LAST = {"app.jump", "app.quit"}


class SteadyFooter(Footer):
    """As many keys as there is room for, the most needed of the moment first; F1 and the palette have the others.

    Textual's footer makes all its widgets again with every change of the focus: most of what a key press cost. This one
    only does with other keys.
    """

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)
        self._told: list[tuple[str, str, bool]] | None = None

    def compose(self) -> ComposeResult:
        if not self._bindings_ready:
            return
        for binding, enabled in self._fitting():
            shown = self.app.get_key_display(binding)
            key = FooterKey(binding.key, shown, binding.description, binding.action, not enabled, binding.tooltip)
            # Not data_bind, as Textual's footer does: the footer would hold every key that it ever had.
            key.set_reactive(FooterKey.compact, self.compact)
            yield key

    def on_resize(self) -> None:
        self.bindings_changed(self.screen)

    def bindings_changed(self, screen: Screen[object]) -> None:
        if not self.is_attached or screen is not self.screen or not screen.app.app_focus:
            return
        text = [(self.app.get_key_display(one), one.description, enabled) for one, enabled in self._fitting()]
        if text != self._told:
            self._told = text
            super().bindings_changed(screen)

    def _fitting(self) -> list[tuple[Binding, bool]]:
        """The keys to show, in their order: those that do something now before those that are dimmed."""
        shown: dict[str, tuple[Binding, bool]] = {}
        for one in self.screen.active_bindings.values():
            if one.binding.show:
                shown.setdefault(one.binding.action, (one.binding, one.enabled))
        keys = list(shown.values())
        # The blank after the last key may be cut.
        room, taken = (self.size.width or self.app.size.width) + 1, set[int]()
        for place in sorted(range(len(keys)), key=lambda place: _rank(place, *keys[place])):
            binding = keys[place][0]
            width = cell_len(self.app.get_key_display(binding)) + cell_len(binding.description) + 3
            if width > room:
                break
            room -= width
            taken.add(place)
        return [key for place, key in enumerate(keys) if place in taken]


def _rank(place: int, binding: Binding, enabled: bool) -> tuple[bool, int, int]:
    name = "ask.cancel" if binding.key == "escape" else binding.id or ""  # the way out of every window
    needed = _NEEDED.index(name) if name in _NEEDED else len(_NEEDED) + (name in _LAST)
    return (not enabled, needed, place)


class BottomLine(Horizontal):
    def __init__(self) -> None:
        super().__init__(id="bottom")

    def compose(self) -> ComposeResult:
        yield SteadyFooter()
        yield Static(id="figures", markup=False)

    def show(self, state: QuestionState, running: float) -> None:
        """Show as many figures as leave two thirds of the line to the keys; `running`: seconds so far."""
        shown = _figures(state, running)
        while shown and len(" · ".join(shown)) > max(16, self.size.width // 3):
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
