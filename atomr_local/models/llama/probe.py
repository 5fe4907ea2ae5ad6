"""Runs trials: whether llama.cpp can run a model on this machine, and with which options.

A library built by a compiler with a fault, or for another processor, ends the process that calls it. So what a question
would do is first done by a child (`process.py`), once for each combination of library, processor, model and
adapter. Where the child dies, simpler ways of running are tried in turn. The verdict is kept in the cache.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import platform
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from atomr_local.errors import ModelError
from atomr_local.models.llama.engine import ALL_LAYERS, AUTO, RunOptions
from atomr_local.models.llama.weights import fingerprint
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.files import put, read_regular
from atomr_local.system.installation import recompile_llama
from atomr_local.system.sandbox import End, Limits, Sandbox
from atomr_local.system.sanitize import sanitize_line

# The processor of this machine: its name, and the features that llama.cpp's kernels use.

_CPUINFO = Path("/proc/cpuinfo")
_MOST_BYTES = 1 << 16  # of /proc/cpuinfo: the first processor's entry, however many there are
_MODEL_KEYS = ("model name", "Model", "Hardware", "uarch")
_FLAG_KEYS = ("flags", "Features", "isa")
# Name of a feature as people know it → the flags that all have to be there, of x86-64 or of arm64.
_FEATURES: tuple[tuple[str, frozenset[str]], ...] = (
    ("AVX2", frozenset({"avx2"})),
    ("FMA", frozenset({"fma"})),
    ("F16C", frozenset({"f16c"})),
    ("AVX-VNNI", frozenset({"avx_vnni"})),
    ("AVX-512", frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl"})),
    ("AVX-512 VBMI", frozenset({"avx512vbmi"})),
    ("AVX-512 VNNI", frozenset({"avx512_vnni"})),
    ("AVX-512 BF16", frozenset({"avx512_bf16"})),
    ("AMX", frozenset({"amx_tile", "amx_int8"})),
    ("NEON", frozenset({"asimd"})),
    ("FP16", frozenset({"asimdhp"})),
    ("dot product", frozenset({"asimddp"})),
    ("I8MM", frozenset({"i8mm"})),
    ("SVE", frozenset({"sve"})),
    ("SVE2", frozenset({"sve2"})),
    ("SME", frozenset({"sme"})),
    ("BF16", frozenset({"bf16"})),
)


@dataclass(frozen=True)
class Processor:
    """Attributes: model: its name; flags: its features as the system calls them; machine: architecture, as x86_64."""

    model: str
    flags: frozenset[str]
    machine: str

    @property
    def features(self) -> tuple[str, ...]:
        """The features that matter for the speed of a model, as people know them."""
        return tuple(name for name, needed in _FEATURES if needed <= self.flags)


def read_processor(cpuinfo: Path = _CPUINFO) -> Processor:
    """Look at this machine's processor; what cannot be found out is left empty. Quick: at most a few milliseconds."""
    machine = platform.machine()
    try:
        with cpuinfo.open("rb") as stream:
            text = stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return Processor(platform.processor(), frozenset(), machine)
    entries: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:  # the first processor's values; on arm64 the model may stand behind all processors
            entries.setdefault(key.strip(), value.strip())
    model = next((entries[key] for key in _MODEL_KEYS if entries.get(key)), "")
    if not model:  # arm64 without a name: maker and part number
        model = " ".join(entries[key] for key in ("CPU implementer", "CPU part") if key in entries)
    flags = next((entries[key] for key in _FLAG_KEYS if key in entries), "")
    return Processor(model or platform.processor() or "unknown", frozenset(flags.split()), machine)


# The result of a trial: the options that work here, kept in the cache as JSON.
#
# The file's name is a fingerprint of everything that the verdict rests on: another library, processor, model or adapter
# has another one. A damaged file counts as none.

SCHEMA = "atomr.probe/1"
HANG = "hang"
NOT_NUMBERS = "not a number"
_FOLDER = "probes"
_KEPT = 30  # verdicts
_STAGES = {
    "library": "while it was loaded",
    "weights": "while it prepared the weights",
    "model": "while it loaded the model",
    "text": "while the model wrote its first words",
    "speed": "while the model wrote",
}


@dataclass(frozen=True, slots=True)
class LoadAttempt:
    """How a model is run.

    Attributes:
        extra_buffers, cpu_variant, gpu_layers: see :class:`RunOptions`.
        prepared: whether prepared weights are used where they can be had (see `weights.py`).
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

    def applied(self, options: RunOptions) -> RunOptions:
        """The options of a model that is run in this way."""
        return replace(
            options,
            extra_buffers=self.extra_buffers,
            storage=options.storage if self.prepared else None,
            cpu_variant=self.cpu_variant,
            gpu_layers=self.gpu_layers,
        )


@dataclass(frozen=True)
class ProbeTask:
    """The model to be tried out, and the options that the settings give it."""

    model: Path
    adapter: Path | None
    options: RunOptions

    @property
    def wanted(self) -> LoadAttempt:
        """The way that the settings ask for."""
        given = self.options
        return LoadAttempt(
            prepared=given.storage is not None, cpu_variant=given.cpu_variant, gpu_layers=given.gpu_layers
        )


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

    way: LoadAttempt
    ended: str
    stage: str = ""
    said: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def works(self) -> bool:
        return self.ended == "ok"

    @property
    def what(self) -> str:
        """The failure, as the end of "llama.cpp …"."""
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

    way: LoadAttempt
    failed: tuple[Attempt, ...] = ()

    @property
    def note(self) -> str:
        """A message for the user; empty if nothing had to be changed."""
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

    None if llama.cpp is not installed, a file is missing, or nothing is kept.
    """
    files, given = _library_files(), task.options
    if not files or given.cache is None:
        return None
    processor = read_processor()
    told = (
        SCHEMA, sys.version, processor.machine, processor.model, *sorted(processor.flags), str(given.storage),
        str(given.threads), str(given.batch_threads), given.cpu_variant, str(given.gpu_layers),
    )  # fmt: skip
    try:
        name = fingerprint(*told, files=(*files, task.model, task.adapter, *given.task_adapters.values()))
    except OSError:
        return None
    return given.cache / _FOLDER / f"{name}.json"


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


_LINES_KEPT = 20
_SECONDS = 120.0  # for a child, and for each gigabyte of the model:
_SECONDS_PER_GIGABYTE = 30.0
_MOST_HANGS = 2
_MOST_TIMES = 5  # of these seconds by the clock, however busy the machine is
# Backends that most processors of their kind can run: tried first where the best one fails.
_COMMON_BACKENDS = ("haswell", "armv8.2_1")
_CRASHES = ("SIGSEGV", "SIGILL", "SIGABRT", "SIGBUS", "SIGFPE", "SIGTRAP", "SIGSYS")
_CHILD = "atomr_local.models.llama.probe_process:run_task"
# What a question may do, the child may: drivers of GPUs open sockets, and weights are prepared in files.
_LIMITS = Limits(file_size=None, descriptors=None, sockets=True, one_thread=True)

Run = Callable[[ProbeTask, LoadAttempt], Attempt]


def working_way(
    task: ProbeTask,
    *,
    on_probe: Callable[[], None] | None = None,
    notify: Callable[[str], None] | None = None,
    cancellation: Cancellation | None = None,
    run: Run | None = None,
) -> LoadAttempt:
    """The way in which the model runs on this machine: from the cache, else tried out now, which takes seconds.

    Args:
        on_probe: called before a child is started; not where the verdict is in the cache.
        notify: takes what the user should know, once, when it is found out.
        run: stands in for :func:`run_probe`.

    Raises:
        ModelError: no way works.
        Cancelled: `cancellation` was thrown; the child is gone.
    """
    place = verdict_file(task)
    found = read_verdict(place) if place is not None else None
    if found is not None:
        return found.way
    if place is None:  # no library, which loading says better, or no model
        return task.wanted
    if on_probe is not None:
        on_probe()

    def run_once(task: ProbeTask, way: LoadAttempt) -> Attempt:
        attempt = run_probe(task, way, cancellation=cancellation)
        if notify is not None and (note := attempt.facts.get("note")):
            notify(sanitize_line(str(note)))
        return attempt

    verdict = probe(task, run=run or run_once)
    if verdict is None:
        return task.wanted
    keep_verdict(place, verdict)
    if notify is not None and verdict.note:
        notify(verdict.note)
    return verdict.way


def probe(task: ProbeTask, *, run: Run) -> ProbeVerdict | None:
    """Try one way after the other until one works.

    Returns:
        None if the child did not come so far as to say anything: loading will tell.

    Raises:
        ModelError: no way works.
    """
    failed: list[Attempt] = []
    ways = deque(_ways(task))
    while ways:
        way = ways.popleft()
        if failed and _same_failure(failed[-1], way):
            continue
        attempt = run(task, way)
        if attempt.works:
            return ProbeVerdict(way, tuple(failed))
        if attempt.ended == "killed":
            raise ModelError(
                f"{task.model.name} could not be tried out: the process that loaded it was killed",
                hint="Most likely memory ran out: choose a smaller model, or close other programs.",
            )
        if attempt.ended in ("error", "unknown"):
            return None
        if not failed:
            ways.extend(_with_simpler_backends(task, attempt.facts))
        if way.gpu_layers and attempt.facts.get("gpu"):  # the GPU, its driver or its memory, more often than not
            ways = deque(replace(one, gpu_layers=0) for one in (way, *ways))
        failed.append(attempt)
        if sum(one.ended == HANG for one in failed) == _MOST_HANGS:
            break
    raise failure(task, failed)


def _ways(task: ProbeTask) -> list[LoadAttempt]:
    """Ways to run on the CPU backend that was chosen, the fastest first."""
    wanted = task.wanted
    ways = [wanted, replace(wanted, extra_buffers=False)]
    return [*ways, replace(wanted, extra_buffers=False, prepared=False)] if wanted.prepared else ways


def _with_simpler_backends(task: ProbeTask, facts: Mapping[str, Any]) -> list[LoadAttempt]:
    """The same on CPU backends that ask less of the processor, where the library has some."""
    names = facts.get("variants")
    names = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    chosen = facts.get("variant") or (names[0] if names else "")
    simpler = names[names.index(chosen) + 1 :] if chosen in names else names
    ways = [replace(task.wanted, cpu_variant=name) for name in _COMMON_BACKENDS if name in simpler]
    if simpler:
        ways.append(replace(task.wanted, extra_buffers=False, prepared=False, cpu_variant=simpler[-1]))
    return ways


def _same_failure(last: Attempt, way: LoadAttempt) -> bool:
    """Whether this way would fail as the last attempt did, for they differ only in what comes later."""
    if way.cpu_variant != last.way.cpu_variant:
        return False
    if last.stage == "weights":
        return way.prepared and way.gpu_layers == last.way.gpu_layers
    return last.stage == "library"


def failure(task: ProbeTask, failed: Sequence[Attempt]) -> ModelError:
    """The error to show when no way works."""
    last = failed[-1]
    said = f": {last.said}" if last.said and last.ended == "SIGABRT" else ""
    tried = f" ({len(failed)} ways tried)" if len(failed) > 1 else ""
    if last.stage in ("model", "text") and last.ended in ("SIGABRT", NOT_NUMBERS):
        # A check of its own stopped it: more often the file's fault than the library's.
        hint = (
            "Most likely this file is damaged or of a kind that this llama.cpp does not know: download it again, or "
            "choose another model (`atomr models list`). Where every model fails, compile llama.cpp again: "
            f"{recompile_llama()}"
        )
    else:
        hint = f"Compile llama.cpp again, on this machine: {recompile_llama()} (see docs/troubleshooting.md)"
    return ModelError(
        f"llama.cpp {last.what}{said}; {task.model.name} cannot be run here{tried}",
        title="The model library does not work",
        hint=hint,
    )


# The child


def run_probe(
    task: ProbeTask,
    way: LoadAttempt,
    *,
    measure: bool = False,
    cancellation: Cancellation | None = None,
    seconds: float | None = None,
) -> Attempt:
    """Run the child once, to its end.

    It is in a session of its own, so that Ctrl-C in the terminal does not look like a crash of the library, and ends
    with this process.

    Args:
        measure: also measure its speed.
        seconds: until it counts as hanging, without the time that it waits for a core; default: by the model's size.

    Raises:
        Cancelled: `cancellation` was thrown.
    """
    if seconds is None:
        with contextlib.suppress(OSError):
            seconds = _SECONDS + _SECONDS_PER_GIGABYTE * task.model.stat().st_size / 1e9
    given = {
        "model": task.model,
        "adapter": task.adapter,
        "measure": measure,
        "options": asdict(way.applied(task.options)),
    }
    told = json.loads(json.dumps(given, default=str))
    with contextlib.closing(Sandbox(_CHILD, lambda: told, _LIMITS)) as child:
        try:
            child.launch()
        except OSError as error:
            return Attempt(way, "unknown", said=str(error))
        assert child.process is not None
        pid, begun, allowed = child.process.pid, time.monotonic(), seconds or _SECONDS

        def left() -> float:
            # On a busy machine the child may have hardly run: what it waited for a core is not its own.
            used = time.monotonic() - begun - _waited_for_core(pid)
            return min(allowed - used, begun + _MOST_TIMES * allowed - time.monotonic())

        heard: dict[str, Any] = {}
        while isinstance(said := child.receive(left, cancellation), dict):
            heard |= said
        end = child.ended()
    printed = [clean for line in end.said.splitlines() if (clean := sanitize_line(line))]
    last = " ".join(printed[-_LINES_KEPT:])[-500:]
    attempt = Attempt(way, _end(end, heard), str(heard.pop("stage", "")), last, heard)
    return replace(attempt, said=str(heard["error"])) if attempt.ended == "error" else attempt


def _waited_for_core(pid: int) -> float:
    """Seconds for which the main thread was ready to run and had no core; 0 where the system does not tell."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _end(end: End, heard: dict[str, Any]) -> str:
    if end.status == 0 and heard.pop("done", False):
        return "ok" if heard.pop("numbers", True) else NOT_NUMBERS
    if "error" in heard:
        return "error"
    return HANG if end.late and end.status != 0 else _death(end.status, started="stage" in heard)


def _death(status: int, *, started: bool) -> str:
    name = next((item.name for item in signal.Signals if item == -status), "")
    if name == "SIGKILL":
        return "killed"
    if name in _CRASHES:
        return name
    return f"exit status {status}" if status > 0 and started else "unknown"  # a library that calls exit()
