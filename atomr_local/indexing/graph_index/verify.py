"""Whether a graph index is whole: its names readable, and as many facts as were built."""

from __future__ import annotations

import contextlib
import sqlite3

from atomr_local.cancellation import Cancellation
from atomr_local.indexing import store
from atomr_local.indexing.builds.report import Report, damage
from atomr_local.indexing.graph_index.bulk_loading import STORE
from atomr_local.indexing.graph_index.names.database import FILE as NAMES


def verify_graph(report: Report, manifest: store.Manifest, cancellation: Cancellation) -> None:
    """Add to the report what is wrong with a graph index."""
    from pyoxigraph import Store

    directory = report.path
    missing = [name for name in (STORE, NAMES) if not (directory / name).exists()]
    report.problems += [f"{name} is missing" for name in missing]
    if NAMES not in missing:
        with damage(report, NAMES):
            uri = f"{(directory / NAMES).resolve().as_uri()}?immutable=1"
            with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
                found = [str(row[0]) for row in database.execute("PRAGMA quick_check(3)")]
            if found != ["ok"]:
                report.problems.append(f"{NAMES} is damaged: {'; '.join(found)}")
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
