"""Builds a graph index: facts in Oxigraph, names in SQLite, published atomically."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds import publishing as digests
from atomr_local.indexing.builds.ledger import Ledger, damage_hint, read_ledger, unfinished_build_error
from atomr_local.indexing.builds.space import require_space, something_done, write_error
from atomr_local.indexing.graph_index.build import BuildContext, BuildProgress, GraphBuild, ProgressCallback
from atomr_local.indexing.graph_index.ids import read_entity_ids, read_property_ids
from atomr_local.indexing.graph_index.linearised import COUNT, FILE, LAYOUT, linearise
from atomr_local.indexing.graph_index.subset import Subset
from atomr_local.indexing.opening import opening_problem
from atomr_local.indexing.readers.detect import GraphFormat, detect_graph_format
from atomr_local.system.cancellation import Cancellation

# Facts without ids join the entities that dumps name, so they are read last.
_ORDER = {"facts-jsonl": 1}
# Raised when what a build writes changes, so that an older unfinished one is not gone on with.
_LAYOUT = 3


def build_graph_index(
    inputs: Sequence[Path],
    name: str,
    *,
    format: GraphFormat = "auto",
    language: str = "en",
    entities: Path | None = None,
    text_index: str | None = None,
    properties: Path | None = None,
    linearise: bool = False,
    progress: ProgressCallback | None = None,
    cancellation: Cancellation | None = None,
) -> store.Manifest:
    """Build the graph index `name` from facts (JSON lines), N-Triples, Turtle and Wikidata's JSON dumps, each plain,
    gzip or bzip2. A build that was stopped in any way goes on when it is called again with the same inputs.

    Unusable lines are skipped; the manifest's settings tell how many and show the first:
    {"skipped": {"count", "samples": [[file, line, reason], …]}}. They tell too what could be read and no graph is built
    of, by what it is ({"passed_over": {"triples about lexemes": 12}}), and what has no label ({"unlabelled": {"count",
    "samples"}}).

    With `entities` or `text_index`, only the slice of Wikidata about these is kept, with labels, aliases, descriptions
    and types of everything it points to; facts in JSON lines are taken whole.

    Args:
        format: "auto" recognises each file by its content.
        language: labels, aliases and descriptions of other languages are left out.
        entities: file with a Q-id per line.
        text_index: name of a text index; its articles' entities, by id or else by title.
        properties: file with a P-id per line; other properties are left out. Without it, external identifiers and media
            are left out where the source tells which properties these are.
        linearise: give the index its facts as text too.

    Raises:
        InputError: an input is missing, damaged or not of its format; no index was changed.
        KnowledgeIndexError: the index cannot be written, or the text index cannot be read.
        Cancelled: `cancellation` was thrown; no index was changed.
    """
    files = [Path(item) for item in inputs]
    if not files:
        raise InputError("no input file is given")
    if entities is not None and text_index is not None:
        raise InputError("a list of entities and a text index are both given", hint="Give one of them.")
    store.check_name(name)
    formats = sorted(
        ((file, detect_graph_format(file) if format == "auto" else format) for file in files),
        key=lambda item: _ORDER.get(item[1], 0),
    )
    selection = Subset(
        sliced=entities is not None or text_index is not None,
        allowed=read_property_ids(properties) if properties is not None else None,
    )
    settings: dict[str, Any] = {"layout": _LAYOUT, "formats": [kind for _, kind in formats], "language": language}
    if selection.allowed is not None:
        settings["properties"] = sorted(selection.allowed, key=lambda pid: int(pid[1:]))
    directory = None
    if entities is not None:
        selection.subjects = read_entity_ids(entities)
        settings["entities"] = hashlib.sha256(selection.subjects.to_bytes().rstrip(b"\0")).hexdigest()
    elif text_index is not None:
        directory = store.index_path("text", text_index)
        manifest = store.read_manifest(directory)
        settings["text_index"] = {"name": text_index, "built_at": manifest.built_at, "counts": manifest.counts}
    try:
        with publishing.resumable("graph", name) as scratch:
            switch = cancellation or Cancellation()
            ledger = Ledger.open(scratch, "graph", [file for file, _ in formats], settings, cancellation=switch)
            context = BuildContext(ledger, formats, language, selection, directory, progress, switch, linearise)
            with ledger.abandon_if_empty():
                counts, said = GraphBuild(context).run()
                ledger.check_inputs()
            settings.pop("layout")
            # Not in the ledger: a build continues though the lists lie elsewhere now.
            lists = {"entities": entities, "properties": properties}
            asked = {what: str(file.absolute()) for what, file in lists.items() if file is not None}
            if format != "auto":
                asked["format"] = format
            if asked:
                settings["asked"] = asked
            if COUNT in counts:
                settings[COUNT] = LAYOUT
            manifest = store.Manifest(
                kind="graph", name=name, counts=counts, inputs=ledger.inputs, settings=settings | said
            )
            return store.read_manifest(publishing.publish(scratch, manifest))
    except (OSError, sqlite3.Error) as error:
        kept = something_done(publishing.unfinished_path("graph", name))
        raise write_error(f"the graph index {name!r}", error, resumable=kept) from error


# Gives a graph index that is built already its facts as text, and publishes it anew with them.

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
                raise unfinished_build_error("graph", name)
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
