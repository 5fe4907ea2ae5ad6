"""Which kept questions belong to one conversation: two columns with ids from the trace.

They are added without a new schema version: a program that does not know them can continue using the file.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable
from typing import Any

from atomr_local.history.trace_encoding import decompress

_COLUMNS = """
ALTER TABLE questions ADD COLUMN trace_id TEXT NOT NULL DEFAULT '';
ALTER TABLE questions ADD COLUMN conversation TEXT NOT NULL DEFAULT '';
CREATE INDEX questions_by_trace_id ON questions (trace_id) WHERE trace_id != '';
CREATE INDEX questions_by_conversation ON questions (conversation) WHERE conversation != '';
"""
_OF_CONVERSATION = "(trace_id != '' AND trace_id = ?1) OR (conversation != '' AND conversation = ?1)"


def prepare(connection: sqlite3.Connection) -> None:
    """Add the columns where a file does not have them; within the caller's transaction."""
    if not known(connection):
        for statement in filter(str.strip, _COLUMNS.split(";")):
            connection.execute(statement)


def known(connection: sqlite3.Connection) -> bool:
    """Whether the file has the columns: one of an earlier version that can only be read has none."""
    return any(column[1] == "conversation" for column in connection.execute("PRAGMA table_info(questions)"))


def firsts(connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, int]:
    """For each of these questions that follows another: the number of its conversation's first kept question."""
    if not known(connection):
        return {}
    found: dict[int, int] = {}
    first_of: dict[str, int] = {}
    for number in numbers:
        row = connection.execute("SELECT conversation FROM questions WHERE id = ?", (number,)).fetchone()
        if row is None or not row[0]:
            continue
        name = row[0]
        if name not in first_of:
            query = f"SELECT min(id) FROM questions WHERE {_OF_CONVERSATION}"  # noqa: S608 - constants
            first_of[name] = connection.execute(query, (name,)).fetchone()[0]
        if first_of[name] < number:
            found[number] = first_of[name]
    return found


def members(connection: sqlite3.Connection, number: int) -> list[int]:
    """The numbers of all questions of this one's conversation, itself included, in order."""
    if not known(connection):
        return [number]
    row = connection.execute("SELECT trace_id, conversation FROM questions WHERE id = ?", (number,)).fetchone()
    name = (row[1] or row[0]) if row is not None else ""
    if not name:
        return [number]  # kept by a version that knew no conversations
    query = f"SELECT id FROM questions WHERE {_OF_CONVERSATION} ORDER BY id"  # noqa: S608 - constants
    return [found for (found,) in connection.execute(query, (name,))]


def question_of(connection: sqlite3.Connection, trace_id: str) -> str | None:
    """The first kept question whose trace has this id."""
    if not known(connection):
        return None
    query = "SELECT question FROM questions WHERE trace_id != '' AND trace_id = ? ORDER BY id LIMIT 1"
    row = connection.execute(query, (trace_id,)).fetchone()
    return None if row is None else str(row[0])


def number_of(connection: sqlite3.Connection, trace_id: str) -> int | None:
    """The latest kept question whose trace has this id."""
    if not known(connection):
        return None
    query = "SELECT max(id) FROM questions WHERE trace_id != '' AND trace_id = ?"
    found: int | None = connection.execute(query, (trace_id,)).fetchone()[0]
    return found


def fill(connection: sqlite3.Connection) -> None:
    """Read the ids out of the traces again, for questions that were saved from a damaged file."""
    for number in [found for (found,) in connection.execute("SELECT id FROM questions")]:
        encoding, data = connection.execute("SELECT encoding, trace FROM questions WHERE id = ?", (number,)).fetchone()
        ids = _ids(encoding, data)
        if any(ids):
            connection.execute("UPDATE questions SET trace_id = ?, conversation = ? WHERE id = ?", (*ids, number))


def _ids(encoding: str, data: Any) -> tuple[str, str]:
    try:
        document = json.loads(decompress(encoding, data))
        found = (document.get("id", ""), document.get("conversation", ""))
    except (zlib.error, TypeError, ValueError, RecursionError, AttributeError):
        return "", ""  # the question is damaged, and told so when it is read
    first, second = (value if isinstance(value, str) else "" for value in found)
    return first, second
