"""Verifies a text index: every passage is readable, indexed and found.

LanceDB writes behind the caller's back, and can lose the error of a write that failed; only reading shows it then. So
what a build wrote is read back too, before publishing and after a failed write.
"""

from __future__ import annotations

import re
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds.ledger import Report, damage, empty, read_ledger
from atomr_local.indexing.builds.space import CHECK_DISK
from atomr_local.indexing.foreign_errors import panics_as_errors
from atomr_local.indexing.text_index.catalog import CATALOG, CatalogReader
from atomr_local.indexing.text_index.shards import Shards
from atomr_local.indexing.text_index.table import EXACT_ROWS, SEARCHED, TABLE, VECTOR, connect, nearest
from atomr_local.indexing.text_index.vectors import VECTORS, VectorState, check_vectors, vector_state
from atomr_local.system.cancellation import Cancellation

# What each index of the table is called, by the column that it is of.
PARTS = {SEARCHED: "the full-text index", "id": "the index of ids", VECTOR: "the vector index"}
_SCANNED = 2048
_QUERIES = 50
_NEAREST = 10
_PROBED = 10
# What is asked of an approximate index, and how far a query lies from the passage that it is made from.
_RECALL = 0.98
_NOISE = 0.5
_LENGTH_OFF = 0.01


def verify_text(report: Report, manifest: store.Manifest, embedder: str | None, cancellation: Cancellation) -> None:
    """Add to the report what is wrong with a text index, and recall@10 where its vector index is approximate."""
    built_with = manifest.settings.get("embedder")
    if None not in (embedder, built_with) and built_with != embedder:
        report.notes.append(f"made with another embedder ({built_with}) than the settings give: searches are refused")
    if not (report.path / f"{TABLE}.lance").is_dir():
        report.problems.append(f"the passages are missing: there is no {TABLE}.lance")
        return
    table = None
    with damage(report, "the table of the passages cannot be opened"):
        table = connect(report.path).open_table(TABLE)
        rows = int(table.count_rows())
    if table is None:
        return
    if rows != (wanted := manifest.counts.get("passages")):
        report.problems.append(f"{rows} passages are there, {wanted} were built")
    with damage(report, "the passages cannot be read"):
        checksum, vectors = _scan(report, table, rows, cancellation, vector_state(manifest))
        _check_catalog(report, manifest, checksum)
        embedded = vector_state(manifest).embedded
        _check_indexes(report, table, rows, cancellation, embedded=embedded)
        _note_vectors(report, vector_state(manifest, report.path))
        if embedded > EXACT_ROWS:
            with damage(report, f"{PARTS[VECTOR]} cannot be used"):
                recall = measure_recall(table, vectors, embedded, cancellation)
                report.measured["recall@10"] = round(recall, 4)
                if recall < _RECALL:
                    report.problems.append(
                        f"the vector index finds {recall:.3f} of the 10 nearest; expected at least {_RECALL}"
                    )


def check_before_publishing(scratch: Path, manifest: store.Manifest, cancellation: Cancellation, *, scan: bool) -> None:
    """Make sure that the index in `scratch` can be read and searched; otherwise nothing of it is kept.

    Args:
        scan: read every passage too.

    Raises:
        KnowledgeIndexError: it cannot.
        Cancelled: the cancellation was thrown.
    """
    report = Report("text", manifest.name, scratch)
    with damage(report):
        table = connect(scratch).open_table(TABLE)
        rows = int(table.count_rows())
        if rows != (wanted := manifest.counts.get("passages")):
            report.problems.append(f"{rows} passages are there, {wanted} were written")
        if scan:
            seen = Report("text", manifest.name, scratch)
            checksum, _ = _scan(seen, table, rows, cancellation, vector_state(manifest))
            _check_catalog(report, manifest, checksum)
        embedded = vector_state(manifest).embedded
        _check_indexes(report, table, rows, cancellation, embedded=embedded, in_use=False)
    if report.problems:
        empty(scratch)
        raise KnowledgeIndexError(
            f"the text index {manifest.name!r} cannot be read back as it was written: {report.problems[0]}",
            hint=f"{CHECK_DISK}, then run the same command again: it starts over.",
        )


def after_failed_write(scratch: Path, error: KnowledgeIndexError) -> None:
    """Make sure that the next run can continue from what is in `scratch`, after a write failed there.

    Where the shards that the ledger counts cannot be read, the unfinished build is emptied, and the hint of `error`
    says so.
    """
    ledger = read_ledger(scratch)
    if ledger is None or not ledger.state or not error.hint.startswith(CHECK_DISK):
        return
    try:
        with panics_as_errors():
            Shards(scratch).check(int(ledger.state["shards"]))
    except Exception:
        empty(scratch)
        error.hint = (
            f"{CHECK_DISK}, then run the same command again: it starts over, because what it had written is damaged."
        )


def _note_vectors(report: Report, state: VectorState) -> None:
    """Tell how many vectors are missing, and what is wrong with those that were made since; nothing rests on them."""
    if problem := check_vectors(report.path):
        report.notes.append(f"the vectors made since ({VECTORS}) are damaged and are made again: {problem}")
    if told := state.told():
        report.notes.append(f"{told}; `atomr text embed {report.name}` makes the others")


def _scan(report: Report, table: Any, rows: int, cancellation: Cancellation, state: VectorState) -> tuple[int, Any]:
    """Read every passage: a checksum of the ids that does not depend on their order, and some of the vectors."""
    import numpy as np

    checksum = seen = crooked = embedded = 0
    sample = []
    every = max(1, state.embedded // _QUERIES)
    columns = [name for name in table.schema.names if name != SEARCHED]
    for batch in table.search().select(columns).to_batches(_SCANNED):
        cancellation.check()
        found = batch.column(VECTOR).drop_null()
        vectors = (
            found.flatten().to_numpy(zero_copy_only=False).reshape(len(found), found.type.list_size).astype(np.float32)
        )
        lengths = np.linalg.norm(vectors, axis=1)
        crooked += int(np.sum(~(np.abs(lengths - 1) < _LENGTH_OFF)))
        for name in batch.column("id").to_pylist():
            checksum += zlib.crc32(str(name).encode())
        sample += [vectors[i] for i in range(-embedded % every, len(vectors), every)]
        embedded += len(vectors)
        seen += batch.num_rows
    if seen != rows:
        report.problems.append(f"{seen} of {rows} passages can be read")
    if embedded != state.embedded and seen == state.passages:
        report.problems.append(f"{embedded} passages have a vector, {state.embedded} were given one")
    if crooked:
        report.problems.append(f"{crooked} passages have no unit vector")
    return checksum, sample[:_QUERIES]


def _check_catalog(report: Report, manifest: store.Manifest, checksum: int) -> None:
    if "layout" not in manifest.settings:
        report.notes.append(
            "built by an earlier version: articles cannot be added or removed, and redirects are unknown"
        )
        return
    if not (report.path / CATALOG).is_file():
        report.problems.append(f"the list of articles is missing: there is no {CATALOG}")
        return
    with damage(report), closing(CatalogReader(report.path)) as catalog:  # what the catalogue raises names it
        if problem := catalog.check():
            report.problems.append(f"the list of articles ({CATALOG}) is damaged: {problem}")
            return
        articles = catalog.counts()["articles"]
        if articles != (wanted := manifest.counts.get("articles")):
            report.problems.append(f"{articles} articles are listed, {wanted} were built")
        listed = sum(zlib.crc32(name.encode()) for known in catalog.articles() for name in known.passage_ids())
        if listed != checksum:
            report.problems.append("the passages are not those of the listed articles")


def _check_indexes(
    report: Report, table: Any, rows: int, cancellation: Cancellation, *, embedded: int, in_use: bool = True
) -> None:
    """Each index must be there, cover all passages, and answer; one that is in use must find some of them by words."""
    named: dict[str, str] = {}
    sample: list[dict[str, str]] = []
    listed = False
    with damage(report, "the list of the indexes cannot be read"):
        named = {index.columns[0]: index.name for index in table.list_indices()}
        # What was written last too: an index that is added to begins with the old passages.
        for offset in sorted({0, max(0, rows - _PROBED)}):
            sample += table.search().select(["id", SEARCHED]).limit(_PROBED).offset(offset).to_list()
        listed = True
    if not listed:
        return
    finders = {SEARCHED: _finds_words, "id": _finds_ids}
    for column, part in PARTS.items():
        cancellation.check()
        if column not in named:
            if column != VECTOR or embedded > EXACT_ROWS:
                report.problems.append(f"{part} is missing")
            continue
        with damage(report, f"{part} cannot be used"):
            stats = table.index_stats(named[column])
            if stats is not None and stats.num_unindexed_rows:
                report.problems.append(f"{part} does not cover all passages")
            found = [finders[column](table, row) for row in sample] if column in finders else []
            # A passage of nothing but words that the full-text index leaves out ("it is here") is found by none.
            missed = not any(found) and in_use if column == SEARCHED else not all(found)
            if found and missed:
                report.problems.append(f"{part} does not find a passage that is there")


def _finds_words(table: Any, row: dict[str, str]) -> bool:
    from lancedb.query import MatchQuery

    words = " ".join(re.findall(r"\w+", row[SEARCHED])[:12])
    search = table.search(MatchQuery(words, SEARCHED), query_type="fts")
    return not words or bool(search.select(["id", "_score"]).limit(5).to_list())


def _finds_ids(table: Any, row: dict[str, str]) -> bool:
    quoted = row["id"].replace("'", "''")
    return bool(table.search().where(f"id = '{quoted}'").select(["id"]).limit(1).to_list())


def measure_recall(table: Any, vectors: Any, rows: int, cancellation: Cancellation) -> float:
    """Share of the 10 nearest passages by exact search that the vector index finds too, over queries near passages."""
    import numpy as np

    chance = np.random.default_rng(0)
    hits = wanted = 0
    for vector in vectors:
        cancellation.check()
        noise = chance.standard_normal(len(vector)).astype(np.float32)
        query = vector + _NOISE * noise / np.linalg.norm(noise)
        query /= np.linalg.norm(query)
        search = table.search(query, vector_column_name=VECTOR).distance_type("cosine").select(["id", "_distance"])
        found = {row["id"] for row in nearest(search.limit(_NEAREST), rows).to_list()}
        search = table.search(query, vector_column_name=VECTOR).distance_type("cosine").select(["id", "_distance"])
        exact = {row["id"] for row in search.limit(_NEAREST).bypass_vector_index().to_list()}
        hits += len(found & exact)
        wanted += len(exact)
    return hits / wanted if wanted else 1.0
