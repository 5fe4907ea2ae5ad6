"""The result of a trial (see `runner.py`): the options that work here, kept in the cache as JSON.

The file's name is a fingerprint of everything that the verdict rests on: another library, processor, model or adapter
has another one. A damaged file counts as none.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from atomr_local.backbone.llama.cpu_variants import AUTO
from atomr_local.backbone.llama.library import ALL_LAYERS
from atomr_local.backbone.llama.probe.processor import read_processor
from atomr_local.backbone.llama.weights import Storage, fingerprint
from atomr_local.input_files import read_regular
from atomr_local.output_files import put

SCHEMA = "atomr.probe/1"
HANG = "hang"
NOT_NUMBERS = "not a number"
_FOLDER = "probes"
_KEPT = 30  # verdicts
_MOST_BYTES = 1 << 16  # of a verdict
_STAGES = {
    "library": "while it was loaded",
    "weights": "while it prepared the weights",
    "model": "while it loaded the model",
    "text": "while the model wrote its first words",
    "speed": "while the model wrote",
}


@dataclass(frozen=True, slots=True)
class Way:
    """How a model is run.

    Attributes:
        extra_buffers: see :class:`atomr_local.backbone.llama.engine.Engine`.
        prepared: whether prepared weights are used where they can be had (see `weights.py`).
        cpu_variant: llama.cpp's CPU backend (see `cpu_variants.py`).
        gpu_layers: layers wanted on the GPU; -1: all.
    """

    extra_buffers: bool = True
    prepared: bool = True
    cpu_variant: str = AUTO
    gpu_layers: int = ALL_LAYERS

    def __str__(self) -> str:
        told = [] if self.gpu_layers else ["on the processor alone"]
        told += [] if self.cpu_variant == AUTO else [f"with the CPU backend {self.cpu_variant}"]
        told += [] if self.extra_buffers else ["without extra buffer types"]
        told += [] if self.prepared else ["without prepared weights"]
        return ", ".join(told) or "as it is"


@dataclass(frozen=True)
class ProbeTask:
    """What is tried out.

    Attributes:
        storage: how prepared weights are stored; None: none are made.
        cache: the cache directory, for weights and the verdict.
        threads, batch_threads: 0 chooses.
        cpu_variant: the CPU backend that the settings name, or "auto".
        task_adapters: adapters for one task each, with its name.
        gpu_layers: layers wanted on the GPU, as the settings say; -1: all.
    """

    model: Path
    adapter: Path | None
    storage: Storage | None
    cache: Path
    threads: int = 0
    batch_threads: int = 0
    cpu_variant: str = AUTO
    task_adapters: tuple[tuple[str, Path], ...] = ()
    gpu_layers: int = ALL_LAYERS

    @property
    def wanted(self) -> Way:
        """The way that the settings ask for."""
        return Way(prepared=self.storage is not None, cpu_variant=self.cpu_variant, gpu_layers=self.gpu_layers)


@dataclass(frozen=True)
class Attempt:
    """One run of the child.

    Attributes:
        ended: "ok"; what it died of, such as SIGSEGV; "hang"; "not a number"; "error": an error of ours, that loading
            meets again; "killed": by somebody else; "unknown".
        stage: how far it came: library, weights, model, text, speed; empty: nowhere.
        said: what llama.cpp printed last, on one line.
        facts: what the child found out: "variant" and "variants", the CPU backend and all that this processor can
            run, the best first; "gpu", whether the library can use one; "gpu_layers", those that went there; "system",
            "loaded", "prepared", "speed".
    """

    way: Way
    ended: str
    stage: str = ""
    said: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def works(self) -> bool:
        return self.ended == "ok"

    @property
    def what(self) -> str:
        """What went wrong, as the end of "llama.cpp …"."""
        if self.ended == HANG:
            told = "did not come to an end"
        elif self.ended == NOT_NUMBERS:
            told = "computed values that are not numbers"
        else:
            told = f"crashed ({self.ended})"
        stage = _STAGES.get(self.stage, "")
        return f"{told} {stage}".rstrip()


@dataclass(frozen=True)
class ProbeVerdict:
    """The way that works, and those that were tried before it."""

    way: Way
    failed: tuple[Attempt, ...] = ()

    @property
    def note(self) -> str:
        """What the user should know; empty if nothing had to be changed."""
        if not self.failed:
            return ""
        first = self.failed[0]
        return (
            f"llama.cpp {first.what}; the model is run {self.way} now, which works here and may be slower. "
            "`atomr doctor --deep` says more."
        )


_VERDICT = TypeAdapter(ProbeVerdict)


def verdict_file(task: ProbeTask) -> Path | None:
    """Where the verdict of this task lies: another name when the library, processor, model or adapter changes.

    None if llama.cpp is not installed or a file is missing.
    """
    files = _library_files()
    if not files:
        return None
    processor = read_processor()
    told = (
        SCHEMA, sys.version, processor.machine, processor.model, *sorted(processor.flags), str(task.storage),
        str(task.threads), str(task.batch_threads), task.cpu_variant, str(task.gpu_layers),
    )  # fmt: skip
    try:
        name = fingerprint(*told, files=(*files, task.model, task.adapter, *(file for _, file in task.task_adapters)))
    except OSError:
        return None
    return task.cache / _FOLDER / f"{name}.json"


def _library_files() -> list[Path]:
    """llama_cpp's libraries, found without loading them."""
    try:
        spec = importlib.util.find_spec("llama_cpp")
    except (ImportError, ValueError):
        return []
    if spec is None or spec.origin is None:
        return []
    folder = Path(os.environ.get("LLAMA_CPP_LIB_PATH") or Path(spec.origin).parent / "lib")
    return sorted(path for path in folder.glob("*") if path.is_file())


def read_verdict(path: Path) -> ProbeVerdict | None:
    """The verdict in a file; None if there is none or it is damaged."""
    try:
        text = read_regular(path, _MOST_BYTES)
        if json.loads(text)["schema"] != SCHEMA:
            return None
        return _VERDICT.validate_json(text, strict=True)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def keep_verdict(path: Path, verdict: ProbeVerdict) -> None:
    """Write the verdict; where that is not possible, the next start finds out again."""
    data = {"schema": SCHEMA} | _VERDICT.dump_python(verdict, mode="json", exclude={"failed": {"__all__": {"facts"}}})
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        put(path, json.dumps(data, indent=1).encode())
        old = sorted(path.parent.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
        for file in old[_KEPT:]:
            file.unlink(missing_ok=True)
