"""Finite sets, such as the planets or the presidents of a country: as facts of every member, and as an article."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pocket.facts import Knowledge
from pocket.tables import TABLES

FILE = TABLES.parent / "sets.jsonl"
# What a set's values say of its members, by the name of the value: the property and the kind of object.
_TOLD = {
    "capital": ("capital", "entity"), "published": ("publication date", "date"), "key": ("tonality", "string"),
    "quantity": ("measured physical quantity", "entity"), "Roman name": ("also known as", "alias"),
    "symbol": ("element symbol", "string"), "metres": ("elevation above sea level", "metres"),
}  # fmt: skip
_EVENTS = {
    "FIFA World Cup": ("{year} FIFA World Cup", "winner"),
    "FIFA Women's World Cup": ("{year} FIFA Women's World Cup", "winner"),
    "Summer Olympic Games": ("{year} Summer Olympics", "location"),
    "Winter Olympic Games": ("{year} Winter Olympics", "location"),
}
_EVENT = re.compile(r"(?:winner of|host city of)(?: the)? (.*)")
# "John" and "A" would be taken for whoever or whatever is called so.
_NAMES_OF_MUCH_ELSE = frozenset(
    {"canonical gospels", "blood types", "Roman numerals", "sections of the symphony orchestra"}
)
_YEAR = re.compile(r"\d{4}")


@dataclass(frozen=True)
class FiniteSet:
    """One line of the file; `values` is empty or as long as `members`, `of` what has the members, and as what."""

    name: str
    shared: str
    complete: bool
    members: tuple[str, ...]
    value: str
    values: tuple[str, ...]
    note: str
    of: tuple[str, str] | None = None

    @property
    def title(self) -> str:
        return f"List of {self.name}" if self.name[0].islower() else f"List of the {self.name}"

    def article(self) -> str:
        """The members in their order, a line each, with what is told of each."""
        whole = "all" if self.complete else "not all"
        as_of = f", {self.note}" if self.note else ""
        head = f"The {self.name.removeprefix('the ')}: {whole} {len(self.members)}{as_of}."
        values = self.values or ("",) * len(self.members)
        lines = [f"{name} ({value})" if value else name for name, value in zip(self.members, values, strict=True)]
        return head + "\n\n" + "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def read_sets() -> list[FiniteSet]:
    """All sets.

    Raises:
        ValueError: a set has another number of values than members, or a member twice where no value tells them apart.
    """
    found = []
    with FILE.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            data: dict[str, Any] = json.loads(line)
            members, values = tuple(data["members"]), tuple(map(str, data.get("values", ())))
            if values and len(values) != len(members):
                raise ValueError(f"sets.jsonl, line {number}: {len(members)} members, {len(values)} values")
            pairs = list(zip(members, values, strict=True)) if values else list(members)
            if len(set(pairs)) < len(pairs):
                raise ValueError(f"sets.jsonl, line {number}: a member stands there twice")
            found.append(
                FiniteSet(
                    data["set"], data["property"], bool(data["complete"]), members, data.get("value") or "", values,
                    data.get("note") or "", tuple(data["of"]) if "of" in data else None,
                )
            )  # fmt: skip
    return found


def facts_of(one: FiniteSet) -> Iterator[tuple[str, str, str, str]]:
    """Member, property, object and kind of every fact that the set states; none of names that mean much else."""
    if one.name in _NAMES_OF_MUCH_ELSE:
        return
    if event := _EVENT.fullmatch(one.shared):
        name, role = _EVENTS[event[1]]
        for member, value in zip(one.members, one.values, strict=True):
            year = _YEAR.search(value)
            if year is None:
                raise ValueError(f"{one.name}: {value!r} is no year")
            games = name.format(year=year[0])
            yield games, "instance of", event[1], "entity"
            yield games, role, member, "entity"
            yield games, "point in time", year[0], "date"
        return
    property_, separator, shared = one.shared.partition(": ")
    told = _TOLD.get(one.value)
    for number, member in enumerate(one.members):
        if one.of is not None:
            yield *one.of, member, "entity"
        if separator:
            subject, object_ = (shared, member) if property_ in _REVERSED else (member, shared.partition(",")[0])
            yield subject, _REVERSED.get(property_, property_), object_, "entity"
        elif one.shared == "spouse of Henry VIII":
            yield "Henry VIII", "spouse", member, "entity"
        elif one.shared == "astronaut who walked on the Moon":
            yield member, "participant in", one.values[number], "entity"
            yield member, "occupation", "astronaut", "entity"
        if told and one.values[number]:
            yield member, told[0], one.values[number], told[1]


_REVERSED = {"performer of": "performer", "child of": "child", "described by source": "main subject"}


def add_sets(knowledge: Knowledge, sets: list[FiniteSet], meant: Callable[[str, str], str]) -> None:
    """Put the facts of the sets into the knowledge; `meant` gives the key of the thing that a name means."""
    for one in sets:
        for member, prop, value, kind in facts_of(one):
            key = meant("", member)
            if kind == "alias":
                entity = knowledge.entity(key)
                if value not in (entity.label, *entity.aliases):
                    entity.aliases.append(value)
            elif kind == "metres":
                if not knowledge.values(key, prop):
                    knowledge.add(key, prop, value.replace(",", ""), "sets", "quantity", "m")
            elif kind == "entity":
                knowledge.add(key, prop, meant(prop, value), "sets")
            elif not knowledge.values(key, prop):
                knowledge.add(key, prop, value, "sets", kind)  # type: ignore[arg-type]
