"""Labels before values ("Born: 1950") as properties: known ones by label or wording, others as their own."""

from __future__ import annotations

from functools import cache

from atomr_local.language.literals import parse_date, parse_quantity
from atomr_local.language.names import name_key
from atomr_local.language.properties import KnownProperty, property_table
from atomr_local.page_facts.stated import usable_name
from atomr_local.page_facts.wordings import wording_of
from atomr_local.sanitize import sanitize_line

_LONGEST_VALUE = 120
_DATES = frozenset({"time"})
_NUMBERS = frozenset({"quantity"})
_NAMES = frozenset({"person", "place", "city", "country", "org", "work"})
_TELLING = _DATES | _NUMBERS | {"person", "place", "city", "country"}


def relation_of(label: str, value: str) -> str | None:
    """The property that a label stands for with this value; None if it stands for none.

    A known property of this label, else one of this wording, whose values are of the value's kind; "born" is a date or
    a place. Any other label is a property of its own if it can be asked for as one ("What is the … of X?"), and so is a
    wording whose kind of value says too little: a "label" is hardly a record label.
    """
    by_label, by_wording = known_by_key()
    key = name_key(label)
    if key in by_label:
        return by_label[key].label if suits(by_label[key], value) else None
    worded = [one for one in by_wording.get(key, []) if one.kind in _TELLING]
    if worded:
        return next((one.label for one in worded if suits(one, value)), None)
    own = " ".join(label.split()).lower()
    return own if wording_of(own) is not None else None


def is_known(label: str) -> bool:
    """Whether a known property is called or worded so."""
    by_label, by_wording = known_by_key()
    key = name_key(label)
    return key in by_label or key in by_wording


def usable_value(value: str) -> bool:
    """Whether a value says something on one line: not too long, and with a letter or a number in it."""
    return len(value) <= _LONGEST_VALUE and value == sanitize_line(value) and any(map(str.isalnum, value))


def is_name(value: str) -> bool:
    """Whether a value is no date and no number."""
    return parse_date(value) is None and parse_quantity(value) is None


def suits(known: KnownProperty, value: str) -> bool:
    """Whether a value is of the kind of the property's values."""
    if known.kind in _DATES:
        return parse_date(value) is not None
    if known.kind in _NUMBERS:
        return parse_quantity(value) is not None
    if known.kind in _NAMES:
        return is_name(value) and usable_name(value) and not value[0].islower()
    return known.kind == "string" or is_name(value)


@cache
def known_by_key() -> tuple[dict[str, KnownProperty], dict[str, list[KnownProperty]]]:
    """The known properties by the keys of their labels, and by those of their wordings."""
    table = property_table()
    worded: dict[str, list[KnownProperty]] = {}
    for known in table.by_label.values():
        for name in known.names:
            worded.setdefault(name_key(name), []).append(known)
    return table.by_label, worded
