"""How questions of one hop are worded: tables of our own, and labels where those have no entry."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from atomr_local.language.literals import parse_date
from atomr_local.language.months import MONTHS
from atomr_local.language.names import name_key, split_qualifier
from atomr_local.language.properties import KnownProperty, property_table

# Labels that make no "What is the … of X?".
_NO_NOUN = re.compile(
    r"^(?:has|have|is|was|are|located|named|follow|shares|educated|employed|member|participa|instance|subclass|"
    r"nominated|based|derived|made|contains|said|different|owned|born|died|when|where|who|also|number)\w*\b|"
    r"\b(?:of|in|by|at|on|from|to|with|for|as|or)$|[^a-z -]|\b(?:id|code|identifier|domain|website)\b"
)
_LONGEST_LABEL = 40
_ISO_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?")
# "1948 film", "song", "crime novel": what stands in brackets behind a name and can stand before it.
_KIND = re.compile(r"(?:\d{4} )?[a-z]+(?: [a-z]+)?")
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
_NAMES = frozenset({"person", "place", "country", "city", "org", "work", "other"})


@dataclass(frozen=True, slots=True)
class Wording:
    """How one relation is asked for; each is "" where it cannot be asked so."""

    relation: str
    question: str = ""
    description: str = ""
    yes_no: str = ""
    count: str = ""

    def asks(self, x: str) -> str:
        return self.question.replace("{x}", x)

    def describes(self, x: str) -> str:
        return self.description.replace("{x}", x)

    def counts(self, x: str) -> str:
        return self.count.replace("{x}", x)

    def confirms(self, x: str, value: str) -> str:
        """The question whether `value` is the relation's value."""
        slots = {"{x}": x, "{value}": value, "{when}": f"{_preposition(value)} {value}"}
        return re.sub(r"\{(?:x|value|when)\}", lambda slot: slots[slot[0]], self.yes_no)


@cache
def _tables() -> tuple[Mapping[str, Wording], frozenset[str]]:
    data = tomllib.loads(files("atomr_local.page_facts").joinpath("wordings.toml").read_text(encoding="utf-8"))
    worded = {label: Wording(label, **entry) for label, entry in data["relation"].items()}
    return worded, frozenset(data["excluded"]["relations"])


def wording_of(relation: str) -> Wording | None:
    """The wording of a relation with this label; None if it is not asked for."""
    worded, excluded = _tables()
    if relation in worded:
        return worded[relation]
    if relation in excluded or len(relation) > _LONGEST_LABEL or not relation or _NO_NOUN.search(relation):
        return None
    return Wording(relation, f"What is the {relation} of {{x}}?", f"the {relation} of {{x}}")


@cache
def asked_relations() -> tuple[Wording, ...]:
    """The relations that the table has a question for."""
    return tuple(wording for wording in _tables()[0].values() if wording.question)


def known_property(relation: str) -> KnownProperty | None:
    """What the program knows of a relation with this label."""
    return property_table().by_label.get(name_key(relation))


def fit(first: str, second: str) -> bool:
    """Whether values of the first relation can have the second."""
    one, other = known_property(first), known_property(second)
    if one is None or other is None or not other.domain:
        return True
    if other.label == "occupation" and one.kind == "person" and one.domain and "person" not in one.domain:
        return False  # the director of a film is a director
    suited = _HEADS.get(one.kind)
    return suited is None or not suited.isdisjoint(other.domain)


def names_something(relation: str) -> bool:
    """Whether the relation's values are names, as far as it is known."""
    known = known_property(relation)
    return known is None or known.kind in _NAMES


def is_place(relation: str) -> bool:
    known = known_property(relation)
    return known is not None and known.kind in {"place", "city"}


def mention(name: str) -> str:
    """A name as a question holds it: "the 1948 film Hamlet" for "Hamlet (1948 film)"."""
    bare, qualifier = split_qualifier(name)
    return f"the {qualifier} {bare}" if _KIND.fullmatch(qualifier) else name


def readable(value: str) -> str:
    """A value as people read it: "3 May 1901" for 1901-05-03."""
    date = parse_date(value) if _ISO_DATE.fullmatch(value) else None
    if date is None or date.month is None:
        return value
    month = f"{MONTHS[date.month - 1]} {date.year}"
    return month if date.day is None else f"{date.day} {month}"


def _preposition(value: str) -> str:
    date = parse_date(value)
    return "on" if date is not None and date.day is not None else "in"
