"""Puts the facts of a finished graph into words: "subject relation object", with qualifiers and other names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.foreign_errors import library_line, panics_as_errors
from atomr_local.indexing.graph_index.bulk_loading import STORE
from atomr_local.indexing.graph_index.linearised.writer import FactWriter, LinearisedFact
from atomr_local.indexing.graph_index.names.database import Names
from atomr_local.indexing.graph_index.qualifiers import PROP, PROP_QUALIFIER, PROP_STATEMENT, QUALIFIER_GRAPH
from atomr_local.indexing.graph_index.statements.terms import (
    ALT_LABEL,
    DESCRIPTION,
    RDFS_LABEL,
    literal_text,
    local_name,
)
from atomr_local.language.names import words
from atomr_local.language.properties import PROPERTY, property_table
from atomr_local.sanitize import sanitize_line

if TYPE_CHECKING:
    from pyoxigraph import Literal, NamedNode, Store

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
