"""Gives a graph index that is built already its facts as text, and publishes it anew with them."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from atomr_local.cancellation import Cancellation
from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import digests, publishing
from atomr_local.indexing.builds.ledger import Ledger, read_ledger, would_be_lost
from atomr_local.indexing.builds.rebuilding import damage_hint
from atomr_local.indexing.builds.space import require_space, something_done, write_error
from atomr_local.indexing.graph_index.context import BuildProgress, ProgressCallback
from atomr_local.indexing.graph_index.linearised.facts import linearise
from atomr_local.indexing.graph_index.linearised.table import COUNT, FILE, LAYOUT
from atomr_local.indexing.opening import opening_problem

STAGE = "linearising facts"
# Of the table, for a fact, with some to spare: the starter's take 61.
_BYTES = 90


def linearise_graph_index(
    name: str,
    *,
    again: bool = False,
    progress: ProgressCallback | None = None,
    cancellation: Cancellation | None = None,
) -> tuple[store.Manifest, bool]:
    """Give the graph index its facts as text. A run that was stopped in any way goes on when it is called again.

    The index's other files are shared by hard links with the new one, which takes its place when it is whole.

    Args:
        again: make the table anew though it is there.

    Returns:
        The manifest, and whether anything was done: a whole table of this version stays as it is.

    Raises:
        KnowledgeIndexError: there is no such index, it is damaged, an unfinished build of it would be lost, or it
            cannot be written.
        Cancelled: `cancellation` was thrown; no index was changed.
    """
    directory = store.index_path("graph", name)
    store.read_manifest(directory)
    switch = cancellation or Cancellation()
    try:
        with publishing.resumable("graph", name) as scratch:
            manifest = store.read_manifest(directory)
            _require_whole(directory)
            begun = read_ledger(scratch)
            if begun is not None and COUNT not in begun.settings:
                raise would_be_lost("graph", name)
            if not again and begun is None and has_facts(directory, manifest):
                return manifest, False
            built = {"layout": LAYOUT, "of": [manifest.built_at, manifest.counts | {COUNT: 0}]}
            ledger = Ledger.open(scratch, "graph", [], {COUNT: built}, cancellation=switch)
            total = manifest.counts.get("triples", 0)
            if not ledger.resumed:
                require_space(scratch, total * _BYTES, f"the facts as text of the graph index {name!r}")
                ledger.commit({"facts": 0})
            note = ledger.note or ("resuming an unfinished run" if ledger.resumed else "")

            def told(facts: int) -> None:
                switch.check()
                if progress is not None:
                    progress(BuildProgress(STAGE, facts, min(facts, total), total, note))

            facts = linearise(directory, scratch, told)
            switch.check()
            for item, path in digests.listed(directory):
                if item not in (FILE, store.MANIFEST):
                    (scratch / item).parent.mkdir(parents=True, exist_ok=True)
                    (scratch / item).unlink(missing_ok=True)  # of a run that was killed here
                    publishing.share(path, scratch / item)
            counts, settings = manifest.counts | {COUNT: facts}, manifest.settings | {COUNT: LAYOUT}
            published = publishing.publish(scratch, replace(manifest, name=name, counts=counts, settings=settings))
            return store.read_manifest(published), True
    except (OSError, sqlite3.Error) as error:
        kept = something_done(publishing.unfinished_path("graph", name))
        raise write_error(f"the facts as text of the graph index {name!r}", error, resumable=kept) from error


def has_facts(directory: Path, manifest: store.Manifest) -> bool:
    """Whether the index has a table of this version that looks as it was made."""
    known = manifest.settings.get(COUNT) == LAYOUT and COUNT in manifest.counts
    return known and (directory / FILE).is_file() and FILE not in opening_problem(directory)


def _require_whole(directory: Path) -> None:
    """Make sure that nothing but the table itself is seen to be damaged.

    Raises:
        KnowledgeIndexError: something is.
    """
    problem = opening_problem(directory)
    if problem and FILE not in problem:
        raise KnowledgeIndexError(
            f"the graph index in {directory} cannot be read: {problem}", hint=damage_hint("graph", directory)
        )
