"""English words and phrases in small letters, from `en/*.json`, and stems: what the inflections of a word share.

The files say what each list is for. Evidence and descriptions are compared by the first letters, which also join
"director" with "directed"; wordings of properties by their suffix, because there the first letters join too much.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any, TypeVar, get_type_hints

_SUFFIXES = ("ing", "ers", "ors", "er", "or", "ed", "es", "s", "e")
_SHORTEST_STEM = 4
_Lists = TypeVar("_Lists")


@dataclass(frozen=True, slots=True)
class Words:
    """Words of any text.

    Attributes:
        in_descriptions: `stop` among them.
        kinds: a word → the kind of things that it names.
        pronouns: a personal pronoun → those that may stand for the same one ("his" → "he", "him", …).
    """

    stop: frozenset[str]
    small: frozenset[str]
    in_wordings: frozenset[str]
    in_descriptions: frozenset[str]
    asking: frozenset[str]
    told_by: dict[str, tuple[str, ...]]
    kinds: dict[str, str]
    among: dict[str, tuple[str, ...]]
    pronouns: dict[str, frozenset[str]]
    pointing: frozenset[str]


@dataclass(frozen=True, slots=True)
class NumberWords:
    """Words of numbers and months.

    Attributes:
        numbers: "seven" → 7, up to ninety.
        scales: "hundred" → 100, "million" → 1,000,000.
        amounts: words that a count may open with and that are no number by themselves ("several", "dozen").
        ordinals: "third" → 3.
        months: names and abbreviations → 1 to 12.
        before_dates: words after which a date is a time and no part of a name ("in October 1813").
    """

    numbers: dict[str, int]
    scales: dict[str, int]
    amounts: frozenset[str]
    ordinals: dict[str, int]
    months: dict[str, int]
    seasons: tuple[str, ...]
    before_dates: frozenset[str]

    def opens_number(self, word: str) -> bool:
        """Whether a number may begin with the word: digits, or a word such as "seven", "twenty-one" or "several"."""
        bare = word.strip("\"'([{,.;:!?)]}").casefold()
        if any(character.isdigit() for character in bare):
            return True
        first = bare.split("-", 1)[0]
        return first in self.numbers or first in self.scales or first in self.amounts


@dataclass(frozen=True, slots=True)
class DocumentWords:
    """Words with which a question names the document to look in."""

    introductions: tuple[str, ...]
    places: frozenset[str]
    articles: frozenset[str]
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class ConditionWords:
    """Words of conditions ("at least", "directed by …").

    Attributes:
        comparisons: by sign, one of ≥ ≤ > < =.
    """

    comparisons: dict[str, tuple[str, ...]]
    or_more: tuple[str, ...]
    or_less: tuple[str, ...]
    measures: dict[str, str]
    of_time: tuple[str, ...]
    people: tuple[str, ...]
    pronouns: tuple[str, ...]
    auxiliaries: tuple[str, ...]
    superlatives: tuple[str, ...]
    prepositions: tuple[str, ...]
    participles: tuple[str, ...]
    choice: tuple[str, ...]
    into_unit: tuple[str, ...]
    having: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelationWords:
    """Words by which relations and names are matched with a graph.

    Attributes:
        asked_for: a noun → the class that a question opening with it asks for: person, work or place.
    """

    types: frozenset[str]
    picking: frozenset[str]
    not_picking: frozenset[str]
    irregular: dict[str, str]
    asked_for: dict[str, str]
    belonging: frozenset[str]
    same: dict[str, str]
    classes: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ReferringWords:
    """Closed classes of words, by which a question shows that it leaves something out."""

    persons: frozenset[str]
    things: frozenset[str]
    any: frozenset[str]
    determiners: frozenset[str]
    demonstratives: frozenset[str]
    now: frozenset[str]
    asking: frozenset[str]
    auxiliaries: frozenset[str]
    articles: frozenset[str]
    conjunctions: frozenset[str]
    prepositions: frozenset[str]
    relating: frozenset[str]
    adverbs: frozenset[str]
    own: frozenset[str]

    @property
    def pronouns(self) -> frozenset[str]:
        """Third-person pronouns and possessives."""
        return self.persons | self.things | self.any

    @property
    def empty(self) -> frozenset[str]:
        """Words without content of their own, question words aside."""
        return frozenset().union(
            self.pronouns, self.demonstratives, self.auxiliaries, self.articles, self.conjunctions, self.prepositions,
            self.adverbs,
        )  # fmt: skip


@cache
def english() -> Words:
    """Words of any text, read once."""
    lists = word_lists("words")
    return _read(
        Words,
        "words",
        in_descriptions=lists["stop"] + lists["in_descriptions"],
        kinds=_by_word(lists["kinds"]),
        pronouns={word: frozenset(group) for group in lists["pronouns"] for word in group},
    )


@cache
def relation_words() -> RelationWords:
    """Words of relations, read once."""
    return _read(RelationWords, "relations", asked_for=_by_word(word_lists("relations")["asked_for"]))


def comparative(word: str) -> str | None:
    """The comparative of an adjective ("larger" for "largest"); None for other words."""
    form = f"{word[:-2]}r" if word.endswith("est") else word
    return form if direction_of(form) else None


def direction_of(adjective: str) -> str:
    """ "larger" or "smaller" for a comparative; "" for other words."""
    signs = condition_words().comparisons
    if f"{adjective} than" in signs[">"]:
        return "larger"
    return "smaller" if f"{adjective} than" in signs["<"] else ""


def picks_out(words: Collection[str]) -> frozenset[str]:
    """Those of the words that pick one out of several: ordinals and superlatives ("first", "largest"), which ask for
    more than a relation."""
    return frozenset(
        word
        for word in words
        if word in relation_words().picking
        or (len(word) > 5 and word.endswith("est") and word not in relation_words().not_picking)
    )


def any_of(phrases: Iterable[str]) -> str:
    """A regular expression for one of the phrases, the longest first."""
    return "(?:" + "|".join(re.escape(phrase) for phrase in sorted(phrases, key=lambda text: (-len(text), text))) + ")"


def singulars(word: str, least: int = 4) -> list[str]:
    """Singulars of a word of at least so many letters, or of the last word of a text, the likeliest first;
    none of "glass" and "his"."""
    if len(word) < least or not word.endswith("s") or word.endswith("ss"):
        return []
    found = [f"{word[:-3]}y"] if word.endswith("ies") and len(word) > 4 else []
    found += [word[:-2]] if word.endswith(("ches", "shes", "sses", "xes")) else []
    return [*found, word[:-1], *([word[:-2]] if word.endswith(("zes", "oes")) else [])]


def singular(word: str) -> str:
    """The singular of a regular plural; any other word unchanged ("status", "basis")."""
    return next(iter(singulars(word, 3)), word) if not word.endswith(("us", "is")) else word


def first_letters(word: str, count: int = 5) -> str:
    """The beginning of a word: "direc" of "directed" and "director"."""
    return word[:count]


def without_suffix(word: str) -> str:
    """The word without its ending, if at least four letters are left."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return word.removesuffix(suffix)
    return word


def stem(word: str) -> str:
    """The stem that forms of a word share: "writ" of "wrote", "writer" and "written"."""
    return relation_words().irregular.get(word) or without_suffix(word)


@cache
def word_lists(name: str) -> dict[str, Any]:
    """The content of a file of lists, each list as a tuple; read once."""
    text = files("atomr_local.language").joinpath(f"en/{name}.json").read_text(encoding="utf-8")
    return {key: _frozen(value) for key, value in json.loads(text).items()}


def _read(kind: type[_Lists], name: str, **others: Any) -> _Lists:
    """The lists of a file as a class has them, sets where it has sets; `others` stand for those that differ."""
    lists = word_lists(name) | others
    fields = get_type_hints(kind).items()
    return kind(**{key: frozenset(lists[key]) if hint == frozenset[str] else lists[key] for key, hint in fields})


# Each is read once.
number_words = cache(partial(_read, NumberWords, "numbers"))
document_words = cache(partial(_read, DocumentWords, "documents"))
condition_words = cache(partial(_read, ConditionWords, "conditions"))
referring_words = cache(partial(_read, ReferringWords, "referring"))


def _by_word(groups: dict[str, tuple[str, ...]]) -> dict[str, str]:
    return {word: group for group, words in groups.items() for word in words}


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(inner) for key, inner in value.items()}
    return tuple(value) if isinstance(value, list) else value
