"""The child process of a trial: loads llama.cpp and the model as a question would, and generates a few tokens.

A fault of llama.cpp ends this process alone; `probe.py` knows from its messages how far it came.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from atomr_local.errors import AtomrError
from atomr_local.models.gguf import check_adapters, check_model
from atomr_local.models.llama.engine import (
    BATCH_TOKENS,
    Engine,
    Part,
    RunOptions,
    import_library,
    library,
    library_directory,
    loaded_cpu_variant,
    variants,
)
from atomr_local.models.llama.weights import weights_to_run
from atomr_local.system.sandbox import Parent

WRITTEN_TOKENS = 8
_CONTEXT_TOKENS = 512
_PROMPT_TOKENS = 96  # enough for the kernels of long batches
_TEXT = "Question: Which river flows through the capital of the country whose flag shows a cedar?\nAnswer: "
_MEASURED_SECONDS = 1.5  # for reading, and as much for writing


def run_task(task: dict[str, Any], parent: Parent) -> None:
    """Run the task; exit status 0 if the model generated text, 1 after an error."""

    def report(**what: Any) -> None:
        parent.send(what)

    try:
        _run(task, report)
    except AtomrError as error:
        report(error={"title": error.title, "message": error.message})
        sys.exit(1)
    except Exception as error:  # no fault of the library: the program meets it itself, and tells it
        report(error={"title": type(error).__name__, "message": str(error)})
        sys.exit(1)


def _run(task: dict[str, Any], report: Callable[..., None]) -> None:
    report(stage="library")
    api = import_library()
    report(variants=[variant.name for variant in variants(library_directory(api)) if variant.score > 0])
    told, model, adapter = task["options"], Path(task["model"]), task["adapter"] and Path(task["adapter"])
    paths = {
        "cache": told["cache"] and Path(told["cache"]),
        "task_adapters": {name: Path(file) for name, file in told["task_adapters"].items()},
    }
    options = RunOptions(**told | paths | {"context_tokens": _CONTEXT_TOKENS})
    library(options.cpu_variant)
    report(variant=loaded_cpu_variant())
    report(system=api.llama_print_system_info().decode("utf-8", "replace"))
    report(gpu=bool(api.llama_supports_gpu_offload()))
    report(stage="weights")
    header = check_model(model)
    check_adapters((adapter, *options.task_adapters.values()), header)
    weights, applied = weights_to_run(header, adapter, options, lambda text: report(note=text))
    report(stage="model", prepared=weights != header.path)
    begun = time.monotonic()
    engine = Engine(weights, applied, options, sequences=2)
    report(stage="text", loaded=time.monotonic() - begun, gpu_layers=engine.gpu_layers)
    numbers = _generate(engine)
    if task["measure"]:
        report(stage="speed")
        report(speed=_measure(engine))
    engine.close()
    report(done=True, numbers=numbers)


def _prompt(engine: Engine, length: int) -> list[int]:
    tokens = engine.tokenize(_TEXT, special=False) or [0]
    return (tokens * (length // len(tokens) + 1))[:length]


def _generate(engine: Engine) -> bool:
    """Read a prompt, write greedily, in two sequences at once, and read with the adapter of each task; whether all that
    was computed are numbers."""
    import numpy as np

    prompt = _prompt(engine, max(1, min(_PROMPT_TOKENS, engine.context_tokens - WRITTEN_TOKENS - 1)))
    rows = engine.decode([Part(0, prompt)], None)
    whole = True
    for _ in range(min(WRITTEN_TOKENS, engine.context_tokens - len(prompt))):
        logits = engine.logits(rows[-1])
        whole = whole and not bool(np.isnan(logits).any())
        rows = engine.decode([Part(0, [int(logits.argmax())])], None)
    for sequence in (0, 1):
        engine.trim(sequence, 0)
    rows = engine.decode([Part(0, prompt[:1]), Part(1, prompt[:1])], None)
    whole = whole and not any(bool(np.isnan(engine.logits(row)).any()) for row in rows)
    for task in sorted(engine.tasks):
        engine.trim(0, 0)
        [row] = engine.decode([Part(0, prompt)], None, task)
        whole = whole and not bool(np.isnan(engine.logits(row)).any())
    return whole


def _measure(engine: Engine) -> dict[str, float]:
    """Tokens a second, while reading a prompt and while writing one token after another."""
    prompt = _prompt(engine, min(BATCH_TOKENS, engine.context_tokens) // 2)
    read, begun = 0, time.monotonic()
    while (reading := time.monotonic() - begun) < _MEASURED_SECONDS or not read:
        engine.trim(0, 0)
        engine.decode([Part(0, prompt)], None)
        read += len(prompt)
    engine.trim(0, 0)
    written, begun = 0, time.monotonic()
    while (writing := time.monotonic() - begun) < _MEASURED_SECONDS or not written:
        if engine.length(0) >= engine.context_tokens - 1:
            engine.trim(0, 0)
        engine.decode([Part(0, prompt[written % len(prompt) :][:1])], None)
        written += 1
    return {"reading": read / reading, "writing": written / writing}
