"""The name database of a graph index: labels, aliases, descriptions, properties.

SQLite, because Oxigraph has no full-text search. Written by :mod:`writer` during a build, read-only here.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rapidfuzz import fuzz, process

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.builds.ledger import damage_hint
from atomr_local.indexing.sqlite_pool import ReadOnlyPool
from atomr_local.language.names import KEYS, former_name_key, name_forms, name_key

FILE = "names.sqlite"
# A search by similarity reads the lists of the rarest pieces only, up to so many entries in all.
_RARE_PIECES, _LEAST_PIECES = 8, 4
_MANY_ENTRIES, _MOST_ENTRIES = 8_000, 20_000
_READ_NAMES = 200
_AT_ONCE = 500
RANGES = ("entities", "dates", "numbers", "texts")


@dataclass(frozen=True, slots=True)
class EntityRow:
    iri: str
    label: str
    description: str
    statements: int
    sitelinks: int = 0


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


_NAME_COLUMNS = (
    "name.text, name.key, name.base, name.qualifier, entity.iri, entity.label, entity.description, entity.statements"
)


class Names:
    """Read-only access; thread-safe.

    Every method raises :class:`KnowledgeIndexError` when the database is missing or damaged.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / FILE
        self._pool = ReadOnlyPool(self._file)
        columns = {row[1] for row in self._rows("PRAGMA table_info(entity)")}
        # Indexes built by earlier versions do not count pages.
        self._sitelinks = "entity.sitelinks" if "sitelinks" in columns else "0"
        self._rows("SELECT 1 FROM entity LIMIT 1")
        [(keys,)] = self._rows("PRAGMA user_version")
        self._former = keys != KEYS
        # Most sources write every object by its label, and then there is nothing to look up.
        self._has_texts = bool(self._rows("SELECT 1 FROM statement_text LIMIT 1"))

    def _rows(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        try:
            return self._pool.rows(query, parameters)
        except sqlite3.Error as error:
            hint = damage_hint("graph", self._file.parent)
            raise KnowledgeIndexError(f"{self._file} cannot be read: {error}", hint=hint) from error

    def close(self) -> None:
        """Close the file. Idempotent; calls made after it raise."""
        self._pool.close()

    def by_key(self, key: str, limit: int = 200) -> list[NameRow]:
        """Names with this key, those of the entities with most statements first."""
        return self._named("key", (key,), limit)

    def by_keys(self, keys: Sequence[str], limit: int = 40) -> list[NameRow]:
        """Names with any of these keys, up to 900 of which are read, those of the entities with most statements
        first."""
        return self._named("key", keys[:900], limit)

    def by_base(self, key: str, limit: int = 200) -> list[NameRow]:
        """Names with this key when qualifier and leading article are left off."""
        return self._named("base", (key,), limit)

    def ending(self, key: str, limit: int = 500) -> list[str] | None:
        """IRIs of the entities with a name whose key ends in this key as a word of its own, such as a surname.

        Returns:
            None if they are more than `limit`, or if the index cannot tell (a key of one character; an index of an
            earlier version).
        """
        ending = f" {key}"
        pieces = _pieces(ending)
        if self._former or not pieces:
            return None
        query = f"SELECT text FROM piece WHERE text IN ({_marks(pieces)}) ORDER BY names"  # noqa: S608
        known = [str(text) for (text,) in self._rows(query, pieces)]
        if len(known) < len(pieces):
            return []
        rarest = " AND ".join(map(_quoted, known[:_RARE_PIECES]))
        rows = self._rows(
            "SELECT DISTINCT entity.iri FROM name JOIN entity ON entity.id = name.entity WHERE name.id IN "
            "(SELECT rowid FROM name_fts WHERE name_fts MATCH ?) AND substr(name.key, ?) = ? LIMIT ?",
            (rarest, -len(ending), ending, limit + 1),
        )
        return [str(iri) for (iri,) in rows] if len(rows) <= limit else None

    def _named(self, column: Literal["key", "base"], keys: Sequence[str], limit: int) -> list[NameRow]:
        stored = [self._stored(key) for key in keys]
        rows = self._rows(
            f"SELECT {_NAME_COLUMNS}, {self._sitelinks} FROM name JOIN entity ON entity.id = name.entity "  # noqa: S608
            f"WHERE name.{column} IN ({_marks(stored)}) ORDER BY entity.statements DESC, entity.iri LIMIT ?",
            (*stored, limit),
        )
        found = [self._row(row) for row in rows]
        # One former key may stand for several of today's.
        return [row for row in found if getattr(row, column) in keys] if self._former else found

    def _stored(self, key: str) -> str:
        """The key as the index holds it: one of an earlier version holds former keys."""
        return key if key.isascii() or not self._former else former_name_key(key)

    def _row(self, row: Sequence[object]) -> NameRow:
        """A name with the keys of today, whatever the index holds."""
        text = str(row[0])
        forms = name_forms(text) if self._former and not text.isascii() else (str(row[1]), str(row[2]), str(row[3]))
        return NameRow(text, *forms, _entity_row(row[4:]))

    def similar(self, key: str, limit: int = 60) -> list[NameRow]:
        """Names that share the key's rarest three-letter pieces and are written most alike, best first."""
        key = self._stored(key)
        shared: Counter[str] = Counter()
        for piece in self._rare_pieces(key):
            # One text for all of a piece's names: thousands of rows would cost more to hand over than to find.
            query = "SELECT group_concat(rowid) FROM name_fts WHERE name_fts MATCH ?"
            [(ids,)] = self._rows(query, (_quoted(piece),))
            shared.update(str(ids).split(",") if ids else ())
        # Of equals, those of the rarest piece come first: that is the order in which they were counted.
        nearest = [number for number, _ in shared.most_common(_READ_NAMES)]
        found = self._rows(f"SELECT id, key FROM name WHERE id IN ({', '.join(nearest)})")  # noqa: S608
        keys = {number: str(text) for number, text in found}
        alike = process.extract(key, keys, scorer=fuzz.ratio, limit=limit)
        order = {number: place for place, (_, _, number) in enumerate(alike)}
        rows = self._rows(
            f"SELECT {_NAME_COLUMNS}, {self._sitelinks}, name.id FROM name "  # noqa: S608
            f"JOIN entity ON entity.id = name.entity WHERE name.id IN ({', '.join(map(str, order))})",
        )
        return [self._row(row) for row in sorted(rows, key=lambda row: order[row[-1]])]

    def _rare_pieces(self, key: str) -> list[str]:
        """The rarest first."""
        pieces = _pieces(key)
        query = f"SELECT text, names FROM piece WHERE text IN ({_marks(pieces)}) ORDER BY names LIMIT ?"  # noqa: S608
        chosen: list[str] = []
        entries = 0
        for text, number in self._rows(query, (*pieces, _RARE_PIECES)) if pieces else ():
            entries += int(str(number))
            # A slip of the pen spoils up to three pieces, which may then be the rarest.
            if entries > (_MOST_ENTRIES if len(chosen) < _LEAST_PIECES else _MANY_ENTRIES) and chosen:
                break
            chosen.append(str(text))
        return chosen

    def entity(self, iri: str) -> EntityRow | None:
        query = f"SELECT iri, label, description, statements, {self._sitelinks} FROM entity WHERE iri = ?"  # noqa: S608
        rows = self._rows(query, (iri,))
        return _entity_row(rows[0]) if rows else None

    def labels(self, iris: Sequence[str]) -> dict[str, str]:
        """Labels of those of the entities that are known."""
        found: dict[str, str] = {}
        for start in range(0, len(iris), _AT_ONCE):
            part = iris[start : start + _AT_ONCE]
            rows = self._rows(f"SELECT iri, label FROM entity WHERE iri IN ({_marks(part)})", part)  # noqa: S608
            found.update((str(iri), str(label)) for iri, label in rows)
        return found

    def numbered(self, after: int, limit: int) -> list[tuple[int, str, str]]:
        """(number, IRI, label) of entities that occur in statements, in the order of their numbers.

        Args:
            after: entities up to this number are left out.
        """
        query = "SELECT id, iri, label FROM entity WHERE id > ? AND statements > 0 ORDER BY id LIMIT ?"
        return [(int(str(row[0])), str(row[1]), str(row[2])) for row in self._rows(query, (after, limit))]

    def numbers(self, iris: Sequence[str]) -> dict[str, tuple[int, str]]:
        """Number and label of those of the entities that are known."""
        found: dict[str, tuple[int, str]] = {}
        for start in range(0, len(iris), _AT_ONCE):
            part = iris[start : start + _AT_ONCE]
            rows = self._rows(f"SELECT iri, id, label FROM entity WHERE iri IN ({_marks(part)})", part)  # noqa: S608
            found.update((str(iri), (int(str(number)), str(label))) for iri, number, label in rows)
        return found

    def iris(self, numbers: Sequence[int]) -> dict[int, str]:
        """The IRIs of the entities with these numbers."""
        rows = self._rows(f"SELECT id, iri FROM entity WHERE id IN ({_marks(numbers)})", numbers)  # noqa: S608
        return {int(str(number)): str(iri) for number, iri in rows}

    def names_by_number(self, numbers: Sequence[int]) -> dict[int, list[str]]:
        """Every name of these entities, the most used first."""
        found: dict[int, list[str]] = defaultdict(list)
        for start in range(0, len(numbers), _AT_ONCE):
            part = numbers[start : start + _AT_ONCE]
            query = f"SELECT entity, text FROM name WHERE entity IN ({_marks(part)}) ORDER BY weight DESC, text"  # noqa: S608
            for number, text in self._rows(query, part):
                found[int(str(number))].append(str(text))
        return found

    def texts_of(self, iris: Sequence[str]) -> dict[tuple[str, str, str], str]:
        """Of all statements of these entities, how the source wrote the object, where that differs; by subject,
        predicate and object term."""
        found: dict[tuple[str, str, str], str] = {}
        for start in range(0, len(iris) if self._has_texts else 0, _AT_ONCE):
            part = iris[start : start + _AT_ONCE]
            query = f"SELECT s, p, o, text FROM statement_text WHERE s IN ({_marks(part)})"  # noqa: S608
            found.update(((str(s), str(p), str(o)), str(text)) for s, p, o, text in self._rows(query, part))
        return found

    def names_of(self, iri: str) -> list[str]:
        """Every name of the entity."""
        query = "SELECT text FROM name WHERE entity = (SELECT id FROM entity WHERE iri = ?) ORDER BY weight DESC, text"
        return [str(row[0]) for row in self._rows(query, (iri,))]

    def statement_text(self, subject: str, predicate: str, object_term: str) -> str | None:
        """How the source wrote this statement's object, where it differs from the label or normal form."""
        if not self._has_texts:
            return None
        query = "SELECT text FROM statement_text WHERE s = ? AND p = ? AND o = ?"
        rows = self._rows(query, (subject, predicate, object_term))
        return str(rows[0][0]) if rows else None

    def texts_of_property(self, subject: str, predicate: str) -> dict[str, str]:
        """:meth:`statement_text` of all of the property's objects that have one, by the object as a term."""
        query = "SELECT o, text FROM statement_text WHERE s = ? AND p = ?"
        rows = self._rows(query, (subject, predicate)) if self._has_texts else []
        return {str(o): str(text) for o, text in rows}

    def statement_texts(self, subject: str, predicate: str, object_terms: Sequence[object]) -> dict[str, str]:
        """:meth:`statement_text` of those of the property's objects that have one, by the object as a term."""
        found: dict[str, str] = {}
        for start in range(0, len(object_terms) if self._has_texts else 0, _AT_ONCE):
            part = list(map(str, object_terms[start : start + _AT_ONCE]))
            query = f"SELECT o, text FROM statement_text WHERE s = ? AND p = ? AND o IN ({_marks(part)})"  # noqa: S608
            found.update((str(o), str(text)) for o, text in self._rows(query, (subject, predicate, *part)))
        return found

    def keys_of(self, iris: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
        """(name, its key) of every name of these entities, the most used first."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for start in range(0, len(iris), _AT_ONCE):
            part = iris[start : start + _AT_ONCE]
            rows = self._rows(
                "SELECT entity.iri, name.text, name.key FROM entity CROSS JOIN name ON name.entity = entity.id "  # noqa: S608
                f"WHERE entity.iri IN ({_marks(part)}) ORDER BY name.weight DESC, name.text",
                part,
            )
            for iri, text, key in rows:
                name = str(text)
                found[str(iri)].append((name, name_key(name) if self._former and not name.isascii() else str(key)))
        return found

    def unlabelled(self) -> list[str]:
        """IRIs of the entities, units and properties that have no label and are shown by their ids.

        An index of an earlier version knows its entities alone.
        """
        if self._rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'unlabelled'"):
            return [str(row[0]) for row in self._rows("SELECT iri FROM unlabelled ORDER BY iri")]
        rows = self._rows("SELECT iri FROM entity WHERE label = '' AND statements > 0 ORDER BY iri")
        return [str(iri) for (iri,) in rows]

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


def _pieces(key: str) -> list[str]:
    """The three-letter pieces of a key, as the index of names has them; at most 200."""
    return list(dict.fromkeys(key[i : i + 3] for i in range(len(key) - 2)))[:200]


def _quoted(piece: str) -> str:
    """The piece as FTS5 takes it, whatever is in it."""
    return '"' + piece.replace('"', '""') + '"'


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _integers(values: Iterable[object]) -> tuple[int, int, int, int]:
    first, second, third, fourth = (int(str(value)) for value in values)
    return first, second, third, fourth


def _entity_row(row: Sequence[object]) -> EntityRow:
    return EntityRow(str(row[0]), str(row[1]), str(row[2]), int(str(row[3])), int(str(row[4])))
