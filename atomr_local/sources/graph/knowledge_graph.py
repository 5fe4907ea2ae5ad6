"""Reading one graph index: bound SPARQL queries, statements, labels. Materialises every result where it queries,
because Oxigraph's result iterators must not cross threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.errors import KnowledgeIndexError, SourceError
from atomr_local.indexing.builds.ledger import damage_hint
from atomr_local.indexing.graph_index.bulk_loading import STORE
from atomr_local.indexing.graph_index.names.database import EntityRow, Names, PropertyRow
from atomr_local.indexing.graph_index.statements.terms import (
    ALT_LABEL,
    DESCRIPTION,
    MINTED_ENTITY,
    RDFS_LABEL,
    XSD,
    literal_text,
    shown_name,
)
from atomr_local.indexing.opening import require_unchanged
from atomr_local.indexing.store import read_manifest
from atomr_local.language.properties import INSTANCE_OF, property_table
from atomr_local.sources.errors import library_errors
from atomr_local.sources.protocol import Evidence, SourceName, Value, ValueKind
from atomr_local.system.cancellation import Cancellation

if TYPE_CHECKING:
    from pyoxigraph import BlankNode, Literal, NamedNode, Store, Triple


# The rows of a query, as terms and as the evidence shows them.

if TYPE_CHECKING:
    Term = NamedNode | BlankNode | Literal | Triple

ROW_LIMIT = 200  # rows that evidence shows
_KIND_OF_DATATYPE = {
    **dict.fromkeys(("date", "dateTime", "gYear", "gYearMonth"), ValueKind.DATE),
    **dict.fromkeys(("decimal", "integer", "double", "float", "int", "long", "nonNegativeInteger"), ValueKind.NUMBER),
    "boolean": ValueKind.BOOLEAN,
}


@dataclass(frozen=True, slots=True)
class SelectResult:
    """A query as it was run, and its rows as terms.

    Attributes:
        cut: there are more rows.
        values: IRI and label of each row's ?value, where labels were asked for; None and "" for what has none.
    """

    sparql: str
    terms: tuple[dict[str, Term], ...]
    cut: bool = False
    values: tuple[tuple[str | None, str], ...] = ()

    @property
    def rows(self) -> list[dict[str, str]]:
        """The rows as text, as evidence shows them."""
        return self._rows(len(self.terms))

    def evidence(self, title: str, text: str, score: float, query: str) -> Evidence:
        """A piece of evidence: sentences, and this query that they come from."""
        return Evidence(
            SourceName.GRAPH, title, text, score, query, {"sparql": self.sparql, "rows": self._rows(ROW_LIMIT)}
        )

    def only(self, places: Sequence[int]) -> SelectResult:
        """The query with these of its rows alone."""
        values = tuple(self.values[i] for i in places) if self.values else ()
        return replace(self, terms=tuple(self.terms[i] for i in places), values=values)

    def _rows(self, limit: int) -> list[dict[str, str]]:
        rows = [{name: term_text(term) for name, term in row.items()} for row in self.terms[:limit]]
        for row, (_, label) in zip(rows, self.values, strict=False):
            if label:
                row["valueLabel"] = label
        return rows


def term_text(term: Term) -> str:
    """A term as evidence rows show it: an IRI or a lexical form."""
    value = getattr(term, "value", None)
    return value if isinstance(value, str) else str(term)


def literal_value(term: Term, written: str | None, score: float | None) -> Value:
    """A literal as an answer value, as the source wrote it where that is known."""
    datatype = getattr(getattr(term, "datatype", None), "value", "")
    kind = _KIND_OF_DATATYPE.get(datatype.removeprefix(XSD), ValueKind.TEXT)
    return Value(written or literal_text(term_text(term), datatype), kind, None, score)


VALUE_LIMIT = 10_000  # values of one property of an entity; evidence shows ROW_LIMIT of them
FIRST_PAGE = 500  # values that are read first; each page after it is twice as long
# To ask for each of more properties than these takes longer than to read so many statements.
_MANY_PROPERTIES, _MOST_COUNTED = 300, 20_000
_NAMING = {RDFS_LABEL, ALT_LABEL, DESCRIPTION}
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
TYPE_PROPERTIES = (INSTANCE_OF, RDF_TYPE)
# What Oxigraph raises for a damaged store; corruption comes as RuntimeError.
_STORE_ERRORS = (OSError, ValueError, SyntaxError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, by the IRIs of its subject and property."""

    subject: str
    property: str
    object: Term


def term_iri(term: Term) -> str | None:
    """The IRI of a term that is one."""
    from pyoxigraph import NamedNode

    return term.value if isinstance(term, NamedNode) else None


def bound(iri: str) -> str:
    """An IRI as a SPARQL term; it cannot break out of the angle brackets.

    Raises:
        SourceError: it is no IRI.
    """
    from pyoxigraph import NamedNode

    try:
        return str(NamedNode(iri))
    except ValueError as error:
        raise SourceError(f"{iri!r} is not an IRI") from error


class KnowledgeGraph:
    """One opened index. Thread-safe."""

    def __init__(self, directory: Path) -> None:
        """Raises KnowledgeIndexError when the directory holds no whole graph index."""
        from pyoxigraph import Store

        manifest = read_manifest(directory)
        require_unchanged(manifest.kind, directory)
        if manifest.kind != "graph":
            raise KnowledgeIndexError(f"{directory} is a {manifest.kind} index, not a graph")
        self.directory = directory
        self.manifest = manifest
        self.names = Names(directory)
        if not (directory / STORE).is_dir():
            raise KnowledgeIndexError(f"{directory} has no {STORE} store", hint=damage_hint("graph", directory))
        told = f"{directory / STORE} cannot be opened"
        with library_errors(told, "graph", directory, raised=KnowledgeIndexError, caught=_STORE_ERRORS):
            self._open_store: Store | None = Store.read_only(str(directory / STORE))
        # Statements with times lie apart; a graph without any is never asked for them.
        self.has_qualifiers = manifest.counts.get("qualifiers", 0) > 0
        self.properties: dict[str, PropertyRow] = {row.iri: row for row in self.names.properties()}
        self.type_properties = tuple(prop for prop in TYPE_PROPERTIES if prop in self.properties)
        self._properties_of = lru_cache(maxsize=1024)(self._read_properties)

    def close(self) -> None:
        """Close the files; a query that still runs closes them when it ends. Idempotent."""
        self.names.close()
        self._open_store = None

    @property
    def _store(self) -> Store:
        store = self._open_store
        if store is None:
            raise SourceError(f"the graph in {self.directory} has been closed")
        return store

    # -- statements

    def statements(
        self, subject: str | None = None, prop: str | None = None, tail: str | None = None, limit: int = ROW_LIMIT
    ) -> list[Statement]:
        """Up to `limit` statements that fit, those that only name things left out."""
        from pyoxigraph import DefaultGraph, NamedNode

        def node(iri: str | None) -> NamedNode | None:
            return NamedNode(iri) if iri is not None else None

        with self._store_errors("read"):
            quads = self._store.quads_for_pattern(node(subject), node(prop), node(tail), DefaultGraph())
            found = (
                Statement(quad.subject.value, quad.predicate.value, quad.object)
                for quad in quads
                if quad.predicate.value not in _NAMING and isinstance(quad.subject, NamedNode)
            )
            return list(islice(found, limit))

    def _store_errors(self, done: str) -> AbstractContextManager[None]:
        told = f"the graph in {self.directory} cannot be {done}"
        return library_errors(told, "graph", self.directory, caught=_STORE_ERRORS)

    def targets(self, iri: str, *properties: str, limit: int = ROW_LIMIT) -> list[str]:
        """The entities that the properties have as values; at most `limit` statements of each are read."""
        found = [s.object for prop in properties for s in self.statements(iri, prop, limit=limit)]
        return [target for term in found if (target := term_iri(term)) is not None]

    def has(self, iri: str, prop: str, *, inverse: bool = False) -> bool:
        """Whether there is a statement of the property about the entity, or with `inverse` one that has it as value."""
        found = self.statements(None if inverse else iri, prop, iri if inverse else None, limit=1)
        return bool(found)

    def properties_of(self, iri: str, *, inverse: bool = False) -> frozenset[str]:
        """The properties of the entity's statements, or with `inverse` of those that have it as a value. All of them,
        however many statements there are."""
        return self._properties_of(iri, inverse)

    def _read_properties(self, iri: str, inverse: bool) -> frozenset[str]:
        read = self.statements(tail=iri) if inverse else self.statements(iri)
        found = frozenset(statement.property for statement in read)
        if len(read) < ROW_LIMIT:
            return found
        # Of a hub the first statements may be of one property alone.
        if len(self.properties) > _MANY_PROPERTIES:
            pattern = f"?subject ?property {bound(iri)}" if inverse else f"{bound(iri)} ?property ?value"
            counts = self.select(
                f"SELECT ?property (COUNT(*) AS ?number) WHERE {{\n  SELECT ?property WHERE {{ {pattern} }} "
                f"LIMIT {_MOST_COUNTED}\n}} GROUP BY ?property",
                len(self.properties) + len(_NAMING),
            ).rows
            found |= {row["property"] for row in counts} - _NAMING
            if sum(int(row["number"]) for row in counts) < _MOST_COUNTED:
                return found
        others = (prop for prop in self.properties if prop not in found)
        return found | {prop for prop in others if KnowledgeGraph.has(self, iri, prop, inverse=inverse)}

    def values(
        self, iri: str, prop: str, *, inverse: bool = False, cancellation: Cancellation | None = None
    ) -> SelectResult:
        """The property's values for the entity as ?value, or with `inverse` what has it as a value, with labels; at
        most VALUE_LIMIT.

        Raises:
            Cancelled: `cancellation` was thrown.
        """
        pages = list(self.value_pages(iri, prop, inverse=inverse, cancellation=cancellation))
        terms = tuple(chain.from_iterable(page.terms for page in pages))
        return replace(pages[-1], terms=terms, values=tuple(chain.from_iterable(page.values for page in pages)))

    def value_pages(
        self, iri: str, prop: str, *, inverse: bool = False, cancellation: Cancellation | None = None
    ) -> Iterator[SelectResult]:
        """What :meth:`values` gives in pages, at least one; a page is read when it is asked for.

        A page is a query of its own with an offset, not a part of one open query, whose iterator must not cross
        threads. The pages fit together because the store never changes and one pattern of bound terms is read in the
        order of the store's keys, each value once. Skipping a value takes a fifth of the time of reading it, and as
        pages grow, few are skipped twice.

        Raises:
            Cancelled: `cancellation` was thrown; asked before each page.
        """
        pattern = value_pattern(iri, prop, inverse=inverse)
        start, size, more = 0, FIRST_PAGE, True
        while more and start < VALUE_LIMIT:
            if cancellation is not None:
                cancellation.check()
            size = min(size, VALUE_LIMIT - start)
            page = self.select(f"SELECT ?value WHERE {{\n  {pattern}\n}}\nOFFSET {start}", size)
            yield self._labelled(page, pattern, VALUE_LIMIT)
            start, size, more = start + size, size * 2, page.cut

    def first_values(self, iri: str, prop: str, *, inverse: bool = False) -> SelectResult:
        """The first page of :meth:`value_pages`."""
        return next(self.value_pages(iri, prop, inverse=inverse))

    def labelled(self, pattern: str, limit: int = ROW_LIMIT) -> SelectResult:
        """The ?value of a pattern of bound terms, each once, with its label where it has one; at most `limit`."""
        return self._labelled(self.select(f"SELECT DISTINCT ?value WHERE {{\n  {pattern}\n}}", limit), pattern, limit)

    def _labelled(self, answer: SelectResult, pattern: str, limit: int) -> SelectResult:
        """The answer with labels, as the query that asks for these too.

        The labels are read from the name database, all at once, which takes a third of the time that joining them
        does: the build makes the graph's labels of those there, one an entity.
        """
        labelled = (
            "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
            f"SELECT DISTINCT ?value ?valueLabel WHERE {{\n  {pattern}\n"
            f"  OPTIONAL {{ ?value rdfs:label ?valueLabel }}\n}}\nLIMIT {limit + 1}"
        )
        return replace(answer, sparql=labelled, values=self._labels_of(answer))

    def _labels_of(self, answer: SelectResult) -> tuple[tuple[str | None, str], ...]:
        """As :attr:`SelectResult.values`."""
        from pyoxigraph import NamedNode

        terms = [row["value"] for row in answer.terms]
        iris = [term.value if isinstance(term, NamedNode) else None for term in terms]
        known = self.names.labels([iri for iri in iris if iri is not None])
        return tuple((iri, known.get(iri, "") if iri is not None else "") for iri in iris)

    def answer_values(
        self, answer: SelectResult, iri: str, prop: str, *, inverse: bool = False, score: float | None = None
    ) -> list[Value]:
        """The rows of :meth:`values` as answer values, in their order: what :meth:`value` gives of each, or with
        `inverse` :meth:`entity_value`. Names and texts are looked up for all at once."""
        terms = [row["value"] for row in answer.terms]
        texts = {} if inverse else self.names.statement_texts(iri, prop, terms)
        found = []
        for term, (entity, label) in zip(terms, answer.values or self._labels_of(answer), strict=True):
            if entity is not None:
                written = texts.get(str(term)) if texts else None
                found.append(Value(written or label or shown_name(entity), ValueKind.ENTITY, entity, score))
            elif not inverse:
                found.append(literal_value(term, texts.get(str(term)) if texts else None, score))
        return found

    def count(self, pattern: str) -> tuple[int, SelectResult]:
        """How many things ?value stands for in a pattern of bound terms, and the query that counts them."""
        answer = self.select(f"SELECT (COUNT(DISTINCT ?value) AS ?number) WHERE {{\n  {pattern}\n}}")
        return int(answer.rows[0]["number"]), answer

    def select(self, query: str, limit: int | None = None) -> SelectResult:
        """Run a SELECT whose values are bound terms already; at most `limit` rows, `cut` when there are more."""
        limit = ROW_LIMIT if limit is None else limit
        sparql = f"{query}\nLIMIT {limit + 1}"
        with self._store_errors("queried"):
            results: Any = self._store.query(sparql)
            variables = [variable.value for variable in results.variables]
            terms: list[dict[str, Term]]
            if len(variables) == 1:  # as of the values of a hub
                [name] = variables
                terms = [{name: term} if term is not None else {} for row in results for term in row]
            else:
                terms = [
                    {name: term for name, term in zip(variables, row, strict=True) if term is not None}
                    for row in results
                ]
        return SelectResult(sparql, tuple(terms[:limit]), len(terms) > limit)

    # -- names

    def label(self, iri: str) -> str:
        """The label of an entity, or what can be shown without one: a readable form of its IRI, or its id, said to be
        one."""
        row = self.names.entity(iri)
        return row.label if row is not None and row.label else shown_name(iri)

    def labels(self, iris: Sequence[str]) -> dict[str, str]:
        """:meth:`label` of many entities at once."""
        known = self.names.labels(iris)
        return {iri: known.get(iri) or shown_name(iri) for iri in iris}

    def property_label(self, iri: str) -> str:
        row = self.properties.get(iri)
        known = property_table().by_iri.get(iri)
        return (row.label if row else "") or (known.label if known else "") or shown_name(iri)

    def row(self, iri: str) -> EntityRow | None:
        return self.names.entity(iri)

    def resolved(self, iri: str) -> bool:
        """Whether the entity has an identity of its own, rather than one minted from a bare label."""
        return not iri.startswith(MINTED_ENTITY)

    def types(self, iri: str) -> list[str]:
        """Labels of what the entity is an instance of."""
        return list(dict.fromkeys(map(self.label, self.targets(iri, *self.type_properties, limit=8))))

    def types_of(self, iris: Sequence[str], cancellation: Cancellation | None = None) -> dict[str, tuple[str, ...]]:
        """What each of the entities is an instance of: IRIs, in the order of :meth:`targets`.

        Raises:
            Cancelled: `cancellation` was thrown.
        """
        found: dict[str, tuple[str, ...]] = dict.fromkeys(iris, ())
        distinct = list(found)
        for start in range(0, len(distinct), FIRST_PAGE):
            if cancellation is not None:
                cancellation.check()
            part = distinct[start : start + FIRST_PAGE]
            among = " ".join(map(bound, part))
            for prop in self.type_properties:
                query = f"SELECT ?value ?type WHERE {{ VALUES ?value {{ {among} }} ?value {bound(prop)} ?type }}"
                for row in self.select(query, len(part) * ROW_LIMIT).terms:
                    value, kind = term_iri(row["value"]), term_iri(row["type"])
                    if value is not None and kind is not None:
                        found[value] += (kind,)
        return found

    def value(self, statement: Statement, score: float | None = None, label: str = "") -> Value:
        """The statement's object as an answer value, its text as the source wrote it.

        Args:
            label: the object's label, where it was looked up before.
        """
        term = statement.object
        written = self.names.statement_text(statement.subject, statement.property, str(term))
        iri = term_iri(term)
        if iri is not None:
            return Value(written or label or self.label(iri), ValueKind.ENTITY, iri, score)
        return literal_value(term, written, score)

    def entity_value(self, iri: str, score: float | None = None) -> Value:
        return Value(self.label(iri), ValueKind.ENTITY, iri, score)

    def sentence(self, statement: Statement) -> str:
        """ "Get Low — performer: Dillon Francis." """
        prop = self.property_label(statement.property)
        return f"{self.label(statement.subject)} — {prop}: {self.value(statement).text}."

    def main_facts(self, iri: str, limit: int = 8) -> Iterator[Statement]:
        """Statements that say most about the entity: its own first, a few per property; then some that point to it."""
        own = self.statements(iri)
        if len(own) == ROW_LIMIT:
            own = [found for prop in sorted(self.properties_of(iri)) for found in self.statements(iri, prop, limit=3)]
        per_property: dict[str, int] = {}
        chosen = 0
        for statement in sorted(own, key=lambda s: (s.property not in TYPE_PROPERTIES, -self._uses(s.property))):
            per_property[statement.property] = per_property.get(statement.property, 0) + 1
            if per_property[statement.property] <= 3 and chosen < limit:
                chosen += 1
                yield statement
        yield from self.statements(tail=iri, limit=max(0, min(3, limit - chosen)))

    def _uses(self, prop: str) -> int:
        row = self.properties.get(prop)
        return row.uses if row else 0


def value_pattern(iri: str, prop: str, *, inverse: bool = False) -> str:
    """The pattern of a property's values for the entity, or with `inverse` of what has it as a value."""
    return f"?value {bound(prop)} {bound(iri)} ." if inverse else f"{bound(iri)} {bound(prop)} ?value ."
