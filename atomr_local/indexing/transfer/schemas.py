"""Checks the databases of an index that was made elsewhere, before anything queries them."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

_HEAD = b"SQLite format 3\0"
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL\s+TABLE\b", re.IGNORECASE)
_FULL_TEXT = re.compile(r"\s*CREATE\s+VIRTUAL\s+TABLE\s+\"?\w+\"?\s+USING\s+fts5\s*\(", re.IGNORECASE)
_PARTIAL = re.compile(r"\bWHERE\b", re.IGNORECASE)
_GENERATED = (2, 3)  # of table_xinfo: a column that an expression computes
_EXPRESSION = -2  # of index_xinfo: what is indexed is no column
_MOST = 500


def is_database(file: Path) -> bool:
    """Whether SQLite would open the file.

    Raises:
        OSError: it cannot be read.
    """
    with file.open("rb") as stream:
        return stream.read(len(_HEAD)) == _HEAD


def schema_problem(file: Path) -> str:
    """What a database holds beside tables of stored columns, plain indexes and full-text indexes; "" for nothing.

    A trigger, a view, a column or an index that is computed, or another module's table would run what its maker wrote.
    """
    uri = file.absolute().as_uri() + "?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as db:
            db.execute("PRAGMA trusted_schema=OFF")
            rows = db.execute("SELECT type, name, sql FROM sqlite_master LIMIT ?", (_MOST + 1,)).fetchall()
            if len(rows) > _MOST:
                return f"it has more than {_MOST} tables and indexes"
            for kind, name, sql in rows:
                if problem := _problem(db, str(kind), str(name), str(sql or "")):
                    return problem
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return f"it cannot be read: {error}"
    return ""


def _problem(db: sqlite3.Connection, kind: str, name: str, sql: str) -> str:
    if kind not in ("table", "index"):
        return f"it has a {kind}"
    if kind == "index":
        computed = any(row[1] == _EXPRESSION for row in db.execute("SELECT * FROM pragma_index_xinfo(?)", (name,)))
        return "it has an index over an expression" if computed or _PARTIAL.search(sql) else ""
    if _VIRTUAL.match(sql):
        return "" if _FULL_TEXT.match(sql) else "it has a table of a module that no index uses"
    computed = any(row[-1] in _GENERATED for row in db.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)))
    return "it has a computed column" if computed else ""
