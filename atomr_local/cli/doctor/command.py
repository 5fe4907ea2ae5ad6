"""`atomr doctor`: checks the installation and says what to fix."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atomr_local import __version__
from atomr_local.cli.doctor.findings import Finding, looked_at
from atomr_local.cli.output import print_json
from atomr_local.errors import AtomrError
from atomr_local.sanitize import sanitize_line
from atomr_local.system.installation import add_packages, installation, installed_extras

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexEntry
    from atomr_local.settings.schema import Settings

_PACKAGES = ("llama-cpp-python", "lancedb", "pyoxigraph", "sentence-transformers", "torch", "textual", "ddgs")


@click.command()
@click.option("--deep", is_flag=True, help="Also run the model and the slow checks.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(*, deep: bool, as_json: bool) -> int:
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
    from atomr_local import paths
    from atomr_local.settings.schema import load_settings

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
        from atomr_local.cli.doctor.deep import deep_findings

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
    from atomr_local.catalog.find import find_adapter, find_model
    from atomr_local.catalog.record import require_whole, require_whole_embedder
    from atomr_local.catalog.starter import find_embedder
    from atomr_local.cli.cache_files import ADVICE, cache_files
    from atomr_local.gguf import check_adapter, check_model
    from atomr_local.indexing.embedding.embedder import embedder_identity
    from atomr_local.indexing.store import KINDS
    from atomr_local.sources.registry import find_source

    def model() -> str:
        path = find_model(settings.model)
        check_model(path)
        require_whole(path)
        return str(path)

    def adapter() -> str:
        path = find_model(settings.model)
        found = find_adapter(settings.adapter, path)
        if found is not None:
            check_adapter(found, check_model(path))
            require_whole(found)
        return str(found or "none")

    def endpoint() -> str:
        from atomr_local.backbone.openai.address import checked_endpoint

        given = settings.endpoint
        address = checked_endpoint(given.url, given.api_key, unencrypted=given.allow_unencrypted_credentials)
        if address.loopback:
            return f"{given.url} (this machine)"
        return f"{given.url} (questions and evidence leave this machine → {address.host})"

    def embedder() -> str:
        path = find_embedder(settings.embedder)
        embedder_identity(path)
        require_whole_embedder(path)
        return str(path)

    def reranker() -> str:
        from atomr_local.sources.reranking import check_cross_encoder

        path = Path(settings.retrieval.reranker).expanduser()
        check_cross_encoder(path)
        return str(path)

    if settings.endpoint.url:
        yield looked_at("endpoint", endpoint)
    model_found = looked_at("model", model)
    yield model_found
    if model_found.state == "ok":
        yield looked_at("adapter", adapter)
    yield looked_at("embedder", embedder)
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
    from atomr_local.strategies.registry import find_strategy
    from atomr_local.strategies.requirements import check_needs

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
    from atomr_local.backbone.llama.probe.verdict import read_verdict, verdict_file
    from atomr_local.catalog.find import find_adapter, find_model
    from atomr_local.cli.doctor.findings import model_run
    from atomr_local.model_loading import probe_task

    try:
        path = find_model(settings.model)
        file = verdict_file(probe_task(settings, path, find_adapter(settings.adapter, path)))
    except AtomrError:  # reported as the adapter
        return None
    verdict = read_verdict(file) if file is not None else None
    return model_run(verdict, path) if verdict is not None else None


def _vectors(entry: IndexEntry) -> str:
    """What a text index lacks of its vectors; "" if nothing."""
    from atomr_local.indexing.text_index.vector_state import vector_state

    told = vector_state(entry.manifest, entry.path).told() if entry.kind == "text" and entry.manifest else ""
    return f"{told} (`atomr text embed {entry.name}` makes them)" if told else ""


def _indexes() -> Iterator[Finding]:
    from atomr_local import paths
    from atomr_local.indexing.builds.rebuilding import damage_hint, rebuild_hint
    from atomr_local.indexing.opening import opening_problem
    from atomr_local.indexing.store import list_indexes, permission_hint

    shipped = paths.starter_knowledge_dir()
    whole = all((shipped / name).is_file() for name in ("facts.jsonl", "articles.jsonl"))
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
