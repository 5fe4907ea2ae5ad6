"""The facts of a graph index as text: "subject relation object", ranked by BM25.

An SQLite FTS5 table beside the store. It keeps the words of each fact for searching and the numbers of its entities for
citing, not the text itself: labels stand in the name database. Written by :mod:`writer`, read-only here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.graph_index.names.database import Names
from atomr_local.indexing.sqlite_pool import ReadOnlyPool
from atomr_local.indexing.store import Manifest
from atomr_local.language.names import words
from atomr_local.language.words import english

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
