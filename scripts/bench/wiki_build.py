#!/usr/bin/env python3
"""How fast a MediaWiki dump becomes an index, words first, with one reading process and with several.

    scripts/make_wiki_dump.py dump.xml.bz2 --articles 20000 --multistream --words-of CORPUS.jsonl
    scripts/bench/wiki_build.py dump.xml.bz2 [--processes 1 2] [--rounds 2] [--limit N]

The numbers of processes take turns, round by round, so that whatever else the machine does meets all of them. For each
build a line with seconds by the clock, processor seconds of the building process and of its readers, and articles a
second. The last line gives the ratios of the best rounds. What is imported once is imported before the first round.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from atomr_local.errors import AtomrError
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.models.catalog.find import find_embedder
from atomr_local.system.threads import prepare_threads


def processor(who: int) -> float:
    """Processor seconds of this process, or of its children that have ended."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def build(dump: Path, processes: int, limit: int | None, embedder: SentenceEmbedder) -> dict[str, float]:
    """Build the index in a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["ATOMR_HOME"] = home
        clock, own, readers = time.perf_counter(), processor(resource.RUSAGE_SELF), processor(resource.RUSAGE_CHILDREN)
        manifest = build_text_index(
            [dump], "bench", embedder=embedder, vectors="later", processes=processes, limit=limit
        )
        return {
            "articles": manifest.counts["articles"],
            "passages": manifest.counts["passages"],
            "clock": time.perf_counter() - clock,
            "own": processor(resource.RUSAGE_SELF) - own,
            "readers": processor(resource.RUSAGE_CHILDREN) - readers,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", type=Path)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    prepare_threads()
    best: dict[int, float] = {}
    try:
        embedder = SentenceEmbedder(find_embedder("starter"))
        build(options.dump, 1, 50, embedder)
        for _ in range(options.rounds):
            for processes in options.processes:
                found = build(options.dump, processes, options.limit, embedder)
                rate = found["articles"] / found["clock"]
                best[processes] = max(best.get(processes, 0.0), rate)
                each = 1000 * (found["own"] + found["readers"]) / found["articles"]
                print(f"{processes} reading: {found['articles']:.0f} articles, {found['passages']:.0f} passages in "
                      f"{found['clock']:.1f} s, {rate:.0f} articles/s; processor {found['own']:.1f} s here and "
                      f"{found['readers']:.1f} s in the readers, {each:.2f} ms an article", flush=True)  # fmt: skip
    except AtomrError as error:
        print(error, file=sys.stderr)
        return 1
    first = options.processes[0]
    ratios = ", ".join(f"{number} to {first}: {best[number] / best[first]:.2f}" for number in options.processes[1:])
    print(f"best rounds, articles a second, {ratios}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
