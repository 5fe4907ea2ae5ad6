#!/usr/bin/env python3
"""What a text index finds before it has its vectors, and how fast it is built without them.

    scripts/bench/words_first.py --set hotpot CORPUS.jsonl QUESTIONS.jsonl [--set ...] [--articles N] [--questions N]

For each set indexes are built of the same articles in a temporary directory: none (words first, no vectors), half
(every other article embedded), all, and filled (words first, then `atomr text embed`), which must find what all finds.
Each is asked the whole questions whose gold pages it has. Recall is the share of a question's gold pages of which a
passage is among the first 3 and 10 (`scripts/bench/retrieval.py`). `words` are the words alone, of the first index.
`embedded` is how many passages were embedded for a question; half and none keep them, so that later questions need
fewer. A line for each set gives the builds' passages a second by the clock and by processor time, as a ratio of the two
in this run: compare ratios, not rates.

`--articles` takes the first N articles of a corpus, `--questions` the first N questions that they can answer.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from retrieval import DEPTHS, Query, read_passages, read_queries, recall

from atomr_local.errors import AtomrError
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.indexing.store import Manifest, index_path
from atomr_local.indexing.text_index.filling import embed_text_index
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.indexing.text_index.vectors import count_vectors
from atomr_local.models.catalog.find import find_embedder
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import Request, SearchMode
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.threads import prepare_threads

STATES = ("none", "half", "all")


def build_states(corpus: Path, folder: Path, articles: int | None, embedder: SentenceEmbedder) -> dict[str, Any]:
    """Build the three indexes; the rates of building without and with vectors, in passages a second."""
    with corpus.open(encoding="utf-8") as stream:
        lines = list(itertools.islice(stream, articles))
    files = {"whole": lines, "even": lines[::2], "odd": lines[1::2]}
    for name, part in files.items():
        (folder / name).write_text("".join(part), encoding="utf-8")
    embedder.encode(["loads the model, which belongs to neither build"])
    words = timed(lambda: build_text_index([folder / "whole"], "none", embedder=embedder, vectors="later"))
    full = timed(lambda: build_text_index([folder / "whole"], "all", embedder=embedder, vectors="now"))
    build_text_index([folder / "even"], "half", embedder=embedder, vectors="now")
    build_text_index([folder / "odd"], "half", embedder=embedder, vectors="later", add=True)
    build_text_index([folder / "whole"], "filled", embedder=embedder, vectors="later")
    filled = timed(lambda: embed_text_index("filled", embedder=embedder).manifest)
    return {"passages": words["passages"], "words": words, "full": full, "embed": filled}


def timed(work: Callable[[], Manifest]) -> dict[str, float]:
    """Passages, and passages a second by the clock and by processor time."""
    clock, processor = time.perf_counter(), time.process_time()
    passages = work().counts["passages"]
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    return {"passages": passages, "by_clock": passages / clock, "by_processor": passages / processor}


def asked(index: str, mode: SearchMode, queries: Sequence[Query], embedder: SentenceEmbedder) -> dict[str, float]:
    """Recall, milliseconds of processor time and passages embedded a question."""
    directory = index_path("text", index)
    before, found = count_vectors(directory), []
    with closing(TextSource(directory, embedder)) as source:
        started = time.process_time()
        for query in queries:
            request = Request(query.text, query.text, top_k=DEPTHS[-1], mode=mode)
            evidence = source.retrieve(request, Cancellation()).evidence
            found.append([str(item.locator["passage"]) for item in evidence])
        milliseconds = 1000 * (time.process_time() - started) / len(queries)
    row = {f"recall@{depth}": recall(queries, found, depth) for depth in DEPTHS}
    return row | {"ms": milliseconds, "embedded": (count_vectors(directory) - before) / len(queries)}


def measure(questions: Path, most: int | None, embedder: SentenceEmbedder) -> Iterator[dict[str, Any]]:
    """A row for each state, the words alone first."""
    queries, _ = read_queries(questions, read_passages(index_path("text", "none")))
    known = [query for query in queries if query.kind == "question" and all(query.needed)][:most]
    if not known:
        raise AtomrError("the articles hold the gold pages of no question", hint="Take more of them (--articles).")
    ways: list[tuple[str, str, SearchMode]] = [("words", "none", "words")]
    ways += [(state, state, "hybrid") for state in (*STATES, "filled")]
    for name, index, mode in ways:
        yield {"search": name, "n": len(known)} | asked(index, mode, known, embedder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", nargs=3, metavar=("NAME", "CORPUS", "QUESTIONS"), required=True)
    parser.add_argument("--articles", type=int)
    parser.add_argument("--questions", type=int)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    prepare_threads()
    report = []
    try:
        embedder = SentenceEmbedder(find_embedder(load_settings().embedder))
        for name, corpus, questions in options.set:
            with tempfile.TemporaryDirectory() as folder:
                os.environ["ATOMR_HOME"] = folder
                rates = build_states(Path(corpus), Path(folder), options.articles, embedder)
                rows = list(measure(Path(questions), options.questions, embedder))
            report.append({"set": name, "rates": rates, "rows": rows})
            if not options.json:
                show(name, rates, rows)
    except AtomrError as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(report, indent=1))
    return 0


def show(name: str, rates: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    words, full = rates["words"], rates["full"]
    ratios = [words[by] / full[by] for by in ("by_clock", "by_processor")]
    print(f"{name}: {rates['passages']} passages, {rows[0]['n']} questions; words first against a full build: "
          f"{ratios[0]:.1f} times by the clock ({words['by_clock']:.0f} against {full['by_clock']:.0f} a second), "
          f"{ratios[1]:.1f} times by processor time")  # fmt: skip
    for row in rows:
        print(f"  {row['search']:<7} recall@3/@10 {row['recall@3']:5.1f} /{row['recall@10']:6.1f}   "
              f"{row['ms']:7.1f} ms of processor, {row['embedded']:5.1f} embedded a question", flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
