#!/usr/bin/env python3
"""How often the gold passages are among the first 3 and 10, by way of searching.

    ATOMR_HOME=DIR scripts/bench/retrieval.py --set 2wiki FILE.jsonl INDEX [--set NAME FILE INDEX ...] [--reranker DIR]

Two kinds of queries. `question`: the whole question, as direct RAG asks it; recall is the share of the question's gold
pages of which a passage is found. `hop`: one step of a gold chain, as Relate asks it. 2WikiMultiHopQA: an evidence
triple (subject, relation, object), the query is "subject relation"; the passage needed is one of the gold page titled
like the subject that holds the object's words, any of the page where none does (a date written otherwise). MuSiQue: a
question of the decomposition, references filled in; the passage needed is one of a gold page that holds the answer.
HotpotQA has no chains. Hops whose passage is not in the index are left out and counted.

Figures are given for all, for the first four fifths (what may be tuned on) and for the last fifth of each set, which
`--last-fifth` asks alone; time for a query, also as a multiple of the hybrid search's in the same run. A cross-encoder
to measure: `scripts/train_reranker.py`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.errors import AtomrError
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.indexing.store import index_path, read_manifest
from atomr_local.indexing.text_index.table import SEARCHED, TABLE, VECTOR, connect
from atomr_local.language.names import base_key, name_key
from atomr_local.models.catalog.find import find_embedder
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import Request, Value
from atomr_local.sources.reranking import CrossEncoderReranker
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.threads import prepare_threads
from atomr_local.tree.nodes import Operator

DEPTHS = (3, 10)
LAST_FIFTH = 0.8  # where it begins
_WORD = re.compile(r"\w+")
Passages = dict[str, list[tuple[str, str]]]
Ranking = Callable[["Query"], list[str]]


@dataclass(frozen=True)
class Query:
    """`needed`: sets of passage ids; recall is the share of the sets of which one is found.

    `place` is where its question stands in the set, 0 to 1; `head` the entity that it is about, where there is one.
    """

    kind: str
    place: float
    text: str
    needed: tuple[frozenset[str], ...]
    head: str = ""


def read_passages(directory: Path) -> Passages:
    """The ids and texts of the passages of each title. Raises KnowledgeIndexError for what is no index."""
    read_manifest(directory)
    passages: Passages = defaultdict(list)
    for row in connect(directory).open_table(TABLE).to_arrow().select(["id", "title", "text"]).to_pylist():
        passages[row["title"]].append((row["id"], row["text"]))
    return passages


def read_queries(file: Path, passages: Passages) -> tuple[list[Query], int]:
    """The queries of a question file, and how many hops were left out."""
    with file.open(encoding="utf-8") as stream:
        questions = [json.loads(line) for line in stream]
    queries, left_out = [], 0
    for number, question in enumerate(questions):
        place, titles = number / len(questions), question["gold_titles"]
        needed = tuple(frozenset(identifier for identifier, _ in passages.get(title, ())) for title in titles)
        queries.append(Query("question", place, question["question"], needed))
        for head, text, found in hops(question, passages):
            left_out += not found
            queries += [Query("hop", place, text, (found,), head)] if found else []
    return queries, left_out


def hops(question: dict[str, Any], passages: Passages) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Head, query and needed passages of each step of the gold chain."""
    titles = question["gold_titles"]
    for subject, relation, wanted in question.get("evidences") or ():
        pages = [title for title in titles if base_key(title) == base_key(subject)]
        yield subject, f"{subject} {relation}", holding(pages, wanted, passages) or every(pages, passages)
    steps = question.get("decomposition") or ()
    for step in steps:
        text = re.sub(r"#(\d+)", lambda match: steps[int(match[1]) - 1]["answer"], step["question"])
        head, arrow, relation = text.partition(">>")
        text = f"{head.strip()} {relation.strip()}" if arrow else text
        yield head.strip() if arrow else "", text, holding(titles, step["answer"], passages)


def holding(titles: Sequence[str], wanted: str, passages: Passages) -> frozenset[str]:
    key = f" {name_key(wanted)} "
    found = (item for title in titles for item in passages.get(title, ()))
    return frozenset(identifier for identifier, text in found if key in f" {name_key(text)} ")


def every(titles: Sequence[str], passages: Passages) -> frozenset[str]:
    return frozenset(identifier for title in titles for identifier, _ in passages.get(title, ()))


def rankings(
    directory: Path, embedder: SentenceEmbedder, reranker: CrossEncoderReranker | None
) -> Iterator[tuple[str, Ranking]]:
    """Name and function of each way: query in, ids of its ten best passages out.

    `hybrid` and `reranked` are the text source, folding and all; `default` also knows the hop's head, as a Relate does.
    """
    table = connect(directory).open_table(TABLE)

    def vector(query: Query) -> list[str]:
        search = table.search(embedder.encode([query.text])[0], vector_column_name=VECTOR).distance_type("cosine")
        found = search.select(["id", "_distance"]).bypass_vector_index().limit(DEPTHS[-1]).to_list()
        return [row["id"] for row in found]

    def full_text(query: Query) -> list[str]:
        from lancedb.query import MatchQuery

        search = table.search(MatchQuery(" ".join(_WORD.findall(query.text)), SEARCHED), query_type="fts")
        return [row["id"] for row in search.select(["id", "_score"]).limit(DEPTHS[-1]).to_list()]

    def by(source: TextSource, with_head: bool) -> Ranking:
        def ranking(query: Query) -> list[str]:
            operator = Operator.RELATE if with_head and query.head else None
            arguments = (Value(query.head),) if query.head else ()
            request = Request(query.text, query.text, operator, arguments, DEPTHS[-1])
            return [str(item.locator["passage"]) for item in source.retrieve(request, Cancellation()).evidence]

        return ranking

    source = TextSource(directory, embedder)
    yield "vector", vector
    yield "full-text", full_text
    yield "hybrid", by(source, False)
    yield "default", by(source, True)
    if reranker is not None:
        yield "reranked", by(TextSource(directory, embedder, reranker=reranker), True)


def recall(queries: Sequence[Query], found: Sequence[list[str]], depth: int) -> float:
    """Mean share of what is needed that is among the first `depth`, in %."""
    shares = [
        sum(not some.isdisjoint(ids[:depth]) for some in query.needed) / len(query.needed)
        for query, ids in zip(queries, found, strict=True)
    ]
    return 100 * sum(shares) / len(shares) if shares else float("nan")


def measure(
    name: str,
    file: Path,
    index: str,
    embedder: SentenceEmbedder,
    reranker: CrossEncoderReranker | None,
    *,
    last_fifth: bool = False,
) -> Iterator[dict[str, Any]]:
    """A row for each kind of query and way of searching.

    `ms` is the time of a query, `times_hybrid` the same over the hybrid's (None before that was measured).

    Args:
        last_fifth: ask no other questions.
    """
    directory = index_path("text", index)
    passages = read_passages(directory)
    queries, left_out = read_queries(file, passages)
    if last_fifth:
        queries = [query for query in queries if query.place >= LAST_FIFTH]
    hybrid: dict[str, float] = {}
    for way, ranking in rankings(directory, embedder, reranker):
        for kind in ("question", "hop"):
            asked = [query for query in queries if query.kind == kind]
            if not asked or (kind == "question" and way == "default"):
                continue  # without a head it is the hybrid
            ranking(asked[0])  # loads what is loaded at the first query
            started = time.perf_counter()
            found = [ranking(query) for query in asked]
            milliseconds = 1000 * (time.perf_counter() - started) / len(asked)
            if way == "hybrid":
                hybrid[kind] = milliseconds
            row: dict[str, Any] = {"set": name, "query": kind, "n": len(asked), "search": way, "ms": milliseconds}
            row["times_hybrid"] = milliseconds / hybrid[kind] if kind in hybrid else None
            if kind == "hop":
                row["left_out"] = left_out
            for part, low, high in (("all", 0.0, 1.0), ("first", 0.0, LAST_FIFTH), ("last", LAST_FIFTH, 1.0)):
                chosen = [i for i, query in enumerate(asked) if low <= query.place < high]
                for depth in DEPTHS:
                    row[f"recall@{depth}_{part}"] = recall(
                        [asked[i] for i in chosen], [found[i] for i in chosen], depth
                    )
            yield row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", nargs=3, metavar=("NAME", "FILE", "INDEX"), required=True)
    parser.add_argument("--reranker", type=Path, help="directory of a cross-encoder, measured too")
    parser.add_argument("--last-fifth", action="store_true", help="ask only the last fifth of each set")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    prepare_threads()
    report = []
    if not options.json:
        head = "set        query      n    search     recall@3/@10: all         first four fifths  last fifth"
        print(f"{head}     ms  to hybrid")
    try:
        embedder = SentenceEmbedder(find_embedder(load_settings().embedder))
        reranker = CrossEncoderReranker(options.reranker) if options.reranker else None
        for name, file, index in options.set:
            for row in measure(name, Path(file), index, embedder, reranker, last_fifth=options.last_fifth):
                report.append(row)
                if options.json:
                    continue
                parts = [f"{row[f'recall@3_{p}']:5.1f} /{row[f'recall@10_{p}']:6.1f}" for p in ("all", "first", "last")]
                told = f"{name:<10} {row['query']:<8} {row['n']:>4}  {row['search']:<20}"
                times = f"{row['times_hybrid']:6.1f}" if row["times_hybrid"] else ""
                print(f"{told} {'     '.join(parts)} {row['ms']:6.1f} {times}", flush=True)
    except AtomrError as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
