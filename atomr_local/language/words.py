"""Lists of English words, from `en/words.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Words:
    """Words in small letters.

    Attributes:
        stop: those that say nothing by themselves.
        small: those that stand in small letters inside names.
        told_by: what asks for something → what tells it in prose ("born" → "birth", "native").
        kinds: a word → the kind of things that it names; nothing is of two of these kinds.
        among: kinds that count as a broader one ("novel" as "book").
    """

    stop: frozenset[str]
    small: frozenset[str]
    told_by: dict[str, tuple[str, ...]]
    kinds: dict[str, str]
    among: dict[str, tuple[str, ...]]


@cache
def english() -> Words:
    """The shipped lists, read once."""
    data = json.loads(files("atomr_local.language").joinpath("en/words.json").read_text(encoding="utf-8"))
    return Words(
        frozenset(data["stop"]),
        frozenset(data["small"]),
        {word: tuple(told) for word, told in data["told_by"].items()},
        {word: kind for kind, words in data["kinds"].items() for word in words},
        {kind: tuple(narrower) for kind, narrower in data["among"].items()},
    )
