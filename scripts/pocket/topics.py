"""The topics written by hand, joined with the tables into one body of facts.

A topic and a row of a table are the same thing if their names are (capitals aside) or if `properties.toml` says so. The
tables go first where both know the only value of a property: they are compared with second sources.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.language.literals import parse_quantity
from atomr_local.language.words import singular
from pocket.facts import Knowledge, load
from pocket.sets import add_sets, read_sets
from pocket.tables import TABLES, Kind

TOPICS = TABLES.parent / "topics"
_DATE = re.compile(r"(-?)(\d{4})((?:-\d\d){0,2})")
_QUANTITY = re.compile(r"([−-]?\d[\d,.]*(?:e-?\d+)?)(?: (million|billion|trillion))?(?: ([^\d\W].*|%))?")
_TOLERANCE = 0.02
_SCALES = {"million": 10**6, "billion": 10**9, "trillion": 10**12}
_PLACES = re.compile(
    r"city|capital|country|state|province|region|river|lake|\bsea\b|ocean|island|archipelago|mountain|volcano|desert|"
    r"continent|town|village|county|territory|peninsula|valley|strait|district|borough|empire|kingdom|settlement|"
    r"municipality|emirate|prefecture|gulf|canton"
)
_PEOPLE = re.compile(r"human|deity|god|character|legendary|figure|saint|person|prophet|king|hero")


@dataclass(frozen=True)
class Topic:
    """One line of a file of topics."""

    title: str
    type: str
    description: str
    aliases: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def is_person(self) -> bool:
        """Whether it is somebody, real or told of."""
        return bool(_PEOPLE.search(self.type))

    @property
    def is_place(self) -> bool:
        return bool(_PLACES.search(self.type))


@dataclass(frozen=True)
class Properties:
    """What `properties.toml` says."""

    date: frozenset[str]
    quantity: frozenset[str]
    string: frozenset[str]
    person: frozenset[str]
    place: frozenset[str]
    thing: frozenset[str]
    named: frozenset[str]
    symmetric: frozenset[str]
    functional: frozenset[str]
    settled: frozenset[str]
    inverse: dict[str, str]
    renamed: dict[str, str]
    units: dict[str, str]
    same: dict[str, str]

    @classmethod
    def read(cls) -> Properties:
        data = tomllib.loads((TABLES / "properties.toml").read_text(encoding="utf-8"))
        values: dict[str, Any] = {
            name: value if isinstance(value, dict) else frozenset(value) for name, value in data.items()
        }
        return cls(**values)


def read_topics(directory: Path = TOPICS) -> dict[str, Topic]:
    """The topics of all files, by title.

    Raises:
        ValueError: a line lacks something, or two topics have one title; the message names file and line.
    """
    found: dict[str, Topic] = {}
    for file in sorted(directory.glob("*.jsonl")):
        with file.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, start=1):
                topic = _topic(json.loads(line), f"{file.name}, line {number}")
                if topic.title in found:
                    raise ValueError(f"{file.name}, line {number}: there is another topic {topic.title!r}")
                found[topic.title] = topic
    return found


def _topic(line: dict[str, Any], where: str) -> Topic:
    try:
        facts = tuple((prop, str(value)) for prop, value in line["facts"])
        return Topic(line["title"], line["type"], line["description"], tuple(line["aliases"]), facts)
    except (KeyError, ValueError) as error:
        raise ValueError(f"{where}: {error!r}") from error


@dataclass
class Joined:
    """All that is known: tables, topics and sets.

    Attributes:
        keys: of topics in the knowledge, by title.
        conflicts: where a table and a topic say something else of one thing, and whether it is a matter of rounding.
        unclear: names of values that several topics have, with these topics.
    """

    knowledge: Knowledge
    topics: dict[str, Topic]
    properties: Properties
    keys: dict[str, str] = field(default_factory=dict)
    conflicts: list[tuple[str, bool]] = field(default_factory=list)
    unclear: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        same = {title: key for key, title in self.properties.same.items()}
        entities = sorted(self.knowledge.entities.items(), key=lambda item: bool(item[1].table))
        folded = {key.casefold(): key for key, _ in entities}  # rows of tables before what is only mentioned
        taken = set(self.properties.same)
        self._by_name: dict[str, set[str]] = defaultdict(set)
        for title, topic in self.topics.items():
            key = same.get(title) or folded.get(title.casefold(), title)
            if title not in same and key in taken:  # the row of this name is about another topic
                key = f"{title} ({topic.type})"
            self.keys[title] = key
            self._join(key, topic)
        self._plurals: dict[str, set[str]] = defaultdict(set)
        for title, topic in self.topics.items():
            self._plurals[singular(title.casefold())].add(title)
            for name in {title, title.partition(" (")[0], *topic.aliases}:
                self._by_name[name.casefold()].add(title)
        for title, topic in self.topics.items():
            for prop, value in topic.facts:
                self._add(self.keys[title], prop, value, title)

    def _join(self, key: str, topic: Topic) -> None:
        entity = self.knowledge.entity(key)
        names = [topic.title.partition(" (")[0], *topic.aliases]
        if entity.table:
            names.append(entity.label)
            if entity.label.casefold() != topic.title.casefold() and not entity.qid:
                entity.label = topic.title
            elif entity.qid and entity.label.casefold() != topic.title.casefold():
                names.append(topic.title)
        else:
            entity.table = "topics"
            if entity.label.casefold() != topic.title.casefold():
                entity.label = topic.title
        entity.description = topic.description
        known = {entity.label.casefold(), *map(str.casefold, entity.aliases)}
        for name in names:
            if name.casefold() not in known:
                known.add(name.casefold())
                entity.aliases.append(name)

    def _add(self, key: str, prop: str, value: str, title: str) -> None:
        p = self.properties
        prop = p.renamed.get(prop, prop)
        kind, value, unit = self._literal(prop, value)
        if kind != "entity":
            self._say(key, prop, value, kind, unit)
            return
        other = self.meant(prop, value, title)
        self._say(key, prop, other)
        if prop in p.symmetric and other in self.knowledge.entities:
            self._say(other, prop, key)
        if inverse := p.inverse.get(prop):
            self._say(other, inverse, key)
            if prop in {"founder of", "member", "student", "present in work", "headquarters of"}:
                return

    def _say(self, key: str, prop: str, value: str, kind: Kind = "entity", unit: str = "") -> None:
        known = self.knowledge.values(key, prop)
        entity = self.knowledge.entities.get(key)
        if prop in self.properties.settled and known and entity is not None and entity.table == "countries":
            return
        if prop in self.properties.functional and known:
            if value not in known and not any(_agree(value, one) for one in known):
                near = kind == "quantity" and _near(value, known[0])
                self.conflicts.append((f"{key} | {prop} | {known[0]} | topic: {value}", near))
            return
        if key != value:
            self.knowledge.add(key, prop, value, "topics", kind, unit)

    def conflicts_told(self) -> list[str]:
        """Conflicts that are more than rounding, another unit, or a narrower place."""
        return [line for line, near in self.conflicts if not near]

    def _literal(self, prop: str, value: str) -> tuple[Kind, str, str]:
        p = self.properties
        if prop in p.string:
            return "string", value, ""
        if prop in p.date:
            match = _DATE.fullmatch(value)
            if match is None:
                return "string", value, ""
            sign, year, rest = match.groups()
            # The topics write 384 BC as -0384; in ISO 8601 the year before 1 is 0.
            return "date", f"-{int(year) - 1:04d}{rest}" if sign and int(year) > 1 else f"{year}{rest}", ""
        if prop in p.quantity or prop.startswith("number of "):
            match = _QUANTITY.fullmatch(value)
            if match is None:
                return "string", value, ""
            number, scale, unit = match.groups()
            number = number.replace(",", "").replace("−", "-")
            if scale:
                number = f"{float(number) * _SCALES[scale]:.0f}"
            unit = p.units.get(unit or "", unit or "")
            known = parse_quantity(f"{number} {unit}".strip()) is not None
            return ("quantity", number, unit) if known else ("string", value, "")
        return "entity", value, ""

    def meant(self, prop: str, name: str, title: str = "") -> str:
        """The key of the thing that a name means: the value of a property, or with no property any topic of the name.

        Args:
            title: of the topic that the value is told of, which is not meant itself.
        """
        same = {one for one in self._by_name.get(name.casefold(), ()) if one.casefold() == name.casefold()}
        same = self._of_kind(prop, {name} if name in same else same)
        candidates = same or self._of_kind(prop, self._by_another_name(prop, name))
        candidates.discard(title)
        if len(candidates) == 1:
            return self.keys[candidates.pop()]
        if candidates:
            self.unclear[name] |= candidates
        entity = self.knowledge.entities.get(name)
        other = prop in self.properties.person or prop == "notable work"
        other = other or (prop in self.properties.place and entity is not None and entity.table == "works")
        if entity is not None and entity.table and entity.table != "topics" and not other:
            return name
        if name in self.keys.values() or (name in self.topics):  # a topic has the name, but cannot be meant
            kind = "place" if prop in self.properties.place else _KINDS.get(prop, "name")
            return f"{name} ({kind})"
        return name

    def _of_kind(self, prop: str, found: set[str]) -> set[str]:
        if prop in self.properties.person:
            return {one for one in found if self.topics[one].is_person}
        if prop in self.properties.place | self.properties.thing:
            return {one for one in found if not self.topics[one].is_person}
        return found

    def _by_another_name(self, prop: str, name: str) -> set[str]:
        """Topics that have the name as another one, where the property says enough of what is meant.

        Other names lead to wider topics too ("winter" to Season): those are not meant.
        """
        found = self._by_name.get(name.casefold(), set())
        if not prop or prop in self.properties.person or prop in self.properties.named:
            return set(found)
        if prop in self.properties.place:
            return {one for one in found if self.topics[one].is_place}
        forms = {
            f"{name.casefold()} language",
            *([singular(name)] if name.islower() else []),
        }  # "insects", not "Queens"
        return {one for one in self._plurals[singular(name.casefold())] | found if one.casefold() in forms}


_KINDS = {"characters": "character", "notable work": "work"}


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _near(one: str, other: str) -> bool:
    return abs(float(one) - float(other)) <= _TOLERANCE * abs(float(other))


def load_all() -> Joined:
    """Tables and topics as one.

    Raises:
        ValueError: a table, a topic or a set is malformed.
    """
    joined = Joined(load(), read_topics(), Properties.read())
    add_sets(joined.knowledge, read_sets(), joined.meant)
    return joined
