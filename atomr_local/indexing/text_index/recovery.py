"""Reads back what a text build wrote, before publishing and after a failed write.

LanceDB writes behind the caller's back, and can lose the error of a write that failed; only reading shows it then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from atomr_local.cancellation import Cancellation
from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds.ledger import empty, read_ledger
from atomr_local.indexing.builds.report import Report
from atomr_local.indexing.builds.space import CHECK_DISK
from atomr_local.indexing.foreign_errors import panics_as_errors
from atomr_local.indexing.text_index.table import TABLE, connect
from atomr_local.indexing.text_index.verify import check_written

_BATCH = 2048


def check_before_publishing(scratch: Path, manifest: store.Manifest, cancellation: Cancellation, *, scan: bool) -> None:
    """Make sure that the index in `scratch` can be read and searched; otherwise nothing of it is kept.

    Args:
        scan: read every passage too.

    Raises:
        KnowledgeIndexError: it cannot.
        Cancelled: the cancellation was thrown.
    """
    report = Report("text", manifest.name, scratch)
    check_written(report, manifest, cancellation, scan=scan)
    if report.problems:
        empty(scratch)
        raise KnowledgeIndexError(
            f"the text index {manifest.name!r} cannot be read back as it was written: {report.problems[0]}",
            hint=f"{CHECK_DISK}, then run the same command again: it starts over.",
        )


def after_failed_write(scratch: Path, error: KnowledgeIndexError) -> None:
    """Make sure that the next run can continue from what is in `scratch`, after a write failed there.

    Where the passages that the ledger counts cannot be read, the unfinished build is emptied, and the hint of `error`
    says so. Where the indexes were made already, the next run makes them again.
    """
    ledger = read_ledger(scratch)
    if ledger is None or not ledger.state or not error.hint.startswith(CHECK_DISK):
        return
    state = dict(ledger.state)
    try:
        with panics_as_errors():
            table = connect(scratch).open_table(TABLE)
            # While old versions are removed, the present one has the same rows.
            if not (state.get("forgetting") or state.get("stage") == "tidying"):
                table.checkout(int(state["version"]))
            _read_through(table)
            if state.get("stage") == "tidying":
                for index in table.list_indices():
                    table.drop_index(index.name)
                ledger.commit(state | {"stage": "indexing", "trained": 0, "version": int(table.version)})
    except Exception:
        empty(scratch)
        error.hint = (
            f"{CHECK_DISK}, then run the same command again: it starts over, because what it had written is damaged."
        )


def _read_through(table: Any) -> None:
    for _ in table.search().to_batches(_BATCH):
        pass
