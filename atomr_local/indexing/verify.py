"""Verifies indexes, explains damage, and says what to do."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from atomr_local.cancellation import Cancellation
from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import digests, publishing
from atomr_local.indexing.builds.ledger import read_ledger
from atomr_local.indexing.builds.rebuilding import rebuild_hint, repair_hint
from atomr_local.indexing.builds.report import Report, damage
from atomr_local.indexing.builds.space import human_size
from atomr_local.indexing.foreign_errors import PANIC_MESSAGE, standard_error_without
from atomr_local.indexing.graph_index.bulk_loading import STORE
from atomr_local.indexing.graph_index.linearised.table import COUNT, FactTable
from atomr_local.indexing.graph_index.linearised.table import FILE as FACTS
from atomr_local.indexing.graph_index.names.database import FILE as NAMES
from atomr_local.indexing.sqlite_pool import ReadOnlyPool
from atomr_local.indexing.text_index.table import TABLE
from atomr_local.indexing.text_index.verify import PARTS, verify_text

# Where LanceDB keeps the indexes of a text index's table.
INDICES = f"{TABLE}.lance/_indices/"


def verify_indexes(
    name: str = "",
    kind: store.IndexKind | None = None,
    *,
    embedder: str | None = None,
    cancellation: Cancellation | None = None,
) -> list[Report]:
    """Look at every index, or at those of one name and kind, reading all that they hold.

    Args:
        embedder: identity of the embedder that searches would use; an index made with another is noted.

    Raises:
        KnowledgeIndexError: there is nothing of this name.
        Cancelled: `cancellation` was thrown.
    """
    cancellation = cancellation or Cancellation()

    def meant(item: store.IndexEntry | publishing.Unfinished) -> bool:
        return name in ("", item.name) and kind in (None, item.kind)

    reports = [verify_index(entry, embedder, cancellation) for entry in store.list_indexes() if meant(entry)]
    reports += [unfinished_report(item) for item in publishing.list_unfinished() if meant(item)]
    if name and not reports:
        raise KnowledgeIndexError(f"there is no index named {name!r}", hint="`atomr indexes list` shows what there is.")
    return reports


def verify_index(entry: store.IndexEntry, embedder: str | None, cancellation: Cancellation) -> Report:
    """Read all that one index holds; it may lie anywhere.

    Raises:
        Cancelled: `cancellation` was thrown.
    """
    report = Report(entry.kind, entry.name, entry.path)
    manifest = entry.manifest
    with contextlib.suppress(OSError):
        report.bytes = store.directory_size(entry.path)
    if manifest is None:
        report.problems.append(entry.problem or "it has no manifest")
    with damage(report, "its files cannot be read"):
        report.files = digests.compare(entry.path, cancellation.check)
        gone = store.MANIFEST if manifest is None else None  # told already
        report.problems += [told for told in report.files.problems() if told != f"{gone} is missing"]
    if manifest is not None:
        report.counts = dict(manifest.counts)
        if (manifest.kind, manifest.name) != (entry.kind, entry.name):
            report.notes.append(f"its manifest calls it {manifest.kind} {manifest.name}: it was moved or copied")
        _note_inputs(report, manifest)
        # A panic in damaged files is a problem of the report; Rust's own words about it help nobody.
        with standard_error_without(PANIC_MESSAGE), damage(report):
            if manifest.kind == "text":
                verify_text(report, manifest, embedder, cancellation)
            else:
                _verify_graph(report, manifest, cancellation)
    if report.problems:
        report.state = "damaged"
        mended = repair_hint(entry) if mendable(report) else rebuild_hint(entry)
        report.hint = store.permission_hint(entry.path) or mended
    elif report.files.state == "absent":
        report.notes.append(
            f"built by an earlier version, without checksums: `atomr indexes repair {entry.name}` makes them"
        )
    return report


def _verify_graph(report: Report, manifest: store.Manifest, cancellation: Cancellation) -> None:
    """Add to the report what is wrong with a graph index: names that cannot be read, and missing facts."""
    from pyoxigraph import Store

    directory = report.path
    missing = [name for name in (STORE, NAMES) if not (directory / name).exists()]
    report.problems += [f"{name} is missing" for name in missing]
    if NAMES not in missing:
        with damage(report, NAMES), contextlib.closing(ReadOnlyPool(directory / NAMES)) as names:
            if problem := names.check():
                report.problems.append(f"{NAMES} is damaged: {problem}")
    if COUNT in manifest.counts:
        _verify_facts(report, manifest.counts[COUNT])
    if STORE in missing:
        return
    with damage(report, "the facts cannot be read"):
        triples = 0
        for _ in Store.read_only(str(directory / STORE)):
            triples += 1
            if triples % 10_000 == 0:
                cancellation.check()
        wanted = manifest.counts.get("triples", 0)
        if triples < wanted:  # labels come on top of what the manifest counts
            report.problems.append(f"{triples} facts are there, {wanted} were built")


def _verify_facts(report: Report, wanted: int) -> None:
    """Add to the report what is wrong with the facts as text."""
    if not (report.path / FACTS).exists():
        report.problems.append(f"{FACTS} is missing")
        return
    with damage(report), contextlib.closing(FactTable(report.path)) as facts:
        if problem := facts.check():
            report.problems.append(f"{FACTS} is damaged: {problem}")
        elif (count := facts.count()) < wanted:
            report.problems.append(f"{count} facts as text are there, {wanted} were made")


def mendable(report: Report) -> bool:
    """Whether `atomr indexes repair` can repair what was found, without what the index was built from."""
    if report.name == store.STARTER:
        return True
    if report.files.state == "whole":
        remade = (store.MANIFEST, FACTS) if report.kind == "graph" else (store.MANIFEST, INDICES)
        return bool(report.files.bad or report.files.added) and all(
            name.startswith(remade) for name in report.files.bad
        )
    listed = report.files.problem
    return all(problem == listed or problem.startswith(tuple(PARTS.values())) for problem in report.problems)


def _note_inputs(report: Report, manifest: store.Manifest) -> None:
    for item in manifest.inputs:
        with contextlib.suppress(OSError):
            if Path(item.path).is_file() and Path(item.path).stat().st_size != item.size:
                report.notes.append(f"{item.path} has changed since the index was built from it")


def unfinished_report(item: publishing.Unfinished) -> Report:
    """What an unfinished build is, and whether any command continues from it."""
    report = Report(item.kind, item.name, item.path, bytes=item.bytes)
    if item.running:
        report.state = "being built"
        return report
    if item.set_aside:
        report.state = "set aside"
        report.problems.append("a process died after moving the old index away and before publishing the new one")
        report.hint = f"`atomr indexes remove {item.kind} {item.name} --unfinished` puts it back."
        return report
    drop = f"`atomr indexes remove {item.kind} {item.name} --unfinished` frees {human_size(item.bytes)}"
    ledger = read_ledger(item.path) if item.resumable else None
    if ledger is None:
        report.state = "left over"
        report.problems.append("left behind by a process that died; no command can resume it")
        report.hint = f"{drop}; so does the next build of this name."
        return report
    report.state = "half-built"
    report.problems.append(f"the build was stopped {_how_far(ledger.state)}")
    command = f"`atomr graph linearise {item.name}`" if COUNT in ledger.settings else "the command that started it"
    report.hint = f"Run {command} again to resume. {drop}."
    return report


def _how_far(state: dict[str, Any]) -> str:
    amounts = [
        f"{state[what]} {what}" for what in ("articles", "passages", "triples") if isinstance(state.get(what), int)
    ]
    return f"after {', '.join(amounts)}" if amounts else "before its end"
