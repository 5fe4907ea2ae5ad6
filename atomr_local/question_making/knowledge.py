"""A text and a graph index side by side: what each of them knows of an entity."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from atomr_local.evaluation.gold_chain import mentions
from atomr_local.language.literals import parse_date
from atomr_local.language.names import base_key, name_key
from atomr_local.page_facts.passages import PagePassage, Passages
from atomr_local.page_facts.stated import PageFact, stated_facts, usable_name
from atomr_local.page_facts.wordings import readable, wording_of
from atomr_local.question_making.hops import Hop
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.graph.knowledge_graph import TYPE_PROPERTIES, KnowledgeGraph, Statement, term_iri
from atomr_local.sources.graph.lookups import entity_of

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

    def __init__(self, passages: Passages, graph: KnowledgeGraph) -> None:
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
