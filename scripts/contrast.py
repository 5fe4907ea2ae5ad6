#!/usr/bin/env python3
"""Measures the contrast of everything that the terminal UI shows, in every theme, with all colours, 256, 16 and none.

    scripts/contrast.py [--all] [--theme NAME ...] [--main]

The app runs headless and is taken through its screens. Of each piece of text that is seen, letters need 4.5 : 1
against what lies behind them, and lines, blocks and marks 3 : 1 (WCAG 2.1, AA). The program's own themes are measured
as they are (`as written`), then every theme as the terminal shows it: `truecolor`, `256`, `16` (the lowest of two
palettes in use) and the three under NO_COLOR. It prints what is too low, with the widget and a sample, and then fails
(exit 1).

Not measured as written: what lies behind a window, and the line under a cursor; both are made readable as they are
shown (`atomr_local/tui/colours.py`). Not measured at all: what is turned off (WCAG excepts it), the raised edges of
buttons and check boxes (their words and their ground tell them), and themes that leave the colours to the terminal.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color
from textual.filter import monochrome_style
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Button, Switch
from textual.widgets._toggle_button import ToggleButton

from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, PlanTrace, Trace
from atomr_local.tui import colours as themes
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.colours import GRAPHIC, UNSEEN, Rgb, contrast, least_contrast, readable_style

SIZE = (110, 40)
SYSTEMS = {"truecolor": ColorSystem.TRUECOLOR, "256": ColorSystem.EIGHT_BIT, "16": ColorSystem.STANDARD}
_QUESTION = "Where was the director of Metropolis born?"
_PLAN = """1. Who directed Metropolis? = Search("Metropolis", "film")
2. Where was [1] born? = Relate([1], "place of birth")
3. When was [1] born? = Relate([1], "date of birth")
"""
_SPARQL = 'PREFIX a: <urn:a>\nSELECT ?value { ?head a:born "Vienna" } LIMIT 10 # one'


@dataclass(frozen=True)
class Shown:
    """Text of one style on the screen, before the terminal's colours are chosen."""

    place: str
    style: Style
    least: float
    sample: str
    behind: bool  # what a window was opened over, made dark for it

    @property
    def ground(self) -> Rgb | None:
        """What lies behind; None where it is the terminal's own colour."""
        behind = self.style.bgcolor.triplet if self.style.bgcolor is not None else None
        return None if behind is None else (behind.red, behind.green, behind.blue)


@dataclass(frozen=True)
class TooLow:
    theme: str
    colours: str
    ratio: float
    shown: Shown

    def __str__(self) -> str:
        shown = self.shown
        return f"{self.theme}  {self.colours:<22} {self.ratio:5.2f} of {shown.least}  {shown.place}  {shown.sample!r}"


def an_answer() -> Trace:
    """A question with steps of every kind, as the history would give it."""
    trace = Trace(_QUESTION, "atomr", {}, "answered", "The answer is Vienna [e1].", ["Vienna"], 0.9)
    trace.plan = PlanTrace(_PLAN)
    film = {"passage": "m#0", "span": [0, 30]}
    rows = {"sparql": _SPARQL, "rows": [{"value": "Vienna", "label": "Vienna"}]}
    page = {"url": "https://example.org/", "retrieved_at": "2026-01-01"}
    trace.evidence = [
        EvidenceTrace("e1", "text", "Metropolis", "Fritz Lang was born in Vienna.", 0.5, "query", film),
        EvidenceTrace("e2", "graph", "Fritz Lang", "Fritz Lang — place of birth: Vienna.", 1.0, "query", rows),
        EvidenceTrace("e3", "web", "A page", "Fritz Lang, of Vienna.", 0.1, "query", page),
    ]
    ids = [item.id for item in trace.evidence]
    for number, answer in ((0, "Vienna"), (1, "Fritz Lang"), (2, "Vienna"), (3, "")):
        node = NodeTrace(
            number, None if number == 0 else 0, "Who?", "search", "Who?", sources=["text", "graph"],
            answer=answer or "Unknown", answers=[answer] if answer else [], method="operator" if answer else None,
            confidence=0.9 if answer else None, evidence=ids, cited=["e1"], supported=number != 2 if answer else None,
            error=None if answer else {"title": "Model error", "message": "It stopped."},
        )  # fmt: skip
        trace.nodes.append(node)
    return trace


def seen(app: AtomrApp, name: str) -> Iterator[Shown]:
    """Each style that the screen shows text in, once, with where it is."""
    known = set()
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        x = 0
        for segment in strip:
            width, style = segment.cell_length, segment.style
            least = least_contrast(segment.text)
            at, x = x, x + width
            if style is None or not least or (style, least) in known:
                continue
            widget, _ = app.screen.get_widget_at(at, y)
            off = widget.is_disabled or widget.has_class("-disabled")
            if off or (isinstance(widget, Button | Switch | ToggleButton) and least < 4):
                continue
            known.add((style, least))
            behind = widget is app.screen and isinstance(widget, ModalScreen)
            place = f"{name}: {type(widget).__name__}{'#' + widget.id if widget.id else ''}"
            yield Shown(place, style.clear_meta_and_links(), least, segment.text.strip()[:24], behind)


def ratio(style: Style) -> float | None:
    """The contrast of text in this style; None where the terminal's own colours decide."""
    ink, ground = style.color, style.bgcolor
    if ink is None or ground is None or ink.is_default or ground.is_default:
        return None
    return contrast(ink, ground)


def low(theme: str, shown: Shown, *, written: bool) -> Iterator[TooLow]:
    """Where the text cannot be read well enough."""
    ground = shown.ground
    if ground is None:
        return
    found = {"as written": shown.style} if written else {}
    for name, system in SYSTEMS.items():
        found[name] = readable_style(shown.style, ground, shown.least, system)
        grey = monochrome_style(shown.style)
        assert grey.bgcolor is not None and grey.bgcolor.triplet is not None
        red, green, blue = grey.bgcolor.triplet
        found[f"NO_COLOR, {name}"] = readable_style(grey, (red, green, blue), shown.least, system)
    for name, style in found.items():
        measured = ratio(style)
        if shown.least == GRAPHIC and (ratio(shown.style) or 0) < UNSEEN:
            continue
        if measured is not None and round(measured, 2) < shown.least:
            yield TooLow(theme, name, measured, shown)


Look = Callable[[str], Awaitable[None]]


async def main_screen(app: AtomrApp, pilot: Pilot[None], look: Look) -> None:
    """The main screen, before a question and after it, with the focus on each of its parts."""
    screen = app.ask_screen
    while not (screen.widgets_mounted and app._opened is not None):
        await pilot.pause(0.02)
    await look("empty")
    screen.open_kept(an_answer())
    await pilot.pause()
    await look("tree")
    for part in ("focus_evidence", "next_citation", "focus_question"):
        with suppress(AttributeError):
            await screen.run_action(part)
        await look(part)
    screen.show_notice("A notice")
    await look("notice")
    app.clear_notifications()


async def windows(app: AtomrApp, pilot: Pilot[None], look: Look) -> None:
    """Every window that the app and the main screen open."""
    from atomr_local.errors import ModelError
    from atomr_local.tui.screens.ask.windows import RewordScreen
    from atomr_local.tui.screens.dialogs import Confirm, UnsavedChanges

    screen = app.ask_screen

    async def close() -> None:
        while app.screen is not screen:
            app.pop_screen()
            await pilot.pause()

    for action in ("help", "history", "settings", "library", "examples", "console", "jump", "command_palette"):
        await app.run_action(action)
        await pilot.pause(0.3)
        await look(action)
        if action == "library":
            for part in ("pull", "build"):
                await app.screen.run_action(part)
                await pilot.pause(0.2)
                await look(part)
                if app.screen is not screen and type(app.screen).__name__ != "LibraryScreen":
                    app.pop_screen()
                    await pilot.pause()
        if action == "settings":
            await pilot.press("tab", "tab", "tab")
            await look("settings, a field")
        await close()
    for method in ("edit_plan", "edit_step", "open_calls", "recall", "export"):
        await screen.run_action(method)
        await pilot.pause(0.1)
        await look(method)
        await close()
    screen.open_evidence("e2")
    await pilot.pause(0.1)
    await look("evidence")
    await close()
    app.show_error(ModelError("It stopped.", hint="Start it again."))
    await pilot.pause()
    await look("error")
    await close()
    for window in (Confirm("Remove it?", "It is gone."), UnsavedChanges(2), RewordScreen("Who?", "Who?")):
        app.push_screen(window)
        await pilot.pause()
        await look(type(window).__name__)
        await close()


async def measure(names: list[str], *, whole: bool = True) -> list[TooLow]:
    """What is too low in these themes, of the main screen alone or of all.

    Each screen is laid out once, and then shown in one theme after the other.
    """
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.assistant.history.store import record_trace

    class Unloaded(Assistant):
        def preload(self, on_stage: object = None) -> None:
            """No model is loaded beside what is measured."""

    own = {theme.name for theme in themes.THEMES}
    found: dict[tuple[str, str, Style, float], TooLow] = {}
    if whole:
        record_trace(an_answer())
    app = AtomrApp(Unloaded.open())
    app.readable.enabled = False
    async with app.run_test(size=SIZE, notifications=True) as pilot:

        async def look(name: str) -> None:
            for theme in names:
                app.theme = theme
                await pilot.pause()
                if app.native_ansi_color:
                    continue
                cursor = Color.parse(app.theme_variables["block-cursor-background"]).rgb
                for shown in seen(app, name):
                    written = theme in own and shown.ground != cursor and not shown.behind
                    for one in low(theme, shown, written=written):
                        found.setdefault((theme, one.colours, shown.style, shown.least), one)

        await main_screen(app, pilot, look)
        if whole:
            await windows(app, pilot, look)
    return list(found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="Textual's own themes too")
    parser.add_argument("--theme", action="append", default=[], help="this one alone; may be given again")
    parser.add_argument("--main", action="store_true", help="the main screen alone")
    given = parser.parse_args()
    names = given.theme or ([*themes.names()] if given.all else [theme.name for theme in themes.THEMES])
    with tempfile.TemporaryDirectory() as home:
        os.environ["ATOMR_HOME"] = home
        found = asyncio.run(measure(names, whole=not given.main))
    for one in found:
        print(one)
    print(f"{len(names)} themes: {len(found)} too low")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
