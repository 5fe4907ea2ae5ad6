#!/usr/bin/env python3
"""Text builds on a Ray cluster of several nodes on this machine: are they right, also when a node dies, and how fast?

    scripts/make_wiki_dump.py part1.xml.bz2 --articles 500 --seed 1 --first-page 1 --multistream --words-of CORPUS.jsonl
    scripts/make_wiki_dump.py part2.xml.bz2 --articles 500 --seed 2 --first-page 1001 …       # some more parts
    scripts/bench/ray_cluster.py prove part*.xml.bz2 --embedded small*.xml.bz2
    scripts/bench/ray_cluster.py rates part*.xml.bz2 --embedded small*.xml.bz2 [--workers 1 2 4] [--rounds 2]

The cluster is a head without processor cores and nodes of one core each (`ray_nodes.py`). The dumps are built words
first, those of --embedded with vectors.

`prove` builds each with the local engine and on two nodes: undisturbed, and with one of the two killed while its worker
reads or embeds, and, words first, when what it has read still lies in its object store. Each index must hold the same
passages with the same ids in the same order, vectors of cosine 0.9999 or more, and pass `atomr indexes verify`. Where
one does not, the status is 1.

`rates` builds by turns with the local engine and on 1, 2 and 4 nodes, round by round, so that whatever else the machine
does meets all of them. It prints articles and passages a second by the clock, processor milliseconds an article of the
building process, its children and Ray's workers, and the ratios of the best rounds. More nodes than the machine has
cores share them. What is imported once is imported before. Linux only.

Where Ray is not installed this says so and ends with status 0.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ray_nodes import RayNode, RayNodes, ray_nodes

from atomr_local.indexing import store
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.indexing.text_index.build import TextBuildProgress
from atomr_local.indexing.text_index.catalog import CATALOG
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.indexing.text_index.table import TABLE, VECTOR, connect
from atomr_local.models.catalog.find import find_embedder
from atomr_local.system.threads import prepare_threads

LEAST_COSINE = 0.9999
Vectors = Literal["now", "later"]


class Killer:
    """Kills a node once, at the moment that is waited for."""

    def __init__(self, node: RayNode) -> None:
        self.node = node
        self.told = ""
        self._began = time.monotonic()

    def kill(self, when: str) -> None:
        if not self.told:
            self.told = f"node {self.node.number} killed {when}, {time.monotonic() - self._began:.1f} s into the build"
            self.node.kill()

    @contextmanager
    def after_work(self, seconds: float) -> Iterator[None]:
        """Kill when the node's workers have had so many processor seconds for tasks of the build."""
        done = threading.Event()
        at_first: dict[int, float] = {}

        def watch() -> None:
            while not done.wait(0.05):
                now = self.node.task_seconds()
                at_first.update({pid: used for pid, used in now.items() if pid not in at_first})
                if (worked := sum(used - at_first[pid] for pid, used in now.items())) >= seconds:
                    self.kill(f"after {worked:.1f} s of processor time for a task that it had not ended")
                    return

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


@dataclass(frozen=True)
class Content:
    """What an index holds, in the order in which it was written."""

    articles: list[Any]
    passages: list[dict[str, Any]]
    vectors: list[Any]


def content(name: str) -> Content:
    directory = store.index_path("text", name)
    with sqlite3.connect(directory / CATALOG) as database:
        articles = database.execute("SELECT * FROM articles ORDER BY seq").fetchall()
    database.close()
    passages = connect(directory).open_table(TABLE).to_arrow().to_pylist()
    return Content(articles, passages, [row.pop(VECTOR) for row in passages])


def compare(name: str, wanted: Content) -> str:
    """What differs between an index and what it should hold, and what `indexes verify` finds; empty where nothing."""
    import numpy as np

    found = content(name)
    if found.articles != wanted.articles:
        return f"{len(found.articles)} articles are not the {len(wanted.articles)} of the local engine"
    if found.passages != wanted.passages:
        return f"{len(found.passages)} passages are not the {len(wanted.passages)} of the local engine"
    if any(vector is None for vector in wanted.vectors):
        if any(vector is not None for vector in found.vectors):
            return "passages have vectors that should have none"
    else:
        least = (np.array(found.vectors) * np.array(wanted.vectors)).sum(axis=1).min()
        if least < LEAST_COSINE:
            return f"a vector has a cosine of {least:.5f} to that of the local engine"
    command = [sys.executable, "-m", "atomr_local", "indexes", "verify", name]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if verified.returncode == 0 else f"atomr indexes verify: {(verified.stdout + verified.stderr).strip()}"


def inputs(words: list[Path], embedded: list[Path]) -> Iterator[tuple[list[Path], Vectors]]:
    if words:
        yield words, "later"
    if embedded:
        yield embedded, "now"


def prove(cluster: RayNodes, words: list[Path], embedded: list[Path], embedder: SentenceEmbedder) -> bool:
    """Print a line for each build; whether all are right."""
    right = True
    for files, vectors in inputs(words, embedded):
        build_text_index(files, "local", embedder=embedder, vectors=vectors)
        wanted = content("local")
        print(
            f"vectors {vectors}: {len(files)} files, {len(wanted.articles)} articles, {len(wanted.passages)} passages",
            flush=True,
        )
        ways = ["undisturbed", "killed-at-work"]
        if vectors == "later":
            ways.append("killed-with-results")  # what is read waits; what is embedded is written at once
        for how in ways:
            killer = Killer(cluster.nodes[-1])
            began = time.monotonic()

            def first(state: TextBuildProgress, killer: Killer = killer) -> None:
                killer.kill(f"when {state.passages} passages were written")

            if how == "killed-at-work":
                with killer.after_work(0.3 if vectors == "later" else 2.0):
                    build_text_index(files, how, embedder=embedder, engine="ray", vectors=vectors)
            else:
                progress = first if how == "killed-with-results" else None
                build_text_index(files, how, embedder=embedder, engine="ray", vectors=vectors, progress=progress)
            took = time.monotonic() - began
            problem = compare(how, wanted)
            if how != "undisturbed" and not killer.told:
                problem = "the build ended before its node could be killed: give larger dumps"
            right = right and not problem
            print(f"  {how}: {problem or 'the index of the local engine'}, {took:.1f} s; {killer.told}", flush=True)
            if killer.told:
                cluster.start()
    return right


def processor(who: int) -> float:
    """Processor seconds of this process, or of its children that have ended."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class Rate:
    """What one build took: by the clock, and of the processor: here, in children, in workers of Ray; all seconds."""

    articles: int
    passages: int
    clock: float
    own: float
    children: float
    cluster: float

    def line(self) -> str:
        each = 1000 * (self.own + self.children + self.cluster) / self.articles
        return (
            f"{self.articles} articles, {self.passages} passages in {self.clock:.1f} s, "
            f"{self.articles / self.clock:.1f} articles/s, {self.passages / self.clock:.0f} passages/s; processor "
            f"{self.own:.1f} s here, {self.children:.1f} s in children, {self.cluster:.1f} s in workers of Ray, "
            f"{each:.2f} ms an article"
        )


def rate(cluster: RayNodes, build: Callable[[], store.Manifest]) -> Rate:
    """Do a build, in a home of its own."""

    def used() -> tuple[float, float, float]:
        nodes = sum(node.worker_seconds() for node in cluster.nodes)
        return processor(resource.RUSAGE_SELF), processor(resource.RUSAGE_CHILDREN), nodes

    with tempfile.TemporaryDirectory() as home:
        os.environ["ATOMR_HOME"] = home
        before, began = used(), time.perf_counter()
        manifest = build()
        clock = time.perf_counter() - began
        own, children, nodes = (after - at_first for after, at_first in zip(used(), before, strict=True))
    return Rate(manifest.counts["articles"], manifest.counts["passages"], clock, own, children, nodes)


def rates(
    cluster: RayNodes,
    words: list[Path],
    embedded: list[Path],
    embedder: SentenceEmbedder,
    workers: list[int],
    rounds: int,
) -> None:
    for number in sorted(workers):
        while len(cluster.nodes) <= number:
            cluster.start()
        for files, vectors in inputs(words, embedded):
            kinds = {"local, 1 reading": partial(build_text_index, processes=1)}
            if vectors == "later" and number > 1:
                kinds[f"local, {number} reading"] = partial(build_text_index, processes=number)
            kinds[f"Ray, {number} nodes"] = partial(build_text_index, engine="ray")
            kinds = {
                kind: partial(build, files, "bench", embedder=embedder, vectors=vectors)
                for kind, build in kinds.items()
            }
            rate(cluster, kinds[f"Ray, {number} nodes"])  # its workers import
            best: dict[str, float] = {}
            for _ in range(rounds):
                for kind, build in kinds.items():
                    found = rate(cluster, build)
                    best[kind] = max(best.get(kind, 0.0), found.articles / found.clock)
                    print(f"vectors {vectors}, {kind}: {found.line()}", flush=True)
            first, *others = best
            told = ", ".join(f"{other}: {best[other] / best[first]:.2f}" for other in others)
            print(f"vectors {vectors}: best rounds, articles a second, to {first}: {told}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prove", "rates"])
    parser.add_argument("dumps", type=Path, nargs="*", help="files of a dump, read side by side")
    parser.add_argument("--embedded", type=Path, nargs="+", default=[], help="small ones, built with vectors")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4], help="of `rates`: numbers of nodes")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--port", type=int, default=21_000, help="the first of the ports, 300 for each node")
    options = parser.parse_intermixed_args()
    if importlib.util.find_spec("ray") is None:
        print("skipped: Ray is not installed: the extra `ray`", file=sys.stderr)
        return 0
    prepare_threads()
    root = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as home:
        os.environ["ATOMR_HOME"] = home
        embedder = SentenceEmbedder(find_embedder("starter"), threads=1)
        embedder.encode(["warm"])
        first = 2 if options.what == "prove" else min(options.workers)
        with ray_nodes(first, options.port) as cluster:
            os.environ.update(cluster.environment)  # Ray reads it when it is imported
            if options.what == "prove":
                return 0 if prove(cluster, options.dumps, options.embedded, embedder) else 1
            with cluster.joined():
                rates(cluster, options.dumps, options.embedded, embedder, options.workers, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
