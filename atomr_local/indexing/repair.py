"""`atomr indexes repair`: repairs an index without its input files.

The files that are as they were built are shared by hard links with a new directory, where what can be made of them is
made again: the manifest from its copy beside the checksums, the full-text and vector indexes from the passages, the
facts as text from the graph. Files that were not built with the index are left behind. The new directory takes the
index's place when it is whole.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local.indexing import store
from atomr_local.indexing.builds import digests, publishing
from atomr_local.indexing.builds.ledger import changing
from atomr_local.indexing.builds.report import Report
from atomr_local.indexing.builds.space import write_error
from atomr_local.indexing.graph_index.linearised.facts import linearise
from atomr_local.indexing.graph_index.linearised.table import COUNT
from atomr_local.indexing.graph_index.linearised.table import FILE as FACTS
from atomr_local.indexing.starter import rebuild_starter
from atomr_local.indexing.text_index.vector_cache import copy_vectors
from atomr_local.indexing.verify import INDICES, mendable, verify_indexes

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder


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
