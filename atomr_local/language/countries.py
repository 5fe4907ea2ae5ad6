"""Countries and demonyms, so that "American" and "United States" match."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from atomr_local.language.names import name_key

_MOST_WORDS = 5
_WORD = re.compile(r"[^\W_][\w'’.-]*")


@dataclass(frozen=True, slots=True)
class _CountryTable:
    """`language/en/countries.txt`, by keys.

    Attributes:
        known: names, other names and demonyms → the country's name.
        provinces: provinces and states → their country's name.
        adjectives: demonyms and other names of countries and continents → keys of what they stand for.
    """

    known: dict[str, str]
    provinces: dict[str, str]
    adjectives: dict[str, frozenset[str]]


@lru_cache(maxsize=1)
def _table() -> _CountryTable:
    known: dict[str, str] = {}
    provinces: dict[str, str] = {}
    adjectives: dict[str, frozenset[str]] = {}
    text = files("atomr_local.language").joinpath("en/countries.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        head, _, rest = line.partition(":")
        others = [word.strip() for word in rest.split(",") if word.strip()]
        if head.startswith("#"):
            continue
        if head.startswith("@"):
            provinces.update((name_key(word), head[1:]) for word in others)
            continue
        names = [name.strip() for name in head.removeprefix("+").split("=")]
        keys = frozenset(map(name_key, names))
        for word in others:
            adjectives[name_key(word)] = adjectives.get(name_key(word), frozenset()) | keys
        if not head.startswith("+"):
            known.update((name_key(word), names[0]) for word in (*names, *others))
    return _CountryTable(known, provinces, adjectives)


def adjectives() -> dict[str, frozenset[str]]:
    """Keys of demonyms and short forms → keys of the countries or continents that they stand for."""
    return _table().adjectives


def country_named(text: str) -> str | None:
    """The country that the text as a whole names or is the demonym of; None if it is neither.

    Demonyms of two countries are not distinguished: "Dominican" is taken for the Dominican Republic.
    """
    known = _table().known
    key = name_key(text)
    return known.get(key) or known.get(key.removeprefix("the "))


def country_of(place: str) -> str | None:
    """The country that a place names or, in its last part, lies in: "Perth, Western Australia" lies in Australia."""
    provinces = _table().provinces
    last = place.rsplit(",", 1)[-1]
    return country_named(place) or country_named(last) or provinces.get(name_key(last))


def countries_in(text: str) -> list[str]:
    """Names and demonyms of countries as the text writes them, capitalised, in order, longest first at each place."""
    words = list(_WORD.finditer(text))
    found: dict[str, None] = {}
    at = 0
    while at < len(words):
        for size in range(min(_MOST_WORDS, len(words) - at), 0, -1):
            written = text[words[at].start() : words[at + size - 1].end()].rstrip(".")
            if written[:1].isupper() and country_named(written.removesuffix("'s").removesuffix("’s")) is not None:
                found.setdefault(written.removesuffix("'s").removesuffix("’s"))
                at += size
                break
        else:
            at += 1
    return list(found)
