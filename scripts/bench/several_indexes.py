#!/usr/bin/env python3
"""What is lost when a corpus is split over several indexes that are searched together.

    scripts/bench/several_indexes.py --set hotpot CORPUS.jsonl QUESTIONS.jsonl [--set ...] [--parts N ...]
        [--questions N] [--json]

For each set one index is built of all articles, with all vectors, and for each N of `--parts` (2) as many indexes,
which get the articles by turns. Each way is asked the whole questions. Recall is the share of a question's gold pages
of which a passage is among the first 3 and 10 (`scripts/bench/retrieval.py`); `without` are the same searches without
the second one for the names found (feedback). `better` and `worse` count the questions that find more or fewer gold
pages among the first 10 than with one index.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parent))

from retrieval import DEPTHS, Query, read_passages, read_queries, recall

from atomr_local.errors import AtomrError
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.indexing.store import index_path
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.models.catalog.find import find_embedder
from atomr_local.settings.schema import load_settings
from atomr_local.sources import several_texts, text
from atomr_local.sources.protocol import KnowledgeSource, Request
from atomr_local.sources.several_texts import SeveralTexts
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.threads import prepare_threads

WHOLE = "whole"


def build(corpus: Path, folder: Path, parts: Sequence[int], embedder: SentenceEmbedder) -> None:
    """Build the one index and those of each number of parts."""
    with corpus.open(encoding="utf-8") as stream:
        lines = list(stream)
    for name, part in [(WHOLE, lines)] + [(f"{n}-{i}", lines[i::n]) for n in parts for i in range(n)]:
        (folder / name).write_text("".join(part), encoding="utf-8")
        build_text_index([folder / name], name, embedder=embedder, vectors="now")


def found_by(source: KnowledgeSource, queries: Sequence[Query], *, feedback: bool) -> list[list[str]]:
    """The passages that each query finds, best first."""
    requests = [Request(query.text, query.text, top_k=DEPTHS[-1]) for query in queries]
    with ExitStack() as patches:
        for module in () if feedback else (text, several_texts):
            patches.enter_context(patch.object(module, "searched_again", lambda _request: False))
        return [
            [str(item.locator["passage"]) for item in source.retrieve(request, Cancellation()).evidence]
            for request in requests
        ]


def opened(parts: int, embedder: SentenceEmbedder) -> KnowledgeSource:
    if parts == 1:
        return TextSource(index_path("text", WHOLE), embedder)
    names = [f"{parts}-{i}" for i in range(parts)]
    return SeveralTexts({name: TextSource(index_path("text", name), embedder) for name in names})


def pages_found(query: Query, passages: Sequence[str]) -> int:
    return sum(bool(needed.intersection(passages)) for needed in query.needed)


def measure(
    questions: Path, most: int | None, parts: Sequence[int], embedder: SentenceEmbedder
) -> Iterator[dict[str, Any]]:
    """A row for each number of indexes, with and without feedback."""
    queries, _ = read_queries(questions, read_passages(index_path("text", WHOLE)))
    known = [query for query in queries if query.kind == "question" and all(query.needed)][:most]
    if not known:
        raise AtomrError("the articles hold the gold pages of no question")
    for feedback in (False, True):
        of_one: list[int] = []
        for number in (1, *parts):
            with closing(opened(number, embedder)) as source:
                found = found_by(source, known, feedback=feedback)
            pages = [pages_found(query, passages) for query, passages in zip(known, found, strict=True)]
            of_one = of_one or pages
            pairs = list(zip(pages, of_one, strict=True))
            yield {
                "indexes": number,
                "feedback": feedback,
                "n": len(known),
                **{f"recall@{depth}": recall(known, found, depth) for depth in DEPTHS},
                "better": sum(mine > one for mine, one in pairs),
                "worse": sum(mine < one for mine, one in pairs),
            }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", nargs=3, metavar=("NAME", "CORPUS", "QUESTIONS"), required=True)
    parser.add_argument("--parts", type=int, nargs="+", default=[2])
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
                build(Path(corpus), Path(folder), options.parts, embedder)
                rows = list(measure(Path(questions), options.questions, options.parts, embedder))
            report.append({"set": name, "rows": rows})
            if not options.json:
                show(name, rows)
    except AtomrError as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(report, indent=1))
    return 0


def show(name: str, rows: Sequence[dict[str, Any]]) -> None:
    print(f"{name}: {rows[0]['n']} questions")
    for row in rows:
        told = "with" if row["feedback"] else "without"
        recalls = f"{row['recall@3']:5.1f} /{row['recall@10']:6.1f}"
        print(f"  {told:<8} indexes {row['indexes']}   recall@3/@10 {recalls}   better {row['better']}, "
              f"worse {row['worse']}", flush=True)  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
