#!/usr/bin/env python3
"""The terminal UI: its first frame against an empty Textual app's, and how long keys take on a large trace.

    scripts/bench/tui.py first-frame [--rounds 10]
    scripts/bench/tui.py keys [--nodes 200] [--evidence 2000] [--size 120x40]

first-frame: processes of both, in turn, headless; median from their start until the first frame is shown (Textual's
event Ready; ours has the question box in it, with the focus), and until the frame after it, by when ours has made the
widgets that are hidden or empty at first; and the ratios (aim: 1.3 at most). Unset PYTHONDONTWRITEBYTECODE, and let
nothing else run. keys: a made-up trace of that size is opened as from the history; each key is timed from its press
to the end of the frame that it leads to, in the headless driver; p50 and p95 in milliseconds (aim: p95 of 50 at most).
The last row is the time from a key in the tree to the frame with the step's evidence, 30 ms of rest included.
How long Escape takes is measured by cancel.py beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, PlanTrace, Trace
from atomr_local.tree.compact import parse_compact

_EMPTY = """
from textual.app import App
class Shown(App[None]):
    pass
"""
_OURS = """
from atomr_local.tui.app import AtomrApp
class Shown(AtomrApp):
    def __init__(self):
        super().__init__(lambda: None)
"""
_RUN = """
import os, time
def told():
    print(f"{time.time() - float(os.environ['BEGUN']):.4f}", flush=True)
class Timed(Shown):
    def on_ready(self):
        told()
        self.call_after_refresh(self.over)
    def over(self):
        told()
        self.exit()
Timed().run(headless=True, size=(120, 40))
"""


def first_frame(rounds: int) -> None:
    """Print the medians of both, and their ratios."""
    taken: dict[str, list[tuple[float, ...]]] = {"empty": [], "ours": []}
    with tempfile.TemporaryDirectory() as home:
        for number in range(rounds + 1):
            for name, program in (("empty", _EMPTY), ("ours", _OURS)):
                environment = os.environ | {"ATOMR_HOME": home, "BEGUN": repr(time.time())}
                done = subprocess.run(
                    [sys.executable, "-c", program + _RUN], env=environment, capture_output=True, text=True, check=True
                )
                if number:  # the first round fills the disk cache
                    taken[name].append(tuple(map(float, done.stdout.split()[-2:])))
    for place, what in enumerate(("first frame", "frame after it")):
        empty, ours = (statistics.median(times[place] for times in taken[name]) for name in ("empty", "ours"))
        print(f"{what}: empty app {empty:.3f} s, ours {ours:.3f} s, ratio {ours / empty:.2f} (n={rounds})")


def made_trace(nodes: int, evidence: int) -> Trace:
    """A trace of `nodes` nodes, the root included, that share `evidence` pieces of evidence evenly."""
    lines, number = [], 0
    while number < nodes - 1:
        number += 1
        parent = number
        lines.append(f"{parent}. What of part {parent}?")
        for _ in range(9):
            if number >= nodes - 1:
                break
            number += 1
            lines.append(f' {number}. Who is person {number}? = Search("Person {number}", "writer")')
    if lines[-1].startswith(f"{number}. "):
        lines[-1] = f'{number}. Who is person {number}? = Search("Person {number}")'
    question = "Which of them all came first?"
    compact = "\n".join(lines)
    tree = parse_compact(compact, question)
    trace = Trace(question, "atomr", {}, "answered", "The answer is Person 7.", ["Person 7"], 0.9)
    trace.plan = PlanTrace(compact)
    each = max(1, evidence // nodes)
    for node in tree.nodes():
        ids = []
        for place in range(each):
            name = f"e{node.id * each + place + 1}"
            ids.append(name)
            text = f"Person {node.id} was a writer of the {place}th century. " * 12
            locator = {"passage": f"p{node.id}#{place}", "span": [0, len(text)]}
            trace.evidence.append(EvidenceTrace(name, "text", f"Person {node.id}", text, 0.5, "query", locator))
        trace.nodes.append(
            NodeTrace(
                node.id, tree.parent_of(node.id), node.question, str(node.kind), node.question, sources=["text"],
                answer=f"Person {node.id}", answers=[f"Person {node.id}"], method="operator", confidence=0.9,
                evidence=ids, cited=ids[:1], supported=True,
            )
        )  # fmt: skip
    return trace


async def keys(nodes: int, evidence: int, size: tuple[int, int], clock: Callable[[], float]) -> None:
    """Print how long keys take in the tree, in the evidence, and between them."""
    from textual.events import Key

    from atomr_local.assistant.assistant import Assistant
    from atomr_local.tui.app import AtomrApp

    class Unloaded(Assistant):
        def preload(self, on_stage: object = None) -> None:
            """No model is loaded beside what is measured."""

    trace = made_trace(nodes, evidence)
    app = AtomrApp(Unloaded.open())
    async with app.run_test(size=size) as pilot:
        while not app.ask_screen.widgets_mounted:
            await pilot.pause(0.05)
        begun = time.perf_counter()
        app.ask_screen.open_kept(trace)
        await pilot.pause()
        print(f"opened {len(trace.nodes)} nodes, {len(trace.evidence)} pieces in {time.perf_counter() - begun:.2f} s")

        async def press(key: str) -> float:
            shown = asyncio.Event()
            started = clock()
            app.post_message(Key(key, None))
            # Behind the key in the queue of the app, then in that of the widget it goes to, then behind two frames:
            # the list scrolls after the first.
            app.call_later(
                lambda: (app.focused or app.screen).call_later(
                    app.screen.call_after_refresh, lambda: app.screen.call_after_refresh(shown.set)
                )
            )
            await shown.wait()
            taken = 1000 * (clock() - started)
            await asyncio.sleep(0.02)
            return taken

        for name, pressed in (
            ("tree, down", ["down"] * 60),
            ("tree, page down", ["pagedown", "pageup"] * 15),
            ("tree, end and home", ["end", "home"] * 20),
            ("evidence, down", ["ctrl+o"] + ["down"] * 60),
            ("evidence, page down", ["pagedown", "pageup"] * 15),
            ("citation, used by", ["c", "u"] * 10),
        ):
            if name.startswith("tree"):
                await press("ctrl+t")
            times = [await press(key) for key in pressed]
            _print(name, times)
        await press("ctrl+t")
        await press("home")
        times = []
        for _ in range(40):
            started, before = clock(), app.ask_screen.view.selected
            app.post_message(Key("down", None))
            while app.ask_screen.view.selected == before:
                await asyncio.sleep(0.001)
            shown = asyncio.Event()
            app.screen.call_after_refresh(shown.set)
            await shown.wait()
            times.append(1000 * (clock() - started))
        _print("until evidence shows", times)


def _print(name: str, times: list[float]) -> None:
    p95 = statistics.quantiles(times, n=20)[-1]
    print(f"{name:<22} p50 {statistics.median(times):6.1f} ms   p95 {p95:6.1f} ms   n={len(times)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("first-frame")
    first.add_argument("--rounds", type=int, default=10)
    timed = commands.add_parser("keys")
    timed.add_argument("--nodes", type=int, default=200)
    timed.add_argument("--evidence", type=int, default=2000)
    timed.add_argument("--cpu", action="store_true", help="count processor time: for a machine with other work")
    timed.add_argument("--size", default="120x40")
    given = parser.parse_args()
    if given.command == "first-frame":
        first_frame(given.rounds)
    else:
        width, height = map(int, given.size.split("x"))
        clock = time.process_time if given.cpu else time.perf_counter
        asyncio.run(keys(given.nodes, given.evidence, (width, height), clock))


if __name__ == "__main__":
    main()
