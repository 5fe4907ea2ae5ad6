"""Measure the in-process backbone on this machine.

    python scripts/bench/backbone.py threads --busy 1      prefill and decode by threads and way of waiting
    python scripts/bench/backbone.py prefix grammar overhead --json
    python scripts/bench/backbone.py weights batch         the adapter merged and stored anew; calls side by side

Every figure is the best of --repeat runs, as disturbances only ever slow one down. Compare ratios on a busy machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from atomr_local.models.catalog.find import find_model
from atomr_local.models.protocol import Generation, GenerationRequest, Grammar, Message, Prompt
from atomr_local.system.threads import SPIN_COUNT, available_cores

Row = dict[str, Any]

SYSTEM = "You answer from the passages only, in a few words, and say Unknown when they do not tell. " * 8
PASSAGES = " ".join(f"Passage {n}: item {n} is kept in room {n * 7 % 13}, which is painted red." for n in range(12))
WAITING: dict[str, dict[str, str]] = {
    "bounded": {"GOMP_SPINCOUNT": str(SPIN_COUNT)},
    "active": {"OMP_WAIT_POLICY": "active"},
    "passive": {"OMP_WAIT_POLICY": "passive"},
    "default": {},
}


def prompt(question: str, system: str = SYSTEM) -> Prompt:
    return Prompt((Message("system", system),), (Message("user", f"{PASSAGES}\n{question}"),))


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def seconds_per_token(
    backbone: Any, tokens: int, rules: str | None = None, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, str]:
    """While generating: from the first fragment to the last; and the text."""
    times: list[float] = []
    done: Generation = backbone.generate(
        GenerationRequest(
            prompt("Tell me about every room, at length."),
            max_tokens=tokens,
            output=None if rules is None else Grammar(rules),
            on_text=lambda _: times.append(clock()),
        )
    )
    return (times[-1] - times[0]) / (len(times) - 1), done.text


@contextlib.contextmanager
def load(
    arguments: argparse.Namespace, threads: int = 0, model: Path | None = None, adapter: Path | None = None
) -> Iterator[Any]:
    from atomr_local.models.llama import LlamaBackbone, RunOptions

    model = model or find_model(arguments.model)
    backbone = LlamaBackbone.load(
        model, adapter, RunOptions(context_tokens=2048, threads=threads, batch_threads=threads)
    )
    try:
        yield backbone
    finally:
        backbone.close()


def rates(backbone: Any) -> tuple[float, float]:
    """Tokens per second, reading a prompt that is not known and writing."""
    backbone._scheduler.forget()
    first: Generation = backbone.generate(GenerationRequest(prompt("Go on."), max_tokens=1))
    token, _ = seconds_per_token(backbone, 33)
    return first.evaluated_tokens / first.seconds, 1 / token


def speed(arguments: argparse.Namespace) -> Row:
    """Tokens per second, in this process, with the threads given."""
    prefill, decode = 0.0, 0.0
    with load(arguments, arguments.threads) as backbone:
        for _ in range(arguments.repeat):
            reading, writing = rates(backbone)
            prefill, decode = max(prefill, reading), max(decode, writing)
    return {"prefill_tokens_per_s": round(prefill, 1), "decode_tokens_per_s": round(decode, 1)}


def threads(arguments: argparse.Namespace) -> list[Row]:
    """How threads wait is fixed when the library is loaded: a process for each combination."""
    rows = []
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.busy)]
    try:
        for count in sorted({1, max(1, available_cores() // 2), available_cores()}):
            for waiting, variables in WAITING.items():
                kept = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_"))}
                # An empty policy keeps prepare_threads from choosing, and leaves OpenMP its own default.
                extra = variables or {"OMP_WAIT_POLICY": ""}
                command = [sys.executable, __file__, "speed", "--json", "--threads", str(count)]
                command += ["--repeat", str(arguments.repeat), "--model", arguments.model]
                done = subprocess.run(command, env={**kept, **extra}, capture_output=True, text=True, check=True)
                [figures] = json.loads(done.stdout)["speed"]
                rows.append({"threads": count, "waiting": waiting, "busy": arguments.busy, **figures})
    finally:
        for process in busy:
            process.kill()
    return rows


def prefix(arguments: argparse.Namespace) -> list[Row]:
    """The same prompts cold and with what the cache has."""
    best: dict[str, tuple[float, int]] = {}
    other = "You break a question into steps, one on each line, each a search or a relation. " * 8
    with load(arguments) as backbone:
        for _ in range(arguments.repeat):
            backbone._scheduler.forget()
            for name, asked in (
                ("cold", prompt("Where is item 3?")),
                ("same prompt", prompt("Where is item 3?")),
                ("another kind, cold", prompt("Where is item 4?", other)),
                ("back to the first kind", prompt("Where is item 5?")),
            ):
                completion: Generation = backbone.generate(GenerationRequest(asked, max_tokens=1))
                figures = (completion.seconds, completion.evaluated_tokens)
                best[name] = min(best.get(name, figures), figures)
    cold = best["cold"][0]
    return [
        {"prompt": name, "evaluated_tokens": count, "ms": round(taken * 1000, 1), "of_cold": round(taken / cold, 3)}
        for name, (taken, count) in best.items()
    ]


def grammar(arguments: argparse.Namespace) -> list[Row]:
    """A token under a grammar: none, asked about the sampled token first, applied to every token.

    Processor time on one thread, which other processes do not disturb.
    """
    from atomr_local.models.llama import scheduler as sampling

    text = r'root ::= "{\"place\": \"" [A-Za-z0-9 ]{1,60} "\"}"'
    lazy_draw = sampling.Sampler._draw

    def masked(self: Any, logits: Any) -> int:
        if self._grammar is None:
            return lazy_draw(self, logits)
        allowed = self._grammar.allowed(self._np.arange(len(logits)))
        return int(self._np.where(allowed, logits, -self._np.inf).argmax())

    taken: dict[str, float] = {}
    outputs: dict[str, str] = {}
    with load(arguments, threads=1) as backbone:
        for name, rules, draw in (("none", None, lazy_draw), ("lazy", text, lazy_draw), ("full", text, masked)):
            try:
                sampling.Sampler._draw = draw  # type: ignore[method-assign]
                for _ in range(arguments.repeat):
                    each, outputs[name] = seconds_per_token(backbone, 25, rules, time.process_time)
                    taken[name] = min(taken.get(name, each), each)
            finally:
                sampling.Sampler._draw = lazy_draw  # type: ignore[method-assign]
    return [
        {
            "grammar": name,
            "processor_ms_per_token": round(each * 1000, 2),
            "of_none": round(each / taken["none"], 2),
            "output_of_full": outputs[name] == outputs["full"],
        }
        for name, each in taken.items()
    ]


def overhead(arguments: argparse.Namespace) -> list[Row]:
    """The same greedy answer from the library's own high-level class."""
    from atomr_local.models.llama.engine import BATCH_TOKENS
    from atomr_local.models.llama.engine import library as load_library
    from atomr_local.models.llama.prefix_cache import GRID_TOKENS

    question = prompt("Which room is item 3 in?")
    messages = [{"role": message.role, "content": message.content} for message in question.messages]
    count = available_cores()
    raw = load_library().Llama(
        str(find_model(arguments.model)), n_ctx=2048, n_threads=count, n_threads_batch=count, verbose=False
    )
    ours = theirs = float("inf")
    whole = Prompt((), question.messages)  # no static part, one batch: what the library does too
    with load(arguments) as backbone:

        def cold(grid: int, asked: Prompt) -> str:
            backbone._scheduler.forget(grid)
            completion: Generation = backbone.generate(GenerationRequest(asked, max_tokens=32))
            return completion.text

        def library() -> str:
            raw.reset()
            raw._ctx.kv_cache_clear()
            answer = raw.create_chat_completion(messages, max_tokens=32, temperature=0)
            return str(answer["choices"][0]["message"]["content"])

        same = cold(BATCH_TOKENS, whole) == library()
        for _ in range(arguments.repeat):  # in turns: whatever else runs disturbs both
            ours = min(ours, seconds(lambda: cold(GRID_TOKENS, question)))
            theirs = min(theirs, seconds(library))
    return [
        {"implementation": "llama_cpp.Llama", "ms": round(theirs * 1000, 1), "ratio": 1.0, "same_output": True},
        {
            "implementation": "LlamaBackbone",
            "ms": round(ours * 1000, 1),
            "ratio": round(ours / theirs, 3),
            "same_output": same,
        },
    ]


QUESTIONS = (
    "Where was the director of the film Metropolis born?",
    "Which film came out earlier, Metropolis or Vertigo?",
    "Who is the mother of the performer of Yesterday?",
    "Are the directors of Jaws and Psycho from the same country?",
)


def draft(arguments: argparse.Namespace) -> list[Row]:
    """Plans with and without prompt lookup decoding: seconds, and whether the words are the same."""
    from atomr_local.models.catalog.find import adapter_card, find_adapter
    from atomr_local.models.llama import LlamaBackbone, RunOptions
    from atomr_local.models.templates import Style
    from atomr_local.reasoning.planning.examples import ExampleLibrary
    from atomr_local.reasoning.planning.planner import Planner
    from atomr_local.tree.validation import Limits

    model = find_model(arguments.model)
    adapter = find_adapter("auto", model)
    card = adapter_card(adapter) if adapter is not None else {}
    style: Style = "lean" if card.get("prompts") == "lean" else "full"
    taken: dict[str, float] = {}
    plans: dict[str, list[str]] = {}
    generated: dict[str, int] = {}
    for _ in range(arguments.repeat):
        for name, speculative in (("one by one", False), ("drafted", True)):
            backbone = LlamaBackbone.load(model, adapter, RunOptions(context_tokens=2048, speculative=speculative))
            planner = Planner(backbone, ExampleLibrary.shipped(), Limits(), style=style)
            planner.plan("Who wrote Hamlet?")  # what is done once is not counted
            made: list[Generation] = []
            total, plans[name] = 0.0, []
            for question in QUESTIONS:
                backbone._scheduler.forget()
                started = time.perf_counter()
                plans[name].append(planner.plan(question, on_call=lambda _, done: made.append(done)).compact)  # noqa: B023
                total += time.perf_counter() - started
            backbone.close()
            generated[name] = sum(done.generated_tokens for done in made)
            taken[name] = min(taken.get(name, total), total)
    return [
        {
            "decoding": name,
            "generated_tokens": generated[name],
            "s": round(total, 2),
            "of_one_by_one": round(total / taken["one by one"], 2),
            "same_plans": plans[name] == plans["one by one"],
        }
        for name, total in taken.items()
    ]


def weights(arguments: argparse.Namespace) -> list[Row]:
    """The model with its adapter: the file and the adapter applied while it runs, against prepared weights."""
    from atomr_local.models.catalog.find import find_adapter
    from atomr_local.models.gguf import check_model
    from atomr_local.models.llama.engine import Storage
    from atomr_local.models.llama.weights import prepare

    model = find_model(arguments.model)
    adapter = find_adapter("auto", model)
    header = check_model(model)
    best: dict[str, tuple[float, float]] = {}
    preparing = {"file": 0.0}
    storages: tuple[Storage, ...] = ("Q8_0", "Q4_0")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        loaded = {"file": stack.enter_context(load(arguments, model=model, adapter=adapter))}
        for storage in storages:
            started = time.perf_counter()
            path = prepare(header, adapter, storage, Path(folder))
            preparing[storage] = time.perf_counter() - started
            loaded[storage] = stack.enter_context(load(arguments, model=path))
        for _ in range(arguments.repeat):
            for name, backbone in loaded.items():  # in turns: whatever else runs disturbs all
                reading, writing = rates(backbone)
                known = best.get(name, (0.0, 0.0))
                best[name] = max(known[0], reading), max(known[1], writing)
    prefill, decode = best["file"]
    return [
        {
            "weights": f"{header.quantisation}, as it is" if name == "file" else name,
            "adapter": "none" if adapter is None else "applied" if name == "file" else "merged",
            "prepared_in_s": round(preparing[name], 1),
            "prefill_tokens_per_s": round(reading, 1),
            "prefill_of_file": round(reading / prefill, 2),
            "decode_tokens_per_s": round(writing, 1),
            "decode_of_file": round(writing / decode, 2),
        }
        for name, (reading, writing) in best.items()
    ]


def batch(arguments: argparse.Namespace) -> list[Row]:
    """Calls side by side on prepared weights: tokens per second in all while every one of them writes."""
    from atomr_local.models.catalog.find import find_adapter
    from atomr_local.models.gguf import check_model
    from atomr_local.models.llama.weights import prepare

    model = find_model(arguments.model)
    endless = "root ::= [a-z ] root"

    def write(backbone: Any, question: str) -> tuple[str, list[float]]:
        times: list[float] = []
        done: Generation = backbone.generate(
            GenerationRequest(
                prompt(question),
                max_tokens=48,
                output=Grammar(endless),
                on_text=lambda _: times.append(time.perf_counter()),
            )
        )
        return done.text, times

    together: dict[int, float] = {}
    same: dict[int, bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = prepare(check_model(model), find_adapter("auto", model), "Q8_0", Path(folder))
        with load(arguments, model=path) as backbone, ThreadPoolExecutor(4) as pool:
            alone = [write(backbone, question)[0] for question in QUESTIONS]
            for _ in range(arguments.repeat):
                for calls in (1, 2, 4):
                    backbone._scheduler.forget()
                    done = list(pool.map(lambda question: write(backbone, question), QUESTIONS[:calls]))
                    begin, end = max(times[0] for _, times in done), min(times[-1] for _, times in done)
                    count = sum(begin < each <= end for _, times in done for each in times)
                    together[calls] = max(together.get(calls, 0.0), count / (end - begin))
                    same[calls] = same.get(calls, True) and [text for text, _ in done] == alone[:calls]
    return [
        {
            "calls": calls,
            "decode_tokens_per_s": round(rate, 1),
            "of_one": round(rate / together[1], 2),
            "same_texts": same[calls],
        }
        for calls, rate in together.items()
    ]


BENCHES: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
    "threads": threads,
    "prefix": prefix,
    "grammar": grammar,
    "overhead": overhead,
    "draft": draft,
    "weights": weights,
    "batch": batch,
    "speed": lambda arguments: [speed(arguments)],
}


def show(rows: list[Row]) -> None:
    table = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", nargs="+", choices=list(BENCHES))
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--busy", type=int, default=0, help="busy processes beside the threads bench")
    parser.add_argument("--threads", type=int, default=0, help="threads of the speed bench")
    parser.add_argument("--model", default="starter", help="name or path")
    arguments = parser.parse_args()
    results = {name: BENCHES[name](arguments) for name in arguments.bench}
    if arguments.json:
        print(json.dumps(results))
        return
    for name, rows in results.items():
        print(name)
        show(rows)


if __name__ == "__main__":
    main()
