"""The first line: status, and the switches of the sources."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer, Static
from textual.widgets._footer import FooterKey

from atomr_local.sources.registry import SOURCES, SourceType
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tui.question.state import QuestionState

if TYPE_CHECKING:
    from atomr_local.assistant.assistant import Assistant


_LONGEST_HOST = 32
_LONGEST_LABEL = 16


class SourceSwitches(Horizontal):
    """What the next question may use. A click on a switch asks the app to toggle it; the app decides and shows."""

    DEFAULT_CSS = """
    SourceSwitches { width: auto; height: 1; }
    SourceSwitches > Static { width: auto; height: 1; padding: 0; margin: 0 0 0 1; }
    SourceSwitches > .off { color: $text-muted; }
    SourceSwitches > Static:hover { text-style: underline; }
    SourceSwitches > #web { margin: 0 1; }
    SourceSwitches > #web.on { background: $warning; color: $background; text-style: bold; }
    """

    @dataclass
    class Toggled(Message):
        """The user clicked a switch."""

        name: str

    def compose(self) -> ComposeResult:
        for name, source in SOURCES.items():
            yield _Switch(name, source)

    def offer(self, sources: Mapping[str, SourceType]) -> None:
        """Add a switch for each source that has none yet, before that for the web."""
        there = {switch.name for switch in self.query(_Switch)}
        new = [_Switch(name, source) for name, source in sources.items() if name not in there]
        self.mount_all(new, before="#web")

    def show(self, on: Collection[str], running: bool | None = None) -> None:
        """Show what holds now: the running question keeps the web as it was when it was asked.

        Args:
            on: names of the sources that the next question may use.
            running: whether the running question uses the web; None if none runs.
        """
        # The clock may tick before the switches are there, or after they have gone.
        for switch in self.query(_Switch):
            if switch.name == "web":
                switch.show_web("web" in on, running)
            else:
                switch.show(switch.name in on, web="web" in on)


class _Switch(Static):
    """One switch: a mark and a word, so that no colour is needed to read it."""

    def __init__(self, name: str, source: SourceType) -> None:
        super().__init__(name=name, id=name if name in SOURCES else f"source-{name}", markup=False)
        self._switch = name
        self._title = title = sanitize_line(source.label)[:_LONGEST_LABEL]
        self._waits_for_web = bool(source.network)
        self.tooltip = f"Click: turn {title} on or off for the next question"
        if source.network:
            self.tooltip += f". It is asked only while web search is on: queries go to {sanitize_line(source.network)}"

    def show(self, on: bool, *, web: bool) -> None:
        waits = on and self._waits_for_web and not web
        self._put(f"[{'-' if waits else 'x' if on else ' '}] {self._title}", on and not waits)

    def show_web(self, next_on: bool, running: bool | None) -> None:
        now = next_on if running is None else running
        if now == next_on:
            self._put(" [x] WEB ON " if now else "[ ] Web", now)
        else:  # both in no more room than "WEB ON" alone leaves beside the other two
            self._put(" [x] WEB→off " if now else "[ ] Web→on", now)
        tooltip = f"Click: turn {self._title} on or off for the next question"
        if now != next_on:
            uses, next_uses = ("uses", "will not") if now else ("does not use", "will")
            tooltip = f"The running question {uses} the web, the next one {next_uses}. {tooltip}"
        self.tooltip = tooltip

    def _put(self, text: str, on: bool) -> None:
        self.set_class(on, "on")
        self.set_class(not on, "off")
        self.update(text)

    def on_click(self) -> None:
        self.post_message(SourceSwitches.Toggled(self._switch))


class StatusLine(Horizontal):
    def __init__(self) -> None:
        super().__init__(id="status")

    def compose(self) -> ComposeResult:
        yield Static(Text("atomr-local", "bold"), id="name")
        yield Static(id="stage", markup=False)
        remote = Static(id="remote", markup=False)
        remote.display = False
        yield remote
        yield SourceSwitches()

    def show_sources(self, assistant: Assistant, running_web: bool | None) -> str:
        """Show which sources may be used, and give the other machine that the model is on, empty if it is this one.

        Args:
            running_web: whether the running question uses the web; None if none runs.
        """
        host = assistant.settings.endpoint.url.remote_host()
        for static in self.query("#remote").results(Static):
            static.display = bool(host)
            static.tooltip = f"Questions and evidence leave this machine → {host}" if host else None
        shown = host if len(host) <= _LONGEST_HOST else f"{host[: _LONGEST_HOST - 1]}…"
        show_text(self, "#remote", Text(f"Model → {sanitize_line(shown)}"))
        on = [*assistant.settings.sources, *(["web"] if assistant.web_enabled else [])]
        self.query_one(SourceSwitches).show(on, running_web)
        return host

    def show(self, stage: str) -> None:
        show_text(self, "#stage", Text(sanitize_line(stage)))


def show_text(line: Widget, part: str, text: Text) -> None:
    """Show the text in that part where it is another one: every update lays the screen out again."""
    # The clock may tick before the part is there, or after it has gone.
    for static in line.query(part).results(Static):
        if static.content != text:
            static.update(text)


# The last line: active keys, and time and tokens of the question.


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
    if state.record.totals.llm_calls:
        figures.append(f"{state.record.totals.llm_calls} call{'s' if state.record.totals.llm_calls > 1 else ''}")
        if state.tokens_per_second is not None:
            figures.append(f"{state.tokens_per_second:.0f} tokens/s")
        figures += [f"{state.record.totals.evaluated_tokens} read", f"{state.record.totals.generated_tokens} written"]
    return figures
