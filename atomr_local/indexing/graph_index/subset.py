"""The entities of a text index: by the Wikidata id of each article, or by its title."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.graph_index.ids import IdSet
from atomr_local.system.files import put

# Selects the slice of Wikidata about given entities, with names and types of their values.


# What says what an entity is; kept of everything that is pointed to, whatever other properties are wanted.
TYPE_IDS = frozenset({"P31", "P279"})
# Datatypes that answer no question here: Wikidata's name in RDF → in JSON.
DATATYPES_LEFT_OUT = {
    "ExternalId": "external-id", "CommonsMedia": "commonsMedia", "GeoShape": "geo-shape", "TabularData": "tabular-data",
    "MusicalNotation": "musical-notation", "Math": "math", "EntitySchema": "entity-schema",
    "WikibaseLexeme": "wikibase-lexeme", "WikibaseForm": "wikibase-form", "WikibaseSense": "wikibase-sense",
}  # fmt: skip
LEFT_OUT = frozenset(DATATYPES_LEFT_OUT.values())
_SETS = ("subjects", "linked", "classes")


class Role(IntEnum):
    """How much of an entity is kept: nothing, its names, its names and types, all."""

    NONE = 0
    CLASS = 1
    LINKED = 2
    SUBJECT = 3


@dataclass
class Subset:
    """What is kept.

    Attributes:
        sliced: only what is about `subjects` is kept; else everything.
        subjects: entities whose statements are kept.
        linked: what those point to; kept with names and types.
        classes: what anything is an instance or subclass of; kept with names where something that is kept needs them.
        allowed: properties that are kept; None: all but those of :data:`LEFT_OUT`.
        datatypes: the datatype of each property whose own entry was seen.
    """

    sliced: bool = False
    subjects: IdSet = field(default_factory=IdSet)
    linked: IdSet = field(default_factory=IdSet)
    classes: IdSet = field(default_factory=IdSet)
    allowed: frozenset[str] | None = None
    datatypes: dict[str, str] = field(default_factory=dict)

    def role(self, number: int) -> Role:
        if not self.sliced or number in self.subjects:
            return Role.SUBJECT
        return Role.LINKED if number in self.linked else Role.CLASS if number in self.classes else Role.NONE

    def wants(self, identifier: str) -> bool:
        """Whether anything is kept of an item or property (all properties may be needed by name)."""
        return identifier.startswith("P") or self.role(int(identifier[1:])) is not Role.NONE

    def keeps(self, pid: str, datatype: str = "") -> bool:
        """Whether statements of the property are kept; `datatype` is what the statement itself says it is."""
        if self.allowed is not None:
            return pid in self.allowed or pid in TYPE_IDS
        return (datatype or self.datatypes.get(pid, "")) not in LEFT_OUT

    def keeps_of(self, role: Role, pid: str, datatype: str = "") -> bool:
        """The same for an entity of this role."""
        if role is Role.SUBJECT:
            return self.keeps(pid, datatype)
        return role is Role.LINKED and pid in TYPE_IDS

    def save(self, directory: Path) -> None:
        """Write down what was chosen so far.

        Raises:
            OSError: it cannot be written; what was written before stays.
        """
        for name in _SETS:
            put(directory / f"slice.{name}", getattr(self, name).to_bytes())
        put(directory / "slice.datatypes", json.dumps(self.datatypes).encode())

    def load(self, directory: Path) -> None:
        """Take back what :meth:`save` wrote."""
        for name in _SETS:
            setattr(self, name, IdSet.from_bytes((directory / f"slice.{name}").read_bytes()))
        self.datatypes = json.loads((directory / "slice.datatypes").read_bytes())

    @staticmethod
    def remove(directory: Path) -> None:
        for name in (*_SETS, "datatypes"):
            (directory / f"slice.{name}").unlink(missing_ok=True)


_QID = re.compile(r"Q([1-9]\d{0,11})")
FILE = "titles.sqlite"
_BATCH = 10_000


def read_articles(directory: Path) -> Iterator[tuple[str, str]]:
    """(title, Wikidata id or "") of every passage of the text index in `directory`, in no particular order.

    Raises:
        KnowledgeIndexError: the index cannot be read.
    """
    from atomr_local.indexing.text_index.table import TABLE, connect

    try:
        table: Any = connect(directory).open_table(TABLE)
        for batch in table.search().select(["title", "qid"]).to_batches(batch_size=_BATCH):
            columns = batch.to_pydict()
            for title, qid in zip(columns["title"], columns["qid"], strict=True):
                yield title or "", qid or ""
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise KnowledgeIndexError(f"{directory} cannot be read: {error}", hint="Build the text index again.") from error


def title_key(title: str) -> str:
    """A title as a sitelink and a label write it alike: spaces for underscores, the first letter capital."""
    text = " ".join(title.replace("_", " ").split())
    return text[:1].upper() + text[1:]


class Titles:
    """The titles that still need an entity, on disk, and the entities found so far. What is added twice counts once."""

    def __init__(self, directory: Path) -> None:
        self._db = sqlite3.connect(directory / FILE, isolation_level=None)
        self._db.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
            "CREATE TABLE IF NOT EXISTS title(key TEXT PRIMARY KEY, page INTEGER, named INTEGER, links INTEGER) "
            "WITHOUT ROWID"
        )
        self._db.execute("BEGIN")

    def __enter__(self) -> Titles:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def want(self, articles: Iterator[tuple[str, str]], found: IdSet) -> None:
        """Put articles with an id into `found`, the titles of the others down as wanted."""

        def keys() -> Iterator[tuple[str]]:
            for title, qid in articles:
                match = _QID.fullmatch(qid)
                if match is not None:
                    found.add(int(match[1]))
                elif title:
                    yield (title_key(title),)

        self._db.executemany("INSERT OR IGNORE INTO title(key) VALUES(?)", keys())
        self.commit()

    def commit(self) -> None:
        self._db.execute("COMMIT")
        self._db.execute("BEGIN")

    def __len__(self) -> int:
        (count,) = self._db.execute("SELECT count(*) FROM title").fetchone()
        return int(count)

    def page(self, title: str, number: int) -> None:
        """The page of this title is about the entity."""
        self._db.execute("UPDATE title SET page = ? WHERE key = ?", (number, title_key(title)))

    def label(self, label: str, number: int, links: int) -> None:
        """The entity is labelled so; of several, the one with most pages is taken, then that of the lowest number."""
        self._db.execute(
            "UPDATE title SET named = ?1, links = ?2 WHERE key = ?3 "
            "AND (named IS NULL OR links < ?2 OR (links = ?2 AND named > ?1))",
            (number, links, title_key(label)),
        )

    def resolved(self) -> tuple[IdSet, int]:
        """The entities of the titles, by page before label, and how many titles have none."""
        found = IdSet(row[0] for row in self._db.execute("SELECT coalesce(page, named) FROM title") if row[0])
        (missing,) = self._db.execute("SELECT count(*) FROM title WHERE page IS NULL AND named IS NULL").fetchone()
        return found, int(missing)
