#!/usr/bin/env python3
"""The text source on a large index against LanceDB's own hybrid query on the same table, in one run.

    ATOMR_HOME=DIR scripts/bench/retrieval_speed.py --base 2wiki --base hotpot --questions FILE.jsonl --work DIR2

The index is built once, by the same code as any other, under --work: passages of the base indexes repeated with some of
their words exchanged, their vectors with noise around the real ones (so that it takes minutes), the same each time.
Each question is asked of each way in turn, the vectors of the questions made beforehand: what is timed is searching.

    ours             TextSource.retrieve: 30 of each search, title bonus, redirects, folding
    raw              LanceDB's hybrid query with its RRF reranker: 10 wanted, LanceDB's parameters
    raw, ours'       the same with the text source's: 30 wanted, its probes and refinement
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from atomr_local.errors import AtomrError
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.indexing.store import index_path, read_manifest
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.indexing.text_index.table import SEARCHED, TABLE, VECTOR, connect, nearest
from atomr_local.models.catalog.find import find_embedder
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import Request, Value
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.threads import prepare_threads
from atomr_local.tree.nodes import Operator

NAME = "speed"
EXCHANGED = 0.15  # of the words of a passage
NOISE = 0.6  # length, beside a unit vector
DEPTH = 10
WARM_UP = 20
_NUMBER = re.compile(r" #(\d+): ")

Way = Callable[[dict[str, Any], Any], Any]


class ReplayEmbedder:
    """Gives real vectors with noise for the passages of :func:`write_corpus`, by the number in their titles."""

    def __init__(self, vectors: Any, identity: str) -> None:
        self._vectors = vectors
        self.identity = identity
        self.dimensions = int(vectors.shape[1])
        self.backend = "replayed"

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy as np

        out = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for place, text in enumerate(texts):
            found = _NUMBER.search(text)
            if found is None:
                raise ValueError(f"not of the corpus: {text[:50]}")
            number = int(found[1])
            noise = np.random.default_rng(number).standard_normal(self.dimensions)
            vector = self._vectors[number % len(self._vectors)] + NOISE * noise / np.linalg.norm(noise)
            out[place] = vector / np.linalg.norm(vector)
        return out


class KnownEmbedder:
    """Vectors made beforehand, so that no time is taken for them."""

    def __init__(self, vectors: dict[str, Any], identity: str) -> None:
        self._vectors = vectors
        self.identity = identity
        self.dimensions = len(next(iter(vectors.values())))

    def encode(self, texts: Sequence[str]) -> Any:
        return [self._vectors[text] for text in texts]


def read_base(names: Sequence[str]) -> tuple[list[tuple[str, str]], Any]:
    """Titles and texts of the base indexes' passages, and their vectors, shape (passages, dimensions)."""
    import numpy as np

    texts, vectors = [], []
    for name in names:
        read_manifest(index_path("text", name))
        found = connect(index_path("text", name)).open_table(TABLE).to_arrow().sort_by("id")
        texts += list(zip(found["title"].to_pylist(), found["text"].to_pylist(), strict=True))
        vectors.append(np.stack(found[VECTOR].combine_chunks().to_numpy(zero_copy_only=False)))
    return texts, np.concatenate(vectors)


def write_corpus(file: Path, texts: list[tuple[str, str]], count: int) -> None:
    """Articles of one passage each: the base passages again and again, with other words in some places."""
    words = [text.split() for _, text in texts]
    with file.open("w", encoding="utf-8") as stream:
        for number in range(count):
            chance = random.Random(number)
            title, text = texts[number % len(texts)]
            if number >= len(texts):
                mine = list(words[number % len(texts)])
                for place in range(len(mine)):
                    if chance.random() < EXCHANGED:
                        mine[place] = chance.choice(words[chance.randrange(len(words))] or mine)
                text = " ".join(mine)
            stream.write(json.dumps({"id": str(number), "title": f"{title} #{number}", "text": text}) + "\n")


def build(work: Path, base: Sequence[str], count: int, identity: str) -> float:
    """Build the index under `work` where it is not there; the seconds it took, 0 where it was there."""
    texts, vectors = read_base(base)
    before = os.environ.get("ATOMR_HOME")
    os.environ["ATOMR_HOME"] = str(work)
    try:
        if index_path("text", NAME).exists() and read_manifest(index_path("text", NAME)).counts["articles"] == count:
            return 0.0
        work.mkdir(parents=True, exist_ok=True)
        file = work / "corpus.jsonl"
        write_corpus(file, texts, count)
        started = time.perf_counter()
        build_text_index([file], NAME, embedder=ReplayEmbedder(vectors, identity))
        return time.perf_counter() - started
    finally:
        if before is None:
            del os.environ["ATOMR_HOME"]
        else:
            os.environ["ATOMR_HOME"] = before


def ways(table: Any, source: TextSource) -> Iterator[tuple[str, Way]]:
    """Name and function of each way: question and vector in, rows out."""
    from lancedb.rerankers import RRFReranker

    rows = table.count_rows()

    def ours(question: dict[str, Any], _vector: Any) -> Any:
        text, head = question["question"], question["gold_titles"][0]
        request = Request(text, text, Operator.RELATE, (Value(head),), DEPTH)
        return source.retrieve(request, Cancellation()).evidence

    def hybrid(question: dict[str, Any], vector: Any, limit: int) -> Any:
        return (
            table.search(query_type="hybrid", vector_column_name=VECTOR, fts_columns=[SEARCHED])
            .vector(vector)
            .text(question["question"])
            .distance_type("cosine")
            .rerank(RRFReranker())
            .select(["id", "title", "section", "text", "start", "end"])
            .limit(limit)
        )

    yield "ours", ours
    yield "raw", lambda question, vector: hybrid(question, vector, DEPTH).to_list()
    yield "raw, ours'", lambda question, vector: nearest(hybrid(question, vector, 30), rows).to_list()


def recall(table: Any, vectors: Sequence[Any]) -> float:
    """Share of the ten nearest passages by exact search that the vector index finds, over the questions."""
    rows, hits = table.count_rows(), 0
    for vector in vectors:
        search = [
            table.search(vector, vector_column_name=VECTOR).distance_type("cosine").select(["id", "_distance"])
            for _ in range(2)
        ]
        found = {row["id"] for row in nearest(search[0].limit(DEPTH), rows).to_list()}
        hits += len(found & {row["id"] for row in search[1].limit(DEPTH).bypass_vector_index().to_list()})
    return hits / (DEPTH * len(vectors))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", action="append", required=True, help="text index whose passages are repeated")
    parser.add_argument("--questions", type=Path, action="append", required=True)
    parser.add_argument("--passages", type=int, default=200_000)
    parser.add_argument("--work", type=Path, required=True, help="where the index is built, and found again")
    parser.add_argument("--limit", type=int, default=100, help="questions of each file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    prepare_threads()
    import numpy as np

    try:
        embedder = SentenceEmbedder(find_embedder(load_settings().embedder))
        seconds = build(options.work, options.base, options.passages, embedder.identity)
    except AtomrError as error:
        print(error, file=sys.stderr)
        return 1
    questions = []
    for file in options.questions:
        with file.open(encoding="utf-8") as stream:
            questions += [json.loads(line) for _, line in zip(range(options.limit), stream, strict=False)]
    started = time.perf_counter()
    vectors = {question["question"]: embedder.encode([question["question"]])[0] for question in questions}
    embedding = 1000 * (time.perf_counter() - started) / len(questions)
    os.environ["ATOMR_HOME"] = str(options.work)
    directory, known = index_path("text", NAME), KnownEmbedder(vectors, embedder.identity)
    opened, first = [], []
    for question in questions[:5]:
        started = time.perf_counter()
        source = TextSource(directory, known)
        opened.append(1000 * (time.perf_counter() - started))
        source.retrieve(Request(question["question"], question["question"]), Cancellation())
        first.append(1000 * (time.perf_counter() - started))
        source.close()
    source, table = TextSource(directory, known), connect(directory).open_table(TABLE)
    taken: dict[str, list[float]] = {}
    turns = list(ways(table, source))
    for number in range(-WARM_UP, options.rounds * len(questions)):
        question = questions[number % len(questions)]
        for name, way in turns[number % 3 :] + turns[: number % 3]:
            started = time.perf_counter()
            way(question, vectors[question["question"]])
            if number >= 0:
                taken.setdefault(name, []).append(1000 * (time.perf_counter() - started))
    report = {
        "passages": table.count_rows(),
        "queries": options.rounds * len(questions),
        "ms": {name: {f"p{p}": float(np.percentile(taken[name], p)) for p in (50, 95)} for name, _ in turns},
        "ratio": {
            name: {f"p{p}": float(np.percentile(taken["ours"], p) / np.percentile(taken[name], p)) for p in (50, 95)}
            for name, _ in turns[1:]
        },
        "recall@10": recall(table, list(vectors.values())),
        "open_ms": opened[0],
        "open_again_ms": float(np.median(opened[1:])),
        "open_and_first_query_ms": first[0],
        "embedding_ms": embedding,
        "bytes": read_manifest(directory).bytes,
        "build_s": seconds,
    }
    if options.json:
        print(json.dumps(report, indent=1))
        return 0
    print(f"{report['passages']} passages, {report['queries']} queries; {report['bytes'] / 1e6:.0f} MB on disk")
    for name, _ in turns:
        against = report["ratio"].get(name)
        told = f"; ours is {against['p50']:.2f}x and {against['p95']:.2f}x" if against else ""
        print(f"{name:<12} p50 {report['ms'][name]['p50']:6.1f} ms  p95 {report['ms'][name]['p95']:6.1f} ms{told}")
    print(f"recall@10 of the vector index {report['recall@10']:.4f}; one embedding {embedding:.1f} ms beside it")
    print(f"open {opened[0]:.0f} ms, again {report['open_again_ms']:.0f} ms; open and first query {first[0]:.0f} ms")
    if seconds:
        print(f"built in {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
