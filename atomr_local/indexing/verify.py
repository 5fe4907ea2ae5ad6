"""Verifies indexes, explains damage, and says what to do."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds import publishing as digests
from atomr_local.indexing.builds.ledger import Report, changing, damage, read_ledger, rebuild_hint, repair_hint
from atomr_local.indexing.builds.space import human_size, write_error
from atomr_local.indexing.foreign_errors import PANIC_MESSAGE, standard_error_without
from atomr_local.indexing.graph_index.bulk_loading import STORE
from atomr_local.indexing.graph_index.linearised import COUNT, FactTable, linearise
from atomr_local.indexing.graph_index.linearised import FILE as FACTS
from atomr_local.indexing.graph_index.names.database import FILE as NAMES
from atomr_local.indexing.sqlite_pool import ReadOnlyPool
from atomr_local.indexing.starter import rebuild_starter
from atomr_local.indexing.text_index.table import TABLE
from atomr_local.indexing.text_index.vectors import copy_vectors
from atomr_local.indexing.text_index.verify import PARTS, verify_text
from atomr_local.system.cancellation import Cancellation

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder


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


# `atomr indexes repair`: repairs an index without its input files.
#
# The files that are as they were built are shared by hard links with a new directory, where what can be made of them is
# made again: the manifest from its copy beside the checksums, the full-text and vector indexes from the passages, the
# facts as text from the graph. Files that were not built with the index are left behind. The new directory takes the
# index's place when it is whole.


@dataclass(frozen=True)
class Repair:
    """What was done about one index, and how it is now.

    Attributes:
        done: what was done, in words; "" where nothing was to be done or nothing helps.
        report: what verifying it finds now; None if nothing is left of it.
    """

    done: str
    report: Report | None


def repair_indexes(
    name: str = "",
    *,
    open_embedder: Callable[[], Embedder],
    tell: Callable[[str], None] = lambda _text: None,
) -> list[Repair]:
    """Verify the indexes, or those of one name, repair what can be repaired, and verify those again.

    Args:
        open_embedder: gives the embedder that the starter's passages are built with.
        tell: called before something is done that takes long.

    Raises:
        KnowledgeIndexError: there is nothing of this name, it is being built, or it cannot be written.
    """
    found = []
    for report in verify_indexes(name):
        done = _repair(report, open_embedder, tell)
        now: Report | None = report
        if done:
            again = verify_indexes()
            now = next((item for item in again if (item.kind, item.path) == (report.kind, report.path)), None)
        found.append(Repair(done, now))
    return found


def _repair(report: Report, open_embedder: Callable[[], Embedder], tell: Callable[[str], None]) -> str:
    kind, name = report.kind, report.name
    if report.state == "set aside":
        publishing.put_back(kind, name)
        return "restored"
    if report.state == "left over" and report.path.exists():  # what was repaired before it may have cleared it away
        publishing.remove(kind, name, unfinished_only=True)
        return "removed what a dead process had left"
    if report.state == "damaged" and mendable(report):
        if name == store.STARTER:
            tell(f"rebuilding the starter's {kind} index")
            rebuild_starter(kind, open_embedder)
            return "rebuilt from the files that ship"
        return _mended(report, tell)
    if report.state == "whole" and report.files.state == "absent":
        return _recorded(report)
    return ""


def _mended(report: Report, tell: Callable[[str], None]) -> str:
    kind, name = report.kind, report.name
    recorded = digests.read_record(report.path) if report.files.state == "whole" else None
    unlisted = recorded is None
    if unlisted and report.problems == [report.files.problem]:
        return _recorded(report)
    remake = unlisted or any(item.startswith(INDICES) for item in report.files.bad)
    try:
        with changing(kind, name) as scratch:
            if recorded is not None:
                manifest = store.parse_manifest(recorded.manifest, report.path)
                kept = [item for item in recorded.files if item not in {*report.files.bad, store.MANIFEST}]
            else:
                manifest = store.read_manifest(report.path)
                kept = [item for item, _ in digests.listed(report.path) if item != store.MANIFEST]
            for item in kept:
                (scratch / item).parent.mkdir(parents=True, exist_ok=True)
                publishing.share(report.path / item, scratch / item)
            if remake:
                tell(f"making the indexes of {name} again, from its passages")
                manifest = replace(
                    manifest, settings=manifest.settings | {"trained_rows": _index_anew(scratch, manifest)}
                )
            if kind == "text":
                copy_vectors(report.path, scratch)
            facts = kind == "graph" and COUNT in manifest.counts and FACTS not in kept
            if facts:
                tell(f"making the facts as text of {name} again")
                linearise(scratch, scratch)
            publishing.publish(scratch, replace(manifest, name=name))
    except (OSError, sqlite3.Error) as error:
        raise write_error(f"the {kind} index {name!r}", error) from error
    done = ["made its full-text and vector indexes again"] if remake else []
    done += ["made its facts as text again"] if facts else []
    done += ["restored its manifest"] if store.MANIFEST in report.files.bad else []
    done += [f"left out {len(report.files.added)} files that do not belong to it"] if report.files.added else []
    return ", ".join(done)


def _index_anew(scratch: Path, manifest: store.Manifest) -> int:
    from atomr_local.indexing.text_index.table import PassageTable

    return PassageTable(scratch, int(manifest.settings["dimensions"])).index_anew()


def _recorded(report: Report) -> str:
    """Make the checksums of an index that was found to be whole without them."""
    try:
        with publishing.resumable(report.kind, report.name):
            text = (report.path / store.MANIFEST).read_text(encoding="utf-8")
            digests.record(report.path, text)
    except OSError as error:
        raise write_error(f"the {report.kind} index {report.name!r}", error) from error
    return "made its checksums"
