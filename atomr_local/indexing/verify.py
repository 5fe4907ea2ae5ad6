"""Verifies indexes, explains damage, and says what to do."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.cancellation import Cancellation
from atomr_local.errors import AtomrError, KnowledgeIndexError
from atomr_local.indexing import digests, publishing, store
from atomr_local.indexing.foreign_errors import PANIC_MESSAGE, library_line, standard_error_without
from atomr_local.indexing.ledger import read_ledger
from atomr_local.indexing.rebuilding import rebuild_hint, repair_hint
from atomr_local.indexing.space import human_size
from atomr_local.indexing.text_table import SEARCHED, TABLE, VECTOR

# Where LanceDB keeps the indexes of a text index's table, and what each is called, by the column that it is of.
INDICES = f"{TABLE}.lance/_indices/"
PARTS = {SEARCHED: "the full-text index", "id": "the index of ids", VECTOR: "the vector index"}
_GRAPH_STORE = "oxigraph"
_GRAPH_NAMES = "names.sqlite"


@dataclass
class Report:
    """What was found of one index, or of an unfinished build.

    Attributes:
        state: whole, damaged, half-built, being built, set aside, or left over.
        problems: what is wrong, one thing each; empty for a whole index.
        notes: what is good to know and no damage.
        measured: figures, such as {"recall@10": 0.998}.
        hint: what to do about the problems; "" when there are none.
        files: how its files differ from those that were built.
    """

    kind: store.IndexKind
    name: str
    path: Path
    state: str = "whole"
    counts: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    measured: dict[str, float] = field(default_factory=dict)
    hint: str = ""
    files: digests.Findings = field(default_factory=digests.Findings)

    @property
    def good(self) -> bool:
        return self.state in ("whole", "being built")


def verify_indexes(
    name: str = "", *, embedder: str | None = None, cancellation: Cancellation | None = None
) -> list[Report]:
    """Look at every index, or at those of one name, reading all that they hold.

    Args:
        embedder: identity of the embedder that searches would use; an index made with another is noted.

    Raises:
        KnowledgeIndexError: there is nothing of this name.
        Cancelled: `cancellation` was thrown.
    """
    cancellation = cancellation or Cancellation()
    reports = [
        _verified(entry, embedder, cancellation) for entry in store.list_indexes() if name in ("", entry.name)
    ]  # fmt: skip
    reports += [unfinished_report(item) for item in publishing.list_unfinished() if name in ("", item.name)]
    if name and not reports:
        raise KnowledgeIndexError(
            f"there is no index named {name!r}", hint="`atomr indexes list` shows what there is."
        )  # fmt: skip
    return reports


def _verified(entry: store.IndexEntry, embedder: str | None, cancellation: Cancellation) -> Report:
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
                from atomr_local.indexing.text_verify import verify_text

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


def mendable(report: Report) -> bool:
    """Whether `atomr indexes repair` can mend what was found, without what the index was built from."""
    if report.name == store.STARTER:
        return True
    if report.files.state == "whole":
        remade = (store.MANIFEST,) if report.kind == "graph" else (store.MANIFEST, INDICES)
        return bool(report.files.bad or report.files.added) and all(
            name.startswith(remade) for name in report.files.bad
        )
    listed = report.files.problem
    return all(problem == listed or problem.startswith(tuple(PARTS.values())) for problem in report.problems)


@contextlib.contextmanager
def damage(report: Report, what: str = "") -> Iterator[None]:
    """Whatever the libraries raise on damaged files becomes a problem of the report."""
    before = f"{what}: " if what else ""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except AtomrError as error:
        if error.title == "Cancelled":
            raise
        report.problems.append(before + error.message)
    except BaseException as error:  # a panic in Rust code is no Exception
        report.problems.append(f"{before}{library_line(error, report.path)}")


def _note_inputs(report: Report, manifest: store.Manifest) -> None:
    for item in manifest.inputs:
        with contextlib.suppress(OSError):
            if Path(item.path).stat().st_size != item.size:
                report.notes.append(f"{item.path} has changed since the index was built from it")


def _verify_graph(report: Report, manifest: store.Manifest, cancellation: Cancellation) -> None:
    from pyoxigraph import Store

    directory = report.path
    missing = [name for name in (_GRAPH_STORE, _GRAPH_NAMES) if not (directory / name).exists()]
    report.problems += [f"{name} is missing" for name in missing]
    if _GRAPH_NAMES not in missing:
        with damage(report, _GRAPH_NAMES):
            uri = f"{(directory / _GRAPH_NAMES).resolve().as_uri()}?immutable=1"
            with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
                found = [str(row[0]) for row in database.execute("PRAGMA quick_check(3)")]
            if found != ["ok"]:
                report.problems.append(f"{_GRAPH_NAMES} is damaged: {'; '.join(found)}")
    if _GRAPH_STORE in missing:
        return
    with damage(report, "the facts cannot be read"):
        triples = 0
        for _ in Store.read_only(str(directory / _GRAPH_STORE)):
            triples += 1
            if triples % 10_000 == 0:
                cancellation.check()
        wanted = manifest.counts.get("triples", 0)
        if triples < wanted:  # labels come on top of what the manifest counts
            report.problems.append(f"{triples} facts are there, {wanted} were built")


def unfinished_report(item: publishing.Unfinished) -> Report:
    """What an unfinished build is, and whether any command goes on from it."""
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
    report.hint = f"Run the command that started it again to resume. {drop}."
    return report


def _how_far(state: dict[str, Any]) -> str:
    amounts = [
        f"{state[what]} {what}" for what in ("articles", "passages", "triples") if isinstance(state.get(what), int)
    ]
    return f"after {', '.join(amounts)}" if amounts else "before its end"
