"""The authored tables: names, relations of one value, sets, attributes."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "tables"
PERSONS = ("writer", "director", "musician", "composer", "painter", "scientist", "leader", "actor", "athlete")
# What a name of a kind is called: singular, plural.
KIND_WORDS = {
    "writer": ("writer", "writers"), "book": ("book", "books"), "play": ("play", "plays"), "film": ("film", "films"),
    "director": ("director", "directors"), "song": ("song", "songs"), "album": ("album", "albums"),
    "musician": ("musician", "musicians"), "band": ("band", "bands"), "composer": ("composer", "composers"),
    "music": ("work", "works"), "painter": ("painter", "painters"), "painting": ("painting", "paintings"),
    "scientist": ("scientist", "scientists"), "leader": ("person", "people"), "actor": ("actor", "actors"),
    "athlete": ("athlete", "athletes"), "country": ("country", "countries"), "city": ("city", "cities"),
    "mountain": ("mountain", "mountains"), "river": ("river", "rivers"), "lake": ("lake", "lakes"),
    "island": ("island", "islands"), "element": ("element", "elements"), "planet": ("planet", "planets"),
    "moon": ("moon", "moons"), "company": ("company", "companies"), "university": ("university", "universities"),
    "building": ("building", "buildings"), "museum": ("museum", "museums"), "battle": ("battle", "battles"),
    "event": ("event", "events"), "invention": ("invention", "inventions"), "team": ("team", "teams"),
    "organization": ("organisation", "organisations"), "language": ("language", "languages"),
    "animal": ("animal", "animals"), "continent": ("continent", "continents"), "state": ("state", "states"),
    "series": ("series", "series"), "award": ("award", "awards"), "job": ("job", "jobs"),
}  # fmt: skip


@dataclass(frozen=True)
class Relation:
    """One row of `relations.toml` or `sets.toml`; the comments of these files say what the fields are."""

    id: str
    heads: tuple[str, ...]
    rel: str
    type: str
    wh: tuple[tuple[str, str], ...]
    prop: str = ""
    nouns: tuple[str, ...] = ()
    rels: tuple[str, ...] = ()
    topic: tuple[str, ...] = ()
    several: bool = False
    member: str = ""
    one: str = ""
    many: str = ""
    inside: tuple[str, ...] = ()
    insides: tuple[str, ...] = ()
    attrs: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def step(self) -> str:
        """The question as a step of a plan asks it."""
        return self.wh[0][0]


@dataclass(frozen=True)
class Attribute:
    """One row of `attributes.toml`; `directions` holds vp, sup and cond of each direction."""

    id: str
    heads: tuple[str, ...]
    rel: str
    type: str
    ask: str
    noun: str
    much: str
    values: tuple[str, ...]
    prop: str = ""
    unit: tuple[str, ...] = ()
    directions: dict[str, dict[str, list[str]]] = field(default_factory=dict, hash=False)


_INVERTED = re.compile(r"(?:^| )(?:does|did|do|is|are|was|were|has|have|can|could) (?:\{x\}|you |they )")


def indirect(question: str) -> str:
    """The question as a clause, "who wrote X", "what the capital of X is"; "" where its words would have to move."""
    bare = question.rstrip("?")
    words = bare.split()
    if _INVERTED.search(bare):
        return ""
    lowered = bare[0].lower() + bare[1:] if bare[0].isascii() else bare
    if (
        len(words) > 3
        and words[0] in ("Who", "What")
        and words[1] in ("is", "was", "are", "were")
        and words[2] == "the"
    ):
        return f"{words[0].lower()} {' '.join(words[2:])} {words[1]}"
    if len(words) > 3 and words[0] == "Where" and words[1] in ("is", "are"):
        return f"where {' '.join(words[2:])} {words[1]}"
    return lowered


def _questions(rows: list[str]) -> tuple[tuple[str, str], ...]:
    found = []
    for row in rows:
        question, _, clause = row.partition("|")
        found.append((question, clause or indirect(question)))
    return tuple(found)


@cache
def read(name: str) -> dict[str, Any]:
    """One table as TOML holds it, parsed once; not to be changed."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def _wordings() -> dict[str, Any]:
    return read("wordings")


def wording(kinds: str, name: str) -> Any:
    """One list of `wordings.toml`, of the module `kinds_…` that reads it."""
    return _wordings()[kinds][name]


@cache
def names() -> dict[str, list[str]]:
    """The names of each kind, those kept out for development left out; "women" is whole."""
    rows = {kind: text.split("|") for kind, text in read("names").items()}
    return {
        kind: row if kind == "women" else [name for name in row if not held_out(name)] for kind, row in rows.items()
    }


def held_out(name: str) -> bool:
    """Whether the name is kept for the development set: a sixth of all are, by a hash of the name."""
    return hashlib.sha1(name.removeprefix("the ").casefold().encode()).digest()[0] % 6 == 0


@cache
def relations() -> dict[str, Relation]:
    return {key: _relation(key, row) for key, row in read("relations").items()}


@cache
def sets() -> dict[str, Relation]:
    return {key: _relation(key, row, several=True) for key, row in read("sets").items()}


def _relation(key: str, row: dict[str, Any], *, several: bool = False) -> Relation:
    lists = {name: tuple(row.get(name, ())) for name in ("nouns", "rels", "topic", "attrs", "texts")}
    return Relation(
        key, tuple(row["heads"].split()), row["rel"], row["type"], _questions(row["wh"]), row.get("prop", row["rel"]),
        several=several, member=row.get("member", ""), one=row.get("one", ""), many=row.get("many", ""),
        inside=tuple(row.get("in", ())), insides=tuple(row.get("ins", ())), **lists,
    )  # fmt: skip


@cache
def attributes() -> dict[str, Attribute]:
    found = {}
    for key, row in read("attributes").items():
        directions = {name: row[name] for name in ("earlier", "later", "smaller", "larger") if name in row}
        found[key] = Attribute(
            key, tuple(row["heads"].split()), row["rel"], row["type"], row["ask"], row["noun"], row["much"],
            tuple(row["values"]), row.get("prop", row["rel"]), tuple(row.get("unit", ())), directions,
        )  # fmt: skip
    return found
