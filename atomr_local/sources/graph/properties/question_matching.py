"""Matches a whole question with properties, by shared words."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from atomr_local.language.names import words
from atomr_local.language.words import relation_words, without_suffix
from atomr_local.sources.graph.properties.phrases import SMALL, expected_kind, with_kind

PropertyPath = tuple[str, bool]
"""A property, and whether it is followed from its value to what has it."""

_LEAST = 0.2
# A name of one common word, met in the question by chance, is worth less than one of several or rare words.
_CHANCE = 1.5
_POPULARITY = 0.015
_DESCRIBED = 0.25
_IRREGULAR, _CLASS, _BELONGING = relation_words().irregular, relation_words().asked_for, relation_words().belonging
_OPENING = re.compile(
    r"^(?:what|whats|which|name|list|tell me)(?: is| are| was| were| s)?(?: the)?(?: names? of)?"
    r"(?: an?| the| some)? (?P<rest>(?:\w+ ?){1,4})"
)
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
        tokens = words(question)[:200]
        asked, expected = _stems(question), expected_kind(" ".join(tokens), "")
        best: dict[PropertyPath, float] = {}
        for place in {place for piece in asked for place in self._naming.get(piece, ())}:
            path, stems, prior, whole = self._names[place]
            if among is not None and path not in among:
                continue
            weight = self._weight(stems & asked)
            score = prior * (weight / whole) ** 1.5 * weight / (weight + _CHANCE)
            if score > best.get(path, 0.0):
                best[path] = score
        noun = _class_asked(" ".join(tokens))
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


def _class_asked(question: str) -> str:
    """ "person", "work" or "place" where the question asks for one; "" where it does not say."""
    if question.startswith(("who ", "whos ", "whom ")):
        return "person"
    match = _OPENING.match(question)
    rest = match["rest"].split() if match else []
    for place, noun in enumerate(rest):
        if noun in _BELONGING or noun in ("of", "in", "by", "did", "was", "is", "for"):
            return ""
        if noun in _CLASS and not _BELONGING & set(rest[place + 1 : place + 2]):
            return _CLASS[noun]
    return ""


def _stems(text: str) -> frozenset[str]:
    counted = Counter(_IRREGULAR.get(word) or without_suffix(word) for word in words(text) if word not in SMALL)
    return frozenset(counted)
