"""Facts that the infobox of a page states: fields whose names are those of known properties.

A name may stand for several properties ("country": of a person, a place, a film). What the infobox is about and the
kind of the value decide; where they do not, the field is passed over, and so are fields of other names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from atomr_local.indexing.readers.wikipedia.infobox import field_of
from atomr_local.language.literals import parse_quantity
from atomr_local.language.names import name_key, split_qualifier
from atomr_local.language.properties import KnownProperty
from atomr_local.page_facts.labels import known_by_key, suits
from atomr_local.page_facts.passages import PagePassage
from atomr_local.page_facts.stated import OF_A_LIFE, short_answer, usable_name
from atomr_local.page_facts.wordings import wording_of
from atomr_local.sanitize import sanitize_line

_DATES = frozenset({"time"})
_NUMBERS = frozenset({"quantity"})
_ONE_VALUED = _DATES | _NUMBERS | {"place", "city"}
# A number alone says nothing of these.
_WITH_UNIT = frozenset(
    {"area", "elevation above sea level", "height", "length", "width", "vertical depth", "diameter", "radius", "mass"}
    | {"density", "melting point", "boiling point", "distance from Earth", "orbital period", "duration", "temperature"}
    | {"watershed area", "discharge", "topographic prominence", "speed", "power output", "wingspan", "rotation period"}
    | {"box office", "cost", "net worth", "nominal GDP", "nominal GDP per capita", "net profit", "total assets"}
    | {"market capitalization"}
)
# Of these fields a comma parts values; elsewhere it may be part of one ("Leeds, England").
_LISTED = frozenset({"other", "language", "country", "award"})
_OF_NARROW_THINGS = frozenset({"string", "quantity"})
_BROAD = frozenset({"person", "place", "country"})
# "English 95%", "See: the list", a part of what stood in brackets
_NO_NAME = re.compile(r"%|:|^[^(]*\)|\([^)]*$|\[")
_NEVER = frozenset({"type"})  # "type: private" says what kind of company it is, not that it is a "private"
_MOST_VALUES = 12
# "Ann Lee (m. 1990)", "7,074 (2016)", "13.99 K (−259 °C)"
_IN_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
_PERSON = "person"


@dataclass(frozen=True, slots=True)
class InfoboxFact:
    """A field of an infobox that is a fact about the page's subject. Untrusted.

    Attributes:
        relation: the label of the property.
        said: the field as the infobox has it.
        passage: id of the passage in its text index.
    """

    relation: str
    value: str
    said: str
    passage: str


def infobox_facts(title: str, passages: Sequence[PagePassage], left_out: Counter[str]) -> Iterator[InfoboxFact]:
    """The facts of a page's infoboxes, in their order, several of a relation where the field has several values.

    Args:
        passages: of the page; those of other kinds are left alone.
        left_out: counts the fields that are no facts as "field".
    """
    boxes = [passage for passage in passages if passage.kind == "infobox"] if usable_name(title) else []
    fields = [
        (passage, *found)
        for passage in boxes
        for line in passage.text.split("\n")
        if (found := field_of(line, title)) is not None
    ]
    labels = {name_key(label) for _, label, _ in fields}
    is_person = any(found.label in OF_A_LIFE for label in labels for found in _named(label))
    told: set[str] = set()
    for passage, label, values in fields:
        about = {*name_key(passage.about).split(), *([_PERSON] if is_person else [])}
        meant, kept = _fact(title, label, values, about)
        if meant is None or not kept or meant.label in told:
            left_out["field"] += 1
            continue
        told.add(meant.label)
        said = sanitize_line(f"infobox, {label}: {'; '.join(values)}")
        for value in kept:
            yield InfoboxFact(meant.label, value, said, passage.id)


def _fact(title: str, label: str, values: list[str], about: set[str]) -> tuple[KnownProperty | None, list[str]]:
    """The property that a field means and its values; None where it means none, or one of several."""
    found: list[tuple[KnownProperty, list[str]]] = []
    for known in _named(name_key(label)):
        if known.kind in _NEVER or wording_of(known.label) is None or _is_of_others(known, label, about):
            continue
        if kept := _values(known, title, values):
            found.append((known, kept))
    near = [one for one in found if about.intersection(one[0].domain)]
    if len(near) == 1:
        return near[0]
    exact = [one for one in near or found if name_key(one[0].label) == name_key(label)]
    # Of a person only what persons have: "country" is then no place's country.
    apart = [one for one in found if _PERSON in about and one[0].domain and _PERSON not in one[0].domain]
    rest = [one for one in exact or near or found if one not in apart]
    return rest[0] if len(rest) == 1 else (None, [])


def _is_of_others(known: KnownProperty, label: str, about: set[str]) -> bool:
    """Whether a property whose other name this is belongs to quite other things, as "symbol" does to elements."""
    words = {word for domain in known.domain for word in domain.split()}
    narrow = bool(words) and words.isdisjoint(_BROAD) and words.isdisjoint(about)
    return known.kind in _OF_NARROW_THINGS and narrow and name_key(known.label) != name_key(label)


def _values(known: KnownProperty, title: str, values: list[str]) -> list[str]:
    kept = []
    parts = [part.strip() for value in values for part in (value.split(", ") if known.kind in _LISTED else [value])]
    for part in parts[:_MOST_VALUES]:
        bare = part
        while (shorter := _IN_BRACKETS.sub("", bare)) != bare and shorter:
            bare = shorter
        if _is_usable(known, title, bare):
            kept.append(bare)
        elif not kept and known.kind in _ONE_VALUED:
            return []  # the first value counts, and cannot be read
    return kept[:1] if known.kind in _ONE_VALUED else list(dict.fromkeys(kept))


def _is_usable(known: KnownProperty, title: str, value: str) -> bool:
    if not value or not short_answer(value) or not suits(known, value):
        return False
    if name_key(value) == name_key(split_qualifier(title)[0]):
        return False
    if known.kind in _NUMBERS:
        found = parse_quantity(value)
        return found is not None and bool(found.unit or known.label not in _WITH_UNIT)
    return known.kind in _DATES or not _NO_NAME.search(value)


def _named(key: str) -> list[KnownProperty]:
    """The properties that have this name."""
    by_label, by_wording = known_by_key()
    exact = [by_label[key]] if key in by_label else []
    return exact + [known for known in by_wording.get(key, []) if known not in exact]
