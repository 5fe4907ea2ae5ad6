#!/usr/bin/env python3
"""How far the builds of llama.cpp's CPU backend are apart, and how fast each is, by how weights are stored.

    scripts/bench/rounding.py [--variants zen4 skylakex haswell ivybridge] [--storages Q8_0 F16] [--prompts 12]

Each variant (`llm.cpu_variant`) runs the starter with its adapter over the same texts, one thread, in a process of
its own: it reads prompts, and then the tokens of a fixed plan one by one. Against the first variant: how far the
difference between the two best tokens' log-probabilities moves (root mean square, and the most), in how many places
the best token is another, or "same bits". Tokens a second are of processor time, so that other work disturbs little.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from atomr_local.system import paths

NAMES = ("Hamlet", "Swan Lake", "The Hobbit", "Charles Darwin", "Vertigo", "Marie Curie", "Poland", "Metropolis")
ASKED = (
    "Who directed {}?",
    "When was the mother of the author of {} born?",
    "In which country is the place of birth of the director of {}?",
)
PLAN = (
    "1. Who is the director of the film?\n"
    ' 3. What is it? = Search("{}")\n'
    ' 4. Who directed [3]? = Relate([3], "director")\n'
    '2. When was [1] born? = Relate([1], "date of birth")'
)


def measure(variant: str, storage: Any, prompts: int, out: Path) -> None:
    """Write the logits of every place, and the speed, for one variant."""
    from atomr_local.models.catalog.find import find_adapter, starter_model_path
    from atomr_local.models.gguf import check_model
    from atomr_local.models.llama.chat import ChatEncoder
    from atomr_local.models.llama.engine import Engine, Part, RunOptions, library
    from atomr_local.models.llama.weights import weights_to_run
    from atomr_local.models.templates import render

    library(variant)
    model = starter_model_path()
    options = RunOptions(context_tokens=1024, threads=1, batch_threads=1, storage=storage, cache=paths.cache_dir())
    weights, adapter = weights_to_run(check_model(model), find_adapter("auto", model), options)
    engine = Engine(weights, adapter, options)
    encoder = ChatEncoder(engine, "starter")
    passage = (paths.starter_knowledge_dir() / "articles.jsonl").read_text(encoding="utf-8")[:2000]
    places: list[Any] = []
    times, tokens = [0.0, 0.0], [0, 0]

    def decode(kind: int, added: list[int]) -> None:
        started = time.process_time()
        engine.decode([Part(0, added)], None)
        times[kind] += time.process_time() - started
        tokens[kind] += len(added)
        places.append(engine.logits(-1).copy())

    for number in range(prompts):
        name = NAMES[number % len(NAMES)]
        question = ASKED[number % len(ASKED)].format(name)
        asked = list(
            encoder.encode(render("atomr_local.reasoning.planning", "lean_plan", (), question=question)).tokens
        )
        engine.trim(0, 0)
        decode(0, (engine.tokenize(passage, special=False)[:256] if number % 2 else []) + asked)
        for token in engine.tokenize(PLAN.format(name), special=False):
            decode(1, [token])
    speeds = [count / seconds for count, seconds in zip(tokens, times, strict=True)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    np.savez(out, logits=np.array(places), figures=np.array([*speeds, memory]))
    engine.close()


def gap(logits: Any) -> tuple[Any, Any]:
    """The best tokens, and how far the second best is behind each."""
    best = np.argpartition(logits, -2)[:, -2:]
    rows = np.arange(len(logits))[:, None]
    pair = np.sort(logits[rows, best].astype(np.float64))
    return logits.argmax(-1), pair[:, 1] - pair[:, 0]


def compared(first: Any, other: Any) -> str:
    if np.array_equal(first, other):
        return "same bits | – | –"
    (best, behind), (best_other, behind_other) = gap(first), gap(other)
    moved = np.abs(behind - behind_other)[best == best_other]
    return f"{np.sqrt((moved**2).mean()):.4f} | {moved.max():.3f} | {(best != best_other).sum()} of {len(best)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", nargs="+", default=["zen4", "skylakex", "haswell", "ivybridge"])
    parser.add_argument("--storages", nargs="+", default=["Q8_0", "F16"], choices=["Q8_0", "F16", "Q4_0"])
    parser.add_argument("--prompts", type=int, default=12)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        measure(given.variants[0], given.storages[0], given.prompts, given.one)
        return 0
    print("| weights | variant | gap moves by (rms) | at most | best token differs | read/s | written/s | MB |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for storage in given.storages:
            first = None
            for variant in given.variants:
                out = Path(folder) / f"{storage}-{variant}.npz"
                command = [sys.executable, __file__, "--one", str(out), "--variants", variant]
                command += ["--storages", storage, "--prompts", str(given.prompts)]
                subprocess.run(command, check=True, env=os.environ)
                with np.load(out) as made:
                    logits, figures = made["logits"], made["figures"]
                first = logits if first is None else first
                told = "– | – | –" if first is logits else compared(first, logits)
                print(
                    f"| {storage} | {variant} | {told} | {' | '.join(f'{value:.0f}' for value in figures)} |",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    except KeyboardInterrupt:
        sys.exit(130)
