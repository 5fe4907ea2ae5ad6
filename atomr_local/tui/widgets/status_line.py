"""The first line: status, and the switches of the sources."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from atomr_local.sanitize import sanitize_line
from atomr_local.sources.registry import SOURCES, SourceType

if TYPE_CHECKING:
    from atomr_local.assistant import Assistant

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
