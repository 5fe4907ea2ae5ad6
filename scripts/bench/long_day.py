#!/usr/bin/env python3
"""A long day in one process of the terminal UI: what memory, threads and open files the questions leave behind.

    nice -n 10 scripts/bench/long_day.py --home DIR [--questions 40] [--after 10] [--every 5]

The app runs headless on the starter and is asked the starter's questions one after another, in one conversation, as a
user does who never starts a new one. Each row is taken when a question has ended: resident memory in MiB, what of it is
the heap (anonymous) and what is mapped files (model, indexes: the system takes them back when memory is short), threads
and open files. It fails (exit 1) when, after the first `--after` questions, memory grows by more than a tenth, when
threads or files are left behind, or when more memory is resident than `--most` MiB.

Two pools are filled as they are needed, up to a fixed size: workers, and connections to the files of an index. They are
held to that size; everything else may not grow at all.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from atomr_local.system import paths

_PATIENCE = 300.0  # seconds for one question
_GROWTH = 0.1
# Names of pools of workers, and how many each has at most: asyncio's own (its rule), and the text index's.
_POOLS = {"asyncio": min(32, (os.cpu_count() or 1) + 4), "atomr-words": 4}
_CONNECTIONS = 4  # that stay open to a file of an index (`indexing/sqlite_pool.py`)
_NAMES = {"VmRSS": "rss", "RssAnon": "heap", "RssFile": "mapped"}


@dataclass(frozen=True)
class Held:
    """What the process holds at one moment; memory in MiB."""

    rss: float
    heap: float
    mapped: float
    threads: Counter[str] = field(default_factory=Counter)  # by name; workers by the name of their pool
    files: Counter[str] = field(default_factory=Counter)  # by path, or by kind

    @classmethod
    def now(cls) -> Held:
        memory = dict.fromkeys(_NAMES.values(), 0.0)
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(":")
            if name in _NAMES:
                memory[_NAMES[name]] = int(value.split()[0]) / 1024
        threads = Counter(re.sub(r"_\d+$", "", thread.name) for thread in threading.enumerate())
        return cls(**memory, threads=threads, files=_open_files())


def _open_files() -> Counter[str]:
    found = Counter[str]()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            name = str(entry.readlink())
        except OSError:  # the listing's own
            continue
        found[re.sub(r":\[\d+\]$", "", name)] += 1
    return found


def _most_of(name: str, before: int) -> int:
    """How many threads or open files of this name there may be, where there were so many before."""
    return max(before, _POOLS.get(name, 0), _CONNECTIONS if name.endswith(".sqlite") else 0)


def left_behind(first: Held, last: Held, most: float) -> list[str]:
    """What is wrong with the end of the day, measured against its beginning."""
    problems = []
    if last.rss > first.rss * (1 + _GROWTH):
        problems.append(f"memory grew from {first.rss:.0f} to {last.rss:.0f} MiB")
    if last.rss > most:
        problems.append(f"{last.rss:.0f} MiB are resident, {most:.0f} at most are wanted")
    for what, before, after in (("threads", first.threads, last.threads), ("open files", first.files, last.files)):
        problems += [
            f"{number} {what} of {name}, {before[name]} at the beginning"
            for name, number in sorted(after.items())
            if number > _most_of(name, before[name])
        ]
    return problems


async def spend(questions: int, after: int, every: int, most: float) -> list[str]:
    """Ask them all and print the rows; what is wrong at the end."""
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.tui.app import AtomrApp
    from atomr_local.tui.widgets.question_box import QuestionBox

    lines = (paths.starter_knowledge_dir() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [str(json.loads(line)["question"]) for line in lines]
    print("questions     RSS    heap  mapped  threads  files  seconds", flush=True)
    began, first, last = time.monotonic(), None, Held.now()

    def show(number: int, held: Held) -> None:
        print(
            f"{number:9} {held.rss:7.0f} {held.heap:7.0f} {held.mapped:7.0f}  {held.threads.total():7}"
            f" {held.files.total():6}  {time.monotonic() - began:7.0f}", flush=True,
        )  # fmt: skip

    with Assistant.open() as assistant:
        app = AtomrApp(assistant)
        async with app.run_test(size=(100, 30)) as pilot:
            while not (app.ask_screen.widgets_mounted and app.ask_screen.loading_stage == ""):
                if app.ask_screen.loading_stage == "not ready":
                    return ["the model or an index cannot be used"]
                await asyncio.sleep(0.1)
            show(0, Held.now())
            for number in range(1, questions + 1):
                box = app.ask_screen.query_one(QuestionBox)
                box.value = question = asked[(number - 1) % len(asked)]
                box.focus()
                await pilot.press("enter")
                started = time.monotonic()
                while app.ask_screen.state.trace is None or app.ask_screen.state.running:
                    if time.monotonic() - started > _PATIENCE:
                        return [f"no answer in time: {question}"]
                    await asyncio.sleep(0.05)
                await asyncio.sleep(0.2)  # the history takes it
                last = Held.now()
                if number == after:
                    first = last
                if number % every == 0 or number in {1, after, questions}:
                    show(number, last)
    return left_behind(first or last, last, most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--after", type=int, default=10, help="questions that count as the beginning")
    parser.add_argument("--every", type=int, default=5, help="questions between two rows")
    parser.add_argument("--most", type=float, default=900.0, help="MiB that may be resident")
    parser.add_argument("--home", type=Path, help="its ATOMR_HOME (default: a temporary one)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = given.home or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        os.environ["ATOMR_HOME"] = str(home)
        problems = asyncio.run(spend(given.questions, given.after, given.every, given.most))
    for problem in problems:
        print(f"PROBLEM {problem}")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
