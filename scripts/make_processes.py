#!/usr/bin/env python
"""Make the observations of the solution processes that ship anew, over the starter knowledge.

    python scripts/make_processes.py             # writes atomr_local/strategies/processes/shipped.jsonl
    python scripts/make_processes.py --check     # tells what no longer holds, and writes nothing
    python scripts/make_processes.py --add FILE  # a process as text (`atomr processes show` prints such a text)

No model is needed: what is read on a page or sketched as a query stands in the processes, and is checked here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from atomr_local import Assistant
from atomr_local.errors import InputError
from atomr_local.models.protocol import Nobody
from atomr_local.settings.schema import load_settings
from atomr_local.strategies.processes.process import Process, read_text_form, shipped

FILE = Path(__file__).resolve().parents[1] / "atomr_local" / "strategies" / "processes" / "shipped.jsonl"


def made_again(processes: Sequence[Process]) -> tuple[list[Process], list[str]]:
    """The processes with the observations of now, and what does not hold.

    They ship with the starter, whose indexes anybody may quote: they are not marked with them.
    """
    settings = load_settings(sources=("text", "graph"), features={"span_reader": False})
    made, problems = list[Process](), list[str]()
    with Assistant(settings, backbone=Nobody()) as assistant:
        for process in processes:
            try:
                made.append(assistant.do_again(process).model_copy(update={"indexes": ()}))
            except InputError as error:
                problems.append(f"{process.question}: {error.message}")
                made.append(process)
    return made, problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--add", type=Path)
    given = parser.parse_args()
    processes = list(shipped())
    if given.add:
        processes.append(read_text_form(given.add.read_text(encoding="utf-8")))
    made, problems = made_again(processes)
    changed = [new.question for old, new in zip(processes, made, strict=True) if old != new]
    for line in (*problems, *(f"changed: {question}" for question in changed)):
        print(line)
    if not given.check:
        FILE.write_text("".join(f"{process.model_dump_json()}\n" for process in made), encoding="utf-8")
    return 1 if problems or (given.check and changed) else 0


if __name__ == "__main__":
    sys.exit(main())
