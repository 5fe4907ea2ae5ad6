"""Containment of places: "the country of birth" is the country of the place of birth."""

from __future__ import annotations

import re
from dataclasses import dataclass

from atomr_local.language.countries import country_named
from atomr_local.language.names import name_key
from atomr_local.language.properties import PROPERTY
from atomr_local.language.words import english
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, Statement, term_iri
from atomr_local.sources.graph.linking import Linker
from atomr_local.sources.graph.properties.matching import PropertyMatch

COUNTRY, CONTINENT = "country", "continent"
_OF_COUNTRY, _OF_CONTINENT = PROPERTY + "P17", PROPERTY + "P30"
_STATED = {COUNTRY: _OF_COUNTRY, CONTINENT: _OF_CONTINENT}
# What a place lies in, the administrative order first.
_WITHIN = (PROPERTY + "P131", PROPERTY + "P276")
# Their values stand beside the head or below it, so that what contains them says nothing of the head.
_BESIDE = frozenset(PROPERTY + pid for pid in ("P36", "P47", "P150", "P190", "P1376"))
_HIGHEST = 8
_WIDEST = 20
_LEVEL = r"(?P<level>country|nation|continent|state|province|county|region)"
_IN_WORDING = re.compile(rf"\b{_LEVEL}\b", re.IGNORECASE)
_IN_QUESTION = re.compile(rf"^(?:in |on |from |to |of |at )?(?:which|what) (?:\w+ )?{_LEVEL}\b", re.IGNORECASE)
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
        return Level(_named(found), True, rest if name_key(rest) != "place" else "")
    found = _IN_QUESTION.match(question.strip())
    return Level(_named(found), False) if found else None


def _is_asked(wording: str, level: re.Match[str]) -> bool:
    """Whether the wording is for the level itself: "country of birth", "birth country"; not "head of state", which only
    belongs to one, nor "country music" and "state religion", which it only describes.
    """
    before, after = wording[: level.start()].split(), wording[level.end() :].split()
    return "of" not in map(str.casefold, before) and (not after or after[0].casefold() in _GOES_ON)


def _named(match: re.Match[str]) -> str:
    name = match["level"].casefold()
    return COUNTRY if name == "nation" else name


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
