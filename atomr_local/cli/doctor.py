"""`atomr doctor`: what is installed, found, missing, broken, and what to do about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

import click

from atomr_local.cli.options import print_json
from atomr_local.errors import AtomrError
from atomr_local.sanitize import sanitize_line

_PACKAGES = ("llama-cpp-python", "lancedb", "pyoxigraph", "sentence-transformers", "torch", "textual", "ddgs")


@dataclass(frozen=True)
class Finding:
    """Attributes: state: "ok", "missing" or "broken"; advice: what to do, empty when ok."""

    part: str
    state: str
    detail: str
    advice: str = ""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(as_json: bool) -> int:
    """Say what is installed, found, missing or broken, and what to do about it.

    Example: atomr doctor
    """
    findings = [*_packages(), *_settings_and_models(), *_indexes()]
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            click.echo(f"{finding.state:<8} {finding.part:<24} {sanitize_line(finding.detail)}")
            if finding.advice:
                click.echo(f"{'':8} → {sanitize_line(finding.advice)}")
    return 0 if all(finding.state == "ok" for finding in findings) else 1


def _packages() -> list[Finding]:
    found = []
    for name in _PACKAGES:
        try:
            found.append(Finding(name, "ok", version(name)))
        except PackageNotFoundError:
            found.append(
                Finding(name, "missing", "not installed", "Install atomr-local again with the README's command.")
            )
    return found


def _settings_and_models() -> list[Finding]:
    from atomr_local import paths
    from atomr_local.catalog.find import find_model
    from atomr_local.catalog.starter import starter_embedder_path
    from atomr_local.gguf import read_header
    from atomr_local.settings import STARTER, load_settings

    found = []
    try:
        settings = load_settings()
    except AtomrError as error:
        return [Finding("settings", "broken", error.message, error.hint)]
    file = paths.config_file()
    found.append(Finding("settings", "ok", str(file) if file.exists() else "defaults (no settings file)"))
    try:
        path = find_model(settings.model)
        read_header(path)
        found.append(Finding("model", "ok", str(path)))
    except AtomrError as error:
        found.append(Finding("model", "broken", error.message, error.hint))
    if settings.embedder == STARTER:
        try:
            found.append(Finding("embedder", "ok", str(starter_embedder_path())))
        except AtomrError as error:
            found.append(Finding("embedder", "missing", error.message, error.hint))
    return found


def _indexes() -> list[Finding]:
    from atomr_local import paths
    from atomr_local.indexing.store import list_indexes

    shipped = paths.starter_knowledge_dir()
    whole = all((shipped / name).is_file() for name in ("facts.jsonl", "articles.jsonl"))
    found = [
        Finding("starter knowledge", "ok", str(shipped))
        if whole
        else Finding("starter knowledge", "missing", f"{shipped} is not whole", "Install atomr-local again.")
    ]
    for entry in list_indexes():
        part = f"{entry.kind} index {entry.name}"
        if entry.problem is None:
            found.append(Finding(part, "ok", str(entry.path)))
        else:
            found.append(Finding(part, "broken", entry.problem, f"Build it again with `atomr {entry.kind} build`."))
    return found
