"""Writes the name database during a build; a killed build resumes from its last commit."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atomr_local.indexing.graph_index.names.database import FILE, RANGES
from atomr_local.language.names import KEYS, former_name_forms, name_forms
from atomr_local.language.properties import ENTITY

# Counts the statements of each entity during a build.
#
# To add to each entity's row at once would write most rows of the name database again for every piece of a build.

Numbers = NDArray[np.int64]

# Some 100 bytes of memory each while they are summed up.
_MOST_NOTED = 500_000
_NOTES = """
CREATE TABLE IF NOT EXISTS noted(id INTEGER PRIMARY KEY, entries INTEGER NOT NULL, items BLOB NOT NULL,
  counts BLOB NOT NULL);
"""
_ADD = (
    "INSERT INTO entity(iri, statements) VALUES(?, ?) ON CONFLICT(iri) DO UPDATE "
    "SET statements = statements + excluded.statements"
)


class StatementCounts:
    """The notes in a name database; whoever opened it commits."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._met: list[Numbers] = []
        db.executescript(_NOTES)

    def add(self, items: Numbers) -> None:
        """Items (by the number of their Q-ids) that statements name, each as often as they do."""
        self._met.append(items)

    def note(self) -> None:
        """Write down what was added; sum up where much is noted."""
        if not self._met:
            return
        items, counts = np.unique(np.concatenate(self._met), return_counts=True)
        self._met.clear()
        self._db.execute(
            "INSERT INTO noted(entries, items, counts) VALUES(?, ?, ?)",
            (len(items), items.astype(np.int64).tobytes(), counts.astype(np.int64).tobytes()),
        )
        (entries,) = self._db.execute("SELECT sum(entries) FROM noted").fetchone()
        if entries >= _MOST_NOTED:
            self.sum_up()

    def sum_up(self) -> None:
        """Add what is noted to the entities' rows, and forget the notes."""
        notes = self._db.execute("SELECT items, counts FROM noted").fetchall()
        if not notes:
            return
        items, place = np.unique(
            np.concatenate([np.frombuffer(note[0], np.int64) for note in notes]), return_inverse=True
        )
        sums = np.bincount(place, weights=np.concatenate([np.frombuffer(note[1], np.int64) for note in notes]))
        # Sorted as text, so that neighbours in the index are written together.
        order = np.argsort(items.astype("S12"))
        iris = (f"{ENTITY}Q{item}" for item in items[order].tolist())
        self._db.executemany(_ADD, zip(iris, sums[order].astype(np.int64).tolist(), strict=True))
        self._db.execute("DELETE FROM noted")

    def remove(self) -> None:
        """Leave nothing of the notes; nothing may be added any more."""
        self._db.execute("DROP TABLE IF EXISTS noted")


_PENDING = 200_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS entity(id INTEGER PRIMARY KEY, iri TEXT NOT NULL UNIQUE, label TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', statements INTEGER NOT NULL DEFAULT 0,
  sitelinks INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS name(id INTEGER PRIMARY KEY, entity INTEGER NOT NULL, text TEXT NOT NULL, key TEXT NOT NULL,
  base TEXT NOT NULL, qualifier TEXT NOT NULL, weight INTEGER NOT NULL, UNIQUE(entity, text));
CREATE TABLE IF NOT EXISTS property(iri TEXT PRIMARY KEY, label TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', entities INTEGER NOT NULL DEFAULT 0,
  dates INTEGER NOT NULL DEFAULT 0, numbers INTEGER NOT NULL DEFAULT 0,
  texts INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS property_name(property TEXT NOT NULL, text TEXT NOT NULL, weight INTEGER NOT NULL,
  PRIMARY KEY(property, text)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS statement_text(s TEXT NOT NULL, p TEXT NOT NULL, o TEXT NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY(s, p, o)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unit(s TEXT NOT NULL, p TEXT NOT NULL, o TEXT NOT NULL, number TEXT NOT NULL,
  unit TEXT NOT NULL, PRIMARY KEY(s, p, o)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS progress(id INTEGER PRIMARY KEY, state TEXT NOT NULL);
"""
_CHOOSE = (
    "UPDATE entity SET label = coalesce((SELECT text FROM name WHERE entity = entity.id "
    "ORDER BY weight DESC, length(text) DESC, text LIMIT 1), '')",
    "DELETE FROM statement_text WHERE EXISTS (SELECT 1 FROM entity "
    "WHERE iri = substr(o, 2, length(o) - 2) AND label = statement_text.text)",
    # A number whose unit is an entity is shown with that entity's label.
    "INSERT OR IGNORE INTO statement_text SELECT s, p, o, number || ' ' || entity.label "
    "FROM unit JOIN entity ON entity.iri = unit.unit WHERE entity.label <> ''",
    "UPDATE property SET label = coalesce((SELECT text FROM property_name WHERE property = property.iri "
    "AND weight > 0 ORDER BY weight DESC, length(text) DESC, text LIMIT 1), '')",
    # A vocabulary other than Wikidata's labels its properties as it labels everything.
    "UPDATE property SET label = (SELECT label FROM entity WHERE entity.iri = property.iri) "
    "WHERE label = '' AND EXISTS (SELECT 1 FROM entity WHERE entity.iri = property.iri AND label <> '')",
    # What would be shown by an id: entities in statements, units, and properties in use.
    "CREATE TABLE IF NOT EXISTS unlabelled(iri TEXT PRIMARY KEY) WITHOUT ROWID",
    "INSERT OR IGNORE INTO unlabelled SELECT iri FROM entity WHERE label = '' AND statements > 0 "
    "AND iri GLOB '*/entity/[QPM][1-9]*' AND iri NOT GLOB '*/entity/?*[^0-9]*'",
    "INSERT OR IGNORE INTO unlabelled SELECT DISTINCT unit FROM unit "
    "WHERE unit NOT IN (SELECT iri FROM entity WHERE label <> '')",
    "INSERT OR IGNORE INTO unlabelled SELECT iri FROM property WHERE label = '' "
    "AND entities + dates + numbers + texts > 0 AND iri GLOB '*/prop/direct/P[1-9]*'",
    "DELETE FROM unit",
)
_INDEXES = (
    # An index that covers the key would hand FTS5 the rows in the key's order, and it writes a piece at each step back.
    "DROP INDEX IF EXISTS name_key",
    "CREATE VIRTUAL TABLE name_fts USING fts5(key, content='name', content_rowid='id', tokenize='trigram', "
    "detail='none')",
    "INSERT INTO name_fts(name_fts) VALUES('rebuild')",
    "CREATE INDEX name_key ON name(key)",
    "CREATE INDEX name_base ON name(base)",
    "CREATE VIRTUAL TABLE name_vocab USING fts5vocab(name_fts, 'row')",
    "CREATE TABLE piece(text TEXT PRIMARY KEY, names INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO piece SELECT term, doc FROM name_vocab",
    "DROP TABLE name_vocab",
    "ANALYZE",
)


class NamesWriter:
    """Collects names in memory for a block and merges them into the database with :meth:`flush`.

    What was written becomes lasting with :meth:`commit`, all of it or none; opened again after a kill, the database is
    as the last commit left it.
    """

    def __init__(self, directory: Path) -> None:
        self._db = sqlite3.connect(directory / FILE, isolation_level=None, check_same_thread=False)
        self._db.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16384;" + _SCHEMA
        )
        # A build that an earlier version began goes on with the keys of that version.
        (self._keys,) = self._db.execute("PRAGMA user_version").fetchone()
        if not self._db.execute("SELECT 1 FROM progress").fetchone():
            self._keys = KEYS
            self._db.execute(f"PRAGMA user_version={KEYS}")
        self._items = StatementCounts(self._db)
        self._db.execute("BEGIN")
        self._statements: Counter[str] = Counter()
        self._names: dict[tuple[str, str], int] = defaultdict(int)
        self._descriptions: dict[str, str] = {}
        self._sitelinks: Counter[str] = Counter()
        self._uses: Counter[tuple[str, str]] = Counter()
        self._property_names: dict[tuple[str, str], int] = defaultdict(int)
        self._property_descriptions: dict[str, str] = {}
        self._texts: list[tuple[str, str, str, str]] = []
        self._units: list[tuple[str, str, str, str, str]] = []
        self._named_before = -1

    def __enter__(self) -> NamesWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; what is not committed is given up. May be called twice."""
        self._db.close()

    @property
    def progress(self) -> dict[str, Any]:
        """What the last commit said of the build's progress; {} before the first."""
        row = self._db.execute("SELECT state FROM progress").fetchone()
        return dict(json.loads(row[0])) if row else {}

    def commit(self, progress: Mapping[str, Any]) -> None:
        """Make everything so far lasting, together with how far the build is (JSON values)."""
        self.flush()
        self._items.note()
        self._db.execute("INSERT OR REPLACE INTO progress VALUES(1, ?)", (json.dumps(dict(progress)),))
        self._db.execute("COMMIT")
        self._db.execute("BEGIN")

    def statement(self, subject: str, predicate: str, entity_object: str | None, value_range: str) -> None:
        """Count a statement; `value_range` is one of :data:`RANGES`."""
        self._statements[subject] += 1
        if entity_object is not None:
            self._statements[entity_object] += 1
        self._uses[predicate, value_range] += 1

    def statements(self, items: Numbers, others: Iterable[str], uses: Mapping[tuple[str, str], int]) -> None:
        """Count many statements.

        Args:
            items: the items in them by the numbers of their Q-ids, each as often as it occurs.
            others: the other entities in them, likewise.
            uses: how often each predicate has which kind of value.
        """
        self._items.add(items)
        self._statements.update(others)
        self._uses.update(uses)

    def name(self, iri: str, text: str, weight: int) -> None:
        """A name of an entity; of all its names, the one of the greatest summed weight becomes the label."""
        self._names[iri, text] += weight
        if len(self._names) >= _PENDING:
            self.flush()

    def description(self, iri: str, text: str) -> None:
        self._descriptions.setdefault(iri, text)
        if len(self._descriptions) >= _PENDING:
            self.flush()

    def sitelinks(self, iri: str, count: int) -> None:
        """So many more pages are about the entity."""
        self._sitelinks[iri] += count

    def property_name(self, iri: str, text: str, weight: int) -> None:
        self._property_names[iri, text] += weight

    def property_description(self, iri: str, text: str) -> None:
        self._property_descriptions.setdefault(iri, text)

    def statement_text(self, subject: str, predicate: str, object_term: str, text: str) -> None:
        """How the source wrote the object, where that differs from its label or normal form."""
        self._texts.append((subject, predicate, object_term, text))

    def statement_unit(self, subject: str, predicate: str, object_term: str, number: str, unit: str) -> None:
        """The object is a number of this unit (an entity), to be shown with the unit's label."""
        self._units.append((subject, predicate, object_term, number, unit))

    def iris_named(self, text: str, least_weight: int) -> list[str]:
        """Entities that bore exactly this name with at least this weight when :meth:`index_keys` was called."""
        query = (
            "SELECT iri FROM name JOIN entity ON entity.id = name.entity "
            "WHERE key = ? AND text = ? AND weight >= ? AND name.id <= ?"
        )
        return [
            row[0] for row in self._db.execute(query, (self._forms(text)[0], text, least_weight, self._named_before))
        ]

    def _forms(self, text: str) -> tuple[str, str, str]:
        return name_forms(text) if self._keys == KEYS else former_name_forms(text)

    def index_keys(self, before: int | None = None) -> int:
        """Make :meth:`iris_named` answer, from the names flushed so far.

        Args:
            before: what an earlier run gave back, so that it answers the same again.
        """
        self._db.execute("CREATE INDEX IF NOT EXISTS name_key ON name(key)")
        if before is None:
            (before,) = self._db.execute("SELECT coalesce(max(id), 0) FROM name").fetchone()
        self._named_before = before
        return before

    def flush(self) -> None:
        """Merge what is held in memory into the database; nothing is lasting before :meth:`commit`."""
        db = self._db
        statements, sitelinks, descriptions = self._statements, self._sitelinks, self._descriptions
        # Sorted, so that neighbours in the index are written together.
        iris = sorted({*statements, *descriptions, *sitelinks, *(iri for iri, _ in self._names)})
        db.executemany(
            "INSERT INTO entity(iri, description, statements, sitelinks) VALUES(?, ?, ?, ?) ON CONFLICT(iri) DO UPDATE "
            "SET statements = statements + excluded.statements, sitelinks = sitelinks + excluded.sitelinks, "
            "description = CASE WHEN description = '' THEN excluded.description ELSE description END",
            ((iri, descriptions.get(iri, ""), statements.get(iri, 0), sitelinks.get(iri, 0)) for iri in iris),
        )
        db.executemany(
            "INSERT INTO name(entity, text, key, base, qualifier, weight) "
            "VALUES((SELECT id FROM entity WHERE iri = ?), ?, ?, ?, ?, ?) "
            "ON CONFLICT(entity, text) DO UPDATE SET weight = weight + excluded.weight",
            ((iri, text, *self._forms(text), weight) for (iri, text), weight in self._names.items()),
        )
        uses: dict[str, Counter[str]] = defaultdict(Counter)
        for (iri, value_range), count in self._uses.items():
            uses[iri][value_range] = count
        properties = {*uses, *self._property_descriptions, *(iri for iri, _ in self._property_names)}
        db.executemany("INSERT OR IGNORE INTO property(iri) VALUES(?)", ((iri,) for iri in properties))
        db.executemany(
            "UPDATE property SET entities = entities + ?, dates = dates + ?, numbers = numbers + ?, texts = texts + ? "
            "WHERE iri = ?",
            ((*(counts[kind] for kind in RANGES), iri) for iri, counts in uses.items()),
        )
        db.executemany(
            "UPDATE property SET description = ? WHERE iri = ? AND description = ''",
            ((text, iri) for iri, text in self._property_descriptions.items()),
        )
        db.executemany(
            "INSERT INTO property_name VALUES(?, ?, ?) "
            "ON CONFLICT(property, text) DO UPDATE SET weight = weight + excluded.weight",
            ((iri, text, weight) for (iri, text), weight in self._property_names.items()),
        )
        db.executemany("INSERT OR IGNORE INTO statement_text VALUES(?, ?, ?, ?)", self._texts)
        db.executemany("INSERT OR IGNORE INTO unit VALUES(?, ?, ?, ?, ?)", self._units)
        for pending in (
            self._statements, self._names, self._descriptions, self._sitelinks, self._uses, self._property_names,
            self._property_descriptions, self._texts, self._units,
        ):  # fmt: skip
            pending.clear()

    def choose(self, progress: Mapping[str, Any], kept: Callable[[str], bool] | None = None) -> None:
        """Choose labels and commit, all at once; call once, after everything was taken in.

        Args:
            kept: entities without a statement that stay; None: all of them.
        """
        self.flush()
        self._items.note()
        self._items.sum_up()
        if kept is not None:
            self._db.create_function("kept", 1, lambda iri: int(kept(iri)), deterministic=True)
            self._db.execute("DELETE FROM entity WHERE statements = 0 AND NOT kept(iri)")
            self._db.execute("DELETE FROM name WHERE entity NOT IN (SELECT id FROM entity)")
        for statement in _CHOOSE:
            self._db.execute(statement)
        self.commit(progress)

    def index(self, progress: Mapping[str, Any]) -> None:
        """Build the indexes and commit, all at once; call once, after :meth:`choose`."""
        for statement in _INDEXES:
            self._db.execute(statement)
        self.commit(progress)

    def seal(self) -> None:
        """Turn the finished database into one file that readers open, and close it; nothing may be written any more.

        May be repeated after a kill.
        """
        self._items.remove()
        self._db.execute("COMMIT")
        self._db.execute("PRAGMA journal_mode=DELETE")
        self._db.close()

    def labelled(self, after: int = 0) -> Iterator[tuple[int, str, str, str, list[str]]]:
        """(number, IRI, label, description, other names) of every entity that has a name or a description.

        Args:
            after: entities up to this number are left out.
        """
        query = (
            "SELECT entity.id, entity.iri, label, description, name.text FROM entity "
            "LEFT JOIN name ON name.entity = entity.id WHERE entity.id > ? ORDER BY entity.id, name.id"
        )
        entity: tuple[int, str, str, str] | None = None
        others: list[str] = []
        for number, iri, label, description, text in self._db.execute(query, (after,)):
            if entity is None or number != entity[0]:
                if entity is not None:
                    yield *entity, others
                entity, others = (number, iri, label, description), []
            if text and text != label:
                others.append(text)
        if entity is not None:
            yield *entity, others

    def label_triples(self) -> int:
        """How many triples :meth:`labelled` comes to: a label and a description an entity, and its other names."""
        (own,) = self._db.execute("SELECT coalesce(sum((label <> '') + (description <> '')), 0) FROM entity").fetchone()
        (others,) = self._db.execute(
            "SELECT count(*) FROM name JOIN entity ON entity.id = name.entity WHERE text <> '' AND text <> label"
        ).fetchone()
        return int(own) + int(others)

    def unlabelled(self) -> tuple[int, list[str]]:
        """How many entities, units and properties have no label and are shown by their ids; the first few IRIs."""
        (count,) = self._db.execute("SELECT count(*) FROM unlabelled").fetchone()
        few = self._db.execute("SELECT iri FROM unlabelled ORDER BY length(iri), iri LIMIT 3")
        return int(count), [str(row[0]) for row in few]

    def counts(self) -> tuple[int, int]:
        """(entities, properties in use)."""
        (entities,) = self._db.execute("SELECT count(*) FROM entity WHERE statements > 0").fetchone()
        (properties,) = self._db.execute(
            "SELECT count(*) FROM property WHERE entities + dates + numbers + texts > 0"
        ).fetchone()
        return entities, properties
