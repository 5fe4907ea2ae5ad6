"""Candidates: facts of two sources that share an entity.

    text → graph   a page says "directed by Ann Lee"; the graph has triples of Ann Lee
    graph → text   a triple says who directed a film; the director's page says when they were born
    … → web        the second fact is stated by what a web search for the bridge finds

A triple counts only if its subject has no page or its object does not stand on it. In graph → text the subject has that
one object. No candidate is made of a relation that has no wording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from atomr_local.language.names import name_key
from atomr_local.page_facts.passages import PagePassage
from atomr_local.page_facts.stated import PageFact, short_answer, usable_name
from atomr_local.page_facts.wordings import fit, is_place, names_something, wording_of
from atomr_local.question_making.hops import Candidate, Hop
from atomr_local.question_making.knowledge import Knowledge, Property
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.graph.knowledge_graph import term_iri

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
            entities = whole or (knowledge.within(fact.value) if is_place(fact.relation) else [])
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
    return (place,) if comma and is_place(fact.relation) else ()


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
