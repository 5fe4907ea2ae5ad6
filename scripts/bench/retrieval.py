#!/usr/bin/env python3
"""How often the passage that a single hop needs is among the first 3 and 10, by way of searching.

    ATOMR_HOME=DIR scripts/bench/retrieval.py --questions FILE.jsonl --text-index 2wiki [--limit 100] [--json]

A hop is one evidence triple (subject, relation, object) of a question; the query is "subject relation", as Relate asks
it. The passage needed is one of the gold page titled like the subject that holds the object's words; of a page none of
whose passages does (a date written otherwise), any. Hops whose subject titles no gold page are left out and counted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from atomr_local.backbone.threads import prepare_threads
from atomr_local.cancellation import Cancellation
from atomr_local.catalog.starter import find_embedder
from atomr_local.errors import AtomrError
from atomr_local.indexing.embedding import SentenceEmbedder
from atomr_local.indexing.names import base_key, name_key
from atomr_local.indexing.store import index_path, read_manifest
from atomr_local.indexing.text_index import SEARCHED, TABLE, VECTOR, connect
from atomr_local.settings import load_settings
from atomr_local.sources.protocol import Request, Value
from atomr_local.sources.text import TextSource, title_bonus
from atomr_local.tree.nodes import Operator

DEPTH = 10
CANDIDATES = 30
RRF_K = 60

Ranking = Callable[["Hop", bool], list[str]]


@dataclass(frozen=True)
class Hop:
    """`needed`: ids of the passages any of which will do."""

    head: str
    query: str
    needed: frozenset[str]


def read_hops(file: Path, limit: int, passages: dict[str, list[tuple[str, str]]]) -> tuple[list[Hop], int]:
    """The hops of the first `limit` questions, and how many were left out."""
    hops, left_out = [], 0
    with file.open(encoding="utf-8") as stream:
        for _, line in zip(range(limit), stream, strict=False):
            question = json.loads(line)
            for subject, relation, wanted in question["evidences"]:
                needed = needed_passages(question["gold_titles"], subject, wanted, passages)
                if needed:
                    hops.append(Hop(subject, f"{subject} {relation}", needed))
                else:
                    left_out += 1
    return hops, left_out


def needed_passages(
    titles: list[str], subject: str, wanted: str, passages: dict[str, list[tuple[str, str]]]
) -> frozenset[str]:
    found = [item for title in titles if base_key(title) == base_key(subject) for item in passages.get(title, ())]
    key = f" {name_key(wanted)} "
    holding = [identifier for identifier, text in found if key in f" {name_key(text)} "]
    return frozenset(holding or (identifier for identifier, _ in found))


def rankings(table: Any, source: TextSource, embedder: SentenceEmbedder) -> Iterator[tuple[str, Ranking]]:
    def hybrid(hop: Hop, bonus: bool) -> list[str]:
        operator, arguments = (Operator.RELATE, (Value(hop.head),)) if bonus else (None, ())
        found = source.retrieve(Request(hop.query, hop.query, operator, arguments, DEPTH), Cancellation()).evidence
        return [str(item.locator["passage"]) for item in found]

    def ranked(rows: list[dict[str, Any]], hop: Hop, bonus: bool) -> list[str]:
        operator = Operator.RELATE if bonus else None
        scored = [
            (1 / (RRF_K + rank) + title_bonus(row["title"], hop.head, operator), row["id"])
            for rank, row in enumerate(rows, 1)
        ]
        return [identifier for _, identifier in sorted(scored, key=lambda item: -item[0])][:DEPTH]

    def vector(hop: Hop, bonus: bool) -> list[str]:
        search = table.search(embedder.encode([hop.query])[0], vector_column_name=VECTOR).distance_type("cosine")
        return ranked(search.select(["id", "title", "_distance"]).limit(CANDIDATES).to_list(), hop, bonus)

    def full_text(hop: Hop, bonus: bool) -> list[str]:
        from lancedb.query import MatchQuery

        search = table.search(MatchQuery(hop.query, SEARCHED), query_type="fts").select(["id", "title", "_score"])
        return ranked(search.limit(CANDIDATES).to_list(), hop, bonus)

    yield "hybrid", hybrid
    yield "vector", vector
    yield "full-text", full_text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--text-index", required=True)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    prepare_threads()
    try:
        directory = index_path("text", options.text_index)
        read_manifest(directory)
        embedder = SentenceEmbedder(find_embedder(load_settings().embedder))
        source = TextSource.open(directory, embedder)
    except AtomrError as error:
        print(error, file=sys.stderr)
        return 1
    table = connect(directory).open_table(TABLE)
    passages: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in table.to_arrow().select(["id", "title", "text"]).to_pylist():
        passages[row["title"]].append((row["id"], row["text"]))
    hops, left_out = read_hops(options.questions, options.limit, passages)
    if not hops:
        print("no question has a hop whose page is in the index", file=sys.stderr)
        return 1
    print(f"{len(hops)} hops, {left_out} left out", file=sys.stderr)
    report = []
    for name, ranking in rankings(table, source, embedder):
        for bonus in (True, False):
            started = time.perf_counter()
            found = [ranking(hop, bonus) for hop in hops]
            recall = {
                f"recall@{k}": 100
                * sum(not hop.needed.isdisjoint(ids[:k]) for hop, ids in zip(hops, found, strict=True))
                / len(hops)
                for k in (3, DEPTH)
            }
            milliseconds = 1000 * (time.perf_counter() - started) / len(hops)
            report.append({"search": name, "title_bonus": bonus, **recall, "ms_per_hop": milliseconds})
    if options.json:
        print(json.dumps({"hops": len(hops), "left_out": left_out, "runs": report}, indent=1))
        return 0
    print("search     title bonus  recall@3  recall@10  ms per hop")
    for row in report:
        print(
            f"{row['search']:<10} {'yes' if row['title_bonus'] else 'no':<11}  {row['recall@3']:8.1f}  "
            f"{row['recall@10']:9.1f}  {row['ms_per_hop']:10.1f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
