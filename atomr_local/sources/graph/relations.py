"""From the wording of a relation to properties of the graph, forward (head → value) or inverse (value → head)."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz import fuzz

from atomr_local.indexing.graph_names import PropertyRow
from atomr_local.indexing.names import name_key
from atomr_local.indexing.vocabulary import KnownProperty, vocabulary
from atomr_local.sources.graph.asked import Asked, Naming, QuestionMatcher
from atomr_local.sources.graph.meaning import Meaning
from atomr_local.sources.graph.wordings import SMALL, TYPES, expected_kind, stem, with_kind, without

UNDERSTOOD = 0.6
SURE = 0.85
_LABEL, _ALIAS, _WORDING, _WITHOUT_SMALL_WORDS, _WITHOUT_TYPE_WORDS = 1.0, 0.97, 0.95, 0.92, 0.88
_LEXICAL = 0.85
_TYPO_RATIO = 0.87
_TYPO = 0.85
_LONGEST = 2000
_OTHER_WAY = 0.75
_FLIPPED, _COMPLEMENT, _UNKNOWN_FLIPPED = 0.92, 0.97, 0.8
_COSINE_FLOOR, _COSINE_MARGIN = 0.62, 0.04
# Chosen on the first four fifths of the questions of scripts/bench/linking.py. Among an entity's own properties labels
# alone tell them apart best; among all, the other names and descriptions help.
_GAIN_AMONG, _READ_AMONG = 0.5, 48
_GAIN_OF_ALL, _READ_OF_ALL, _MOST_NAMES = 0.3, 20, 12
# Openings that make "date of marriage" and "date of birth" look alike; what follows them has to agree.
_OPENING = re.compile(r"^(?:date|place|cause|country|number|time|year|name|type|kind) of (?=\S)")

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
class Match:
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


class RelationMatcher:
    """Matches wordings to the properties of one graph. Thread-safe.

    Args:
        properties: those in use, the most used first.
        meaning: asked when words alone do not decide; None: words only.
    """

    def __init__(self, properties: Sequence[PropertyRow], meaning: Meaning | None = None) -> None:
        self._known = vocabulary().by_iri
        self._rows = {row.iri: row for row in properties}
        self._texts = {row.iri: _names_of(row, self._known.get(row.iri)) for row in properties}
        for known in self._known.values():
            # Not in this graph, yet to be recognised: its absence is then an answer rather than a riddle.
            self._texts.setdefault(known.iri, _known_names(known))
        self._rank = lru_cache(maxsize=4096)(self._rank_uncached)
        self._meaning = meaning or Meaning(None)
        self._lock = threading.Lock()
        self._questions: QuestionMatcher | None = None

    def kind(self, prop: str) -> str:
        """What the property's values are; see KnownProperty.kind."""
        known = self._known.get(prop)
        row = self._rows.get(prop)
        if known is not None and not (row and known.kind == "other"):
            return known.kind
        if row is None:
            return "other"
        most = max(row.entities, row.dates, row.numbers, row.texts)
        return (
            "other" if row.entities == most else "time" if row.dates == most
            else "quantity" if row.numbers == most else "string"
        )  # fmt: skip

    def rank(self, wording: str, question: str = "", head: str = "") -> list[Match]:
        """Properties by words alone, best first.

        Args:
            question: the node's question; its wh-word tells which kind of value is asked for.
            head: the head's name: in "the father of Ann", Ann's father is asked for.
        """
        phrase = name_key(wording)
        if (
            not phrase
            or len(phrase) > _LONGEST
            or vocabulary().compound.intersection((*phrase.split(), *wording.casefold().split()))
        ):
            return []
        asked = name_key(question)
        phrase = _turned(phrase, asked, name_key(head))
        return list(self._rank(phrase, expected_kind(asked, phrase)))

    def _rank_uncached(self, phrase: str, expected: str) -> tuple[Match, ...]:
        best: dict[tuple[str, bool], Match] = {}

        def take(match: Match) -> None:
            key = (match.property, match.inverse)
            if match.score > 0.3 and (key not in best or match.score > best[key].score):
                best[key] = match

        for iri, names in self._texts.items():
            kind = self.kind(iri)
            for text, inverse, worth in names:
                score = _text_score(phrase, text, worth)
                if score <= 0.3:
                    continue
                if not inverse:
                    score = with_kind(score, kind, expected)
                take(Match(iri, inverse, score, kind))
        for match in list(best.values()):
            for other in self._other_ends(match, phrase):
                take(other)
        order = {iri: number for number, iri in enumerate(self._rows)}
        return tuple(
            sorted(
                best.values(),
                key=lambda m: (-round(m.score, 4), m.inverse, order.get(m.property, len(order)), m.property),
            )
        )

    def _other_ends(self, match: Match, phrase: str) -> Iterable[Match]:
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
            yield Match(
                other.iri, not match.inverse, match.score * _COMPLEMENT, match.kind,
                _GENDER.get(known.id, "") if not match.inverse else "",
            )  # fmt: skip

    def of_question(self, question: str, among: Collection[tuple[str, bool]] | None = None) -> list[Asked]:
        """Properties that the whole question may ask for, best first; see :class:`QuestionMatcher`."""
        with self._lock:
            if self._questions is None:
                names = [
                    Naming((iri, inverse), text, worth)
                    for iri, found in self._texts.items()
                    for text, inverse, worth in found
                    if iri in self._rows
                ]
                self._questions = QuestionMatcher(
                    names,
                    {iri: self.kind(iri) for iri in self._rows},
                    {iri: row.uses for iri, row in self._rows.items()},
                    {iri: row.description for iri, row in self._rows.items() if row.description},
                    {iri: known.domain for iri, known in self._known.items()},
                )
        return self._questions.rank(question, among)

    def by_meaning(self, wording: str, properties: Sequence[str]) -> list[Match]:
        """The one of these properties that is clearly nearest in meaning, or none."""
        names = {iri: text for iri in properties if iri in self._rows and (text := self._label(iri))}
        if not names or not self._meaning.usable or vocabulary().compound.intersection(name_key(wording).split()):
            return []
        pairs = {iri: _without_shared_opening(name_key(wording), name_key(text)) for iri, text in names.items()}
        vectors = self._meaning.vectors([text for pair in pairs.values() for text in pair])
        if vectors is None:
            return []
        scores = sorted(
            (float(one @ two), iri) for iri, one, two in zip(pairs, vectors[::2], vectors[1::2], strict=True)
        )
        best, iri = scores[-1]
        runner_up = scores[-2][0] if len(scores) > 1 else 0.0
        if best < _COSINE_FLOOR or best - runner_up < _COSINE_MARGIN:
            return []
        score = UNDERSTOOD + (SURE - UNDERSTOOD) * (best - _COSINE_FLOOR) / (1 - _COSINE_FLOOR)
        return [Match(iri, False, min(SURE, score), self.kind(iri))]

    def of_question_by_meaning(self, question: str, among: Collection[tuple[str, bool]] | None = None) -> list[Asked]:
        """:meth:`of_question` with the first of the ranking judged by meaning too; [] without an embedder.

        Few are read, so that a graph of thousands of properties never waits for the vectors of all.
        """
        ranked = self.of_question(question, among) if self._meaning.usable else []
        first = ranked[: _READ_AMONG if among is not None else _READ_OF_ALL]
        if not first:
            return []
        told = {item.property: self._told(item.property, whole=among is None) for item in first}
        likeness = self._meaning.likeness(question, [text for texts in told.values() for text in texts])
        if likeness is None:
            return []
        each = iter(likeness)
        nearest = {prop: max((next(each) for _ in texts), default=0.0) for prop, texts in told.items()}
        gain = _GAIN_AMONG if among is not None else _GAIN_OF_ALL
        judged = [replace(item, score=item.score + gain * max(0.0, nearest[item.property])) for item in first]
        judged.sort(key=lambda item: (-round(item.score, 4), item.inverse, item.property))
        return judged + ranked[len(first) :]

    def _told(self, iri: str, *, whole: bool) -> list[str]:
        """The property's label; with `whole`, its other names and its description too."""
        row, label = self._rows.get(iri), self._label(iri)
        texts = [label] if label else []
        if whole and row is not None:
            texts += row.names[:_MOST_NAMES]
            texts += [f"{label}: {row.description}"] if row.description else []
        return texts

    def _label(self, iri: str) -> str:
        row, known = self._rows.get(iri), self._known.get(iri)
        return (row.label if row else "") or (known.label if known else "")


def _names_of(row: PropertyRow, known: KnownProperty | None) -> list[tuple[str, bool, float]]:
    """(key, inverse, worth) of every wording of the property."""
    names = [(name_key(row.label), False, _LABEL)] if row.label else []
    names += [(name_key(text), False, _ALIAS) for text in row.names]
    return names + (_known_names(known) if known else [])


def _known_names(known: KnownProperty) -> list[tuple[str, bool, float]]:
    return [
        (name_key(known.label), False, _LABEL),
        *((name_key(text), False, _WORDING) for text in known.names),
        *((name_key(text), True, _WORDING) for text in known.inverse),
    ]


def _turned(phrase: str, question: str, head: str) -> str:
    """The phrase without a trailing "of" that the question shows to belong to the head."""
    noun = phrase.removesuffix(" of")
    if noun != phrase and head and f"{phrase} {head}" in question:
        return noun
    return phrase


def _text_score(phrase: str, text: str, worth: float) -> float:
    if phrase == text:
        return worth
    if phrase.endswith(" of") != text.endswith(" of"):
        worth *= _OTHER_WAY  # "father of" and "father" are opposite ends
    mine, theirs = _forms(phrase), _forms(text)
    if mine.small and mine.small == theirs.small:
        return worth * _WITHOUT_SMALL_WORDS
    if mine.bare and mine.bare == theirs.bare:
        return worth * _WITHOUT_TYPE_WORDS
    shared = len(mine.stems & theirs.stems)
    overlap = 2 * shared / (len(mine.stems) + len(theirs.stems)) if shared else 0.0
    if len(mine.small) >= 5 and not shared:
        overlap = fuzz.ratio(mine.small, theirs.small, score_cutoff=100 * _TYPO_RATIO) / 100 * _TYPO
    return worth * _LEXICAL * overlap


class _Forms(NamedTuple):
    """A wording without small words, without words for types too, and the stems of the first."""

    small: str
    bare: str
    stems: frozenset[str]


@lru_cache(maxsize=1 << 16)
def _forms(text: str) -> _Forms:
    small = without(text, SMALL)
    return _Forms(small, without(small, TYPES), frozenset(stem(word) for word in small.split()))


def _without_shared_opening(one: str, two: str) -> tuple[str, str]:
    first, second = _OPENING.match(one), _OPENING.match(two)
    return (one[first.end() :], two[second.end() :]) if first and second and first[0] == second[0] else (one, two)
