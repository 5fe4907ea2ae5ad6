"""The first line: status, and the switches for Text, Graph and Web."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from atomr_local.sanitize import sanitize_line

if TYPE_CHECKING:
    from atomr_local.assistant import Assistant

Name = Literal["text", "graph", "web"]
_LONGEST_HOST = 32


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

    _NAMES: ClassVar[tuple[tuple[Name, str], ...]] = (("text", "Text"), ("graph", "Graph"), ("web", "Web"))

    @dataclass
    class Toggled(Message):
        """The user clicked a switch."""

        name: Name

    def compose(self) -> ComposeResult:
        for name, title in self._NAMES:
            yield _Switch(name, title)

    def show(self, *, text: bool, graph: bool, web: bool, running: bool | None = None) -> None:
        """Show what holds now: the running question keeps the web as it was when it was asked.

        Args:
            text: whether the next question may use the text index.
            graph: whether the next question may use the graph index.
            web: whether the next question may use the web.
            running: whether the running question uses the web; None if none runs.
        """
        # The clock may tick before the switches are there, or after they have gone.
        for switch in self.query(_Switch):
            if switch.name == "web":
                switch.show_web(web, running)
            else:
                switch.show(text if switch.name == "text" else graph)


class _Switch(Static):
    """One switch: a mark and a word, so that no colour is needed to read it."""

    def __init__(self, name: Name, title: str) -> None:
        super().__init__(name=name, id=name, markup=False)
        self._switch: Name = name
        self._title = title
        self.tooltip = f"Click: turn {title} on or off for the next question"

    def show(self, on: bool) -> None:
        self._put(f"[{'x' if on else ' '}] {self._title}", on)

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
        local: Sequence[str] = assistant.settings.sources
        self.query_one(SourceSwitches).show(
            text="text" in local, graph="graph" in local, web=assistant.web_enabled, running=running_web
        )
        return host

    def show(self, stage: str) -> None:
        show_text(self, "#stage", Text(sanitize_line(stage)))


def show_text(line: Widget, part: str, text: Text) -> None:
    """Show the text in that part where it is another one: every update lays the screen out again."""
    # The clock may tick before the part is there, or after it has gone.
    for static in line.query(part).results(Static):
        if static.content != text:
            static.update(text)
