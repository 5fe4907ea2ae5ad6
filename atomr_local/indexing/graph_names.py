"""The name database beside a graph: labels, aliases, descriptions, properties, texts as the source wrote them.

SQLite, because Oxigraph has no full-text search. Written once during a build, read-only afterwards.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.names import base_key, name_key, split_qualifier

FILE = "names.sqlite"
_SCHEMA = """
CREATE TABLE entity(id INTEGER PRIMARY KEY, iri TEXT NOT NULL UNIQUE, label TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', statements INTEGER NOT NULL DEFAULT 0);
CREATE TABLE name(id INTEGER PRIMARY KEY, entity INTEGER NOT NULL, text TEXT NOT NULL, key TEXT NOT NULL,
  base TEXT NOT NULL, qualifier TEXT NOT NULL, weight REAL NOT NULL, UNIQUE(entity, text));
CREATE TABLE property(iri TEXT PRIMARY KEY, label TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
  entities INTEGER NOT NULL DEFAULT 0, dates INTEGER NOT NULL DEFAULT 0, numbers INTEGER NOT NULL DEFAULT 0,
  texts INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE property_name(property TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY(property, text)) WITHOUT ROWID;
CREATE TABLE statement_text(s TEXT NOT NULL, p TEXT NOT NULL, o TEXT NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY(s, p, o)) WITHOUT ROWID;
"""
_INDEXES = """
CREATE INDEX name_key ON name(key);
CREATE INDEX name_base ON name(base);
CREATE VIRTUAL TABLE name_fts USING fts5(key, content='name', content_rowid='id', tokenize='trigram', detail='none');
INSERT INTO name_fts(name_fts) VALUES('rebuild');
CREATE VIRTUAL TABLE name_vocab USING fts5vocab(name_fts, 'row');
CREATE TABLE piece(text TEXT PRIMARY KEY, names INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO piece SELECT term, doc FROM name_vocab;
DROP TABLE name_vocab;
"""
# A search by similarity reads the lists of the rarest pieces only, up to so many entries in all.
_RARE_PIECES = 14
_MOST_ENTRIES = 100_000
_PENDING = 200_000
RANGES = ("entities", "dates", "numbers", "texts")


@dataclass(frozen=True, slots=True)
class EntityRow:
    iri: str
    label: str
    description: str
    statements: int


@dataclass(frozen=True, slots=True)
class NameRow:
    """One name of one entity, with its normal forms."""

    text: str
    key: str
    base: str
    qualifier: str
    entity: EntityRow


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """A property, its names, and how many of its statements have which kind of value."""

    iri: str
    label: str
    description: str
    names: tuple[str, ...]
    entities: int
    dates: int
    numbers: int
    texts: int

    @property
    def uses(self) -> int:
        return self.entities + self.dates + self.numbers + self.texts


class NamesWriter:
    """Collects names in memory for a block and merges them into the database with :meth:`flush`."""

    def __init__(self, directory: Path) -> None:
        self._db = sqlite3.connect(directory / FILE)
        # Nobody reads the file before it is published whole, so nothing need survive a crash.
        self._db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + _SCHEMA)
        self._statements: Counter[str] = Counter()
        self._names: dict[tuple[str, str], float] = defaultdict(float)
        self._descriptions: dict[str, str] = {}
        self._ranges: dict[str, Counter[str]] = defaultdict(Counter)
        self._property_names: dict[tuple[str, str], float] = defaultdict(float)
        self._property_descriptions: dict[str, str] = {}
        self._texts: list[tuple[str, str, str, str]] = []

    def __enter__(self) -> NamesWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def statement(self, subject: str, predicate: str, entity_object: str | None, value_range: str) -> None:
        """Count a statement; `value_range` is one of :data:`RANGES`."""
        self._statements[subject] += 1
        if entity_object is not None:
            self._statements[entity_object] += 1
        self._ranges[predicate][value_range] += 1

    def name(self, iri: str, text: str, weight: float) -> None:
        """A name of an entity; of all its names, the one of the greatest summed weight becomes the label."""
        self._names[iri, text] += weight
        if len(self._names) >= _PENDING:
            self.flush()

    def description(self, iri: str, text: str) -> None:
        self._descriptions.setdefault(iri, text)
        if len(self._descriptions) >= _PENDING:
            self.flush()

    def property_name(self, iri: str, text: str, weight: float) -> None:
        self._property_names[iri, text] += weight

    def property_description(self, iri: str, text: str) -> None:
        self._property_descriptions.setdefault(iri, text)

    def statement_text(self, subject: str, predicate: str, object_term: str, text: str) -> None:
        """How the source wrote the object, where that differs from its label or normal form."""
        self._texts.append((subject, predicate, object_term, text))

    def iris_named(self, text: str, least_weight: float) -> list[str]:
        """Entities flushed so far that bear exactly this name with at least this weight."""
        query = "SELECT iri FROM name JOIN entity ON entity.id = name.entity WHERE key = ? AND text = ? AND weight >= ?"
        return [row[0] for row in self._db.execute(query, (name_key(text), text, least_weight))]

    def index_keys(self) -> None:
        """Make :meth:`iris_named` quick."""
        self._db.execute("CREATE INDEX IF NOT EXISTS name_key ON name(key)")

    def flush(self) -> None:
        db = self._db
        iris = {*self._statements, *self._descriptions, *(iri for iri, _ in self._names)}
        db.executemany("INSERT OR IGNORE INTO entity(iri) VALUES(?)", ((iri,) for iri in iris))
        db.executemany(
            "UPDATE entity SET statements = statements + ? WHERE iri = ?",
            ((count, iri) for iri, count in self._statements.items()),
        )
        db.executemany(
            "UPDATE entity SET description = ? WHERE iri = ? AND description = ''",
            ((text, iri) for iri, text in self._descriptions.items()),
        )
        db.executemany(
            "INSERT INTO name(entity, text, key, base, qualifier, weight) "
            "VALUES((SELECT id FROM entity WHERE iri = ?), ?, ?, ?, ?, ?) "
            "ON CONFLICT(entity, text) DO UPDATE SET weight = weight + excluded.weight",
            (
                (iri, text, name_key(text), base_key(text), split_qualifier(text)[1], weight)
                for (iri, text), weight in self._names.items()
            ),
        )
        properties = {*self._ranges, *self._property_descriptions, *(iri for iri, _ in self._property_names)}
        db.executemany("INSERT OR IGNORE INTO property(iri) VALUES(?)", ((iri,) for iri in properties))
        db.executemany(
            "UPDATE property SET entities = entities + ?, dates = dates + ?, numbers = numbers + ?, texts = texts + ? "
            "WHERE iri = ?",
            ((*(counts[kind] for kind in RANGES), iri) for iri, counts in self._ranges.items()),
        )
        db.executemany(
            "UPDATE property SET description = ? WHERE iri = ? AND description = ''",
            ((text, iri) for iri, text in self._property_descriptions.items()),
        )
        # The heaviest name seen in a block labels the property; later blocks do not change it.
        db.executemany(
            "UPDATE property SET label = ? WHERE iri = ? AND label = ''",
            (
                (text, iri)
                for (iri, text), weight in sorted(self._property_names.items(), key=lambda item: -item[1])
                if weight > 0
            ),
        )
        db.executemany("INSERT OR IGNORE INTO property_name VALUES(?, ?)", self._property_names.keys())
        db.executemany("INSERT OR IGNORE INTO statement_text VALUES(?, ?, ?, ?)", self._texts)
        db.commit()
        for pending in (
            self._statements, self._names, self._descriptions, self._ranges, self._property_names,
            self._property_descriptions, self._texts,
        ):  # fmt: skip
            pending.clear()

    def finish(self) -> None:
        """Choose labels and build the indexes; call once, after the last flush."""
        self._db.execute(
            "UPDATE entity SET label = coalesce((SELECT text FROM name WHERE entity = entity.id "
            "ORDER BY weight DESC, length(text) DESC, text LIMIT 1), '')"
        )
        self._db.execute(
            "DELETE FROM statement_text WHERE EXISTS (SELECT 1 FROM entity "
            "WHERE iri = substr(o, 2, length(o) - 2) AND label = statement_text.text)"
        )
        # A vocabulary other than Wikidata's labels its properties as it labels everything.
        self._db.execute(
            "UPDATE property SET label = (SELECT label FROM entity WHERE entity.iri = property.iri) "
            "WHERE label = '' AND EXISTS (SELECT 1 FROM entity WHERE entity.iri = property.iri AND label <> '')"
        )
        self._db.commit()
        self._db.executescript(_INDEXES.replace("CREATE INDEX", "CREATE INDEX IF NOT EXISTS") + "ANALYZE;")
        self._db.commit()

    def labelled(self) -> Iterator[tuple[str, str, str, list[str]]]:
        """(IRI, label, description, other names) of every entity that has a name or a description."""
        query = (
            "SELECT entity.iri, label, description, name.text FROM entity LEFT JOIN name ON name.entity = entity.id "
            "ORDER BY entity.id"
        )
        current: tuple[str, str, str, list[str]] | None = None
        for iri, label, description, text in self._db.execute(query):
            if current is None or current[0] != iri:
                if current is not None:
                    yield current
                current = (iri, label, description, [])
            if text and text != label:
                current[3].append(text)
        if current is not None:
            yield current

    def counts(self) -> tuple[int, int]:
        """(entities, properties in use)."""
        (entities,) = self._db.execute("SELECT count(*) FROM entity WHERE statements > 0").fetchone()
        (properties,) = self._db.execute(
            "SELECT count(*) FROM property WHERE entities + dates + numbers + texts > 0"
        ).fetchone()
        return entities, properties


_NAME_COLUMNS = (
    "name.text, name.key, name.base, name.qualifier, entity.iri, entity.label, entity.description, entity.statements"
)


class Names:
    """Read-only access; thread-safe, with one connection per thread.

    Every method raises :class:`KnowledgeIndexError` when the database is missing or damaged.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / FILE
        self._local = threading.local()
        self._lock = threading.Lock()
        self._open: list[sqlite3.Connection] = []
        self._rows("SELECT 1 FROM entity LIMIT 1")

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            uri = self._file.absolute().as_uri() + "?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
            self._local.connection = connection
            with self._lock:
                self._open.append(connection)
        return connection

    def _rows(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        try:
            return self._connection().execute(query, parameters).fetchall()
        except sqlite3.Error as error:
            raise KnowledgeIndexError(f"{self._file} cannot be read: {error}", hint="Build the index again.") from error

    def close(self) -> None:
        """Close the connections of all threads; no call may be running."""
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()
        self._local = threading.local()

    def by_key(self, key: str, limit: int = 200) -> list[NameRow]:
        """Names with this key, those of the entities with most statements first."""
        return self._named("name.key = ?", key, limit)

    def by_base(self, key: str, limit: int = 200) -> list[NameRow]:
        """Names with this key when qualifier and leading article are left off."""
        return self._named("name.base = ?", key, limit)

    def _named(self, condition: str, key: str, limit: int) -> list[NameRow]:
        rows = self._rows(
            f"SELECT {_NAME_COLUMNS} FROM name JOIN entity ON entity.id = name.entity WHERE {condition} "  # noqa: S608
            "ORDER BY entity.statements DESC, entity.iri LIMIT ?",
            (key, limit),
        )
        return [_name_row(row) for row in rows]

    def similar(self, key: str, limit: int = 60) -> list[NameRow]:
        """Names that share most of the key's rarest three-letter pieces, best first."""
        pieces = self._rare_pieces(key)
        if not pieces:
            return []
        match = " OR ".join('"' + piece.replace('"', '""') + '"' for piece in pieces)
        rows = self._rows(
            f"SELECT {_NAME_COLUMNS} FROM name_fts JOIN name ON name.id = name_fts.rowid "  # noqa: S608
            "JOIN entity ON entity.id = name.entity WHERE name_fts MATCH ? ORDER BY name_fts.rank LIMIT ?",
            (match, limit),
        )
        return [_name_row(row) for row in rows]

    def _rare_pieces(self, key: str) -> list[str]:
        pieces = list(dict.fromkeys(key[i : i + 3] for i in range(len(key) - 2)))[:200]
        marks = ", ".join("?" * len(pieces))
        query = f"SELECT text, names FROM piece WHERE text IN ({marks}) ORDER BY names LIMIT ?"  # noqa: S608
        chosen: list[str] = []
        entries = 0
        for text, count in self._rows(query, (*pieces, _RARE_PIECES)) if pieces else ():
            entries += int(str(count))
            if chosen and entries > _MOST_ENTRIES:
                break
            chosen.append(str(text))
        return chosen

    def entity(self, iri: str) -> EntityRow | None:
        rows = self._rows("SELECT iri, label, description, statements FROM entity WHERE iri = ?", (iri,))
        return _entity_row(rows[0]) if rows else None

    def names_of(self, iri: str) -> list[str]:
        """Every name of the entity."""
        query = "SELECT text FROM name WHERE entity = (SELECT id FROM entity WHERE iri = ?) ORDER BY weight DESC, text"
        return [str(row[0]) for row in self._rows(query, (iri,))]

    def statement_text(self, subject: str, predicate: str, object_term: str) -> str | None:
        """How the source wrote this statement's object, where it differs from the label or normal form."""
        query = "SELECT text FROM statement_text WHERE s = ? AND p = ? AND o = ?"
        rows = self._rows(query, (subject, predicate, object_term))
        return str(rows[0][0]) if rows else None

    def properties(self) -> list[PropertyRow]:
        """Every property that has statements, the most used first."""
        names: dict[str, list[str]] = defaultdict(list)
        for iri, text in self._rows("SELECT property, text FROM property_name"):
            names[str(iri)].append(str(text))
        rows = self._rows(f"SELECT iri, label, description, {', '.join(RANGES)} FROM property")  # noqa: S608
        found = [
            PropertyRow(str(row[0]), str(row[1]), str(row[2]), tuple(names[str(row[0])]), *_integers(row[3:]))
            for row in rows
        ]
        return sorted((item for item in found if item.uses), key=lambda item: (-item.uses, item.iri))


def _integers(values: Iterable[object]) -> tuple[int, int, int, int]:
    first, second, third, fourth = (int(str(value)) for value in values)
    return first, second, third, fourth


def _entity_row(row: Sequence[object]) -> EntityRow:
    return EntityRow(str(row[0]), str(row[1]), str(row[2]), int(str(row[3])))


def _name_row(row: Sequence[object]) -> NameRow:
    return NameRow(str(row[0]), str(row[1]), str(row[2]), str(row[3]), _entity_row(row[4:]))
