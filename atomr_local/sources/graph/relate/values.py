"""The values that a relation leads to: each once, in order, counted, and where they are contained."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from atomr_local.indexing.graph_index.bulk_loading import QUALIFIER_GRAPH
from atomr_local.indexing.graph_index.statements.terms import PREDICATE, SAID, SOURCE, SUBJECT, TITLE
from atomr_local.indexing.graph_index.statements.terms import PROVENANCE_OBJECT as OBJECT
from atomr_local.indexing.readers.facts.json_lines import Stated
from atomr_local.language.literals import Date, parse_date
from atomr_local.language.names import country_named, name_key
from atomr_local.language.properties import PROPERTY
from atomr_local.language.question import TimeConstraint, read_question
from atomr_local.language.words import any_of, english, singulars, word_lists
from atomr_local.sources.graph.knowledge_graph import (
    VALUE_LIMIT,
    KnowledgeGraph,
    SelectResult,
    Statement,
    bound,
    term_iri,
    term_text,
    value_pattern,
)
from atomr_local.sources.graph.linking import Head, Linker, retrieved
from atomr_local.sources.graph.properties.matching import SURE, PropertyMatch
from atomr_local.sources.graph.qualified_statements import (
    QualifiedStatement,
    QualifiedStatements,
    qualified_statements,
)
from atomr_local.sources.protocol import Evidence, Request, Retrieval, Value, ValueKind
from atomr_local.sources.unlabelled import unlabelled, unlabelled_note
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sanitize import sanitize_line


@dataclass(frozen=True)
class Asked:
    """What a Relate asks for.

    Attributes:
        heads: entities that the first argument may be, the likeliest first; one at least.
        wording: of the relation, without the time that it names.
        is_entity: an entity stands where a relation could.
        time: when the relation is to hold, where a time is asked for.
        level: the kind of place that is asked for.
        relation: the wording that `ranked` is for: "place of birth" for "country of birth".
        ranked: properties that it may mean by its words, best first; none of an entity.
    """

    request: Request
    heads: Sequence[Head]
    wording: str
    cancellation: Cancellation
    is_entity: bool = False
    time: TimeConstraint | None = None
    level: Level | None = None
    relation: str = ""
    ranked: Sequence[PropertyMatch] = ()

    @property
    def sure(self) -> bool:
        """Whether the wording is surely a relation."""
        return bool(self.ranked) and self.ranked[0].score >= SURE

    @property
    def counts(self) -> bool:
        """Whether the question asks for a number of things."""
        return read_question(self.request.question).counts


# When a number of values is asked for, and which of them count: "How many films did she direct?" does not ask for the
# television series.
#
# A value is left out only where the graph says that it is something else. What a thing is called in a graph ("silent
# short film", "literary work") seldom says all that it is, and the classes above may be missing; so a type that names
# no other kind, or no type at all, leaves a value counted.

# Their values are what a number is asked of, or say themselves how many there are.
_NOT_COUNTED = frozenset({"time", "quantity", "string"})


def countable(values: Sequence[Value], chosen: Sequence[PropertyMatch]) -> bool:
    """Whether the values are things, of properties whose values can be counted."""
    entities = all(value.kind is ValueKind.ENTITY for value in values)
    return bool(values) and entities and not any(match.kind in _NOT_COUNTED and not match.inverse for match in chosen)


def counted(values: Sequence[Value], question: str, types: Callable[[str], list[str]]) -> tuple[list[Value], str]:
    """The values of the kind that the question counts, and that kind where others were left out, else "".

    Args:
        types: labels of what an entity is an instance of.
    """
    noun = counted_kind(question)
    if not noun:
        return list(values), ""
    kept = [value for value in values if value.iri is None or not is_other(types(value.iri), noun)]
    # Where nothing is of the kind, the word means another.
    return (kept, noun) if kept and len(kept) < len(values) else (list(values), "")


def counted_kind(question: str) -> str:
    """The kind of work or building that the question counts; "" where it names none."""
    return kind_named(read_question(question).counted_noun)


def kind_named(word: str) -> str:
    """The kind of work or building that a word names, in the plural too; "" where it names none of these."""
    known = english().kinds
    return next((known[form] for form in (word, *singulars(word)) if form in known), "")


def is_other(types: Sequence[str], noun: str) -> bool:
    """Whether what is of these types is surely not of the kind.

    Args:
        noun: the kind as :func:`kind_named` gives it.
    """
    accepted = {noun, *english().among.get(noun, ())}
    kinds = [[kind_named(word) for word in re.findall(r"[\w-]+", label.casefold())] for label in types]
    return bool(kinds) and all(found and found[-1] and accepted.isdisjoint(found) for found in kinds)


# Counts in the store: how many values there are where they are too many to be read.

_MOST_TYPES = 2_000


@dataclass(frozen=True, slots=True)
class ValueCount:
    """How many values there are.

    Attributes:
        number: of the kind that the question counts.
        total: of any kind.
        kind: the one that the question names, where others were left out; else "".
        answer: the query that counted them; None if they were read.
    """

    number: int
    total: int
    kind: str
    answer: SelectResult | None = None


def values_pattern(head: str, chosen: Sequence[PropertyMatch]) -> str:
    """The pattern of all values of the properties."""
    patterns = [value_pattern(head, match.property, inverse=match.inverse) for match in chosen]
    return patterns[0] if len(patterns) == 1 else " UNION ".join(f"{{ {one} }}" for one in patterns)


def can_count(graph: KnowledgeGraph, chosen: Sequence[PropertyMatch]) -> bool:
    """Whether :func:`count_values` counts all values of the properties: they are entities, and none is left out by
    gender."""
    return not any(match.gender for match in chosen) and _are_entities(graph, chosen)


def _are_entities(graph: KnowledgeGraph, chosen: Sequence[PropertyMatch]) -> bool:
    stated = [graph.properties.get(match.property) for match in chosen if not match.inverse]
    return all(row is not None and row.entities == row.uses for row in stated)


def count_values(graph: KnowledgeGraph, head: str, chosen: Sequence[PropertyMatch], question: str) -> ValueCount | None:
    """Count the entities that the properties have as values, by the rule of :func:`counting.counted`; None where the
    graph cannot tell, as by gender."""
    if any(match.gender for match in chosen):
        return None
    pattern = values_pattern(head, chosen)
    if not _are_entities(graph, chosen):  # to look at each takes four times as long as to count them
        pattern += "\n  FILTER(isIRI(?value))"
    total, answer = graph.count(pattern)
    kind = counted_kind(question)
    types = "|".join(map(bound, graph.type_properties))
    if not kind or not types:
        return ValueCount(total, total, "", answer)
    stated = graph.select(f"SELECT DISTINCT ?type WHERE {{\n  {pattern}\n  ?value {types} ?type .\n}}", _MOST_TYPES)
    others = [row["type"] for row in stated.rows if is_other([graph.label(row["type"])], kind)]
    if not others:
        return ValueCount(total, total, "", answer)
    listed = ", ".join(map(bound, others))
    of_kind = (
        f"{pattern}\n  FILTER(NOT EXISTS {{ ?value {types} ?any }} || "
        f"EXISTS {{ ?value {types} ?type . FILTER(?type NOT IN ({listed})) }})"
    )
    number, query = graph.count(of_kind)
    # Where nothing is of the kind, the word means another.
    return ValueCount(number, total, kind, query) if 0 < number < total else ValueCount(total, total, "", answer)


# Containment of places: "the country of birth" is the country of the place of birth.

COUNTRY, CONTINENT = "country", "continent"
_OF_COUNTRY, _OF_CONTINENT = PROPERTY + "P17", PROPERTY + "P30"
_STATED = {COUNTRY: _OF_COUNTRY, CONTINENT: _OF_CONTINENT}
# What a place lies in, the administrative order first.
_WITHIN = (PROPERTY + "P131", PROPERTY + "P276")
# Their values stand beside the head or below it, so that what contains them says nothing of the head.
_BESIDE = frozenset(PROPERTY + pid for pid in ("P36", "P47", "P150", "P190", "P1376"))
_HIGHEST = 8
_WIDEST = 20
_LEVELS: dict[str, str] = word_lists("questions")["levels"]
_IN_WORDING = re.compile(rf"\b{any_of(_LEVELS)}\b", re.IGNORECASE)
# What may come behind the name of a level that is asked for; another noun would make it a part of that.
_GOES_ON = english().stop
_PLACES = frozenset({"place", "city"})
_PLACED = _PLACES | {"org", "other"}
_COUNTRY_TYPES = re.compile(r"\b(?:country|sovereign state|nation)$")


@dataclass(frozen=True, slots=True)
class Level:
    """What kind of place is asked for.

    Attributes:
        said: the wording of the relation says so itself, rather than the question around it.
        place_wording: the wording with "place" in the level's stead; empty if it is nothing but the level.
    """

    name: str
    said: bool
    place_wording: str = ""


@dataclass(frozen=True, slots=True)
class ContainingPlaces:
    """The places of the level asked for, and the statements that lead there."""

    places: tuple[str, ...]
    steps: tuple[Statement, ...]


def requested_level(wording: str, question: str) -> Level | None:
    """The level that a relation's wording asks for, or else the question ("In which country was Ann born?")."""
    found = _IN_WORDING.search(wording)
    if found and _is_asked(wording, found):
        rest = f"{wording[: found.start()]}place{wording[found.end() :]}"
        # "country" alone is a relation; "country of birth" is one of a place.
        return Level(_LEVELS[found[0].casefold()], True, rest if name_key(rest) != "place" else "")
    asked = read_question(question).level
    return Level(asked, False) if asked else None


def _is_asked(wording: str, level: re.Match[str]) -> bool:
    """Whether the wording is for the level itself: "country of birth", "birth country"; not "head of state", which only
    belongs to one, nor "country music" and "state religion", which it only describes.
    """
    before, after = wording[: level.start()].split(), wording[level.end() :].split()
    return "of" not in map(str.casefold, before) and (not after or after[0].casefold() in _GOES_ON)


class Containment:
    """Goes from places to what contains them, over one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, linker: Linker) -> None:
        self._graph = graph
        self._linker = linker

    def applies(self, level: Level, match: PropertyMatch) -> bool:
        """Whether the match gives places where something of the level is asked for."""
        if match.inverse or match.property in _BESIDE or match.kind == level.name:
            return False
        if match.property in _STATED.values() or level.name in name_key(self._graph.property_label(match.property)):
            return False
        return match.kind in (_PLACED if level.said else _PLACES)

    def states(self, level: Level, match: PropertyMatch) -> bool:
        """Whether the match is the property that states the level, which a place may leave to what contains it."""
        return not match.inverse and match.property == _STATED.get(level.name)

    def containing(self, iri: str, level: Level) -> ContainingPlaces | None:
        """What of the level contains the place, itself included; None if the graph does not tell."""
        risen = self._containing(iri, level.name)
        if risen is None:
            for row in self._linker.namesakes(iri):
                risen = self._containing(row.iri, level.name)
                if risen is not None:
                    break
        return risen

    def _containing(self, iri: str, level: str) -> ContainingPlaces | None:
        if self._is_at(iri, level):
            return ContainingPlaces((iri,), ())
        stated = _STATED.get(level)
        front, seen = [iri], {iri}
        steps: list[Statement] = []
        for _ in range(_HIGHEST):
            found = [s for place in front for s in self._values(place, stated)] if stated else []
            if found:
                return ContainingPlaces(_objects(found), (*steps, *found))
            above = [s for place in front for prop in _WITHIN for s in self._values(place, prop)]
            if level == CONTINENT:
                above = [s for place in front for s in self._values(place, _OF_COUNTRY)] or above
            steps += above
            front = [place for place in _objects(above) if place not in seen][:_WIDEST]
            seen.update(front)
            at = tuple(place for place in front if self._is_at(place, level))
            if at:
                return ContainingPlaces(at, tuple(steps))
        return None

    def _values(self, iri: str, prop: str) -> list[Statement]:
        return [s for s in self._graph.statements(iri, prop, limit=_WIDEST) if term_iri(s.object) is not None]

    def _is_at(self, iri: str, level: str) -> bool:
        """Whether the entity is itself of the level, by its types or by how the graph uses it."""
        types = [name_key(text) for text in self._graph.types(iri)]
        if level == COUNTRY:
            if any(_COUNTRY_TYPES.search(text) for text in types):
                return True
            return not types and country_named(self._graph.label(iri)) is not None
        if level == CONTINENT and bool(self._graph.statements(prop=_OF_CONTINENT, tail=iri, limit=1)):
            return True
        return any(level in text.split() for text in types)


def _objects(statements: list[Statement]) -> tuple[str, ...]:
    found = (term_iri(statement.object) for statement in statements)
    return tuple(dict.fromkeys(iri for iri in found if iri is not None))


# The passages that state the facts of a graph which was made from text.

_MOST = 12


def stated_in(graph: KnowledgeGraph, head: str, prop: str, *, inverse: bool) -> list[Stated]:
    """Where the values of a property are stated, at most twelve places; none if the graph does not say.

    Args:
        inverse: the head is the property's value.
    """
    if not graph.has_qualifiers:
        return []
    end = OBJECT if inverse else SUBJECT
    found = graph.select(
        f"SELECT ?title ?passage ?said WHERE {{ GRAPH <{QUALIFIER_GRAPH}> {{\n"
        f"  ?fact <{end}> {bound(head)} ; <{PREDICATE}> {bound(prop)} ; <{TITLE}> ?title .\n"
        f"  OPTIONAL {{ ?fact <{SOURCE}> ?passage }} OPTIONAL {{ ?fact <{SAID}> ?said }}\n"
        "}} ORDER BY ?title ?passage",
        _MOST,
    )
    return [
        Stated(*(sanitize_line(term_text(row[name])) if name in row else "" for name in ("title", "passage", "said")))
        for row in found.terms
    ]


def stated_words(stated: list[Stated]) -> list[str]:
    """The places, each as a sentence to stand behind the facts."""
    return [f"Stated in “{one.title}”: {one.said}" if one.said else f"Stated in “{one.title}”." for one in stated]


# The values of one property of an entity, each once, dates as precise as they are known, with their evidence.

_SHOWN = 12
_GENDER_PROPERTY = PROPERTY + "P21"


@dataclass
class FollowedValues:
    """Values gathered over the matches that were taken together; `cut`: there are more than were read."""

    values: list[Value] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    cut: bool = False


class PropertyFollower:
    """Follows properties from entities of one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph

    def follow(
        self, asked: Asked, head: Head, chosen: Sequence[PropertyMatch], *, first_only: bool = False
    ) -> FollowedValues:
        """The values of the properties, at the time that is asked for where statements say when they hold.

        They are read to the end, unless `first_only` says that the first page will do: they are put in the order of
        their texts, of two dates the more precise one is taken, and steps after this one count and compare them all.

        Raises:
            Cancelled: the question was cancelled.
        """
        found = FollowedValues()
        for match in chosen:
            if asked.time is None or not self._take_at(asked.time, asked, head, match, found):
                self._take(asked, head, match, found, first_only=first_only)
        return found

    def _take_at(
        self, time: TimeConstraint, asked: Asked, head: Head, match: PropertyMatch, found: FollowedValues
    ) -> bool:
        """Take the values that held at the time; False if no statement of the property says when it holds."""
        graph = self._graph
        statements = qualified_statements(graph, head.iri, match.property, inverse=match.inverse)
        timed = [item for item in statements.found if item.timed] if statements is not None else []
        if statements is None or not timed:
            return False
        fitting = statements.at(time)
        plain = set() if match.inverse else {str(one.object) for one in graph.statements(head.iri, match.property)}
        if not fitting and (match.inverse or plain - {str(item.value) for item in timed}):
            return False  # what has no time may hold at any
        score = round(head.score * match.score, 4)
        beside: list[QualifiedStatement] = []
        if fitting and not match.inverse:
            fitting, beside = statements.best_figures(fitting, time.span, plain)

        def shown_of(items: Sequence[QualifiedStatement]) -> list[tuple[Value, str]]:
            in_order = sorted(items, key=lambda item: item.shown())
            values = [(self._value_of(head, match, item, score), item) for item in in_order]
            fits = [(one, item) for one, item in values if one is not None and self._fits(one, match.gender)]
            return [(one, f"{one.text} ({item.shown()})") for one, item in fits]

        kept = shown_of(fitting or timed)
        if fitting:
            found.values.extend(distinct_values([value for value, _ in kept]))
        also = ", ".join(text for _, text in shown_of(beside)[:_SHOWN])
        found.dropped += [f"also stated for this time: {also}"] if also else []
        text = self._told(head, match, [text for _, text in kept[:_SHOWN]], f"; also stated: {also}" if also else "")
        answer = statements.answer_of([*fitting, *beside]) if fitting else statements.answer
        found.evidence.append(answer.evidence(graph.label(head.iri), text, score, asked.request.query))
        return True

    def _value_of(self, head: Head, match: PropertyMatch, item: QualifiedStatement, score: float) -> Value | None:
        if not match.inverse:
            return self._graph.value(Statement(head.iri, match.property, item.value), score)
        iri = term_iri(item.value)
        return self._graph.entity_value(iri, score) if iri is not None else None

    def _take(self, asked: Asked, head: Head, match: PropertyMatch, found: FollowedValues, *, first_only: bool) -> None:
        graph, way = self._graph, (head.iri, match.property)
        if first_only:
            answer = graph.first_values(*way, inverse=match.inverse)
        else:
            answer = graph.values(*way, inverse=match.inverse, cancellation=asked.cancellation)
        score = round(head.score * match.score, 4)
        read = graph.answer_values(answer, *way, inverse=match.inverse, score=score)
        values = _most_precise(distinct_values([value for value in read if self._fits(value, match.gender)]))
        values.sort(key=lambda value: value.text)
        if answer.cut:
            found.cut = True
            label = graph.property_label(match.property)
            found.dropped.append(f"more than {VALUE_LIMIT} values of {label}; the rest were left out")
        found.values.extend(values)
        found.dropped += unlabelled_note(unlabelled(values), graph.directory.name)
        texts = first_of(values, _SHOWN)
        if match.inverse:
            text = " ".join([self._told(head, match, texts[:_SHOWN]), *texts[_SHOWN:]])
        else:
            text = self._told(head, match, texts)
        stated = stated_words(stated_in(graph, *way, inverse=match.inverse))
        found.evidence.append(
            answer.evidence(graph.label(head.iri), " ".join([text, *stated]), score, asked.request.query)
        )

    def _told(self, head: Head, match: PropertyMatch, others: Sequence[str], end: str = "") -> str:
        """The statements in words: what stands at the other end of the property, and the head."""
        name, label = self._graph.label(head.iri), self._graph.property_label(match.property)
        if match.inverse:
            return " ".join(f"{other} — {label}: {name}." for other in others)
        return f"{name} — {label}: {', '.join(others)}{end}."

    def _fits(self, value: Value, gender: str) -> bool:
        if not gender or value.iri is None:
            return True
        stated = self._graph.statements(value.iri, _GENDER_PROPERTY, limit=1)
        return not stated or self._graph.value(stated[0]).text.casefold() == gender


def distinct_values(values: Sequence[Value]) -> list[Value]:
    """Values in order, each once: by entity where known, else by text without regard to case."""
    return list({(value.iri or value.text.casefold()): value for value in reversed(values)}.values())[::-1]


def first_of(values: Sequence[Value], most: int) -> list[str]:
    """The texts of the first values, and how many more there are."""
    more = [f"and {len(values) - most} more"] if len(values) > most else []
    return [*(value.text for value in values[:most]), *more]


def _most_precise(values: list[Value]) -> list[Value]:
    """Without the dates that another one says more precisely ("1950" beside "2 March 1950")."""
    dates = {value.text: parse_date(value.text) for value in values if value.kind is ValueKind.DATE}
    normal = {text: str(date) for text, date in dates.items() if date}
    # Whatever a date goes on from after a hyphen is a less precise one.
    surpassed = {date[: match.start()] for date in normal.values() for match in re.finditer("-", date)}
    return [value for value in values if normal.get(value.text) not in surpassed] if len(normal) > 1 else values


# "Current capital", "first president", "second wife": one of several values by the times for which they hold.
#
# The order is that of the statements' own times. Where a value has none, or two cannot be put in an order, nothing is
# taken: the order is then not in the evidence.

LAST, NOW = -1, 0


@dataclass(frozen=True, slots=True)
class Order:
    """One of several in time.

    Attributes:
        place: 1 for the first, 2 for the second, LAST, or NOW for what holds today.
        word: as it was asked.
    """

    place: int
    word: str


@lru_cache(maxsize=1)
def _words() -> dict[str, int]:
    data = word_lists("orders")
    return {**dict.fromkeys(data["now"], NOW), **dict.fromkeys(data["last"], LAST), **data["ordinals"]}


def requested_order(wording: str) -> tuple[str, Order | None]:
    """The wording without the word of order that it begins with, and that order; as it is and None without one."""
    tokens = wording.split()
    for size in (2, 1):
        word = " ".join(tokens[:size]).casefold()
        if len(tokens) > size and word in _words():
            return " ".join(tokens[size:]), Order(_words()[word], word)
    return wording, None


def by_order(statements: QualifiedStatements | None, plain: SelectResult, order: Order) -> SelectResult | None:
    """Of the values of a property those that the order asks for; None if the evidence gives no such order.

    Args:
        statements: those with qualifiers, if any.
        plain: all values that hold by their rank.
    """
    timed: dict[str, list[QualifiedStatement]] = {}
    for item in statements.found if statements is not None else ():
        if item.timed:
            timed.setdefault(term_text(item.value), []).append(item)
    texts = [term_text(row["value"]) for row in plain.terms]
    if order.place == NOW:
        kept = [i for i, text in enumerate(texts) if text not in timed or any(item.end is None for item in timed[text])]
        return plain.only(kept) if kept else None
    if statements is None or not timed or any(text not in timed for text in texts):
        return None
    begun = [(start, text) for text, items in timed.items() for item in items if (start := item.start or item.point)]
    if len({text for _, text in begun}) < len(timed):
        return None
    chosen = _placed(begun, order.place)
    if chosen is None:
        return None
    return statements.answer_of([item for item in statements.found if term_text(item.value) == chosen][:1])


def _placed(begun: Sequence[tuple[Date, str]], place: int) -> str | None:
    """The value at the place in the order of beginnings; None if there is none, or it is unknown."""
    in_order = sorted(begun, key=lambda pair: (pair[0].first, pair[0].last))
    distinct: list[tuple[Date, str]] = []
    for start, text in in_order:
        if not distinct or distinct[-1][1] != text:
            distinct.append((start, text))
    index = len(distinct) - 1 if place == LAST else place - 1
    if index >= len(distinct):
        return None
    neighbours = distinct[max(0, index - 1) : index + 2]
    for (one, _), (other, _) in pairwise(neighbours):
        if one.last >= other.first:
            return None
    return distinct[index][1]


def ordered_values(
    graph: KnowledgeGraph, head: Head, match: PropertyMatch, order: Order, request: Request
) -> Retrieval:
    """The head's value at the place in the order; where the evidence gives no such order, all values as evidence
    alone."""
    plain = graph.values(head.iri, match.property, inverse=match.inverse)
    statements = qualified_statements(graph, head.iri, match.property, inverse=match.inverse)
    found = by_order(statements, plain, order)
    answer = plain if found is None else found
    score = round(head.score * match.score, 4)
    values = graph.answer_values(answer, head.iri, match.property, inverse=match.inverse, score=score)
    name, label = graph.label(head.iri), graph.property_label(match.property)
    listed = ", ".join(value.text for value in values)
    said = f" ({order.word})" if found is not None else ""
    text = f"{listed} — {label}: {name}{said}." if match.inverse else f"{name} — {label}{said}: {listed}."
    evidence = [answer.evidence(name, text, score, request.query)]
    chosen = distinct_values(values) if found is not None else []
    return retrieved(graph, head, match.score, evidence, chosen, decided=found is not None)
