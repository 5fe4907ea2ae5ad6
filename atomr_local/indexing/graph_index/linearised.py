"""Puts the facts of a finished graph into words: "subject relation object", with qualifiers and other names."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.foreign_errors import library_line, panics_as_errors
from atomr_local.indexing.graph_index.bulk_loading import PROP, PROP_QUALIFIER, PROP_STATEMENT, QUALIFIER_GRAPH, STORE
from atomr_local.indexing.graph_index.names.database import Names
from atomr_local.indexing.graph_index.statements.terms import (
    ALT_LABEL,
    DESCRIPTION,
    RDFS_LABEL,
    literal_text,
    local_name,
)
from atomr_local.indexing.sqlite_pool import ReadOnlyPool
from atomr_local.indexing.store import Manifest
from atomr_local.language.names import words
from atomr_local.language.properties import PROPERTY, property_table
from atomr_local.language.words import english
from atomr_local.system.sanitize import sanitize_line

if TYPE_CHECKING:
    from pyoxigraph import Literal, NamedNode, Store


# The facts of a graph index as text: "subject relation object", ranked by BM25.
#
# An SQLite FTS5 table beside the store. It keeps the words of each fact for searching and the numbers of its entities
# for citing, not the text itself: labels stand in the name database. Written by :mod:`writer`, read-only here.

FILE = "facts.sqlite"
COUNT = "linearised"  # of the manifest's counts
LAYOUT = 1  # raised when what is written changes
# Of the other names of a subject, in their own column: a word found there counts half.
NAMES_WEIGHT = 0.5
_MOST_WORDS = 32
# A word in very many facts says little and costs much: where all facts that hold a word of the query are more than
# this, the best by the rarer words alone are found first, and ordered by all words then.
_MANY_FACTS = 200_000
_PRESELECTED = 400


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact that was found.

    Attributes:
        object: an N-Triples term.
        qualifiers: in words; empty if there are none.
        score: by BM25; larger is better.
    """

    subject: str
    property: str
    object: str
    qualifiers: str
    score: float


def linearise_hint(name: str) -> str:
    """What to do where an index has no facts as text, or damaged ones."""
    return f"Run `atomr graph linearise {name}`."


def no_facts(directory: Path, manifest: Manifest) -> str:
    """Why the index's facts cannot be searched as text, with what to do; empty if they can."""
    if (directory / FILE).is_file() or COUNT in manifest.counts:
        return ""
    return f"the graph index {directory.name} has no facts as text. {linearise_hint(directory.name)}"


class FactTable:
    """Read-only access; thread-safe.

    Every method raises :class:`KnowledgeIndexError` when the table is missing, damaged, or of another version.

    Args:
        names: the name database of the same index, which a search needs.
    """

    def __init__(self, directory: Path, names: Names | None = None) -> None:
        self._directory = directory
        self._names = names
        if not (directory / FILE).is_file():
            raise self._error(f"the graph index {directory.name} has no facts as text")
        self._pool = ReadOnlyPool(directory / FILE)
        [(layout,)] = self._rows("PRAGMA user_version")
        if layout != LAYOUT:
            raise self._error(f"the facts as text of the graph index {directory.name} are of another version")
        self._properties = {number: str(iri) for number, iri in self._rows("SELECT id, iri FROM property")}

    def close(self) -> None:
        """Close the file. Idempotent; calls made after it raise."""
        self._pool.close()

    def count(self) -> int:
        """How many facts there are."""
        [(number,)] = self._rows("SELECT count(*) FROM fact")
        return int(str(number))

    def check(self) -> str:
        """What SQLite finds wrong with the file; "" when it is whole."""
        try:
            return self._pool.check()
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def search(self, query: str, number: int) -> list[FactRow]:
        """The facts that suit the words of the query best, by BM25. Words that say nothing by themselves are left out,
        if there are others."""
        terms = query_words(query)
        if not terms or number < 1:
            return []
        counts = self._counts(terms)
        terms = [term for term in terms if counts.get(term)]
        rare = sorted(terms, key=lambda term: counts[term])
        while len(rare) > 1 and sum(counts[term] for term in rare) > _MANY_FACTS:
            rare.pop()
        if len(rare) == len(terms):
            found = self._ranked(terms, number)
        else:
            best = self._ranked(rare, max(_PRESELECTED, number))
            found = self._ranked(terms, number, [row for row, _ in best])
        return self._facts(found)

    def _counts(self, terms: Sequence[str]) -> dict[str, int]:
        """How many facts hold each word."""
        counts = {}
        for term in terms:
            [(held,)] = self._rows(
                "SELECT count(*) FROM (SELECT rowid FROM fact_text WHERE fact_text MATCH ? LIMIT ?)",
                (_match([term]), _MANY_FACTS + 1),
            )
            counts[term] = int(str(held))
        return counts

    def _ranked(self, terms: Sequence[str], number: int, among: Sequence[int] | None = None) -> list[tuple[int, float]]:
        """Numbers and scores of the best facts, best first."""
        if not terms:
            return []
        query = "SELECT rowid, rank FROM fact_text WHERE fact_text MATCH ?"
        if among is not None:
            query += f" AND rowid IN ({', '.join(map(str, among))})"
        rows = self._rows(f"{query} ORDER BY rank, rowid LIMIT ?", (_match(terms), number))
        return [(int(str(row)), -float(str(rank))) for row, rank in rows]

    def _facts(self, found: Sequence[tuple[int, float]]) -> list[FactRow]:
        places = ", ".join(str(row) for row, _ in found)
        rows = self._rows(f"SELECT id, subject, property, object, qualifiers FROM fact WHERE id IN ({places})")  # noqa: S608
        known = {int(str(row[0])): row[1:] for row in rows}
        numbers = [value for row in known.values() for value in (row[0], row[2]) if isinstance(value, int)]
        iris = self._names.iris(list(dict.fromkeys(numbers))) if self._names is not None else {}
        facts = []
        for row, score in found:
            try:
                subject, prop, tail, qualifiers = known[row]
                term = f"<{iris[tail]}>" if isinstance(tail, int) else str(tail)
                facts.append(
                    FactRow(iris[int(str(subject))], self._properties[prop], term, str(qualifiers or ""), score)
                )
            except (KeyError, ValueError) as error:
                raise self._error(f"{self._directory / FILE} is damaged: a fact names what is not there") from error
        return facts

    def _rows(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        try:
            return self._pool.rows(query, parameters)
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: sqlite3.Error) -> KnowledgeIndexError:
        return self._error(f"{self._directory / FILE} cannot be read: {error}")

    def _error(self, message: str) -> KnowledgeIndexError:
        return KnowledgeIndexError(message, hint=linearise_hint(self._directory.name))


def query_words(query: str) -> list[str]:
    """The words of a query that are searched for, each once."""
    found = list(dict.fromkeys(words(query[:2000].encode("utf-8", "replace").decode("utf-8"))))
    telling = [word for word in found if word not in english().stop]
    return (telling or found)[:_MOST_WORDS]


def _match(terms: Sequence[str]) -> str:
    """Any of the words, as FTS5 has it: each quoted, so that none is read as syntax."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


# Writes the facts as text; a killed run goes on from its last commit.

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS property(id INTEGER PRIMARY KEY, iri TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS fact(id INTEGER PRIMARY KEY, subject INTEGER NOT NULL, property INTEGER NOT NULL,
  object NOT NULL, qualifiers TEXT);
CREATE TABLE IF NOT EXISTS progress(id INTEGER PRIMARY KEY, entity INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS fact_text USING fts5(fact, names, content='',
  tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO fact_text(fact_text, rank) VALUES('rank', 'bm25(1.0, {NAMES_WEIGHT})');
PRAGMA user_version={LAYOUT};
"""


@dataclass(frozen=True, slots=True)
class LinearisedFact:
    """A fact on its way into the table.

    Attributes:
        subject: the entity's number in the name database.
        object: likewise, or an N-Triples term.
        qualifiers: in words, as they are shown.
        text: the words of subject, relation, object and qualifiers.
        names: words of the subject's other names.
    """

    subject: int
    property: str
    object: int | str
    qualifiers: str
    text: str
    names: str


class FactWriter:
    """The table of an index that is being built. What was written lasts from :meth:`commit` on, all of it or none."""

    def __init__(self, directory: Path) -> None:
        self._db = sqlite3.connect(directory / FILE, isolation_level=None)
        self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16384;")
        self._db.executescript(_SCHEMA)
        self._properties: dict[str, int] = dict(self._db.execute("SELECT iri, id FROM property"))
        (last,) = self._db.execute("SELECT coalesce(max(id), 0) FROM fact").fetchone()
        self.count = int(last)
        self._db.execute("BEGIN")

    @property
    def after(self) -> int:
        """The number of the last entity whose facts are in the table for good."""
        row = self._db.execute("SELECT entity FROM progress").fetchone()
        return int(row[0]) if row else 0

    def add(self, facts: Iterable[LinearisedFact]) -> None:
        """Take facts in, in their order."""
        for fact in facts:
            self.count += 1
            row = (self.count, fact.subject, self._number_of(fact.property), fact.object, fact.qualifiers or None)
            self._db.execute("INSERT INTO fact VALUES(?, ?, ?, ?, ?)", row)
            self._db.execute(
                "INSERT INTO fact_text(rowid, fact, names) VALUES(?, ?, ?)", (self.count, fact.text, fact.names)
            )

    def commit(self, entity: int) -> None:
        """Make what was taken in lasting: all facts of entities up to this number."""
        self._db.execute("INSERT OR REPLACE INTO progress VALUES(1, ?)", (entity,))
        self._db.execute("COMMIT")
        self._db.execute("BEGIN")

    def seal(self) -> None:
        """Turn the finished table into one file that readers open, and close it. May be repeated after a kill."""
        self._db.execute("INSERT INTO fact_text(fact_text) VALUES('optimize')")
        self._db.execute("COMMIT")
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA journal_mode=DELETE")
        self._db.close()

    def close(self) -> None:
        """Close the file; what is not committed is given up."""
        self._db.close()

    def _number_of(self, prop: str) -> int:
        if prop not in self._properties:
            number = len(self._properties) + 1
            self._db.execute("INSERT INTO property VALUES(?, ?)", (number, prop))
            self._properties[prop] = number
        return self._properties[prop]


if TYPE_CHECKING:
    Term = NamedNode | Literal

_NAMING = {RDFS_LABEL, ALT_LABEL, DESCRIPTION}
_ENTITIES, _FACTS = 500, 5_000
_COMMIT_FACTS = 50_000
# Of the other names of a subject, the words that its label does not have; enough to find it by another name.
_NAMES, _NAME_WORDS = 8, 8
_LONGEST = 1_000
_QUALIFIED = 3


@dataclass(frozen=True, slots=True)
class _Fact:
    subject: int
    iri: str
    property: str
    term: Term
    qualifiers: tuple[tuple[tuple[str, Term], ...], ...] = ()


def linearise(directory: Path, into: Path, progress: Callable[[int], None] = lambda _facts: None) -> int:
    """Write the facts of the graph in `directory` as text into a table; goes on from where an earlier run stopped.

    Args:
        into: the directory of the table.
        progress: called with how many facts are written; may raise to stop.

    Returns:
        How many facts there are.

    Raises:
        KnowledgeIndexError: the graph cannot be read.
        OSError, sqlite3.Error: the table cannot be written.
    """
    from pyoxigraph import Store

    try:
        with panics_as_errors():
            store = Store.read_only(str(directory / STORE))
    except (OSError, ValueError, RuntimeError) as error:
        raise _unreadable(directory, error) from error
    names = Names(directory)
    writer = FactWriter(into)
    try:
        words_of = _Linearised(directory, store, names)
        committed = writer.count
        last = writer.after
        while entities := names.numbered(last, _ENTITIES):
            for facts in words_of.facts(entities):
                writer.add(facts)
                progress(writer.count)
            last = entities[-1][0]
            if writer.count - committed >= _COMMIT_FACTS:
                writer.commit(last)
                committed = writer.count
        writer.commit(last)
        writer.seal()
        return writer.count
    finally:
        writer.close()
        names.close()


class _Linearised:
    def __init__(self, directory: Path, store: Store, names: Names) -> None:
        from pyoxigraph import NamedNode

        self._directory = directory
        self._store = store
        self._names = names
        self._labels = {row.iri: row.label for row in names.properties()}
        self._qualifiers = NamedNode(QUALIFIER_GRAPH)
        first = next(iter(store.quads_for_pattern(None, None, None, self._qualifiers)), None)
        self._has_qualifiers = first is not None

    def facts(self, entities: Sequence[tuple[int, str, str]]) -> Iterator[list[LinearisedFact]]:
        """The facts of these entities (number, IRI, label), some thousand at a time."""
        labels = {number: label or local_name(iri) for number, iri, label in entities}
        others = self._names.names_by_number([number for number, _, _ in entities])
        known = {number: _other_words(labels[number], others.get(number, ())) for number in labels}
        written = self._names.texts_of([iri for _, iri, _ in entities])
        part: list[_Fact] = []
        for number, iri, _ in entities:
            for fact in self._read(number, iri):
                part.append(fact)
                if len(part) >= _FACTS:
                    yield list(self._in_words(part, labels, known, written))
                    part.clear()
        if part:
            yield list(self._in_words(part, labels, known, written))

    def _read(self, number: int, iri: str) -> Iterator[_Fact]:
        from pyoxigraph import DefaultGraph, Literal, NamedNode

        try:
            with panics_as_errors():
                node = NamedNode(iri)
                qualified = self._qualified(node) if self._has_qualifiers else {}
                for quad in self._store.quads_for_pattern(node, None, None, DefaultGraph()):
                    if quad.predicate.value in _NAMING or not isinstance(quad.object, NamedNode | Literal):
                        continue
                    said = qualified.pop((quad.predicate.value, quad.object), ())
                    yield _Fact(number, iri, quad.predicate.value, quad.object, tuple(said))
                # Statements that were true once are not among the plain facts.
                for (prop, term), said in qualified.items():
                    yield _Fact(number, iri, prop, term, tuple(said))
        except (OSError, ValueError, SyntaxError, RuntimeError) as error:
            raise _unreadable(self._directory, error) from error

    def _qualified(self, node: NamedNode) -> dict[tuple[str, Term], list[tuple[tuple[str, Term], ...]]]:
        """By property and value, what qualifies the entity's statements."""
        from pyoxigraph import Literal, NamedNode

        found: dict[tuple[str, Term], list[tuple[tuple[str, Term], ...]]] = defaultdict(list)
        for quad in self._store.quads_for_pattern(node, None, None, self._qualifiers):
            if not quad.predicate.value.startswith(PROP) or not isinstance(quad.object, NamedNode):
                continue
            value = None
            said: list[tuple[str, Term]] = []
            for part in self._store.quads_for_pattern(quad.object, None, None, self._qualifiers):
                predicate = part.predicate.value
                if predicate.startswith(PROP_STATEMENT):
                    value = part.object
                elif predicate.startswith(PROP_QUALIFIER) and isinstance(part.object, NamedNode | Literal):
                    said.append((PROPERTY + predicate[len(PROP_QUALIFIER) :], part.object))
            if isinstance(value, NamedNode | Literal):
                said.sort(key=lambda item: (item[0], str(item[1])))
                found[PROPERTY + quad.predicate.value[len(PROP) :], value].append(tuple(said))
        return found

    def _in_words(
        self,
        facts: Sequence[_Fact],
        labels: dict[int, str],
        known: dict[int, str],
        written: dict[tuple[str, str, str], str],
    ) -> Iterator[LinearisedFact]:
        from pyoxigraph import NamedNode

        terms = [fact.term for fact in facts]
        terms += [term for fact in facts for said in fact.qualifiers for _, term in said]
        iris = dict.fromkeys(term.value for term in terms if isinstance(term, NamedNode))
        entities = self._names.numbers(list(iris))

        def text_of(term: Term) -> str:
            if isinstance(term, NamedNode):
                return entities.get(term.value, (0, ""))[1] or local_name(term.value)
            return literal_text(term.value, term.datatype.value)

        for fact in facts:
            term, prop = fact.term, self._property_label(fact.property)
            value = written.get((fact.iri, fact.property, str(term))) or text_of(term)
            sets = [
                ", ".join(f"{self._property_label(name)} {text_of(one)}" for name, one in said)
                for said in fact.qualifiers[:_QUALIFIED]
            ]
            qualifiers = sanitize_line("; ".join(dict.fromkeys(sets)))[:_LONGEST]
            number = entities[term.value][0] if isinstance(term, NamedNode) and term.value in entities else None
            text = [word for part in (labels[fact.subject], prop, value, qualifiers) for word in _words(part)]
            yield LinearisedFact(
                fact.subject,
                fact.property,
                str(term) if number is None else number,
                qualifiers,
                " ".join(text),
                known[fact.subject],
            )

    def _property_label(self, iri: str) -> str:
        known = property_table().by_iri.get(iri)
        return self._labels.get(iri) or (known.label if known else "") or local_name(iri)


@lru_cache(maxsize=20_000)
def _words(text: str) -> tuple[str, ...]:
    return tuple(words(text[:_LONGEST]))


def _other_words(label: str, names: Sequence[str]) -> str:
    """Words of the other names that the label does not have."""
    own = set(_words(label))
    found = dict.fromkeys(word for name in names[:_NAMES] for word in words(name[:_LONGEST]) if word not in own)
    return " ".join(list(found)[:_NAME_WORDS])


def _unreadable(directory: Path, error: BaseException) -> KnowledgeIndexError:
    return KnowledgeIndexError(f"the graph in {directory} cannot be read: {library_line(error, directory)}")
