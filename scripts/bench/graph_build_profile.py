#!/usr/bin/env python3
"""Where the processor time of a graph build goes, by stage, beside that of pyoxigraph's bulk load of the same file.

    python scripts/bench/graph_build_profile.py --triples 2000000

Processor time, for a busy machine stretches wall time. Each stage has the time of the build's own thread without that
of the stages inside it; what the process needs beyond that thread is the store's, which loads in threads of its own.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graph_build import _BARE, measured, truthy_lines

LOADING = "store: parsing, sorting and writing pieces"
REST = "everything else"
# (module, class or "" for a function, name, stage)
STAGES = (
    ("atomr_local.indexing.builds.ledger", "Ledger", "open", "digest of the input"),
    ("atomr_local.indexing.builds.ledger", "Ledger", "check_inputs", "digest of the input"),
    ("atomr_local.indexing.builds.publishing", "", "publish", "publishing"),
    ("atomr_local.indexing.graph_index.statements.lines", "Columns", "__init__", "lines as columns, checked"),
    ("atomr_local.indexing.graph_index.statements.lines", "LineStatements", "_chosen", "what is kept"),
    ("atomr_local.indexing.graph_index.statements.lines", "LineStatements", "_take_names", "names, in memory"),
    ("atomr_local.indexing.graph_index.statements.lines", "LineStatements", "_take_facts", "statements, each once"),
    ("atomr_local.indexing.graph_index.statements.lines", "", "parse_lines", "other lines, parsed"),
    ("atomr_local.indexing.graph_index.statements.triples", "TripleStatements", "take", "other lines, parsed"),
    ("atomr_local.indexing.graph_index.bulk_loading", "Spool", "write", "pieces written, with fsync"),
    ("atomr_local.indexing.graph_index.bulk_loading", "Loader", "finished", "waiting for the store"),
    ("atomr_local.indexing.graph_index.names.writer", "NamesWriter", "flush", "names into SQLite"),
    ("atomr_local.indexing.graph_index.names.writer", "NamesWriter", "choose", "labels chosen"),
    ("atomr_local.indexing.graph_index.names.writer", "NamesWriter", "index", "search index of names"),
    ("atomr_local.indexing.graph_index.names.writer", "StatementCounts", "sum_up", "statements counted"),
    ("atomr_local.indexing.graph_index.names.writer", "StatementCounts", "note", "statements counted"),
    ("atomr_local.indexing.graph_index.build", "GraphBuild", "_load_labels", "labels as triples"),
    ("atomr_local.indexing.graph_index.build", "GraphBuild", "_counts", "counts for the manifest"),
    ("atomr_local.indexing.graph_index.build", "GraphBuild", "_clean", "database sealed"),
)  # fmt: skip
_OURS = """
import sys
sys.path[:0] = {paths!r}
from graph_build_profile import profiled
profiled(file)
"""


class Clock:
    """Processor and wall time of the calling thread by stage, exclusive of the stages inside."""

    def __init__(self) -> None:
        self.cpu: dict[str, float] = defaultdict(float)
        self.wall: dict[str, float] = defaultdict(float)
        self._stages = [REST]
        self._at = time.thread_time(), time.perf_counter()

    def _note(self) -> None:
        now = time.thread_time(), time.perf_counter()
        self.cpu[self._stages[-1]] += now[0] - self._at[0]
        self.wall[self._stages[-1]] += now[1] - self._at[1]
        self._at = now

    def timed(self, call: Callable[..., Any], stage: str) -> Callable[..., Any]:
        @functools.wraps(call)
        def run(*arguments: Any, **named: Any) -> Any:
            self._note()
            self._stages.append(stage)
            try:
                return call(*arguments, **named)
            finally:
                self._note()
                self._stages.pop()

        return run


def profiled(file: str) -> None:
    """Build the index "bench" of the file; prints the seconds of each stage as JSON."""
    from importlib import import_module

    clock = Clock()
    for module, owner, name, stage in STAGES:
        place = import_module(module)
        if owner:
            place = getattr(place, owner)
        bound = isinstance(place.__dict__.get(name), classmethod)
        call = clock.timed(getattr(place, name), stage)
        setattr(place, name, staticmethod(call) if bound else call)
    from atomr_local.indexing.graph_index.index import build_graph_index

    clock._at = time.thread_time(), time.perf_counter()
    busy = time.process_time()
    build_graph_index([Path(file)], "bench")
    clock._note()
    clock.cpu[LOADING] = time.process_time() - busy - sum(clock.cpu.values())
    print(json.dumps({"stages": clock.cpu, "wall": clock.wall}))


def run_profiled(file: Path, folder: Path) -> dict[str, dict[str, float]]:
    here = Path(__file__).resolve()
    code = "import sys\nfile = sys.argv[1]\n" + _OURS.format(paths=[str(here.parent), str(here.parents[2])])
    process = subprocess.run(
        [sys.executable, "-c", code, str(file)], env=os.environ | {"ATOMR_HOME": str(folder)},
        stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    return dict(json.loads(process.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, default=2_000_000)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "truthy.nt"
        with file.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(truthy_lines(given.triples, given.seed))
        folder = Path(scratch) / "bare"
        folder.mkdir()
        bare = measured(_BARE, file, folder)
        found = run_profiled(file, Path(scratch) / "ours")
    stages, wall = found["stages"], found["wall"]
    total = sum(stages.values())
    print(
        f"{given.triples:,} triples; bulk load alone: {bare['cpu']:.1f} s of processor time; the build: {total:.1f} s"
    )
    print("| stage | CPU s | share | wall s |\n|---|---|---|---|")
    for stage, seconds in sorted(stages.items(), key=lambda item: -item[1]):
        print(f"| {stage} | {seconds:.2f} | {seconds / total:.0%} | {f'{wall[stage]:.1f}' if stage in wall else ''} |")


if __name__ == "__main__":
    main()
