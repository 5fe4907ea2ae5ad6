"""Types of entities and values, and whether they fit what a question asks for.

Types are those of a plan's expected answer: person, place, organisation, work, event, date, year, number, quantity,
thing. They come from the classes that the graph states (P31, and P279 above it), else from the properties that the
entity has and that point to it: what has a date of birth is a person, what somebody was born in is a place.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from atomr_local.language.literals import parse_date, parse_quantity
from atomr_local.language.names import words
from atomr_local.language.properties import ENTITY, SUBCLASS_OF, property_table
from atomr_local.language.question_kind import SURE, expected_type
from atomr_local.language.words import relation_words, singulars
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, SelectResult, bound, term_text
from atomr_local.sources.protocol import Evidence, Request, Retrieval, Value, ValueKind
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

# Queries a property of many entities at once.
#
# An operator over a set runs as it does for one entity; only where it reads the statements of one, those of the whole
# set are read in one query (`VALUES ?head { … }`), which is also what the evidence shows.


# Entities of one query, and its rows; whatever goes beyond is read one entity at a time.
MOST_ENTITIES, _MOST_ROWS = 200, 1000
# So many entities without any value: nobody has it, or the relation is not understood.
_FUTILE = 12
_TITLED = 3

Run = Callable[[Request, Cancellation], Retrieval]


class EntitySetGraph(KnowledgeGraph):
    """A graph seen from a set of entities: their statements of one property are read together. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, iris: Sequence[str]) -> None:
        self.__dict__.update(graph.__dict__)
        self._iris = tuple(dict.fromkeys(iris))[:MOST_ENTITIES]
        self._set = frozenset(self._iris)
        self._read: dict[tuple[str, bool], dict[str, SelectResult] | None] = {}
        self._reading = threading.Lock()

    def has(self, iri: str, prop: str, *, inverse: bool = False) -> bool:
        found = self._of_set(prop, inverse) if iri in self._set else None
        return super().has(iri, prop, inverse=inverse) if found is None else iri in found

    def value_pages(
        self, iri: str, prop: str, *, inverse: bool = False, cancellation: Cancellation | None = None
    ) -> Iterator[SelectResult]:
        found = self._of_set(prop, inverse) if iri in self._set else None
        if found is None:
            yield from super().value_pages(iri, prop, inverse=inverse, cancellation=cancellation)
        else:
            yield found.get(iri) or SelectResult(self._query(prop, inverse), ())

    def _query(self, prop: str, inverse: bool) -> str:
        heads = " ".join(map(bound, self._iris))
        pattern = f"?value {bound(prop)} ?head ." if inverse else f"?head {bound(prop)} ?value ."
        return f"SELECT DISTINCT ?head ?value WHERE {{\n  VALUES ?head {{ {heads} }}\n  {pattern}\n}}"

    def _of_set(self, prop: str, inverse: bool) -> dict[str, SelectResult] | None:
        """By entity, what the query found; None if it finds more than one query may give."""
        with self._reading:
            key = (prop, inverse)
            if key not in self._read:
                self._read[key] = self._grouped(self.select(self._query(prop, inverse), _MOST_ROWS))
            return self._read[key]

    def _grouped(self, answer: SelectResult) -> dict[str, SelectResult] | None:
        if answer.cut:
            return None
        answer = replace(answer, values=self._labels_of(answer))
        grouped: dict[str, list[int]] = {}
        for place, row in enumerate(answer.terms):
            grouped.setdefault(term_text(row["head"]), []).append(place)
        return {head: answer.only(places) for head, places in grouped.items()}


def is_set(graph: KnowledgeGraph, requests: Sequence[Request]) -> bool:
    """Whether the requests are one operator over several entities of the graph, alike but for these."""
    first = requests[0]
    heads = [request.arguments[0].iri for request in requests if request.arguments]
    return (
        len(requests) > 1
        and first.operator in (Operator.RELATE, Operator.FILTER)
        and len(heads) == len(requests)
        and all(request.operator is first.operator for request in requests)
        and all(request.arguments[1:] == first.arguments[1:] for request in requests)
        and all(iri is not None and graph.row(iri) is not None for iri in heads)
    )


def entity_set(graph: KnowledgeGraph, requests: Sequence[Request]) -> EntitySetGraph:
    """The graph seen from the entities of the requests."""
    return EntitySetGraph(graph, [request.arguments[0].iri or "" for request in requests])


def run_over_set(run: Run, requests: Sequence[Request], cancellation: Cancellation) -> list[Retrieval]:
    """What each request finds, in their order; evidence of one query is one piece that all of them share."""
    found: list[Retrieval] = []
    for request in requests:
        cancellation.check()
        if len(found) >= _FUTILE and not any(one.values or one.decided for one in found):
            found.append(Retrieval(dropped=(f"not looked up: the first {_FUTILE} of {len(requests)} have none",)))
        else:
            found.append(run(request, cancellation))
    return _with_shared_evidence(found)


def _with_shared_evidence(found: Sequence[Retrieval]) -> list[Retrieval]:
    by_query: dict[str, list[Evidence]] = {}
    for retrieval in found:
        for item in retrieval.evidence:
            by_query.setdefault(_query_of(item), []).append(item)
    shared = {query: _joined(items) for query, items in by_query.items()}
    return [
        replace(one, evidence=tuple(shared[query] for query in dict.fromkeys(map(_query_of, one.evidence))))
        for one in found
    ]


def _query_of(item: Evidence) -> str:
    return str(item.locator.get("sparql", ""))


def _joined(items: Sequence[Evidence]) -> Evidence:
    """Pieces of one query as one piece: all their sentences and rows."""
    first = items[0]
    texts = list(dict.fromkeys(item.text for item in items))
    if len(texts) == 1:
        return first
    titles = list(dict.fromkeys(item.title for item in items))
    more = f" and {len(titles) - _TITLED} more" if len(titles) > _TITLED else ""
    rows = {str(row): row for item in items for row in item.locator.get("rows") or ()}
    return replace(
        first,
        title=", ".join(titles[:_TITLED]) + more,
        text=" ".join(texts),
        score=max(item.score for item in items),
        locator={**first.locator, "rows": list(rows.values())},
    )


PERSON, PLACE, ORGANISATION, WORK, EVENT = "person", "place", "organisation", "work", "event"
DATE, YEAR, NUMBER, QUANTITY, THING = "date", "year", "number", "quantity", "thing"
_OF_THINGS = frozenset({PERSON, PLACE, ORGANISATION, WORK, EVENT})
_LITERALS = frozenset({DATE, YEAR, NUMBER, QUANTITY})
# Wikidata's classes that stand above most others of the type.
_CLASSES = {
    PERSON: "Q5 Q15632617 Q215627 Q95074 Q4271324 Q22989102",
    PLACE: "Q2221906 Q618123 Q486972 Q6256 Q515 Q56061 Q82794 Q17334923 Q27096213 Q41176 Q811979 Q6999"
    " Q634 Q2537 Q23442",
    ORGANISATION: "Q43229 Q4830453 Q783794 Q3918 Q33506 Q215380 Q2385804 Q163740 Q16334295",
    WORK: "Q17537576 Q386724 Q838948 Q11424 Q571 Q7725634 Q482994 Q2188189 Q5398426 Q7366 Q47461344"
    " Q3305213 Q8261 Q25379",
    EVENT: "Q1656682 Q1190554 Q198 Q178561 Q40231",
}
_TYPE_OF_CLASS = {ENTITY + number: kind for kind, numbers in _CLASSES.items() for number in numbers.split()}
# Head nouns of class labels, for graphs that state classes by name alone.
_TYPES_OF_NOUN: dict[str, tuple[str, ...]] = {}
for _kind, _words in relation_words().classes.items():
    for _word in _words:
        _TYPES_OF_NOUN[_word] = (*_TYPES_OF_NOUN.get(_word, ()), _kind)
# What the vocabulary calls the values of a property, and what has it.
_TYPE_OF_KIND = {
    "person": PERSON, "place": PLACE, "country": PLACE, "city": PLACE, "org": ORGANISATION, "work": WORK,
    "event": EVENT, "time": DATE, "quantity": QUANTITY,
}  # fmt: skip
_HIGHEST, _MOST_CLASSES, _LOOKED_AT = 5, 40, 40
# A museum is a place and an organisation; who "made" or "founded" something may be either of the two.
_ALSO = {
    PERSON: frozenset({ORGANISATION}), ORGANISATION: frozenset({PERSON, PLACE}), PLACE: frozenset({ORGANISATION}),
    DATE: frozenset({YEAR}), YEAR: frozenset({DATE}), NUMBER: frozenset({QUANTITY}), QUANTITY: frozenset({NUMBER}),
}  # fmt: skip
FITS, NEARLY, MISFITS = 1.0, 0.7, 0.0


def asked_type(question: str) -> str:
    """The type that the question surely asks for, by its words; "" where they leave it open."""
    expected = expected_type(question) if question else None
    return expected.type if expected is not None and expected.probability >= SURE else ""


class EntityTypes:
    """Tells types over one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._of = lru_cache(maxsize=4096)(self._find)

    def of_entity(self, iri: str) -> frozenset[str]:
        """The types of an entity, mostly one; "thing" where its classes are none of the types; none where the graph
        tells nothing."""
        return self._of(iri)

    def of_value(self, value: Value) -> frozenset[str]:
        """The types of an answer value; none where they are not known."""
        if value.iri is not None and value.kind is ValueKind.ENTITY:
            return self.of_entity(value.iri)
        if value.kind is ValueKind.DATE:
            return frozenset({YEAR, DATE}) if re.fullmatch(r"-?\d{1,4}", value.text) else frozenset({DATE})
        if value.kind is ValueKind.NUMBER:
            return frozenset({NUMBER, QUANTITY, YEAR} if re.fullmatch(r"\d{4}", value.text) else {NUMBER, QUANTITY})
        if value.kind is ValueKind.TEXT:
            return _of_text(value.text)
        return frozenset()

    def fit(self, values: Sequence[Value], asked: str) -> float | None:
        """How well the values suit the type asked for, 0 to 1: the mean of those whose types are known.

        Args:
            asked: the expected answer's type; one that any value may have ("thing", "phrase") tells nothing.
        """
        if asked not in _OF_THINGS | _LITERALS:
            return None
        known = [
            _fit_of(types, asked)
            for value in values[:_LOOKED_AT]
            if (types := self.of_value(value)) and types != {THING}
        ]
        return round(sum(known) / len(known), 4) if known else None

    def _find(self, iri: str) -> frozenset[str]:
        stated = self._classes(iri)
        if stated:
            return stated
        votes: Counter[str] = Counter()
        known = property_table().by_iri
        for statement in self._graph.statements(iri, limit=_LOOKED_AT):
            if statement.property in known:
                votes.update({kind for word in known[statement.property].domain for kind in _of_label(word)})
        for statement in self._graph.statements(tail=iri, limit=_LOOKED_AT):
            if statement.property in known:
                kind = _TYPE_OF_KIND.get(known[statement.property].kind, "")
                votes.update({kind: 2} if kind else {})
        most = max(votes.values(), default=0)
        return frozenset(kind for kind, count in votes.items() if count == most and kind in _OF_THINGS)

    def _classes(self, iri: str) -> frozenset[str]:
        """By the classes that are stated and those above them."""
        graph, seen = self._graph, set[str]()
        level = graph.targets(iri, *graph.type_properties, limit=_MOST_CLASSES)
        types: set[str] = set()
        stated = bool(level)
        for _ in range(_HIGHEST):
            level = [item for item in dict.fromkeys(level) if item not in seen][:_MOST_CLASSES]
            for item in level:
                seen.add(item)
                kind = _TYPE_OF_CLASS.get(item)
                types |= {kind} if kind else _of_label(graph.label(item))
            if types or not level:
                break
            level = [found for item in level for found in graph.targets(item, SUBCLASS_OF, limit=8)]
        return frozenset(types) if types else frozenset({THING}) if stated else frozenset()


def _of_label(label: str) -> frozenset[str]:
    """The types that a class's label names by its head noun: "river" in "river of Egypt", "film" in "silent film"."""
    before = re.split(r" (?:of|in|by|for|with|from) ", label)[0]
    last = words(before)[-1:]
    for word in last:
        for form in (word, *singulars(word)):
            if form in _TYPES_OF_NOUN:
                return frozenset(_TYPES_OF_NOUN[form])
    return frozenset()


def _of_text(text: str) -> frozenset[str]:
    if not any(map(str.isdigit, text)):
        return frozenset()
    if parse_date(text, bare_year=False) is not None:
        return frozenset({DATE})
    if parse_quantity(text) is not None:
        return frozenset({NUMBER, QUANTITY, YEAR} if re.fullmatch(r"\d{4}", text) else {NUMBER, QUANTITY})
    return frozenset()


def _fit_of(types: frozenset[str], asked: str) -> float:
    if asked in types:
        return FITS
    if types & _ALSO.get(asked, frozenset()):
        return NEARLY
    return MISFITS
