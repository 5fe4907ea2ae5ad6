"""Candidates: facts of two sources that share an entity.

    text → graph   a page says "directed by Ann Lee"; the graph has triples of Ann Lee
    graph → text   a triple says who directed a film; the director's page says when they were born
    … → web        the second fact is stated by what a web search for the bridge finds

A triple counts only if its subject has no page or its object does not stand on it. In graph → text the subject has that
one object. No candidate is made of a relation that has no wording.
"""

from __future__ import annotations

import hashlib
import heapq
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cache, lru_cache

from atomr_lab.evaluation.diagnosis import mentions
from atomr_lab.evaluation.metrics import same_value
from atomr_lab.question_making.hops import Candidate, Composed, Hop
from atomr_local.indexing.text_index.catalog import Known
from atomr_local.language.literals import MONTHS, Date, parse_date, parse_quantity
from atomr_local.language.names import base_key, name_key, split_qualifier, words
from atomr_local.page_facts.passages import MOST_PASSAGES, PagePassage, Passages
from atomr_local.page_facts.wordings import (
    PageFact,
    known_property,
    names_something,
    short_answer,
    stated_facts,
    usable_name,
    wording_of,
)
from atomr_local.sources.graph.knowledge_graph import TYPE_PROPERTIES, KnowledgeGraph, Statement, term_iri
from atomr_local.sources.graph.source import entity_of
from atomr_local.sources.protocol import KnowledgeSource, Request
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sanitize import sanitize_line

# The pages of a text index as question making draws them, and which relations go together.

_NAMESAKES = 50
_ISO_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?")
# What values of a kind are called where properties say what they are of.
_PLACES = frozenset({"place", "country", "state", "city", "river", "mountain", "lake", "building"})
_HEADS = {
    "person": frozenset({"person"}),
    "place": _PLACES,
    "city": _PLACES,
    "country": _PLACES,
    "org": frozenset({"organization", "company", "band", "place", "building"}),
    "work": frozenset(
        {"work", "film", "movie", "book", "novel", "song", "play", "opera", "ballet", "painting", "album"}
    ),
}


class Pages(Passages):
    """A text index by its pages."""

    def openings(self, seed: int, most: int) -> Iterator[PagePassage]:
        """The opening passages of up to `most` pages; which ones, and in which order, the seed decides.

        Pages without prose are passed over.
        """

        def drawn(known: Known) -> tuple[bytes, str]:
            text = f"{seed}:{known.id}".encode("utf-8", "replace")
            return hashlib.blake2b(text, digest_size=8).digest(), known.id

        ids = [known.passage_ids()[0] for known in heapq.nsmallest(most, self.listed(), key=drawn)]
        for at in range(0, len(ids), MOST_PASSAGES):
            found = self.with_ids(ids[at : at + MOST_PASSAGES])
            for one in ids[at : at + MOST_PASSAGES]:
                if (opening := found.get(one)) is not None and not opening.kind:
                    yield opening

    def text_of(self, title: str) -> str | None:
        """The whole text of the page with this title, or that a redirect of this name leads to; None without one."""
        known = self.catalog.titled(title)
        if known is None:
            return None
        return " ".join(passage.text for passage in self.of(known))

    def named(self, title: str) -> int:
        """How many pages have this title, capitals and punctuation aside."""
        return len(self.catalog.with_keys([name_key(title)], 10))

    def alike(self, name: str) -> list[str]:
        """Titles of the pages that a reader may take this name for: this title, and it with a qualifier behind."""
        key = name_key(name)
        titles = {title for _, title, _ in self.catalog.with_keys([key], _NAMESAKES)}
        if not split_qualifier(name)[1]:
            others = (title for _, title, _ in self.catalog.beginning(key, _NAMESAKES))
            titles.update(title for title in others if name_key(split_qualifier(title)[0]) == key)
        return sorted(titles)


def fit(first: str, second: str) -> bool:
    """Whether values of the first relation can have the second."""
    one, other = known_property(first), known_property(second)
    if one is None or other is None or not other.domain:
        return True
    if other.label == "occupation" and one.kind == "person" and one.domain and "person" not in one.domain:
        return False  # the director of a film is a director
    suited = _HEADS.get(one.kind)
    return suited is None or not suited.isdisjoint(other.domain)


def readable(value: str) -> str:
    """A value as people read it: "3 May 1901" for 1901-05-03."""
    date = parse_date(value) if _ISO_DATE.fullmatch(value) else None
    if date is None or date.month is None:
        return value
    month = f"{MONTHS[date.month - 1]} {date.year}"
    return month if date.day is None else f"{date.day} {month}"


# A text and a graph index side by side: what each of them knows of an entity.

_STATEMENTS = 400
_MOST_NAMES = 8
# An entity that so many statements point to joins nothing in particular.
_HUB = 200


@dataclass(frozen=True, slots=True)
class Property:
    """What a graph says of an entity with one property.

    Attributes:
        statements: all of them.
        values: their objects as people read them, in order.
    """

    iri: str
    label: str
    statements: tuple[Statement, ...]
    values: tuple[str, ...]


class Knowledge:
    """The two indexes. Not thread-safe."""

    def __init__(self, passages: Pages, graph: KnowledgeGraph) -> None:
        self.passages = passages
        self.graph = graph
        self._page = lru_cache(maxsize=4096)(passages.text_of)
        self._facts = lru_cache(maxsize=65536)(lambda opening: tuple(stated_facts(opening.title, opening.text)))

    def close(self) -> None:
        self.passages.close()
        self.graph.close()

    def facts(self, opening: PagePassage) -> Sequence[PageFact]:
        """What a page's opening states of its subject."""
        return self._facts(opening)

    def page(self, name: str) -> str | None:
        """The text of the page of this name; None without one."""
        return self._page(name)

    def pages(self, names: Sequence[str]) -> list[str]:
        """The texts of the pages of these names, those with a qualifier behind the name included."""
        titles = [title for name in names for title in (name, *self.passages.alike(name))]
        texts = map(self.page, dict.fromkeys(titles))
        return list(dict.fromkeys(text for text in texts if text is not None))

    # -- the graph

    def entities(self, name: str) -> list[str]:
        """The entities that have exactly this name, the one with most statements first."""
        return list(dict.fromkeys(row.entity.iri for row in self.graph.names.by_key(name_key(name))))

    def within(self, name: str) -> list[str]:
        """The entities that a name with a region stands for, such as "York, England": the graph says that they are in
        it."""
        place, comma, region = name.partition(", ")
        region = region.rpartition(", ")[2]
        if not comma or not place or not region:
            return []
        return [
            iri
            for iri in self.entities(place)
            if any(name_key(self.graph.value(one).text) == name_key(region) for one in self._statements(iri))
        ]

    def writes(self, iri: str, name: str) -> bool:
        """Whether the graph has the name with the same accents: "San Jose" may be another place than "San José"."""
        return _written(name) in map(_written, self.names(iri))

    def entity(self, title: str, qid: str = "") -> str | None:
        """The entity that a page is about."""
        found = entity_of(self.graph, title, qid)
        return found.iri if found is not None else None

    def names(self, iri: str) -> tuple[str, ...]:
        """Every name of the entity that can be shown, its label first."""
        known = (self.graph.label(iri), *self.graph.names.names_of(iri))
        return tuple(dict.fromkeys(name for name in map(sanitize_line, known) if name))

    def properties(self, iri: str) -> list[Property]:
        """What the graph says of the entity, by property, for those that can be asked for."""
        by_property: dict[str, list[Statement]] = {}
        for statement in self._statements(iri):
            by_property.setdefault(statement.property, []).append(statement)
        found = []
        for prop, statements in by_property.items():
            label = self.graph.property_label(prop)
            if wording_of(label) is not None:
                values = tuple(readable(self.graph.value(statement).text) for statement in statements)
                found.append(Property(prop, label, tuple(statements), values))
        return sorted(found, key=lambda item: item.iri)

    def _statements(self, iri: str) -> list[Statement]:
        return self.graph.statements(iri, limit=_STATEMENTS)

    def pointing(self, iri: str) -> list[Statement]:
        """Statements that have the entity as their object."""
        return self.graph.statements(tail=iri, limit=_STATEMENTS)

    def untold(self, iri: str, values: Sequence[str]) -> bool:
        """Whether the entity has no page, or one of the values does not stand on it."""
        texts = self.pages(self.names(iri)[:_MOST_NAMES])
        return not texts or any(not any(mentions(text, value) for text in texts) for value in values)

    def hop(self, subject: str, prop: Property) -> Hop:
        """The property's statements as a hop."""
        answers: tuple[str, ...] = ()
        if len(prop.statements) == 1:
            iri = term_iri(prop.statements[0].object)
            written = sanitize_line(self.graph.value(prop.statements[0]).text)
            known = (written,) if iri is None else self.names(iri)[:_MOST_NAMES]
            answers = tuple(name for name in known if iri is None or usable_name(name))
        label = sanitize_line(self.graph.label(subject))
        values = tuple(map(sanitize_line, prop.values))
        return Hop(
            "graph",
            label,
            prop.label,
            values,
            tuple(f"<{one.subject}> <{one.property}> {one.object}" for one in prop.statements),
            " ".join(f"{label} — {prop.label}: {value}." for value in values),
            answers=answers,
        )

    def joined(self, start: str, answers: Sequence[str]) -> bool:
        """Whether one triple or a path of two leads from the entity to an answer, whatever their relations.

        Classes and entities that very many statements point to join nothing in particular; no path goes through them.
        """
        wanted = {key for answer in answers for key in _value_keys(answer)}
        first = list(self._neighbours(start))
        if any(not wanted.isdisjoint(_value_keys(text)) for _, text in first):
            return True
        middles = dict.fromkeys(iri for iri, _ in first if iri is not None and iri != start)
        return any(
            not wanted.isdisjoint(_value_keys(text))
            for middle in middles
            if len(self.graph.statements(tail=middle, limit=_HUB)) < _HUB
            for _, text in self._neighbours(middle)
        )

    def _neighbours(self, iri: str) -> Iterator[tuple[str | None, str]]:
        for statement in self._statements(iri):
            if statement.property not in TYPE_PROPERTIES:
                yield term_iri(statement.object), self.graph.value(statement).text
        for statement in self.graph.statements(tail=iri, limit=_STATEMENTS):
            if statement.property not in TYPE_PROPERTIES:
                yield statement.subject, self.graph.label(statement.subject)


def _written(name: str) -> str:
    """A name without capitals and punctuation, its accents left."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFC", name).casefold()))


def _value_keys(text: str) -> set[str]:
    """Values that share one may be equal: a date in any form, a name with and without what tells it apart."""
    date = parse_date(text, bare_year=False)
    return {str(date)} if date is not None else {name_key(text), base_key(text)}


# A count above it is hardly complete, and nobody counts so far.
_LEAST_COUNT, _MOST_COUNT = 2, 20
SEVERAL_VALUES = "the text gives several values"
NAMESAKES = "several entities of the graph have the bridge's name"
PAGES = "several pages have the name"
HEADS = "several things have the first name"
SPELLING = "the graph writes the bridge's name with other accents"

WebFacts = Callable[[str], Iterable[tuple[PageFact, str]]]
"""Facts that a web search states of an entity, each with the address that it stands at."""


def text_to_graph(knowledge: Knowledge, openings: Iterable[PagePassage], *, counted: bool) -> Iterator[Candidate]:
    """Candidates whose first fact is a page's, about an entity of the graph.

    Args:
        counted: the number of values is asked for.
    """
    for opening in openings:
        for hop, fact in _named_by(knowledge, opening):
            place = fact.value.partition(", ")[0]
            whole = knowledge.entities(fact.value)
            entities = whole or (knowledge.within(fact.value) if _is_place(fact.relation) else [])
            if not entities:
                continue
            doubt = _first_doubt(knowledge, opening, fact) or (NAMESAKES if len(entities) > 1 else "")
            if not doubt and not knowledge.writes(entities[0], fact.value if whole else place):
                doubt = SPELLING
            for prop in knowledge.properties(entities[0]):
                if _asked(fact.relation, prop, counted=counted) and knowledge.untold(entities[0], prop.values):
                    names = tuple(dict.fromkeys((fact.value, *knowledge.names(entities[0]))))
                    yield Candidate(hop, knowledge.hop(entities[0], prop), names, entities[0], counted, doubt)


def graph_to_text(knowledge: Knowledge, openings: Iterable[PagePassage]) -> Iterator[Candidate]:
    """Candidates whose first fact is a triple about what a page is about, and the second one the page's."""
    for opening in openings:
        facts = [fact for fact in knowledge.facts(opening) if short_answer(fact.value)]
        bridge = knowledge.entity(opening.title, opening.qid) if facts else None
        if bridge is None:
            continue
        for first in _pointing(knowledge, bridge):
            for fact in facts:
                wording = wording_of(fact.relation)
                if wording is None or not wording.question or not fit(first.relation, fact.relation):
                    continue
                doubt = _bridge_doubt(knowledge, opening, first, fact)
                names = tuple(dict.fromkeys((opening.title, *knowledge.names(bridge))))
                yield Candidate(first, _page_hop(opening, fact), names, bridge, doubt=doubt)


def graph_to_web(knowledge: Knowledge, openings: Iterable[PagePassage], web: WebFacts) -> Iterator[Candidate]:
    """Candidates whose first fact is a triple, and whose second one the web states of its object."""
    for opening in openings:
        start = knowledge.entity(opening.title, opening.qid)
        for prop in knowledge.properties(start) if start is not None else ():
            bridge = term_iri(prop.statements[0].object) if len(prop.statements) == 1 else None
            if start is None or bridge is None or not _describes(prop.label) or not usable_name(opening.title):
                continue
            if not knowledge.untold(start, prop.values):
                continue
            first = knowledge.hop(start, prop)
            doubt = NAMESAKES if len(knowledge.entities(first.tail)) > 1 else ""
            yield from _web_candidates(first, knowledge.names(bridge), bridge, doubt, web)


def text_to_web(knowledge: Knowledge, openings: Iterable[PagePassage], web: WebFacts) -> Iterator[Candidate]:
    """Candidates whose first fact is a page's, and whose second one the web states of the entity named there."""
    for opening in openings:
        for first, fact in _named_by(knowledge, opening):
            if knowledge.page(fact.value) is None:
                doubt = _first_doubt(knowledge, opening, fact)
                yield from _web_candidates(first, (fact.value,), name_key(fact.value), doubt, web)


def _web_candidates(first: Hop, names: tuple[str, ...], bridge: str, doubt: str, web: WebFacts) -> Iterator[Candidate]:
    for fact, address in web(first.tail):
        wording = wording_of(fact.relation)
        if (
            wording is None
            or not wording.question
            or not short_answer(fact.value)
            or not fit(first.relation, fact.relation)
        ):
            continue
        second = Hop("web", first.tail, fact.relation, (fact.value,), (address,), fact.said, answers=_shorter(fact))
        yield Candidate(first, second, names, bridge, doubt=doubt)


def _named_by(knowledge: Knowledge, opening: PagePassage) -> Iterator[tuple[Hop, PageFact]]:
    """Facts of a page whose value is a name of at most five words that the question can describe."""
    if not usable_name(opening.title):
        return
    for fact in knowledge.facts(opening):
        named = names_something(fact.relation) and usable_name(fact.value) and short_answer(fact.value)
        if named and _describes(fact.relation):
            yield _page_hop(opening, fact), fact


def _page_hop(opening: PagePassage, fact: PageFact) -> Hop:
    span = (fact.start, fact.end)
    return Hop("text", opening.title, fact.relation, (fact.value,), (opening.id,), fact.said, span, _shorter(fact))


def _shorter(fact: PageFact) -> tuple[str, ...]:
    """The place without the region that it is in: "York" is as right as "York, England"."""
    place, comma, _ = fact.value.partition(", ")
    return (place,) if comma and _is_place(fact.relation) else ()


def _pointing(knowledge: Knowledge, bridge: str) -> Iterator[Hop]:
    """Triples with the entity as their only object of the relation."""
    seen = set()
    for statement in knowledge.pointing(bridge):
        place = statement.subject, statement.property
        if place in seen or not _describes(knowledge.graph.property_label(statement.property)):
            continue
        seen.add(place)
        prop = next((one for one in knowledge.properties(statement.subject) if one.iri == statement.property), None)
        if prop is None or len(prop.statements) != 1 or not knowledge.untold(statement.subject, prop.values):
            continue
        first = knowledge.hop(statement.subject, prop)
        if usable_name(first.head):
            yield first


def _asked(first: str, prop: Property, *, counted: bool) -> bool:
    """Whether the property's values, or their number, can be asked for behind the first relation."""
    wording = wording_of(prop.label)
    if wording is None or not fit(first, prop.label):
        return False
    values = {name_key(value) for value in prop.values}
    if counted:
        return bool(wording.count) and len(values) == len(prop.values) and _LEAST_COUNT <= len(values) <= _MOST_COUNT
    return bool(wording.question) and len(prop.values) == 1 and short_answer(sanitize_line(prop.values[0]))


def _describes(relation: str) -> bool:
    wording = wording_of(relation)
    return wording is not None and bool(wording.description)


def _first_doubt(knowledge: Knowledge, opening: PagePassage, fact: PageFact) -> str:
    if fact.several:
        return SEVERAL_VALUES
    return PAGES if len(knowledge.passages.alike(opening.title)) > 1 else ""


def _bridge_doubt(knowledge: Knowledge, opening: PagePassage, first: Hop, fact: PageFact) -> str:
    if len(knowledge.entities(first.tail)) > 1:
        return NAMESAKES
    if knowledge.passages.named(opening.title) > 1:
        return PAGES
    if len(knowledge.entities(first.head)) > 1 or len(knowledge.passages.alike(first.head)) > 1:
        return HEADS
    return SEVERAL_VALUES if fact.several else ""


# Wrong values for questions whose answer is no: of the same relation, and near the right one.

_MOST_STATEMENTS, _OPENINGS = 2000, 4000
_COMPARED = 60

Nearness = Callable[[str, Sequence[str]], Sequence[str]]
"""Orders names by how near they are to one, the nearest first."""


def by_words(name: str, others: Sequence[str]) -> list[str]:
    """The names with the most words in common with one first."""
    own = set(words(name))

    def apart(other: str) -> tuple[float, str]:
        theirs = set(words(other))
        return -len(own & theirs) / max(1, len(own | theirs)), name_key(other)

    return sorted(others, key=apart)


class NearValues:
    """Finds wrong values.

    Args:
        openings: gives pages whose facts supply values of relations that texts state.
        nearness: of names; dates and quantities are compared as such.
    """

    def __init__(
        self, knowledge: Knowledge, openings: Callable[[], Iterable[PagePassage]], nearness: Nearness = by_words
    ) -> None:
        self._knowledge = knowledge
        self._openings = openings
        self._nearness = nearness
        self._of_graph = cache(self._find_in_graph)
        self._in_texts: dict[str, list[str]] | None = None

    def of(self, candidate: Candidate) -> str:
        """The nearest wrong value of the second fact; "" if there is none."""
        right = candidate.second
        if right.source == "graph":
            pool, types = self._of_graph(right.relation)
        else:
            pool, types = tuple(dict.fromkeys(self._stated().get(right.relation, ()))), {}
        wrong = [value for value in pool if value not in candidate.answers and not self._may_be_right(candidate, value)]
        kind = types.get(right.tail)
        wrong = [value for value in wrong if types.get(value) == kind] or wrong
        return self._nearest(right.tail, wrong)

    def _nearest(self, right: str, wrong: Sequence[str]) -> str:
        date = parse_date(right)
        if date is not None:
            dates = [(value, other) for value in wrong if (other := parse_date(value)) is not None]
            alike = [(value, other) for value, other in dates if other.datatype == date.datatype and other != date]
            return min(alike, key=lambda item: (_apart(date, item[1]), item[0]))[0] if alike else ""
        quantity = parse_quantity(right)
        if quantity is not None:
            known = [(value, amount) for value in wrong if (amount := parse_quantity(value)) is not None]
            same_unit = [
                (value, abs(other.amount - quantity.amount)) for value, other in known if other.unit == quantity.unit
            ]
            differing = [item for item in same_unit if item[1] > Decimal(0)]
            return min(differing, key=lambda item: (item[1], item[0]))[0] if differing else ""
        names = sorted((value for value in wrong if usable_name(value) and parse_date(value) is None), key=name_key)
        if not names:
            return ""
        # Of very many, those that are written most alike, so that few are compared.
        few = by_words(right, names)[:_COMPARED] if len(names) > _COMPARED else names
        return self._nearness(right, few)[0]

    def _may_be_right(self, candidate: Candidate, value: str) -> bool:
        """Whether it is the right value in other words, a part of it, or said of the bridge somewhere else."""
        own = set(words(value))
        for right in (*candidate.second.tails, *candidate.answers):
            told = set(words(right))
            if same_value(value, right) or own <= told or told <= own:
                return True
        page = next((text for name in candidate.names if (text := self._knowledge.page(name)) is not None), "")
        return mentions(page, value) or any(name_key(value) == name_key(name) for name in candidate.names)

    def _find_in_graph(self, relation: str) -> tuple[tuple[str, ...], dict[str, str]]:
        """Values of a relation, and what type each is of."""
        graph = self._knowledge.graph
        found: dict[str, Statement] = {}
        for prop in graph.properties:
            if graph.property_label(prop) == relation:
                for statement in graph.statements(prop=prop, limit=_MOST_STATEMENTS):
                    found.setdefault(readable(sanitize_line(graph.value(statement).text)), statement)
        types = {
            value: "; ".join(sorted(graph.types(iri)))
            for value, statement in found.items()
            if (iri := term_iri(statement.object)) is not None
        }
        return tuple(value for value in found if short_answer(value)), types

    def _stated(self) -> dict[str, list[str]]:
        if self._in_texts is None:
            self._in_texts = {}
            for number, opening in enumerate(self._openings()):
                if number == _OPENINGS:
                    break
                for fact in self._knowledge.facts(opening):
                    if short_answer(fact.value):
                        self._in_texts.setdefault(fact.relation, []).append(fact.value)
        return self._in_texts


def _apart(one: Date, other: Date) -> int:
    """Days between two dates, about."""
    return abs(_days(one) - _days(other))


def _days(date: Date) -> int:
    return date.year * 372 + (date.month or 1) * 31 + (date.day or 1)


# What the web says of an entity, in the set phrases that pages say it in. Only with web search on.

_RESULTS = 5


class WebSearch:
    """Searches the web for names and reads facts in what it says. Each name is searched once.

    Args:
        source: the web as a source; it tells what is about to be sent.
    """

    def __init__(self, source: KnowledgeSource, cancellation: Cancellation) -> None:
        self._source, self._cancellation = source, cancellation
        self._known: dict[str, list[tuple[PageFact, str]]] = {}

    def facts(self, name: str) -> list[tuple[PageFact, str]]:
        """Facts of the entity, each with the address that states it.

        Raises:
            SourceError: the search failed.
            Cancelled: the user interrupted.
        """
        if name not in self._known:
            self._known[name] = list(self._search(name))
        return self._known[name]

    def _search(self, name: str) -> Iterator[tuple[PageFact, str]]:
        found = self._source.retrieve(Request(name, name, top_k=_RESULTS), self._cancellation)
        relations: set[str] = set()
        for item in found.evidence:
            address = item.locator.get("url")
            about = base_key(item.title)
            if not isinstance(address, str) or not f"{about} ".startswith(f"{base_key(name)} "):
                continue
            for fact in stated_facts(name, item.text):
                if fact.relation not in relations:
                    relations.add(fact.relation)
                    yield fact, address


# What can be told without a model: why a question would be no good.


class Reason(StrEnum):
    """Why a candidate is dropped, in the order of the checks."""

    CIRCULAR = "circular"
    BRIDGE_LEAK = "bridge leak"
    ANSWER_LEAK = "answer leak"
    AMBIGUOUS = "bridge ambiguous"
    GRAPH_ALONE = "answered by the graph alone"
    CLOSED_BOOK = "answered closed-book"
    NOT_BOTH = "not answered by both"
    TEXT_ALONE = "answered by text alone"
    WEB_ALONE = "answered by the web alone"


def first_problem(composed: Composed, knowledge: Knowledge) -> tuple[Reason, str] | None:
    """The first reason against a question, with a word about it; None if there is none."""
    candidate = composed.candidate
    if is_circular(candidate):
        return Reason.CIRCULAR, f"the answer is {composed.answers[0]}"
    if leaked := leaks(composed.question, candidate.names):
        return Reason.BRIDGE_LEAK, leaked
    if leaked := answer_leak(composed.question, composed.answers):
        return Reason.ANSWER_LEAK, leaked
    if candidate.doubt:
        return Reason.AMBIGUOUS, candidate.doubt
    return None if candidate.counted else _enough_alone(composed, knowledge)


def _enough_alone(composed: Composed, knowledge: Knowledge) -> tuple[Reason, str] | None:
    """What tells the answer of what the question names, without the bridge."""
    candidate = composed.candidate
    head = candidate.first.head
    if "text" in candidate.sides:
        texts = knowledge.pages([head])
        told = next((answer for answer in composed.answers for text in texts if mentions(text, answer)), "")
        if told:
            return Reason.TEXT_ALONE, f"the page of {head} says {told}"
        if candidate.second.source == "text" and any(
            mentions(text, split_qualifier(head)[0]) for text in knowledge.pages(candidate.names[:1])
        ):
            return Reason.TEXT_ALONE, f"the page that says the answer names {head}"
    if "graph" in candidate.sides:
        starts = knowledge.entities(head)
        if any(knowledge.joined(start, composed.answers) for start in starts[:3]):
            return Reason.GRAPH_ALONE, "a path of at most two triples"
    return None


def is_circular(candidate: Candidate) -> bool:
    """Whether the answer is what the question names, or the bridge itself."""
    known = {base_key(name) for name in (candidate.first.head, *candidate.names)}
    return not candidate.counted and any(base_key(answer) in known for answer in candidate.answers)


def answer_leak(question: str, answers: Iterable[str]) -> str:
    """The first of the answers that the question says, or says the kind of: "film director" of a director; "" if
    none."""
    given = list(answers)
    asked = set(words(question))
    kinds = (answer for answer in given if answer == answer.casefold() and asked.intersection(words(answer)[-1:]))
    return leaks(question, given) or next(kinds, "")


def leaks(question: str, names: Iterable[str]) -> str:
    """The first of the names that stands in the question, or all of whose words do; "" if none does."""
    asked = set(words(question))
    for name in names:
        if mentions(question, name) or (set(words(base_key(name))) <= asked and words(base_key(name))):
            return name
    return ""


def _is_place(relation: str) -> bool:
    known = known_property(relation)
    return known is not None and known.kind in {"place", "city"}
