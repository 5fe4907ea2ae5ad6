"""What a graph offers to whoever looks around in it: properties of an entity, the entity of a page, rows of a query."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping

from atomr_local.errors import SourceError
from atomr_local.language.names import name_key, split_qualifier, words
from atomr_local.language.properties import ENTITY
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, Statement
from atomr_local.sources.graph.linking import LINKED, Linker
from atomr_local.sources.graph.properties.matching import PropertyMatcher
from atomr_local.sources.graph.properties.question_matching import PropertyPath
from atomr_local.sources.graph.query_results import term_text
from atomr_local.sources.graph.sparql.query import QueryResult
from atomr_local.sources.protocol import Linked, PropertyOffer, QueryRows, Value, ValueKind

_QID = re.compile(r"Q[1-9]\d{0,11}")
# A pattern of a query, on a line of its own: what an entity has of a property.
_STATED = re.compile(r"^\s*<(?P<head>[^<>\\\s]+)> <(?P<property>[^<>\\\s]+)> \?(?P<column>\w+) \.?\s*$", re.MULTILINE)
# Statements of an entity that are read in each direction; for what lies beyond, properties are looked up one by one.
_READ = 2000
_VALUES = 3
_LONGEST_TITLE = 300


def linked(graph: KnowledgeGraph, linker: Linker, name: str, number: int, question: str) -> tuple[Linked, ...]:
    """See :class:`GraphTools`."""
    if number < 1:
        return ()
    found = linker.link(name, question=question, limit=number)
    return tuple(
        Linked(
            graph.entity_value(item.entity.iri, item.score),
            item.entity.description or ", ".join(graph.types(item.entity.iri)),
        )
        for item in found
        if item.score >= LINKED
    )


def entity_of(graph: KnowledgeGraph, title: str, qid: str) -> Value | None:
    """See :class:`GraphTools`. Likeness is not enough: "Hamlet" is no page about the film."""
    if _QID.fullmatch(qid) and graph.row(ENTITY + qid) is not None:
        return graph.entity_value(ENTITY + qid, 1.0)
    title = title[:_LONGEST_TITLE].encode("utf-8", "replace").decode("utf-8")
    named = graph.names.by_key(name_key(title))
    if named:
        best = max(named, key=lambda row: (row.text == title, row.entity.label == title))  # else the best known
        return graph.entity_value(best.entity.iri, 1.0)
    # Where entities are told apart by descriptions, a page is by what stands in brackets: "Hamlet (1948 film)".
    name, qualifier = split_qualifier(title)
    said = set(words(qualifier))
    for row in graph.names.by_key(name_key(name)) if said else ():
        known = words("; ".join([row.entity.description, *graph.types(row.entity.iri)]))
        if said <= set(known):
            return graph.entity_value(row.entity.iri, 1.0)
    return None


def properties_of(
    graph: KnowledgeGraph, matcher: PropertyMatcher, iri: str, question: str
) -> tuple[PropertyOffer, ...]:
    """See :class:`GraphTools`."""
    offers: dict[PropertyPath, PropertyOffer] = {}
    for inverse in (False, True):
        read = graph.statements(tail=iri, limit=_READ) if inverse else graph.statements(iri, limit=_READ)
        by_property: dict[str, list[Statement]] = defaultdict(list)
        for statement in read:
            by_property[statement.property].append(statement)
        for prop, statements in by_property.items():
            values = tuple(_other_end(graph, statement, inverse=inverse) for statement in statements[:_VALUES])
            offers[prop, inverse] = PropertyOffer(prop, graph.property_label(prop), inverse, len(statements), values)
        if len(read) < _READ:
            continue
        for prop in graph.properties:
            if (prop, inverse) not in offers and graph.has(iri, prop, inverse=inverse):
                offers[prop, inverse] = PropertyOffer(prop, graph.property_label(prop), inverse, 1)
    asked = {(m.property, m.inverse): m.score for m in matcher.match_question(question, offers)} if question else {}

    def order(path: PropertyPath) -> tuple[float, bool, int, str]:
        row = graph.properties.get(path[0])
        return -asked.get(path, 0.0), path[1], -(row.uses if row else 0), path[0]

    return tuple(offers[path] for path in sorted(offers, key=order))


def rows_of(graph: KnowledgeGraph, sparql: str, found: QueryResult) -> QueryRows:
    """What the query gave, with labels and values."""
    columns = found.variables
    texts = list(dict.fromkeys(text for row in found.rows for text in row.values()))
    properties = {text: graph.property_label(text) for text in texts if text in graph.properties}
    known = graph.names.labels(texts)
    labels = properties | {text: label or graph.label(text) for text, label in known.items()}
    first = [row[columns[0]] for row in found.rows if columns[0] in row] if columns else []
    written = _as_written(graph, sparql, columns[0], set(first).difference(labels)) if columns else {}
    return QueryRows(
        sparql,
        columns,
        found.rows,
        found.boolean,
        found.cut,
        tuple(_values(dict.fromkeys(first), labels, properties, written)),
        labels | {text: value.text for text, value in written.items()},
    )


def _as_written(graph: KnowledgeGraph, sparql: str, column: str, texts: Container[str]) -> dict[str, Value]:
    """Literals of a column as the source writes them ("6779 km"), where it is a property of one entity."""
    found: dict[str, Value] = {}
    for match in _STATED.finditer(sparql):
        if match["column"] != column:
            continue
        with contextlib.suppress(SourceError):  # the query ran; how its values are written is not worth an error
            for statement in graph.statements(match["head"], match["property"], limit=_READ):
                value, text = graph.value(statement), term_text(statement.object)
                if value.iri is None and text in texts:
                    found.setdefault(text, value)
    return found


def _values(
    texts: Iterable[str], labels: Mapping[str, str], properties: Container[str], written: Mapping[str, Value]
) -> Iterator[Value]:
    for text in texts:
        # The process gives texts: what the graph has a label for is an entity or a property.
        if text not in labels:
            yield written.get(text) or Value(text)
        else:
            kind = ValueKind.RELATION if text in properties else ValueKind.ENTITY
            yield Value(labels[text], kind, text)


def _other_end(graph: KnowledgeGraph, statement: Statement, *, inverse: bool) -> Value:
    return graph.entity_value(statement.subject) if inverse else graph.value(statement)
