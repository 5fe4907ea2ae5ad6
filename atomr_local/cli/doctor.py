"""`atomr doctor`: checks the installation and says what to fix."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atomr_local import __version__
from atomr_local.assistant.wishes import flag
from atomr_local.cli.options import command
from atomr_local.cli.output import print_json
from atomr_local.errors import AtomrError, MissingPartError
from atomr_local.system.installation import add_packages, installation, installed_extras, recompile_llama
from atomr_local.system.sanitize import sanitize_line

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexEntry
    from atomr_local.models.llama.probe import Attempt, LoadAttempt, ProbeTask, ProbeVerdict
    from atomr_local.settings.schema import Settings


# The findings of `atomr doctor`, one per part.


@dataclass(frozen=True)
class Finding:
    """One part of the program and its state.

    Attributes:
        part: what was looked at.
        state: "ok", "missing" or "broken".
        detail: what was found, on one line.
        advice: what to do; empty when there is nothing to do.
        facts: what `--json` says beyond that; empty for most parts.
    """

    part: str
    state: str
    detail: str
    advice: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The finding for JSON; `facts` only where there are some."""
        return {name: value for name, value in asdict(self).items() if value or name != "facts"}


def looked_at(part: str, look: Callable[[], str]) -> Finding:
    """A finding from a look that gives the detail of a part that is in order, or raises an error of ours."""
    try:
        return Finding(part, "ok", look())
    except AtomrError as error:
        return broken(part, error)


def broken(part: str, error: AtomrError) -> Finding:
    """An error of ours as a finding."""
    state = "missing" if isinstance(error, MissingPartError) else "broken"
    return Finding(part, state, error.message, error.hint or f"Choose another {part} in the settings.")


def model_run(verdict: ProbeVerdict, model: Path) -> Finding:
    """What trying the model out has shown."""
    failed = [{"way": asdict(one.way), "ended": one.ended, "said": one.said} for one in verdict.failed]
    detail, advice = f"{model.name} was tried out here and runs", ""
    if failed:
        tried = "; ".join(f"{one.way}: {one.what}" for one in verdict.failed)
        detail = f"{model.name} runs here {verdict.way}, which may be slower. Tried before: {tried}"
        advice = f"llama.cpp compiled again may run it as it is: {recompile_llama()}"
    return Finding("model run", "ok", detail, advice, {"way": asdict(verdict.way), "failed": failed})


_PACKAGES = ("llama-cpp-python", "lancedb", "pyoxigraph", "sentence-transformers", "torch", "textual", "ddgs")


@command()
def doctor(
    deep: bool = flag("Also run the model and the slow checks."),
    as_json: bool = flag("Print the findings as JSON.", "--json"),
) -> int:
    """Check the installation: what is found, missing or broken, and what to do about it.

    Example: atomr doctor --deep
    """
    findings = []

    def on_check(name: str) -> None:
        if sys.stderr.isatty():
            click.echo(f"… {name}", err=True)

    for finding in _findings(on_check if deep else None):
        findings.append(finding)
        if not as_json:
            click.echo(f"{finding.state:<8} {finding.part:<24} {sanitize_line(finding.detail)}")
            if finding.advice:
                click.echo(f"{'':8} → {sanitize_line(finding.advice)}")
    if as_json:
        print_json([finding.to_dict() for finding in findings])
    return 0 if all(finding.state == "ok" for finding in findings) else 1


def _findings(on_check: Callable[[str], None] | None) -> Iterator[Finding]:
    """Everything that is looked at.

    Args:
        on_check: turns on the deep checks; called with the next check. That needs settings that can be read.
    """
    from atomr_local.settings.schema import load_settings
    from atomr_local.system import paths

    yield _program()
    yield from _packages()
    try:
        settings = load_settings()
    except AtomrError as error:
        yield Finding("settings", "broken", error.message, error.hint)
        yield from _indexes()
        return
    file = paths.config_file()
    detail = str(file) if file.exists() else "defaults (no settings file)"
    yield Finding("settings", "ok", detail, _permission_advice(file, settings))
    yield Finding("log file", "ok", str(paths.log_file()))
    yield Finding("leaves this machine", "ok", outgoing_data(settings))
    yield from _chosen(settings)
    if on_check is None and (found := _tried_out(settings)) is not None:
        yield found
    yield from _indexes()
    if on_check is not None:
        yield from deep_findings(settings, on_check)


def _program() -> Finding:
    """The program itself: its version, how it was installed, and which extras it has."""
    extras = installed_extras()
    has = ", ".join(name for name, there in extras.items() if there) or "none"
    lacks = ", ".join(name for name, there in extras.items() if not there)
    detail = f"{__version__}, {installation().told()}; extras: {has}" + (f"; not installed: {lacks}" if lacks else "")
    return Finding("atomr-local", "ok", detail)


def _packages() -> Iterator[Finding]:
    for name in _PACKAGES:
        try:
            yield Finding(name, "ok", version(name))
        except PackageNotFoundError:
            yield Finding(name, "missing", "not installed", f"Install it with: {add_packages(name)}")


def outgoing_data(settings: Settings) -> str:
    """What may leave the machine by these settings, and for where."""
    from atomr_local.sources.registry import find_source, permitted

    remote = settings.endpoint.url.remote_host()
    found = [f"question, evidence → {remote}"] if remote else []
    hosts = []
    for name in permitted(settings.sources, web=True) if settings.web.enabled else ():
        with suppress(AtomrError):  # a source that cannot be loaded asks nobody
            hosts.append(find_source(name).network)
    found += [f"web queries → {host}" for host in reversed(hosts) if host]
    return "; ".join(found) or "nothing, unless web search is turned on or something is fetched"


def _permission_advice(file: Path, settings: Settings) -> str:
    """What to do where other users of the machine can read a key or password; empty if they cannot."""
    from atomr_local.settings.file import holds_secrets

    try:
        readable = holds_secrets(settings) and file.stat().st_mode & 0o077
    except OSError:
        return ""
    return f"Others on this machine may read it, and a key or password is set: chmod 600 {file}" if readable else ""


def _chosen(settings: Settings) -> Iterator[Finding]:
    """Each part that the settings choose, checked without loading it or asking a server."""
    from atomr_local.cli.commands.models import ADVICE, cache_files
    from atomr_local.indexing.embedding.embedder import embedder_identity
    from atomr_local.indexing.store import KINDS
    from atomr_local.models.catalog.find import (
        find_adapter,
        find_embedder,
        find_model,
        require_whole,
        require_whole_embedder,
    )
    from atomr_local.models.gguf import check_adapter, check_model
    from atomr_local.sources.registry import find_source

    def adapter() -> str:
        path = find_model(settings.model)
        chosen = find_adapter(settings.adapter, path)
        if chosen is not None:
            check_adapter(chosen, check_model(path))
            require_whole(chosen)
        return str(chosen or "none")

    def endpoint() -> str:
        from atomr_local.models.openai.address import checked_endpoint

        given = settings.endpoint
        address = checked_endpoint(given.url, given.api_key, unencrypted=given.allow_unencrypted_credentials)
        if address.loopback:
            return f"{given.url} (this machine)"
        return f"{given.url} (questions and evidence leave this machine → {address.host})"

    def found(path: Path, *checks: Callable[[Path], object]) -> str:
        for check in checks:
            check(path)
        return str(path)

    def reranker() -> str:
        from atomr_local.sources.reranking import check_cross_encoder

        return found(Path(settings.retrieval.reranker).expanduser(), check_cross_encoder)

    if settings.endpoint.url:
        yield looked_at("endpoint", endpoint)
    model = looked_at("model", lambda: found(find_model(settings.model), check_model, require_whole))
    yield model
    if model.state == "ok":
        yield looked_at("adapter", adapter)
    embedder_checks = (embedder_identity, require_whole_embedder)
    yield looked_at("embedder", lambda: found(find_embedder(settings.embedder), *embedder_checks))
    if settings.retrieval.reranker:
        yield looked_at("reranker", reranker)
    for kept in cache_files():
        state, advice = ("broken", ADVICE) if kept.check.problem else ("ok", "")
        yield Finding(kept.name, state, f"{kept.path}: {kept.check.problem or kept.check.note}", advice)
    yield from _strategies(settings)
    for name in dict.fromkeys((*KINDS, *settings.sources)):
        part = f"{name} index in use" if name in KINDS else f"source {name}"
        yield looked_at(part, lambda name=name: find_source(name).readiness(settings))  # type: ignore[misc]


def _strategies(settings: Settings) -> Iterator[Finding]:
    """The strategy that the settings choose, and the options that they give to any."""
    from atomr_local.strategies.names import known_names
    from atomr_local.strategies.options import options_of
    from atomr_local.strategies.registry import check_needs, find_strategy

    def strategy() -> str:
        found = find_strategy(settings.strategy)
        check_needs(found, settings.sources, settings)
        return found.name

    def options(name: str) -> str:
        held = options_of(find_strategy(name), settings)
        return ", ".join(f"{option} = {getattr(held, option)}" for option in settings.strategies[name])

    yield looked_at("strategy", strategy)
    for name in settings.strategies:
        if name in known_names():
            yield looked_at(f"options of {name}", lambda name=name: options(name))  # type: ignore[misc]
        else:
            yield Finding(
                f"options of {sanitize_line(name)}", "ok", f"not used: no strategy named {name!r} is installed"
            )


def _tried_out(settings: Settings) -> Finding | None:
    """What is remembered of trying the model out; None if that was not done yet."""
    from atomr_local.assistant.model_loading import probe_task
    from atomr_local.models.catalog.find import find_adapter, find_model
    from atomr_local.models.llama.probe import read_verdict, verdict_file

    try:
        path = find_model(settings.model)
        file = verdict_file(probe_task(settings, path, find_adapter(settings.adapter, path)))
    except AtomrError:  # reported as the adapter
        return None
    verdict = read_verdict(file) if file is not None else None
    return model_run(verdict, path) if verdict is not None else None


def _vectors(entry: IndexEntry) -> str:
    """What a text index lacks of its vectors; "" if nothing."""
    from atomr_local.indexing.text_index.vectors import vector_state

    told = vector_state(entry.manifest, entry.path).told() if entry.kind == "text" and entry.manifest else ""
    return f"{told} (`atomr text embed {entry.name}` makes them)" if told else ""


def _indexes() -> Iterator[Finding]:
    from atomr_local.indexing.builds.ledger import damage_hint, rebuild_hint
    from atomr_local.indexing.opening import opening_problem
    from atomr_local.indexing.store import list_indexes, permission_hint
    from atomr_local.system import paths

    shipped = paths.starter_knowledge_dir()
    whole = all((shipped / name).is_file() for name in ("facts.jsonl.gz", "articles.jsonl"))
    if whole:
        yield Finding("starter knowledge", "ok", str(shipped))
    else:
        yield Finding("starter knowledge", "missing", f"{shipped} is incomplete", "Install atomr-local again.")
    try:
        entries = list_indexes()
    except AtomrError as error:
        yield Finding("indexes", "broken", error.message, error.hint)
        return
    for entry in entries:
        part = f"{entry.kind} index {entry.name}"
        closed = permission_hint(entry.path)
        if damage := entry.damage() or ("a part of it cannot be read" if closed else ""):
            yield Finding(part, "broken", damage, closed or rebuild_hint(entry))
        elif damage := opening_problem(entry.path):
            yield Finding(part, "broken", damage, damage_hint(entry.kind, entry.path))
        else:
            yield Finding(part, "ok", "; ".join(filter(None, (str(entry.path), _vectors(entry)))))


# `atomr doctor --deep`: checks that take seconds or more. A new one is a function in `CHECKS`.
#
# A check takes the settings and yields findings as it makes them; an error of ours that it raises becomes a finding.
# It imports what it needs inside, so that `atomr doctor --help` stays light.

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
    from atomr_local.models.llama.probe import read_processor

    processor = read_processor()
    features = ", ".join(processor.features) or "none of those that speed a model up"
    facts = {"model": processor.model, "features": list(processor.features), "machine": processor.machine}
    yield Finding("processor", "ok", f"{processor.model} ({processor.machine}): {features}", facts=facts)


def _model(settings: Settings) -> Iterator[Finding]:
    """Run a new trial of the model, ignoring the cached result, and measure its speed."""
    if settings.endpoint.url:
        return
    from atomr_local.assistant.model_loading import probe_task
    from atomr_local.models.catalog.find import find_adapter, find_model
    from atomr_local.models.llama.probe import keep_verdict, probe, run_probe, verdict_file

    path = find_model(settings.model)
    task = probe_task(settings, path, find_adapter(settings.adapter, path))
    attempts: list[Attempt] = []

    def run(task: ProbeTask, way: LoadAttempt) -> Attempt:
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
