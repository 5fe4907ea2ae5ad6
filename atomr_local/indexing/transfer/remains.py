"""What an index still holds of the user's own that is not its content: taken out of what is handed on.

Files that could not be read are listed with their names, and rows that were deleted stay in the files of a table, in
its full-text index and in free pages of a database until those are written anew.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atomr_local.indexing import store
from atomr_local.indexing.builds import digests, publishing
from atomr_local.indexing.text_index.catalog import CATALOG
from atomr_local.indexing.text_index.table import TABLE, PassageTable

_TABLE_FILES = f"{TABLE}.lance/"
_CLEANED = (
    "DELETE FROM documents WHERE problem != ''",
    # Whoever takes the index in reads no file: what tells a changed file from an unchanged one is of no use there.
    "UPDATE documents SET root = 0, stamp = '', digest = '', reader = '', notes = '[]'",
)


@dataclass(frozen=True)
class HandedOn:
    """What is written of an index.

    Attributes:
        files: by their names, with sizes and checksums.
        written_anew: where those are that are not the index's own.
    """

    manifest: store.Manifest
    files: dict[str, digests.FileDigest]
    written_anew: dict[str, Path]


def holds_remains(manifest: store.Manifest) -> bool:
    """Whether there may be anything to take out: of documents, or of an index that was changed after it was built."""
    settings = manifest.settings
    return manifest.kind == "text" and ("documents" in settings or "last_change" in settings)


@contextmanager
def without_remains(
    directory: Path, manifest: store.Manifest, files: dict[str, digests.FileDigest], near: Path
) -> Iterator[HandedOn]:
    """The index without them while this lasts; its own files stay as they are.

    Args:
        near: a folder for the files that are written anew.

    Raises:
        OSError, sqlite3.Error: something cannot be read or written.
        KnowledgeIndexError: the table cannot be.
    """
    if not holds_remains(manifest):
        yield HandedOn(manifest, files, {})
        return
    with tempfile.TemporaryDirectory(prefix=f".{directory.name[:100]}.exporting-", dir=near) as made:
        scratch = Path(made)
        for name in files:
            if name.startswith(_TABLE_FILES):
                (scratch / name).parent.mkdir(parents=True, exist_ok=True)
                publishing.share(directory / name, scratch / name)
        table = PassageTable(scratch, int(manifest.settings["dimensions"]))
        table.rewrite()
        settings = manifest.settings | {"trained_rows": table.index_anew()}
        if CATALOG in files:
            _clean(directory / CATALOG, scratch / CATALOG)
        anew = {name: scratch / name for name, _ in digests.listed(scratch)}
        kept = {name: item for name, item in files.items() if name != CATALOG and not name.startswith(_TABLE_FILES)}
        kept |= {name: digests.digest_of(path) for name, path in anew.items()}
        yield HandedOn(replace(manifest, settings=settings), dict(sorted(kept.items())), anew)


def _clean(catalog: Path, cleaned: Path) -> None:
    """Copy the catalogue without what it lists of files alone and without free pages."""
    copy = cleaned.with_suffix(".copy")
    shutil.copyfile(catalog, copy)
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as database:
            if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'documents'").fetchone():
                for statement in _CLEANED:
                    database.execute(statement)
            database.execute("VACUUM INTO ?", (str(cleaned),))
    finally:
        copy.unlink(missing_ok=True)


def report_for_others(documents: Any) -> dict[str, Any]:
    """What the manifest says about the files of an index, without their names. `documents` may be anything."""
    told = documents if isinstance(documents, dict) else {}
    counted: dict[str, Any] = {key: _count(told.get(key)) for key in ("files", "bytes")}
    for what in ("unread", "lossy"):
        found = told.get(what)
        counted[what] = {"count": _count(found.get("count") if isinstance(found, dict) else 0), "samples": []}
    return counted


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0
