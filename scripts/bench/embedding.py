"""The embedder's runtimes against sentence-transformers' default, on the same passages, in one run.

    python scripts/bench/embedding.py --corpus corpus.jsonl --questions questions.jsonl

Each runtime works in a process of its own; the processes take turns, round by round, so that other load on the machine
meets all of them, and the best round of each is compared. Agreement is with the vectors of sentence-transformers: mean
cosine over the passages, and how many of the ten nearest passages of each question are the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PASSAGE_WORDS = 120
NEAREST = 10
DEFAULT = "sentence-transformers"
RUNTIMES = (DEFAULT, "torch", "onnxruntime", "auto")


def read_texts(file: Path, key: str, limit: int) -> list[str]:
    """Texts spread evenly over the file: passages with their title in front, or questions."""
    with file.open(encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    rows = rows[:: max(1, len(rows) // limit)][:limit]
    if key == "question":
        return [row["question"] for row in rows]
    return [f"{row['title']}: {' '.join(row['text'].split()[:PASSAGE_WORDS])}" for row in rows]


def work(runtime: str, job: Path) -> None:
    """Measure one runtime in this fresh process; answers on standard output, vectors beside the job."""
    started = time.perf_counter()
    texts = json.loads(job.read_text(encoding="utf-8"))
    from atomr_local.models.catalog.find import find_embedder
    from atomr_local.system.threads import prepare_threads

    directory = find_embedder(texts["embedder"])
    encode, backend = _plain(directory) if runtime == DEFAULT else _ours(directory, runtime, prepare_threads)
    encode(texts["questions"][:1])
    first_query = time.perf_counter() - started
    import numpy as np

    started = time.perf_counter()
    passages = np.asarray(encode(texts["passages"]))
    rate = len(passages) / (time.perf_counter() - started)
    questions, seconds = [], []
    for question in texts["questions"]:
        started = time.perf_counter()
        questions.append(np.asarray(encode([question]))[0])
        seconds.append(time.perf_counter() - started)
    np.savez(job.with_name(f"{runtime}.npz"), passages=passages, questions=np.array(questions))
    found = {
        "backend": backend,
        "first_query_s": first_query,
        "passages_per_s": rate,
        "query_p50_ms": 1000 * float(np.median(seconds)),
        "loads_torch": "torch" in sys.modules,
    }
    print(json.dumps(found))


def _plain(directory: Path) -> tuple[Any, str]:
    """As the library's own manual uses it, nothing set but the offline switch."""
    import os

    os.environ["HF_HUB_OFFLINE"] = "1"
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(directory), device="cpu")
    return lambda texts: model.encode(texts, normalize_embeddings=True, show_progress_bar=False), "its default"


def _ours(directory: Path, runtime: str, prepare_threads: Any) -> tuple[Any, str]:
    prepare_threads()
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder

    embedder = SentenceEmbedder(directory, runtime=runtime)  # type: ignore[arg-type]
    return embedder.encode, embedder.backend


def agreement(folder: Path, runtime: str) -> dict[str, float]:
    """Mean and least cosine to the default's vectors, and how much of its nearest passages are found."""
    import numpy as np

    with np.load(folder / f"{DEFAULT}.npz") as file:
        wanted = dict(file)
    with np.load(folder / f"{runtime}.npz") as file:
        got = dict(file)
    cosines = (wanted["passages"] * got["passages"]).sum(axis=1)
    first, second = (np.argsort(-(v["questions"] @ v["passages"].T), axis=1)[:, :NEAREST] for v in (wanted, got))
    same = [len(set(a) & set(b)) / NEAREST for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    return {
        "mean_cosine": float(cosines.mean()),
        "least_cosine": float(cosines.min()),
        "recall@10": float(np.mean(same)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="JSON lines with title and text")
    parser.add_argument("--questions", type=Path, help="JSON lines with question")
    parser.add_argument("--embedder", default="starter")
    parser.add_argument("--passages", type=int, default=300)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runtimes", nargs="+", choices=RUNTIMES, default=[DEFAULT, "onnxruntime"])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", nargs=2, metavar=("RUNTIME", "JOB"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work[0], Path(options.work[1]))
        return 0
    if options.corpus is None or options.questions is None:
        parser.error("--corpus and --questions are needed")
    runtimes = list(dict.fromkeys([DEFAULT, *options.runtimes]))
    rounds: dict[str, list[dict[str, Any]]] = {runtime: [] for runtime in runtimes}
    with tempfile.TemporaryDirectory() as name:
        job = Path(name) / "job.json"
        texts = {
            "embedder": options.embedder,
            "passages": read_texts(options.corpus, "passage", options.passages),
            "questions": read_texts(options.questions, "question", options.queries),
        }
        job.write_text(json.dumps(texts), encoding="utf-8")
        for _ in range(options.rounds):
            for runtime in runtimes:
                command = [sys.executable, __file__, "--work", runtime, str(job)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{runtime}: {done.stderr.strip()[-500:]}", file=sys.stderr)
                    return 1
                rounds[runtime].append(json.loads(done.stdout.splitlines()[-1]))
        report = {runtime: _best(found) | agreement(job.parent, runtime) for runtime, found in rounds.items()}
    if options.json:
        print(json.dumps({"passages": len(texts["passages"]), "queries": len(texts["questions"]), **report}, indent=1))
        return 0
    print(
        "runtime                passages/s         query p50 ms       first query s      mean cosine  recall@10  torch"
    )
    base = report[DEFAULT]
    for runtime, row in report.items():
        columns = [
            f"{row[key]:8.2f} ({row[key] / base[key]:5.2f}x)"
            for key in ("passages_per_s", "query_p50_ms", "first_query_s")
        ]
        told = f"{row['mean_cosine']:11.6f}  {row['recall@10']:9.4f}  {'yes' if row['loads_torch'] else 'no'}"
        print(f"{runtime:<22} {'  '.join(columns)}  {told}   {row['backend']}")
    return 0


def _best(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    best = dict(rounds[0])
    for key, choose in (("passages_per_s", max), ("query_p50_ms", min), ("first_query_s", min)):
        best[key] = choose(row[key] for row in rounds)
    return best


if __name__ == "__main__":
    sys.exit(main())
