"""Matches the wording of a relation with graph properties, forward (head → value) or inverse (value → head)."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import DamerauLevenshtein

from atomr_local.indexing.graph_index.names.database import PropertyRow
from atomr_local.language.names import name_key, words
from atomr_local.language.properties import KnownProperty, property_table
from atomr_local.language.question import read_question
from atomr_local.language.words import english, relation_words, stem, without_suffix
from atomr_local.sources.graph.semantic_similarity import SemanticSimilarity

# Words of questions and relations: stop words, answer types, stems.

_LABEL = 1.0
_KIND_FITS, _KIND_MISFITS, _KIND_MISFITS_LABEL = 0.04, 0.3, 0.1

SMALL, TYPES = english().in_wordings, relation_words().types
_COMPATIBLE = {
    "time": {"time"},
    "quantity": {"quantity", "string"},
    "country": {"country", "place", "other"},
    "place": {"place", "city", "country", "org", "other"},
    "person": {"person", "org", "other"},
}


def with_kind(score: float, kind: str, expected: str) -> float:
    fits = fits_kind(kind, expected)
    if fits is None:
        return score
    if fits:
        return min(1.0, score + _KIND_FITS)
    return score - (_KIND_MISFITS_LABEL if score >= _LABEL else _KIND_MISFITS)


def fits_kind(kind: str, expected: str) -> bool | None:
    """Whether values of the kind are what is expected; None if nothing is, or where it may be.

    Args:
        kind: what a property's values are; see KnownProperty.kind.
        expected: as `QuestionReading.value_kind` gives it.
    """
    if not expected:
        return None
    if expected == "count":  # any values that are no times may be counted
        return True if kind == "quantity" else False if kind == "time" else None
    if kind == expected:
        return True
    return None if kind in _COMPATIBLE[expected] else False


def without(text: str, words: frozenset[str]) -> str:
    return " ".join(word for word in text.split() if word not in words)


# Matches a whole question with properties, by shared words.

PropertyPath = tuple[str, bool]
"""A property, and whether it is followed from its value to what has it."""

_LEAST = 0.2
# A name of one common word, met in the question by chance, is worth less than one of several or rare words.
_CHANCE = 1.5
_POPULARITY = 0.015
_DESCRIBED = 0.25
_WORKS = {"film", "work", "book", "song", "album", "game", "series"}
_ASKED_FITS, _ASKED_MISFITS, _DOMAIN_FITS, _TURNED = 0.15, 0.3, 0.12, 0.9


@dataclass(frozen=True, slots=True)
class QuestionMatch:
    """A property that a question may ask for; `score` from 0 to about 1 says how well the words agree."""

    property: str
    inverse: bool
    score: float


@dataclass(frozen=True, slots=True)
class PropertyName:
    """One name of a property.

    Attributes:
        prior: how much a match with a name of its kind counts, 0 to 1: a label more than an alias.
    """

    path: PropertyPath
    text: str
    prior: float


class QuestionMatcher:
    """Matches questions to properties by words. Thread-safe.

    Args:
        names: every name of every property.
        kinds: what the values of each property are.
        uses: how many statements each property has.
        descriptions: one text a property.
        domains: words for what has the property, where known ("film").
    """

    def __init__(
        self,
        names: Iterable[PropertyName],
        kinds: Mapping[str, str],
        uses: Mapping[str, int],
        descriptions: Mapping[str, str],
        domains: Mapping[str, Collection[str]],
    ) -> None:
        named = [(item.path, stems, item.prior) for item in names if (stems := _stems(item.text))]
        self._kinds, self._uses = kinds, uses
        self._domains = {prop: _stems(" ".join(found)) for prop, found in domains.items() if found}
        bearers: dict[str, set[str]] = defaultdict(set)
        self._naming: dict[str, list[int]] = defaultdict(list)
        for place, ((prop, _), stems, _) in enumerate(named):
            for piece in stems:
                bearers[piece].add(prop)
                self._naming[piece].append(place)
        total = len(kinds) + 1
        self._rarity = {piece: math.log(1 + total / len(found)) for piece, found in bearers.items()}
        self._names = [(path, stems, prior, self._weight(stems)) for path, stems, prior in named]
        self._descriptions = {prop: _stems(text) & self._rarity.keys() for prop, text in descriptions.items()}

    def rank(self, question: str, among: Collection[PropertyPath] | None = None) -> list[QuestionMatch]:
        """Properties that the question may ask for, best first.

        Args:
            among: what the entity in question has; None: all properties.
        """
        read = read_question(question)
        asked, expected, noun = _stems(question), read.value_kind, read.sought
        best: dict[PropertyPath, float] = {}
        for place in {place for piece in asked for place in self._naming.get(piece, ())}:
            path, stems, prior, whole = self._names[place]
            if among is not None and path not in among:
                continue
            weight = self._weight(stems & asked)
            score = prior * (weight / whole) ** 1.5 * weight / (weight + _CHANCE)
            if score > best.get(path, 0.0):
                best[path] = score
        if noun:
            self._add_inverse(best, noun, among)
        for path in among or ():
            best.setdefault(path, 0.0)
        found = [
            QuestionMatch(*path, self._judged(path, score, asked, expected) + self._direction_fit(path, asked, noun))
            for path, score in best.items()
        ]
        found = [item for item in found if among is not None or item.score >= _LEAST]
        return sorted(found, key=lambda item: (-round(item.score, 4), item.inverse, item.property))

    def _judged(self, path: PropertyPath, score: float, asked: frozenset[str], expected: str) -> float:
        prop, inverse = path
        described = self._descriptions.get(prop, frozenset())
        if described:
            score += _DESCRIBED * self._weight(described & asked) / (4 * _CHANCE + self._weight(described))
        if not inverse:
            score = with_kind(score, self._kinds.get(prop, "other"), expected)
        return score + _POPULARITY * math.log10(1 + self._uses.get(prop, 0))

    def _add_inverse(self, best: dict[PropertyPath, float], noun: str, among: Collection[PropertyPath] | None) -> None:
        """ "Name someone born in Ghent": few properties name their other direction, but the noun asks for it."""
        for (prop, inverse), score in list(best.items()):
            path = (prop, not inverse)
            fits = not inverse and self._in_domain(prop, noun) is not False and self._kinds.get(prop) != noun
            if fits and (among is None or path in among):
                best[path] = max(best.get(path, 0.0), _TURNED * score)

    def _in_domain(self, prop: str, noun: str) -> bool | None:
        """Whether what has the property is such a thing; None if that is not known."""
        known = {"work" if piece in _WORKS else piece for piece in self._domains.get(prop, ())}
        return noun in known if known else None

    def _direction_fit(self, path: PropertyPath, asked: frozenset[str], noun: str) -> float:
        """Whether what is asked for stands at the end that the way leads to, and what is spoken of at the other."""
        prop, inverse = path
        domain, kind = self._domains.get(prop, frozenset()), self._kinds.get(prop, "other")
        bonus = 0.0 if inverse or not domain & asked & _WORKS else _DOMAIN_FITS
        if not noun:
            return bonus
        if inverse:
            bears = self._in_domain(prop, noun)
            return 0.0 if bears is None else _ASKED_FITS if bears else -_ASKED_MISFITS
        return bonus + (_ASKED_FITS if noun == kind else -_ASKED_MISFITS)

    def _weight(self, stems: Iterable[str]) -> float:
        return sum(self._rarity[piece] for piece in stems)


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text) if word not in SMALL)


UNDERSTOOD = 0.6
SURE = 0.85
_LABEL_WORDS, _ALIAS, _WORDING, _WITHOUT_SMALL_WORDS, _WITHOUT_TYPE_WORDS = 1.0, 0.97, 0.95, 0.92, 0.88
_LEXICAL = 0.85
_TYPO_RATIO = 0.87
_TYPO = 0.85
_LONGEST = 2000
_OTHER_WAY = 0.75
_FLIPPED, _COMPLEMENT, _UNKNOWN_FLIPPED = 0.92, 0.97, 0.8

# child and (father or mother) say the same thing from both ends; either may be what the graph holds.
_COMPLEMENTS = {"P40": ("P22", "P25"), "P22": ("P40",), "P25": ("P40",), "P1376": ("P36",), "P36": ("P1376",),
                "P155": ("P156",), "P156": ("P155",), "P1365": ("P1366",), "P1366": ("P1365",),
                "P749": ("P355",), "P355": ("P749",), "P361": ("P527",), "P527": ("P361",),
                "P127": ("P1830",), "P1830": ("P127",), "P710": ("P1344",), "P1344": ("P710",),
                "P397": ("P398",), "P398": ("P397",), "P802": ("P1066",), "P1066": ("P802",),
                "P184": ("P185",), "P185": ("P184",)}  # fmt: skip
# The inverse of child does not tell the father from the mother.
_GENDER = {"P22": "male", "P25": "female"}


@dataclass(frozen=True, slots=True)
class PropertyMatch:
    """A property that a wording may mean.

    Attributes:
        inverse: the head is the property's value.
        score: how surely, 0 to 1.
        kind: what the property's values are (see KnownProperty.kind).
        gender: keep only results of this sex or gender, where the graph knows it.
    """

    property: str
    inverse: bool
    score: float
    kind: str
    gender: str = ""


class PropertyMatcher:
    """Matches wordings to the properties of one graph. Thread-safe.

    Args:
        properties: those in use, the most used first.
        meaning: asked when words alone do not decide; None: words only.
    """

    def __init__(self, properties: Sequence[PropertyRow], semantic: SemanticSimilarity | None = None) -> None:
        self._known = property_table().by_iri
        self.rows = {row.iri: row for row in properties}
        self._texts = {row.iri: _names_of(row, self._known.get(row.iri)) for row in properties}
        for known in self._known.values():
            # Not in this graph, yet to be recognised: its absence is then an answer rather than a riddle.
            self._texts.setdefault(known.iri, _known_names(known))
        self._rank = lru_cache(maxsize=4096)(self._rank_uncached)
        self.semantic = semantic or SemanticSimilarity(None)
        self._lock = threading.Lock()
        self._questions: QuestionMatcher | None = None

    def kind(self, prop: str) -> str:
        """What the property's values are; see KnownProperty.kind."""
        known = self._known.get(prop)
        row = self.rows.get(prop)
        if known is not None and not (row and known.kind == "other"):
            return known.kind
        if row is None:
            return "other"
        most = max(row.entities, row.dates, row.numbers, row.texts)
        return (
            "other" if row.entities == most else "time" if row.dates == most
            else "quantity" if row.numbers == most else "string"
        )  # fmt: skip

    def rank(self, wording: str, question: str = "", head: str = "") -> list[PropertyMatch]:
        """Properties by words alone, best first.

        Args:
            question: the node's question; its wh-word tells which kind of value is asked for.
            head: the head's name: in "the father of Ann", Ann's father is asked for.
        """
        phrase = name_key(wording)
        if (
            not phrase
            or len(phrase) > _LONGEST
            or property_table().compound.intersection((*phrase.split(), *wording.casefold().split()))
        ):
            return []
        phrase = _turned(phrase, read_question(question).key, name_key(head))
        expected = read_question(phrase).value_kind or read_question(question).value_kind
        return list(self._rank(phrase, expected))

    def _rank_uncached(self, phrase: str, expected: str) -> tuple[PropertyMatch, ...]:
        best: dict[tuple[str, bool], PropertyMatch] = {}

        def take(match: PropertyMatch) -> None:
            key = (match.property, match.inverse)
            if match.score > 0.3 and (key not in best or match.score > best[key].score):
                best[key] = match

        for iri, names in self._texts.items():
            kind = self.kind(iri)
            for text, inverse, prior in names:
                score = _text_score(phrase, text, prior)
                if score <= 0.3:
                    continue
                if not inverse:
                    score = with_kind(score, kind, expected)
                take(PropertyMatch(iri, inverse, score, kind))
        for match in list(best.values()):
            for other in self._other_ends(match, phrase):
                take(other)
        order = {iri: number for number, iri in enumerate(self.rows)}
        return tuple(
            sorted(
                best.values(),
                key=lambda m: (-round(m.score, 4), m.inverse, order.get(m.property, len(order)), m.property),
            )
        )

    def _other_ends(self, match: PropertyMatch, phrase: str) -> Iterable[PropertyMatch]:
        """The same relation as it may stand in the graph the other way round."""
        known = self._known.get(match.property)
        if known is None:
            if not match.inverse and phrase.endswith((" of", " by")):
                yield replace(match, inverse=True, score=match.score * _UNKNOWN_FLIPPED)
            return
        if known.flip:
            yield replace(match, inverse=not match.inverse, score=match.score * _FLIPPED)
        if known.symmetric:
            yield replace(match, inverse=not match.inverse, score=match.score * _COMPLEMENT)
        for complement in _COMPLEMENTS.get(known.id, ()):
            other = next(item for item in self._known.values() if item.id == complement)
            yield PropertyMatch(
                other.iri, not match.inverse, match.score * _COMPLEMENT, match.kind,
                _GENDER.get(known.id, "") if not match.inverse else "",
            )  # fmt: skip

    def same_relation(self, one: PropertyPath, other: PropertyPath) -> bool:
        """Whether two ways are one relation: the same, or as it may stand in the graph the other way round."""
        if one == other:
            return True
        known, known_other = self._known.get(one[0]), self._known.get(other[0])
        if known is None or known_other is None:
            return False
        if one[0] == other[0]:
            return known.symmetric
        return one[1] != other[1] and known_other.id in _COMPLEMENTS.get(known.id, ())

    def coverage(self, wording: str, path: PropertyPath) -> tuple[float, float]:
        """How much of a wording the property's names in this direction cover, and how much of the best such name the
        wording covers, 0 to 1; small words and words for types aside, slips of the pen forgiven."""
        best = (0.0, 0.0)
        mine, words = content_stems(wording), _forms(name_key(wording)).small.split()
        for text in self.names(path) if mine else ():
            theirs = content_stems(text)
            shared = len(mine & theirs)
            if not shared:
                names = _forms(text).small.split()
                shared = sum(any(_misspelt(one, two) for two in names) for one in words)
            if shared:
                best = max(best, (min(1.0, shared / len(mine)), min(1.0, shared / max(1, len(theirs)))))
        return best

    def names(self, path: PropertyPath) -> list[str]:
        """What the property is called in this direction, each name once: its label ("director of" against its
        direction) first."""
        prop, inverse = path
        label = name_key(self._label(prop))
        others = [text for text, against, _ in self._texts.get(prop, ()) if against == inverse]
        first = [f"{label} of" if inverse else label] if label else []
        return list(dict.fromkeys([*first, *others]))

    def name_words(self, path: PropertyPath) -> frozenset[str]:
        """Every word of what the property is called in this direction."""
        return frozenset(word for text in self.names(path) for word in text.split())

    def known_labels(self) -> list[tuple[str, str]]:
        """(property, key of its label) of what a wording may mean beside the graph's own: a fixed list."""
        return [(item.iri, name_key(item.label)) for item in self._known.values() if self._texts.get(item.iri)]

    def match_question(self, question: str, among: Collection[tuple[str, bool]] | None = None) -> list[QuestionMatch]:
        """Properties that the whole question may ask for, best first; see :class:`QuestionMatcher`."""
        with self._lock:
            if self._questions is None:
                names = [
                    PropertyName((iri, inverse), text, prior)
                    for iri, found in self._texts.items()
                    for text, inverse, prior in found
                    if iri in self.rows
                ]
                self._questions = QuestionMatcher(
                    names,
                    {iri: self.kind(iri) for iri in self.rows},
                    {iri: row.uses for iri, row in self.rows.items()},
                    {iri: row.description for iri, row in self.rows.items() if row.description},
                    {iri: known.domain for iri, known in self._known.items()},
                )
        return self._questions.rank(question, among)

    def _label(self, iri: str) -> str:
        row, known = self.rows.get(iri), self._known.get(iri)
        return (row.label if row else "") or (known.label if known else "")


def _names_of(row: PropertyRow, known: KnownProperty | None) -> list[tuple[str, bool, float]]:
    """(key, inverse, prior) of every wording of the property."""
    names = [(name_key(row.label), False, _LABEL_WORDS)] if row.label else []
    names += [(name_key(text), False, _ALIAS) for text in row.names]
    return names + (_known_names(known) if known else [])


def _known_names(known: KnownProperty) -> list[tuple[str, bool, float]]:
    return [
        (name_key(known.label), False, _LABEL_WORDS),
        *((name_key(text), False, _WORDING) for text in known.names),
        *((name_key(text), True, _WORDING) for text in known.inverse),
    ]


def _turned(phrase: str, question: str, head: str) -> str:
    """The phrase without a trailing "of" that the question shows to belong to the head."""
    noun = phrase.removesuffix(" of")
    if noun != phrase and head and f"{phrase} {head}" in question:
        return noun
    return phrase


def _text_score(phrase: str, text: str, prior: float) -> float:
    if phrase == text:
        return prior
    if phrase.endswith(" of") != text.endswith(" of"):
        prior *= _OTHER_WAY  # "father of" and "father" are opposite ends
    mine, theirs = _forms(phrase), _forms(text)
    if mine.small and mine.small == theirs.small:
        return prior * _WITHOUT_SMALL_WORDS
    if mine.bare and mine.bare == theirs.bare:
        return prior * _WITHOUT_TYPE_WORDS
    shared = len(mine.stems & theirs.stems)
    overlap = 2 * shared / (len(mine.stems) + len(theirs.stems)) if shared else 0.0
    if len(mine.small) >= 5 and not shared:
        overlap = fuzz.ratio(mine.small, theirs.small, score_cutoff=100 * _TYPO_RATIO) / 100 * _TYPO
    return prior * _LEXICAL * overlap


class _Forms(NamedTuple):
    """A wording without small words, without words for types too, and the stems of the first."""

    small: str
    bare: str
    stems: frozenset[str]


@lru_cache(maxsize=1 << 16)
def _forms(text: str) -> _Forms:
    small = without(text, SMALL)
    # "by" tells the direction, not the relation.
    return _Forms(
        small, without(small, TYPES), frozenset(without_suffix(word) for word in small.split() if word != "by")
    )


def content_stems(text: str) -> frozenset[str]:
    """Stems of a wording's words, without small words, and without words for types unless nothing else is left."""
    forms = _forms(name_key(text))
    return frozenset(without_suffix(word) for word in forms.bare.split() if word != "by") or forms.stems


def _misspelt(one: str, two: str) -> bool:
    return min(len(one), len(two)) >= 5 and DamerauLevenshtein.distance(one, two, score_cutoff=1) <= 1
