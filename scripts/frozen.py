#!/usr/bin/env python3
"""Prove that the program still does what it did: record its behaviour, and compare with what was recorded.

    scripts/frozen.py check [PART …]      every part differs in nothing? Exit status 1 and the first difference if not
    scripts/frozen.py record [PART …]     keep what it does now; --afresh asks the model everything again

    strategies   each reasoning method on a few questions: all events with the prompts, and the trace
    questions    answers, verdicts, guesses and cited places of two hundred questions
    readers      the passages and facts of every file that readers are tested with
    indexes      the rows and names of built indexes
    help         --help of every command
    http         requests to the HTTP API and what comes back
    mcp          tools and resources of the MCP server, and calls of them
    old_files    what comes of settings, histories, traces and indexes of earlier versions

What is recorded lies in tests/frozen. The replies of the model, the vectors of the embedder and the verdicts of the
span reader are recorded too, so a check runs no model: it ends in minutes, and gives the same on every processor. A
request that is not recorded is told with the first line in which it differs from the most similar recorded one. Cases
that need data which is not here (../shared/data) are left out, and that is said.

Ids, durations, times of this and later years, and the places of folders are hidden; floating-point numbers are compared
with six places.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from frozen_parts.cases import Cases, Outcome, Run, compare, keep

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
FROZEN = ROOT / "tests" / "frozen"
# Of the adapter that the replies are of; another one is no other behaviour.
CARD = "smollm2-135m-atomr.json"
# By the module that makes the cases; those that take longest come first.
PARTS = {
    "questions": "questions",
    "strategies": "strategies",
    "indexes": "indexes",
    "readers": "readers",
    "old_files": "old_files",
    "http": "http_calls",
    "mcp": "mcp_calls",
    "help": "help_texts",
}
_SHOWN = 8  # other cases of a part that differ, by their names


def cases_of(part: str) -> Cases:
    made: Cases = importlib.import_module(f"frozen_parts.{PARTS[part]}").cases
    return made


def checked(part: str) -> tuple[Outcome, dict[str, str], float]:
    """What the check of a part found, why it left cases out, and how many seconds it took."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="frozen-") as scratch:
        run = Run(False, FROZEN, Path(scratch).resolve())
        try:
            outcome = compare(FROZEN / f"{part}.jsonl.xz", run, cases_of(part)(run))
        except Exception as error:  # an import that is gone, for one: the other parts are checked all the same
            place = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__}: {error}\nin {place.filename}, line {place.lineno}"
            outcome = Outcome(0, 0, {"the part ended with an error": said})
    return outcome, run.skipped, time.perf_counter() - started


def record(part: str, *, afresh: bool) -> str:
    """Keep what a part makes; a line about it."""
    if afresh:
        for file in FROZEN.glob(f"{part}.*replies.jsonl.xz"):
            file.unlink()
        shutil.copy(ROOT / "models" / "adapters" / CARD, FROZEN / CARD)
    with tempfile.TemporaryDirectory(prefix="frozen-") as scratch:
        run = Run(True, FROZEN, Path(scratch).resolve(), tell=lambda line: print(line, file=sys.stderr, flush=True))
        number = keep(FROZEN / f"{part}.jsonl.xz", cases_of(part)(run))
    if run.skipped:
        return f"{part}: {number} cases, without {', '.join(f'{name} ({why})' for name, why in run.skipped.items())}"
    return f"{part}: {number} cases"


def told(part: str, outcome: Outcome, skipped: dict[str, str], seconds: float) -> str:
    """What a check found, in a few lines."""
    lines = [f"{part}: {outcome.same} cases are the same, {len(outcome.differences)} differ ({seconds:.0f} s)"]
    if outcome.left_out:
        lines.append(f"  {outcome.left_out} left out: {'; '.join(f'{name}: {why}' for name, why in skipped.items())}")
    names = list(outcome.differences)
    if names:
        lines += [f"  {names[0]}", *(f"    {line}" for line in outcome.differences[names[0]].splitlines())]
    lines += [f"  also {name}" for name in names[1 : _SHOWN + 1]]
    if len(names) > _SHOWN + 1:
        lines.append(f"  and {len(names) - _SHOWN - 1} more")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "check"))
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"by default all: {', '.join(PARTS)}")
    parser.add_argument("--afresh", action="store_true", help="when recording: ask the model for known replies too")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1), help="of a check; default: 2")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no part is named {', '.join(sorted(unknown))}; known are {', '.join(PARTS)}")
    wanted = [part for part in PARTS if part in (given.parts or PARTS)]
    if given.what == "record":
        for part in wanted:
            print(record(part, afresh=given.afresh), flush=True)
        return 0
    differs = False
    # Each part has a process of its own, as it has a home of its own.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.processes, mp_context=context, max_tasks_per_child=1) as pool:
        found = {part: pool.submit(checked, part) for part in wanted}
        for part, result in found.items():
            outcome, skipped, seconds = result.result()
            print(told(part, outcome, skipped, seconds), flush=True)
            differs = differs or bool(outcome.differences)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
