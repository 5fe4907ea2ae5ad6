"""Countries and the words for what comes from them, so that "American" and "United States" meet."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

from atomr_local.indexing.names import name_key

_MOST_WORDS = 5
_WORD = re.compile(r"[^\W_][\w'’.-]*")


@lru_cache(maxsize=1)
def _lists() -> tuple[dict[str, str], dict[str, str]]:
    """Keys of names and demonyms → the country's name, and keys of provinces and states → their country.

    From our own lists: `name: other word, other word` and `@country: province, province`.
    """
    known: dict[str, str] = {}
    provinces: dict[str, str] = {}
    text = files("atomr_local.indexing").joinpath("countries.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        name, _, others = line.partition(":")
        if name.startswith("@"):
            provinces.update((name_key(word), name[1:]) for word in others.split(","))
            continue
        for word in (name, *others.split(",")):
            if word.strip():
                known[name_key(word)] = name
    return known, provinces


def country_named(text: str) -> str | None:
    """The country that the text as a whole names or is the demonym of; None where it is neither.

    Demonyms of two countries are not told apart: "Dominican" is taken for the Dominican Republic.
    """
    known, _ = _lists()
    key = name_key(text)
    return known.get(key) or known.get(key.removeprefix("the "))


def country_of(place: str) -> str | None:
    """The country that a place names or, in its last part, lies in: "Perth, Western Australia" lies in Australia."""
    _, provinces = _lists()
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
