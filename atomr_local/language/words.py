"""English words and phrases in small letters, from `en/*.json`, and stems: what the inflections of a word share.

The files say what each list is for. Evidence and descriptions are compared by the first letters, which also join
"director" with "directed"; wordings of properties by their suffix, because there the first letters join too much.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

_SUFFIXES = ("ing", "ers", "ors", "er", "or", "ed", "es", "s", "e")
_SHORTEST_STEM = 4


@dataclass(frozen=True, slots=True)
class Words:
    """Words of any text.

    Attributes:
        stop: those that say nothing by themselves.
        small: those that stand in small letters inside names.
        asking: those with which facts are asked for ("directed", "birthplace"), which say nothing of anybody.
        told_by: what asks for something → what tells it in prose ("born" → "birth", "native").
        kinds: a word → the kind of things that it names; nothing is of two of these kinds.
        among: kinds that count as a broader one ("novel" as "book").
        pronouns: a personal pronoun → those that may stand for the same one ("his" → "he", "him", …).
        pointing: those before a noun that takes up what was named before ("the film").
    """

    stop: frozenset[str]
    small: frozenset[str]
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
        seasons: their names.
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
    """Words with which a question names the document to look in.

    Attributes:
        introductions: what stands before its name ("according to").
        places: those of them that mostly stand before a place or a time ("in").
        articles: what may stand before the name and is no part of it.
        kinds: what documents are called ("policy", "page").
    """

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
        small: those of wordings and questions that carry no relation.
        types: words for what a thing is, beside a relation's word ("film" in "film director").
        picking: those that ask for one of several, beside words in -est; not_picking: words in -est that do not.
        irregular: a word → its stem.
        asked_for: a noun → the class that a question opening with it asks for: person, work or place.
        belonging: nouns of which a noun before them says no class ("genre" in "film genre").
        about: words of descriptions that tell no entity from another.
        same: a word → the one of the same meaning that stands for both.
        classes: a type of answer → head nouns of the names of classes whose instances are of it.
    """

    small: frozenset[str]
    types: frozenset[str]
    picking: frozenset[str]
    not_picking: frozenset[str]
    irregular: dict[str, str]
    asked_for: dict[str, str]
    belonging: frozenset[str]
    about: frozenset[str]
    same: dict[str, str]
    classes: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ReferringWords:
    """Closed classes of words, by which a question shows that it leaves something out.

    Attributes:
        persons, things, any: third-person pronouns and possessives by what they may stand for.
        determiners: those of them that stand before a noun.
        now: nouns with which a demonstrative means the present ("this year").
        asking: words that open a question.
        relating: words before another clause.
        adverbs: words that add nothing to what a question asks for, those of politeness included.
    """

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
    data = _lists("words")
    return Words(
        stop=frozenset(data["stop"]),
        small=frozenset(data["small"]),
        asking=frozenset(data["asking"]),
        told_by=data["told_by"],
        kinds={word: kind for kind, words in data["kinds"].items() for word in words},
        among=data["among"],
        pronouns={word: frozenset(group) for group in data["pronouns"] for word in group},
        pointing=frozenset(data["pointing"]),
    )


@cache
def number_words() -> NumberWords:
    """Words of numbers and months, read once."""
    data = _lists("numbers")
    return NumberWords(
        data["numbers"], data["scales"], frozenset(data["amounts"]), data["ordinals"], data["months"],
        tuple(data["seasons"]), frozenset(data["before_dates"]),
    )  # fmt: skip


@cache
def document_words() -> DocumentWords:
    """Words with which a question names the document to look in, read once."""
    data = _lists("documents")
    return DocumentWords(
        data["introductions"], frozenset(data["places"]), frozenset(data["articles"]), frozenset(data["kinds"])
    )


@cache
def condition_words() -> ConditionWords:
    """Words of conditions, read once."""
    data = _lists("conditions")
    return ConditionWords(**{name: words for name, words in data.items() if not isinstance(words, str)})


@cache
def relation_words() -> RelationWords:
    """Words of relations, read once."""
    data = _lists("relations")
    return RelationWords(
        small=frozenset(data["small"]),
        types=frozenset(data["types"]),
        picking=frozenset(data["picking"]),
        not_picking=frozenset(data["not_picking"]),
        irregular=data["irregular"],
        asked_for={noun: kind for kind, nouns in data["asked_for"].items() for noun in nouns},
        belonging=frozenset(data["belonging"]),
        about=english().stop.union(data["about"]),
        same=data["same"],
        classes=data["classes"],
    )


@cache
def referring_words() -> ReferringWords:
    """Closed classes of words, read once."""
    data = _lists("referring")
    return ReferringWords(**{name: frozenset(words) for name, words in data.items() if not isinstance(words, str)})


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


def first_letters(word: str, count: int = 5) -> str:
    """The beginning of a word: "direc" of "directed" and "director"."""
    return word[:count]


def without_suffix(word: str) -> str:
    """The word without its ending, if at least four letters are left."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return word.removesuffix(suffix)
    return word


def _lists(name: str) -> dict[str, Any]:
    """What a file of lists holds, each list as a tuple."""
    text = files("atomr_local.language").joinpath(f"en/{name}.json").read_text(encoding="utf-8")
    return {key: _frozen(value) for key, value in json.loads(text).items()}


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(inner) for key, inner in value.items()}
    return tuple(value) if isinstance(value, list) else value
