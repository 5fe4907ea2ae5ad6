"""What is in a built index, read back row by row: the files themselves may be arranged in another way each time."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from atomr_local.indexing import store
from frozen_parts.telling import Masks, lines_of

_SQLITE = b"SQLite format 3\0"
_WHOLE = 400  # lines that are kept as they are; of more, digests of a block each
_BLOCK = 100
# Of the manifest: what tells of this machine, or of how the files are arranged.
_CHANGED = re.compile(r'"\d{15,}:\d{15,}"')  # when a file of a folder, and its name, were changed: the second varies
_OWN = ("built_at", "bytes", "seconds", "at", "last_sync", "backend", "made_by", "program")


def text_rows(directory: Path) -> list[dict[str, Any]]:
    """The passages of a text index in order, without their vectors."""
    from atomr_local.indexing.text_index.table import TABLE, VECTOR, connect

    rows = connect(directory).open_table(TABLE).to_arrow().drop_columns([VECTOR]).to_pylist()
    return sorted(rows, key=lambda row: (str(row["article"]), str(row["id"]).zfill(400)))


def triples(directory: Path) -> list[str]:
    """The statements of a graph index, sorted."""
    from pyoxigraph import Store

    from atomr_local.indexing.graph_index.bulk_loading import STORE

    graph = Store.read_only(str(directory / STORE))
    return sorted(str(quad.triple) for quad in graph.quads_for_pattern(None, None, None))


def manifest_lines(directory: Path, masks: Masks, left_out: Sequence[str] = ()) -> tuple[str, ...]:
    """The manifest, without what is particular to this build, and without other keys that are `left_out`."""
    manifest = json.loads((directory / store.MANIFEST).read_text(encoding="utf-8"))
    return lines_of(_without(manifest, {*_OWN, *left_out}), masks)


def _without(value: Any, keys: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(inside, keys) for key, inside in value.items() if key not in keys}
    return [_without(inside, keys) for inside in value] if isinstance(value, list) else value


def tables(directory: Path) -> Iterator[tuple[str, list[str]]]:
    """The tables of every SQLite file of an index: "file: table" with its columns and rows, sorted."""
    for file in sorted(path for path in directory.iterdir() if path.is_file()):
        with file.open("rb") as stream:
            if stream.read(len(_SQLITE)) != _SQLITE:
                continue
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            named = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"))
            virtual = [name for name, made in named.items() if str(made).upper().startswith("CREATE VIRTUAL")]
            version = database.execute("PRAGMA user_version").fetchone()[0]
            indexes = database.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
            yield f"{file.name}: form", [f"version {version}", *sorted(str(sql) for (sql,) in indexes)]
            for name, made in named.items():
                if any(name.startswith(f"{one}_") for one in virtual) or name.startswith("sqlite_"):
                    continue
                rows = database.execute(f'SELECT * FROM "{name}"')
                yield f"{file.name}: {name}", [" ".join(str(made).split()), *sorted(map(_row, rows))]


def _row(row: Sequence[Any]) -> str:
    return _CHANGED.sub('"<changed>"', json.dumps([_plain(value) for value in row], ensure_ascii=False))


def _plain(value: Any) -> Any:
    return hashlib.sha256(value).hexdigest()[:16] if isinstance(value, bytes) else value


def shortened(lines: Iterable[str]) -> tuple[str, ...]:
    """The lines; of many, the number, and of each block its first line and a digest."""
    found = list(lines)
    if len(found) <= _WHOLE:
        return tuple(found)
    told = [f"{len(found)} lines"]
    for begin in range(0, len(found), _BLOCK):
        block = found[begin : begin + _BLOCK]
        digest = hashlib.sha256("\n".join(block).encode("utf-8", "replace")).hexdigest()[:16]
        told.append(f"{digest} {begin + 1}: {block[0][:80]}")
    return tuple(told)
