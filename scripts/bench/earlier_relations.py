"""How relations were matched before acceptance was learnt: fixed gains and thresholds, chosen by hand. Kept to measure
against (scripts/train_relation_match.py, scripts/bench/linking.py)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from atomr_local.language.names import name_key
from atomr_local.language.properties import property_table
from atomr_local.sources.graph.properties.matching import (
    SURE,
    UNDERSTOOD,
    PropertyMatch,
    PropertyMatcher,
    PropertyPath,
    QuestionMatch,
)
from atomr_local.sources.graph.properties.selection import clear_match

_BEHIND_BEST = 0.22
_COSINE_FLOOR, _COSINE_MARGIN = 0.62, 0.04
_GAIN_AMONG, _READ_AMONG = 0.5, 48
_GAIN_OF_ALL, _READ_OF_ALL, _MOST_NAMES = 0.3, 20, 12
_OPENING = re.compile(r"^(?:date|place|cause|country|number|time|year|name|type|kind) of (?=\S)")


def followed(
    matcher: PropertyMatcher, wording: str, question: str, own: Sequence[PropertyPath]
) -> PropertyMatch | None:
    """The property that was followed: the best by words, else by meaning, else by the question; None for none."""
    has = set(own)
    ranked = matcher.rank(wording, question)
    best = ranked[0].score if ranked else 0.0
    for match in ranked:
        if match.score < UNDERSTOOD or match.score < best - _BEHIND_BEST:
            break
        if (match.property, match.inverse) in has:
            return match
    if best >= SURE:
        return None
    found = by_meaning(matcher, wording, [prop for prop, inverse in own if not inverse])
    if found:
        return found[0]
    for taken in (
        clear_match(matcher.match_question(question, has)) if question else None,
        clear_match(of_question_by_meaning(matcher, question, has)) if question else None,
    ):
        if taken is not None:
            return PropertyMatch(taken.property, taken.inverse, UNDERSTOOD, "")
    return None


def by_meaning(matcher: PropertyMatcher, wording: str, properties: Sequence[str]) -> list[PropertyMatch]:
    """The one of these properties that is clearly nearest in meaning, or none."""
    names = {iri: names[0] for iri in properties if iri in matcher.rows and (names := matcher.names((iri, False)))}
    if not names or property_table().compound.intersection(name_key(wording).split()):
        return []
    pairs = {iri: _without_shared_opening(name_key(wording), text) for iri, text in names.items()}
    vectors = matcher.semantic.vectors([text for pair in pairs.values() for text in pair])
    if vectors is None:
        return []
    scores = sorted((float(one @ two), iri) for iri, one, two in zip(pairs, vectors[::2], vectors[1::2], strict=True))
    best, iri = scores[-1]
    runner_up = scores[-2][0] if len(scores) > 1 else 0.0
    if best < _COSINE_FLOOR or best - runner_up < _COSINE_MARGIN:
        return []
    score = UNDERSTOOD + (SURE - UNDERSTOOD) * (best - _COSINE_FLOOR) / (1 - _COSINE_FLOOR)
    return [PropertyMatch(iri, False, min(SURE, score), matcher.kind(iri))]


def of_question_by_meaning(
    matcher: PropertyMatcher, question: str, among: Collection[PropertyPath] | None = None
) -> list[QuestionMatch]:
    """The ranking by the question's words, the first of it judged by meaning too; [] without an embedder."""
    ranked = matcher.match_question(question, among)
    first = ranked[: _READ_AMONG if among is not None else _READ_OF_ALL]
    if not first:
        return []
    told = {item.property: _told(matcher, item.property, whole=among is None) for item in first}
    similarities = matcher.semantic.similarities(question, [text for texts in told.values() for text in texts])
    if similarities is None:
        return []
    each = iter(similarities)
    nearest = {prop: max((next(each) for _ in texts), default=0.0) for prop, texts in told.items()}
    gain = _GAIN_AMONG if among is not None else _GAIN_OF_ALL
    judged = [replace(item, score=item.score + gain * max(0.0, nearest[item.property])) for item in first]
    judged.sort(key=lambda item: (-round(item.score, 4), item.inverse, item.property))
    return judged + ranked[len(first) :]


def _told(matcher: PropertyMatcher, iri: str, *, whole: bool) -> list[str]:
    row = matcher.rows.get(iri)
    label = row.label if row else ""
    texts = [label] if label else []
    if whole and row is not None:
        texts += row.names[:_MOST_NAMES]
        texts += [f"{label}: {row.description}"] if row.description else []
    return texts


def _without_shared_opening(one: str, two: str) -> tuple[str, str]:
    first, second = _OPENING.match(one), _OPENING.match(two)
    return (one[first.end() :], two[second.end() :]) if first and second and first[0] == second[0] else (one, two)
