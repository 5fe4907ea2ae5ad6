"""`atomr doctor --deep`: checks that take seconds or more. A new one is a function in `CHECKS`.

A check takes the settings and yields findings as it makes them; an error of ours that it raises becomes a finding.
It imports what it needs inside, so that `atomr doctor --help` stays light.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from atomr_local.cli.doctor.findings import Finding, broken, model_run
from atomr_local.errors import AtomrError

if TYPE_CHECKING:
    from atomr_local.backbone.llama.probe.verdict import Attempt, ProbeTask, Way
    from atomr_local.settings.schema import Settings

Check = Callable[["Settings"], Iterable[Finding]]


def deep_findings(settings: Settings, on_check: Callable[[str], None]) -> Iterator[Finding]:
    """The findings of all deep checks, each as soon as it is made. `on_check` is called with the next check."""
    for name, check in CHECKS.items():
        on_check(name)
        try:
            yield from check(settings)
        except AtomrError as error:
            yield broken(name, error)


def _processor(_settings: Settings) -> Iterator[Finding]:
    from atomr_local.backbone.llama.probe.processor import read_processor

    processor = read_processor()
    features = ", ".join(processor.features) or "none of those that speed a model up"
    facts = {"model": processor.model, "features": list(processor.features), "machine": processor.machine}
    yield Finding("processor", "ok", f"{processor.model} ({processor.machine}): {features}", facts=facts)


def _model(settings: Settings) -> Iterator[Finding]:
    """Run a new trial of the model, ignoring the cached result, and measure its speed."""
    if settings.endpoint.url:
        return
    from atomr_local.backbone.llama.probe.runner import probe, run_probe
    from atomr_local.backbone.llama.probe.verdict import keep_verdict, verdict_file
    from atomr_local.catalog.find import find_adapter, find_model
    from atomr_local.model_loading import probe_task

    path = find_model(settings.model)
    task = probe_task(settings, path, find_adapter(settings.adapter, path))
    attempts: list[Attempt] = []

    def run(task: ProbeTask, way: Way) -> Attempt:
        attempts.append(run_probe(task, way, measure=True))
        return attempts[-1]

    failure: AtomrError | None = None
    verdict = None
    try:
        verdict = probe(task, run=run)
    except AtomrError as error:
        failure = error
    yield from _library(attempts, settings.llm.gpu_layers)
    if failure is not None:
        yield broken("model run", failure)
    elif verdict is None:
        said = attempts[-1].said or "it could not be started"
        yield Finding("model run", "broken", f"{path.name}: {said}", "Run `atomr ask` with it: that says more.")
    else:
        if (file := verdict_file(task)) is not None:
            keep_verdict(file, verdict)
        yield model_run(verdict, path)
        yield from _speed(attempts[-1])


def _library(attempts: Sequence[Attempt], gpu_layers: int) -> Iterator[Finding]:
    facts: dict[str, Any] = {}
    for attempt in attempts:
        facts |= attempt.facts
    if "variants" in facts:
        built, used = [str(name) for name in facts["variants"]], str(facts.get("variant", ""))
        others = ", ".join(name for name in built if name != used)
        detail = f"{used or 'none loaded'}; also possible here: {others or 'none'}" if built else "one, linked in"
        yield Finding("CPU backend", "ok", detail, facts={"variant": used, "possible": built})
    if "gpu" in facts:
        can, there = bool(facts["gpu"]), facts.get("gpu_layers")
        yield Finding(
            "GPU", "ok", _gpu(can, gpu_layers, there), facts={"offload": can, "wanted": gpu_layers, "layers": there}
        )
    if "system" in facts:
        system = " ".join(str(facts["system"]).split()).strip("| ")
        yield Finding("library build flags", "ok", system, facts={"system_info": system})


def _gpu(can: bool, wanted: int, used: int | None) -> str:
    """What the library can do with a GPU, and what became of the layers that are `wanted` there."""
    if not can:
        return "not used: llama.cpp was built for processors"
    if not wanted:
        return "not used: llama.cpp can use one, and llm.gpu_layers is 0"
    if not used:
        return "not used: llama.cpp can use one, but the model could not be run there; the processor runs it"
    return "used: all layers of the model go there" if used < 0 else f"used: {used} layers of the model go there"


def _speed(attempt: Attempt) -> Iterator[Finding]:
    speed = attempt.facts.get("speed")
    if isinstance(speed, dict):
        reading, writing = float(speed["reading"]), float(speed["writing"])
        detail = f"reads {reading:.0f} tokens/s, writes {writing:.0f} tokens/s, one call alone"
        yield Finding(
            "model speed", "ok", detail,
            facts={"reading_tokens_per_second": round(reading, 1), "writing_tokens_per_second": round(writing, 1)},
        )  # fmt: skip


# What is checked → the check. Run in this order.
CHECKS: dict[str, Check] = {
    "processor": _processor,
    "model run": _model,
}
