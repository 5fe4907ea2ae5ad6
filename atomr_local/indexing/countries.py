"""Countries and the words for what comes from them, so that "American" and "United States" meet."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from atomr_local.indexing.names import name_key


@lru_cache(maxsize=1)
def _countries() -> dict[str, str]:
    """Keys of names and demonyms → the country's name, from our own list: `name: other word, other word`."""
    known: dict[str, str] = {}
    text = files("atomr_local.indexing").joinpath("countries.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        name, _, others = line.partition(":")
        for word in (name, *others.split(",")):
            if word.strip():
                known[name_key(word)] = name
    return known


def country_named(text: str) -> str | None:
    """The country that the text as a whole names or is the demonym of; None where it is neither.

    Demonyms of two countries are not told apart: "Dominican" is taken for the Dominican Republic.
    """
    key = name_key(text)
    return _countries().get(key) or _countries().get(key.removeprefix("the "))
