#!/usr/bin/env python3
"""What it is worth that the queries of a question share one process: queries a second, shared and a process each.

    scripts/bench/query_process.py --index HOME/indexes/graph/starter [--questions 10] [--queries 3 12]

The queries are those of the shape that a model writes (an entity, a property, what is at the other end), drawn from the
graph with a seed. A question runs so many of them, one after another, once in a session of its own (one process) and
once in a process each; the two take turns within one run, and the ratio of their times is what is reported. The first
query of each question pays for the start of its process. Rows are compared: they must be the same.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from atomr_local.sources.graph import GraphSource
from atomr_local.sources.protocol import QueryRows
from atomr_local.system.cancellation import Cancellation

Run = Callable[[str, Cancellation], QueryRows]


def drawn(source: GraphSource, number: int, rng: random.Random) -> list[str]:
    """Queries for what an entity has of a property."""
    listed = "SELECT ?s ?p { ?s ?p ?o FILTER(ISIRI(?o)) } LIMIT 10000"
    with closing(source.query_session()) as session:
        rows = session.query(listed, Cancellation(), seconds=60, most_rows=10_000).rows
    chosen = [rng.choice(rows) for _ in range(number)]
    return [f"SELECT DISTINCT ?x WHERE {{ <{row['s']}> <{row['p']}> ?x }}" for row in chosen]


def timed(run: Run, queries: list[str]) -> tuple[float, list[QueryRows]]:
    """Seconds, and what was found."""
    started = time.perf_counter()
    found = [run(query, Cancellation()) for query in queries]
    return time.perf_counter() - started, found


def apart_in(source: GraphSource) -> Run:
    """Runs each query in a process of its own."""

    def run(query: str, cancellation: Cancellation) -> QueryRows:
        with closing(source.query_session()) as session:
            return session.query(query, cancellation)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True, help="directory of a graph index")
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--queries", type=int, nargs="+", default=[1, 3, 12], help="queries a question")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    source = GraphSource.open(arguments.index)
    print("| queries a question | a process each, queries/s | one process, queries/s | ratio |\n|---|---|---|---|")
    for number in arguments.queries:
        apart = together = 0.0
        for _ in range(arguments.questions):
            queries = drawn(source, number, rng)
            seconds, expected = timed(apart_in(source), queries)
            apart += seconds
            started = time.perf_counter()
            with closing(source.query_session()) as session:
                _, found = timed(session.query, queries)
            together += time.perf_counter() - started  # its end counts too
            if found != expected:
                sys.exit("the rows differ")
        total = number * arguments.questions
        print(f"| {number} | {total / apart:.1f} | {total / together:.1f} | {apart / together:.2f} |", flush=True)
    source.close()


if __name__ == "__main__":
    main()
