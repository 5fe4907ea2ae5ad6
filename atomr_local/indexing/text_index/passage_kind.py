"""What kind of passage a row of the table is, kept in its metadata: of tables, infoboxes and source code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from atomr_local.indexing.text_index.chunking import Passage

METADATA = "metadata"
_KEY = "atomr"  # of what is said here, beside what the input says of the article
_KINDS = frozenset({"table", "infobox", "code"})
_LONGEST = 200


def kept_kind(passage: Passage) -> dict[str, Any]:
    """What the metadata of a passage that is no prose says of it."""
    rows = {"rows": list(passage.lines)} if passage.kind == "table" and passage.lines is not None else {}
    return {_KEY: {"kind": passage.kind, "name": passage.name, **rows}}


def kind_of(metadata: object) -> dict[str, Any]:
    """The kind of a passage as a locator gives it, from its metadata in JSON; {} of prose. Untrusted.

    {"kind": "table", "table": "2", "table_rows": [3, 9]}, {"kind": "infobox", "infobox": "film"}, {"kind": "code"}
    """
    if not isinstance(metadata, str) or f'"{_KEY}"' not in metadata:
        return {}
    try:
        found = json.loads(metadata).get(_KEY)
    except (ValueError, AttributeError, RecursionError):
        return {}
    kind = found.get("kind") if isinstance(found, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        return {}
    name, rows = found.get("name"), found.get("rows")
    where: dict[str, Any] = {"kind": kind}
    if kind != "code" and isinstance(name, str) and name:
        where[kind] = name[:_LONGEST]
    if isinstance(rows, list) and len(rows) == 2 and all(type(row) is int for row in rows):
        where["table_rows"] = rows
    return where
