#!/usr/bin/env python3
"""Records the moving picture of the README: a question from typing to the evidence of its answer, as an animated SVG.

    scripts/make_demo.py [--out docs/img/demo.svg] [--size 110x32]

The real program runs on the starter in a temporary home. Pauses are shortened: the picture shows the order of things,
not their speed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from make_screens import QUESTION, Studio

from atomr_local.tui.app import AtomrApp

_CLASS = re.compile(r"\.terminal-\d+-(r\d+) \{([^}]*)\}")
_ELEMENT = re.compile(r"<rect [^>]*/>|<text [^>]*>[^<]*</text>")
_BODY = 'clip-path="url(#terminal-0-clip-terminal)">'
_PAUSE, _REST = 0.4, 4.0  # seconds that a frame is shown, and one that should be read


class Film:
    """Frames taken from a running app, and the animated SVG that is made of them."""

    def __init__(self) -> None:
        self.frames: list[tuple[str, float]] = []

    def take(self, app: AtomrApp, seconds: float = _PAUSE) -> None:
        """Take a frame; one that differs from the last only in its numbers (the clock) prolongs that one."""
        app.clear_notifications()
        picture = re.sub(r"terminal-\d+", "terminal-0", app.export_screenshot(title="atomr-local"))
        if self.frames and re.sub(r"\d+", "", self.frames[-1][0]) == re.sub(r"\d+", "", picture):
            self.frames[-1] = (picture, max(seconds, self.frames[-1][1]))
        else:
            self.frames.append((picture, seconds))

    def svg(self) -> str:
        """The frames one after another. What several frames share is drawn once and shown in all of them."""
        styles: dict[str, str] = {}
        shown: dict[str, set[int]] = {}
        for number, (picture, _) in enumerate(self.frames):
            for element in self._elements(picture, styles):
                shown.setdefault(element, set()).add(number)
        groups: dict[frozenset[int], list[str]] = {}
        for element, numbers in sorted(shown.items(), key=lambda item: not item[0].startswith("<rect")):
            groups.setdefault(frozenset(numbers), []).append(element)
        rules = [f".{name} {{{style}}}" for style, name in styles.items()]
        drawn: dict[str, list[str]] = {"<rect": [], "<text": []}  # backgrounds below all texts
        for index, (frames, elements) in enumerate(groups.items()):
            if len(frames) < len(self.frames):
                rules.append(self._animation(index, frames))
            for kind, parts in drawn.items():
                if own := "".join(element for element in elements if element.startswith(kind)):
                    parts.append(f'<g class="g{index}">{own}</g>')
        head = self.frames[0][0].split(_BODY, 1)[0]
        head = _CLASS.sub("", re.sub(r"@font-face \{.*?\n    \}\n", "", head, flags=re.DOTALL))
        body = "\n".join(drawn["<rect"] + drawn["<text"])
        head = head.replace("</style>", "\n".join(rules) + "\n</style>")
        return f'{head}{_BODY}\n<g class="terminal-0-matrix">{body}</g></g>\n</svg>\n'

    def _animation(self, index: int, shown: frozenset[int]) -> str:
        """The CSS that shows a group in these frames only."""
        total, now, steps = sum(seconds for _, seconds in self.frames), 0.0, []
        for number, (_, seconds) in enumerate(self.frames):
            steps.append(f"{100 * now / total:.2f}% {{visibility: {'visible' if number in shown else 'hidden'}}}")
            now += seconds
        # Where nothing moves, the frame with the answer is shown; two more come after it.
        still = "visible" if len(self.frames) - 3 in shown else "hidden"
        return (
            f"@keyframes k{index} {{{' '.join(steps)}}}\n"
            f".g{index} {{visibility: {still}; animation: k{index} {total:.1f}s step-end infinite}}"
        )

    @staticmethod
    def _elements(picture: str, styles: dict[str, str]) -> list[str]:
        """Rectangles and texts of a frame, with class names that all frames share."""
        names = {old: styles.setdefault(style.strip(), f"c{len(styles)}") for old, style in _CLASS.findall(picture)}
        body = picture.split(_BODY, 1)[1]
        return [
            re.sub(r'class="terminal-0-(r\d+)"', lambda m: f'class="{names[m[1]]}"', e) for e in _ELEMENT.findall(body)
        ]


async def record(size: tuple[int, int]) -> Film:
    from atomr_local.assistant.assistant import Assistant

    film = Film()
    with Assistant.open() as assistant:
        app = AtomrApp(assistant)
        async with app.run_test(size=size) as pilot:
            studio, screen = Studio(app, pilot, Path(), ["none"]), app.ask_screen
            await studio.until(lambda: screen.widgets_mounted and screen.loading_stage == "")
            box = screen.query_one("#question")
            box.focus()
            await pilot.pause(0.3)
            for end in (0, 12, 27, 41, len(QUESTION)):
                box.value = QUESTION[:end]  # type: ignore[attr-defined]
                await pilot.pause(0.2)
                film.take(app)
            await pilot.press("enter")
            while not studio.done():
                await pilot.pause(0.15)
                film.take(app)
            await pilot.pause(0.5)
            film.take(app, _REST)
            await studio.press("escape", "c", "u")
            film.take(app, _REST)
            await studio.press("enter")
            film.take(app, _REST)
    return film


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "docs" / "img" / "demo.svg")
    parser.add_argument("--size", default="110x32")
    given = parser.parse_args()
    width, height = map(int, given.size.split("x"))
    with tempfile.TemporaryDirectory() as home:
        os.environ["ATOMR_HOME"] = home
        film = asyncio.run(record((width, height)))
    given.out.write_text(film.svg(), encoding="utf-8")
    print(f"{given.out}: {len(film.frames)} frames")


if __name__ == "__main__":
    main()
