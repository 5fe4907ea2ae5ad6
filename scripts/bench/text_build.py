#!/usr/bin/env python3
"""What a text build costs beside its embedder, and whether its memory grows with the input.

    scripts/bench/text_build.py speed --corpus ../shared/data/qa/musique_train100_corpus.jsonl [--passages 1000]
    scripts/bench/text_build.py memory --corpus ../shared/data/qa/musique_train100_corpus.jsonl [--sizes 50000 200000]

`speed` builds an index and embeds the same passages with the bare embedder, in the same blocks, by turns in one
process; the best round of each counts. Where other programs load the machine, the ratios by processor time and the
share of time within the embedder are the ones to go by. `memory` builds an index of each size in a
process of its own: real passages repeated with variation, their vectors real embeddings with noise, the same at every
run; it tells the peak of resident memory while passages are written, and while the indexes are made. Linux only.

Where the corpus is absent this says so and ends with status 0.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

SEED = 2026
REAL = 300  # passages embedded in earnest for `memory`; the others are made around them
NOISE = 0.35  # length of the noise beside a unit vector: cosine about 0.94


def articles(corpus: Path) -> Iterator[dict[str, Any]]:
    with corpus.open(encoding="utf-8") as stream:
        yield from map(json.loads, stream)


class Timed:
    """An embedder, with the seconds spent in it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.identity, self.dimensions, self.backend = inner.identity, inner.dimensions, inner.backend
        self.seconds = 0.0

    def encode(self, texts: Sequence[str]) -> Any:
        began = time.perf_counter()
        vectors = self._inner.encode(texts)
        self.seconds += time.perf_counter() - began
        return vectors


def speed(corpus: Path, wanted: int, rounds: int) -> None:
    from atomr_local.indexing import store
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.indexing.text_index.build import BATCH
    from atomr_local.indexing.text_index.index import build_text_index
    from atomr_local.indexing.text_index.shards import encode_all
    from atomr_local.indexing.text_index.table import SEARCHED, TABLE, connect
    from atomr_local.models.catalog.find import find_embedder
    from atomr_local.system.threads import prepare_threads

    prepare_threads()
    embedder = SentenceEmbedder(find_embedder("starter"))
    embedder.encode(["warm"])
    builds, bare, shares = [], [], []
    with tempfile.TemporaryDirectory() as home:
        os.environ["ATOMR_HOME"] = home
        texts: list[str] = []
        for number in range(rounds):
            timed = Timed(embedder)
            began, processor = time.perf_counter(), time.process_time()
            build_text_index([corpus], f"round{number}", embedder=timed, limit=wanted)
            whole = time.perf_counter() - began
            builds.append((whole, time.process_time() - processor))
            shares.append(timed.seconds / whole)
            if not texts:
                table = connect(store.index_path("text", "round0")).open_table(TABLE)
                texts = table.to_arrow()[SEARCHED].to_pylist()
            began, processor = time.perf_counter(), time.process_time()
            for i in range(0, len(texts), BATCH):
                encode_all(embedder, texts[i : i + BATCH])
            bare.append((time.perf_counter() - began, time.process_time() - processor))
    print(f"{len(texts)} passages, {rounds} rounds, {embedder.backend}")
    for row, what in enumerate(("by the clock", "by processor time")):
        build, alone = (len(texts) / min(pair[row] for pair in pairs) for pairs in (builds, bare))
        print(
            f"{what}: bare embedder {alone:.1f} passages/s, whole build {build:.1f} passages/s, "
            f"ratio {build / alone:.3f}"
        )
    print(f"share of the build's time spent in the embedder: {', '.join(f'{share:.3f}' for share in shares)}")


class Around:
    """Vectors near those of real passages: the number in a title says which, and seeds the noise."""

    identity = "bench:around"

    def __init__(self, vectors: Any) -> None:
        self._vectors = vectors
        self.dimensions = int(vectors.shape[1])

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy as np

        found = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            match = re.match(r"#(\d+)", text)
            number = int(match[1]) if match else 0
            noise = np.random.default_rng(number).standard_normal(self.dimensions, dtype=np.float32)
            found[row] = self._vectors[number % len(self._vectors)] + NOISE * noise / np.linalg.norm(noise)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def write_input(corpus: Path, file: Path, size: int) -> None:
    """As many articles of one passage each: real ones, some of the words of each exchanged."""
    chance = random.Random(SEED)
    real = [" ".join(row["text"].split()[:110]) for row, _ in zip(articles(corpus), range(REAL), strict=False)]
    words = sorted({word for text in real for word in text.split()})
    with file.open("w", encoding="utf-8") as stream:
        for number in range(size):
            text = real[number % len(real)].split()
            for _ in range(len(text) // 5):
                text[chance.randrange(len(text))] = chance.choice(words)
            row = {"id": str(number), "title": f"#{number}", "text": " ".join(text)}
            stream.write(json.dumps(row) + "\n")


def peak() -> float:
    """Of this process's resident memory so far, MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) * 1024 / 1e6


def build_one(file: Path, vectors: Path) -> None:
    """In a process of its own: build, and print the peaks as JSON."""
    import numpy as np

    from atomr_local.indexing.text_index.build import TextBuildProgress
    from atomr_local.indexing.text_index.index import build_text_index

    found: dict[str, float] = {}

    def note(state: TextBuildProgress) -> None:
        found.setdefault(f"first {state.stage}", peak())

    began = time.perf_counter()
    manifest = build_text_index([file], "bench", embedder=Around(np.load(vectors)), vectors="now", progress=note)
    report = {
        "passages": manifest.counts["passages"],
        "begun": found["first embedding"],
        "written": found["first indexing"],
        "indexed": peak(),
        "seconds": time.perf_counter() - began,
        "bytes": manifest.bytes,
        "vector_index": manifest.settings["vector_index"],
    }
    print(json.dumps(report))


def memory(corpus: Path, sizes: list[int]) -> int:
    import numpy as np

    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.models.catalog.find import find_embedder

    with tempfile.TemporaryDirectory() as home:
        vectors = Path(home) / "vectors.npy"
        real = [row["text"] for row, _ in zip(articles(corpus), range(REAL), strict=False)]
        np.save(vectors, SentenceEmbedder(find_embedder("starter")).encode(real))
        print("passages  peak MB: first passages  all written  indexed   seconds   MB on disk  vector index")
        for size in sizes:
            file = Path(home) / f"{size}.jsonl"
            write_input(corpus, file, size)
            command = [sys.executable, __file__, "build", str(file), str(vectors)]
            environment = os.environ | {"ATOMR_HOME": str(Path(home) / str(size))}
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            if done.returncode:
                print(done.stderr.strip()[-1000:], file=sys.stderr)
                return 1
            row = json.loads(done.stdout.splitlines()[-1])
            print(
                f"{row['passages']:8} {row['begun']:24.0f} {row['written']:12.0f} {row['indexed']:8.0f}"
                f" {row['seconds']:9.0f} {row['bytes'] / 1e6:12.0f}  {row['vector_index']}",
                flush=True,
            )
            file.unlink()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("speed", "memory"):
        command = commands.add_parser(name)
        command.add_argument("--corpus", type=Path, required=True, help="JSON lines with id, title and text")
    commands.choices["speed"].add_argument("--passages", type=int, default=1000, help="articles to take")
    commands.choices["speed"].add_argument("--rounds", type=int, default=3)
    commands.choices["memory"].add_argument("--sizes", type=int, nargs="+", default=[50_000, 200_000])
    inner = commands.add_parser("build")
    inner.add_argument("file", type=Path)
    inner.add_argument("vectors", type=Path)
    options = parser.parse_args()
    if options.command == "build":
        build_one(options.file, options.vectors)
        return 0
    if not options.corpus.is_file():
        print(f"skipped: {options.corpus} is not here", file=sys.stderr)
        return 0
    if options.command == "speed":
        speed(options.corpus, options.passages, options.rounds)
        return 0
    return memory(options.corpus, options.sizes)


if __name__ == "__main__":
    sys.exit(main())
