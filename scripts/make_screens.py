#!/usr/bin/env python3
"""Takes the pictures of docs/screens: the terminal UI on the starter, driven key by key, as SVG and as plain text.

    scripts/make_screens.py [--out docs/screens] [--size 110x32] [--only NAME ...]

Everything runs in a home of its own that is thrown away: the starter's knowledge is built there first.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from textual.pilot import Pilot

from atomr_local.tui.app import AtomrApp

QUESTION = "Who was the father of the author of The Lady of the Camellias?"
_PATIENCE = 180.0  # seconds


class Studio:
    """The app under the camera."""

    def __init__(self, app: AtomrApp, pilot: Pilot[None], out: Path, only: list[str]) -> None:
        self.app, self.pilot, self.out, self.only = app, pilot, out, only

    async def until(self, holds: Callable[[], bool]) -> None:
        waited = 0.0
        while not holds():
            if waited > _PATIENCE:
                raise SystemExit("it did not happen in time")
            await self.pilot.pause(0.05)
            waited += 0.05
        await self.pilot.pause(0.3)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause(0.3)

    def take(self, name: str) -> None:
        """Save what is seen now."""
        if self.only and name not in self.only:
            return
        self.app.clear_notifications()
        (self.out / f"{name}.svg").write_text(self.app.export_screenshot(title="atomr-local"), encoding="utf-8")
        strips = self.app.screen._compositor.render_strips()
        lines = ["".join(segment.text for segment in strip).rstrip() for strip in strips]
        (self.out / f"{name}.txt").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
        print(name)

    async def hide_paths(self) -> None:
        """Paths of this machine are no part of a picture."""
        for details in self.app.screen.query("#library-details"):
            details.display = False
        await self.pilot.pause(0.2)

    async def ask(self, question: str) -> None:
        box = self.app.ask_screen.query_one("#question")
        box.value = question  # type: ignore[attr-defined]
        box.focus()
        await self.press("enter")

    def done(self) -> bool:
        state = self.app.ask_screen.state
        return state.trace is not None and not state.running


async def shoot(studio: Studio) -> None:
    """Every flow once, in the order in which a person would come by."""
    app, screen = studio.app, studio.app.ask_screen
    await studio.until(lambda: screen.widgets_mounted and screen.loading_stage == "")
    studio.take("first-start")
    await studio.press("f5")
    await studio.hide_paths()
    await studio.press("f")
    await studio.pilot.pause(1.0)
    studio.take("get")
    await studio.press("escape", "escape")
    await studio.ask(QUESTION)
    await studio.until(lambda: any(view.result for view in screen.state.nodes.values()) or studio.done())
    studio.take("during")
    await studio.until(studio.done)
    studio.take("after")
    await studio.press("escape", "c", "u")
    studio.take("citation")
    await studio.press("enter")
    studio.take("evidence")
    await studio.press("f7")
    await studio.press("ctrl+s")
    await studio.until(lambda: not getattr(app.screen, "_busy", False))
    studio.take("console")
    await studio.press("escape")
    await studio.press("ctrl+t", "m")
    studio.take("prompts")
    await studio.press("escape", "p")
    studio.take("plan-editor")
    await studio.press("escape")
    screen.view.select(4)
    await studio.press("e")
    studio.take("step-editor")
    await studio.press("escape", "r")
    await studio.until(studio.done)
    studio.take("corrected")
    await studio.press("ctrl+g")
    studio.take("jump")
    await studio.press("escape", "f1")
    studio.take("help")
    for key, name in (("f4", "settings"), ("f5", "library")):
        await studio.press("escape")
        await studio.press(key)
        await studio.pilot.pause(1.5)
        await studio.hide_paths()
        studio.take(name)
    await studio.press("escape", "f2")
    studio.take("web-on")
    await studio.press("f2")
    await studio.ask("Which countries border both Switzerland and Slovenia?")
    await studio.until(studio.done)
    await studio.pilot.pause(1.0)
    await studio.press("f3")
    await studio.pilot.pause(1.0)
    studio.take("history")


async def run(out: Path, size: tuple[int, int], only: list[str], shot: Callable[[Studio], Awaitable[None]]) -> None:
    from atomr_local.assistant.assistant import Assistant

    with Assistant.open() as assistant:
        app = AtomrApp(assistant)
        async with app.run_test(size=size) as pilot:
            await shot(Studio(app, pilot, out, only))
    with Assistant.open() as assistant:  # no longer the first start
        app = AtomrApp(assistant)
        async with app.run_test(size=size) as pilot:
            studio = Studio(app, pilot, out, only)
            await studio.until(lambda: app.ask_screen.widgets_mounted and app.ask_screen.loading_stage == "")
            studio.take("empty")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "docs" / "screens")
    parser.add_argument("--size", default="110x32")
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    width, height = map(int, given.size.split("x"))
    with tempfile.TemporaryDirectory() as home:
        os.environ["ATOMR_HOME"] = home
        asyncio.run(run(given.out, (width, height), given.only, shoot))


if __name__ == "__main__":
    main()
