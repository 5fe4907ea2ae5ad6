"""The learnt probability that a property is the one that a wording asks for.

Without it, a role that the entity does not have would be answered with the nearest of those that it has. A logistic
model over a few features and their products judges each property that the entity has: by how the wording and the
question agree with its names, and by how much better another property agrees, one that the entity lacks included.
Coefficients: relation_match.json, written by scripts/train_relation_match.py; the file says what they were learnt on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from rapidfuzz import fuzz

from atomr_local.language.names import name_key
from atomr_local.language.question import TimeConstraint, read_question
from atomr_local.language.words import picks_out
from atomr_local.sources.graph.knowledge_graph import TYPE_PROPERTIES, KnowledgeGraph
from atomr_local.sources.graph.properties.matching import (
    SURE,
    UNDERSTOOD,
    PropertyMatch,
    PropertyMatcher,
    PropertyPath,
    QuestionMatch,
    content_stems,
    fits_kind,
)
from atomr_local.sources.graph.qualified_statements import qualified_statements
from atomr_local.sources.graph.semantic_similarity import SemanticSimilarity
from atomr_local.sources.protocol import MOST_NEAR

FILE = "relation_match.json"
LEXICAL_FEATURES = (
    "lex", "exact", "turned", "rival", "absent", "asked", "asked_rival", "fits", "misfits", "inverse", "covers",
    "covered", "uncovered", "many", "long", "picks",
)  # fmt: skip
SEMANTIC_FEATURES = (*LEXICAL_FEATURES, "cosine", "cosine_rival", "cosine_absent", "cosine_asked")
_EXACT = 0.945
_CALLED_SO = 0.75
_NAMES_READ = 6
_ABSENT_READ = 250
_MOST_CANDIDATES = 60
# Beyond what the model has seen, more changes nothing.
_MOST_UNCOVERED, _LONGEST = 5.0, 8


Term = tuple[str, str, float]
"""A feature, the one that it is multiplied by ("" for none), and the weight of the two."""


@dataclass(frozen=True, slots=True)
class ScoredProperty:
    """A property of the entity, and the probability that the wording asks for it.

    Attributes:
        features: what the probability rests on, by name.
    """

    match: PropertyMatch
    probability: float
    features: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class MatchModel:
    """The model's coefficients.

    Attributes:
        words, meaning: intercept and weights of features and of products of two of them; for words alone, and with an
            embedder besides.
        accept: the least probability with which a property is followed.
        accept_by_words: the same where there is no embedder.
        sure: with so much, the graph's answer needs no second source.
    """

    lexical: tuple[float, tuple[Term, ...]]
    semantic: tuple[float, tuple[Term, ...]]
    accept: float
    sure: float
    accept_by_words: float

    def probability(self, features: Mapping[str, float]) -> float:
        """The probability that a match with these features is right; by meaning where they hold a cosine."""
        logit, terms = self.semantic if "cosine" in features else self.lexical
        for one, other, weight in terms:
            logit += weight * features[one] * (features[other] if other else 1.0)
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))


@cache
def match_model() -> MatchModel:
    """The shipped coefficients, read once."""
    data: dict[str, Any] = json.loads(
        files("atomr_local.sources.graph.properties").joinpath(FILE).read_text(encoding="utf-8")
    )
    lexical, semantic = (
        (float(data[kind]["intercept"]), tuple(terms(data[kind]["weights"]))) for kind in ("lexical", "semantic")
    )
    return MatchModel(lexical, semantic, float(data["accept"]), float(data["sure"]), float(data["accept_by_words"]))


def terms(weights: Mapping[str, float]) -> Iterator[Term]:
    """The terms of a model as it is written: {"lex": 1.5, "lex*rival": -0.7}."""
    for name, weight in weights.items():
        one, _, other = name.partition("*")
        yield one, other, float(weight)


def match_features(
    matcher: PropertyMatcher, wording: str, question: str, head: str, own: Sequence[PropertyPath], *, semantic: bool
) -> list[tuple[PropertyMatch, dict[str, float]]]:
    """Every property that the entity has, with the features of its match; [] with `semantic` but no working embedder.

    Args:
        wording: of the relation.
        question: the step's question, where there is one.
        head: the entity's name.
        own: the properties that the entity has, and those whose value it is.
    """
    ranked = matcher.rank(wording, question, head)
    scores = {(match.property, match.inverse): match for match in ranked}
    asked = {(item.property, item.inverse): item.score for item in matcher.match_question(question, own)}
    paths = sorted(own, key=lambda path: (-_score(scores, path), -asked.get(path, 0.0), path))[:_MOST_CANDIDATES]
    if not paths:
        return []
    has = set(own)
    absent = max((match.score for path, match in scores.items() if not _among(matcher, path, has)), default=0.0)
    stems, picking = content_stems(wording), picks_out(name_key(wording).split())
    kind = read_question(wording).value_kind or read_question(question).value_kind
    found = []
    for path in paths:
        match = scores.get(path) or PropertyMatch(path[0], path[1], 0.0, matcher.kind(path[0]))
        others = [other for other in paths if other != path and not matcher.same_relation(path, other)]
        lex, q = match.score, max(-0.5, min(1.2, asked.get(path, 0.0)))
        covers, covered = matcher.coverage(wording, path)
        fit = fits_kind(matcher.kind(path[0]), kind) if not path[1] else None
        found.append((match, {
            "lex": lex,
            "exact": float(lex >= _EXACT),
            "turned": max(0.0, _other_end(matcher, scores, path) - lex),
            "rival": max(0.0, max((_score(scores, other) for other in others), default=0.0) - lex),
            "absent": max(0.0, absent - lex),
            "asked": q,
            "asked_rival": max(-0.5, min(0.5, max((asked.get(other, 0.0) for other in others), default=0.0) - q)),
            "fits": float(fit is True),
            "misfits": float(fit is False),
            "inverse": float(path[1]),
            "covers": covers,
            "covered": covered,
            "uncovered": min(_MOST_UNCOVERED, len(stems) * (1 - covers)),
            "picks": float(bool(picking - matcher.name_words(path))),
            "many": math.log1p(len(own)),
            "long": math.log1p(min(_LONGEST, len(stems))),
        }))  # fmt: skip
    return _with_similarity(matcher, wording, question, found, has) if semantic else found


def _with_similarity(
    matcher: PropertyMatcher,
    wording: str,
    question: str,
    found: list[tuple[PropertyMatch, dict[str, float]]],
    has: set[PropertyPath],
) -> list[tuple[PropertyMatch, dict[str, float]]]:
    paths = [(match.property, match.inverse) for match, _ in found]
    names = {path: matcher.names(path)[:_NAMES_READ] or [""] for path in paths}
    held = {prop for prop, _ in has}
    absent = [label for prop, label in matcher.known_labels() if prop not in held][:_ABSENT_READ]
    texts = [text for path in paths for text in names[path]]
    similarities = matcher.semantic.similarities(wording, [*texts, *absent])
    asked = matcher.semantic.similarities(question or wording, [names[path][0] for path in paths])
    if similarities is None or asked is None:
        return []
    each = iter(similarities)
    nearest = {path: max(next(each) for _ in names[path]) for path in paths}
    questioned = dict(zip(paths, asked, strict=True))
    best_absent = max(similarities[len(texts) :], default=0.0)
    for path, (_, features) in zip(paths, found, strict=True):
        others = [other for other in paths if other != path and not matcher.same_relation(path, other)]
        features["cosine"] = nearest[path]
        features["cosine_rival"] = max((nearest[other] for other in others), default=0.0) - nearest[path]
        features["cosine_absent"] = max(-0.3, best_absent - nearest[path])
        features["cosine_asked"] = questioned[path] - max((questioned[other] for other in others), default=0.0)
    return found


def score_properties(
    matcher: PropertyMatcher, wording: str, question: str, head: str, own: Sequence[PropertyPath], *, semantic: bool
) -> list[ScoredProperty]:
    """Every property that the entity has, the most likely to be asked for first; see :func:`match_features`."""
    model = match_model()
    key = name_key(wording)
    found = []
    for match, features in match_features(matcher, wording, question, head, own, semantic=semantic):
        probability = model.probability(features)
        if matcher.names((match.property, match.inverse))[:1] == [key]:
            # Called by its very label; the model has met too few of these with an unusual question.
            probability = max(probability, _CALLED_SO)
        found.append(ScoredProperty(match, probability, features))
    return sorted(found, key=lambda item: (-round(item.probability, 6), item.match.inverse, item.match.property))


def _score(scores: Mapping[PropertyPath, PropertyMatch], path: PropertyPath) -> float:
    match = scores.get(path)
    return match.score if match else 0.0


def _other_end(matcher: PropertyMatcher, scores: Mapping[PropertyPath, PropertyMatch], path: PropertyPath) -> float:
    """How well the wording names the relation taken the other way round: "mother" for what is "mother of"."""
    opposite = (path[0], not path[1])
    return max((match.score for other, match in scores.items() if matcher.same_relation(other, opposite)), default=0.0)


def _among(matcher: PropertyMatcher, path: PropertyPath, has: set[PropertyPath]) -> bool:
    """Whether the entity has the relation, perhaps as its other end."""
    return path in has or any(matcher.same_relation(path, other) for other in has)


# Selects the properties of an entity that a relation's wording asks for, and the nearest where it has none of them.

_MOST_JUDGED = 48
_TIE = 0.005
_AS_LIKELY = 0.2
# Where the wording surely names something that is not there, no more is asked of the embedder than this is worth.
_HOPELESS = 0.4
_AS_LIKELY_SHARE = 0.85
_RANKED_READ = 24
# On the training questions of scripts/bench/linking.py nine of ten properties taken so are right.
_ASKED, _ASKED_MARGIN = 0.6, 0.1


def clear_match(ranked: Sequence[QuestionMatch]) -> QuestionMatch | None:
    """The first of what a question may ask for, where it fits well and clearly better than the next."""
    best, *others = [*ranked[:2], None]
    if best is None or best.score < _ASKED or (others[0] and best.score - others[0].score < _ASKED_MARGIN):
        return None
    return best


class PropertySelector:
    """Chooses among an entity's properties, over one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, matcher: PropertyMatcher) -> None:
        self._graph = graph
        self._matcher = matcher

    def select(
        self,
        head: str,
        wording: str,
        ranked: Sequence[PropertyMatch],
        time: TimeConstraint | None = None,
        question: str = "",
    ) -> list[PropertyMatch]:
        """The matches to follow from this head: the one that is probably asked for, and its equals; their score is the
        probability that they are right. None if the head has nothing that is likely enough.

        Args:
            head: the entity.
            ranked: all properties that the wording may mean by its words, best first.
            time: when the relation is to hold, where a time is asked for.
            question: the step's question, "" where there is none.
        """
        own = self._own(head, ranked, time)
        if not own:
            return []
        name, model = self._graph.label(head), match_model()
        found = score_properties(self._matcher, wording, question, name, own, semantic=False)
        least = model.accept
        absent = bool(ranked) and ranked[0].score >= SURE and self._lacks(ranked[0], own)
        hopeless = absent and (not found or found[0].probability < _HOPELESS)
        if not hopeless and not _words_decide(found, model.accept):
            by_meaning = score_properties(self._matcher, wording, question, name, own, semantic=True)
            found, least = (by_meaning, least) if by_meaning else (found, model.accept_by_words)
        if not found or found[0].probability < least:
            return []
        if found[0].match.score < UNDERSTOOD and self._cannot_tell(found):
            return []
        # Of ends of one relation that are as likely, the one that the wording itself names.
        ends = [item for item in found if self._matcher.same_relation(_path(item.match), _path(found[0].match))]
        near = [item for item in ends if found[0].probability - item.probability < _AS_LIKELY]
        best = max(near, key=lambda item: (item.match.score, item.probability))
        return self._equals(best, found, ranked)

    def has_named(self, head: str, ranked: Sequence[PropertyMatch]) -> bool:
        """Whether the wording surely names something that the head has."""
        return any(self._has(head, match, None) for match in ranked if match.score >= SURE)

    def _cannot_tell(self, found: Sequence[ScoredProperty]) -> bool:
        """Whether another relation is as likely as the first, by nothing that the wording names."""
        first = found[0]
        return any(
            not self._matcher.same_relation(_path(item.match), _path(first.match))
            for item in found[1:]
            if item.probability >= _AS_LIKELY_SHARE * first.probability
        )

    def _lacks(self, match: PropertyMatch, own: Sequence[PropertyPath]) -> bool:
        return not any(self._matcher.same_relation(_path(match), other) for other in own)

    @staticmethod
    def _equals(
        best: ScoredProperty, found: Sequence[ScoredProperty], ranked: Sequence[PropertyMatch]
    ) -> list[PropertyMatch]:
        """The best match, and others that the wording names as well as it: "moons" is said of either direction."""
        lexical = best.match.score
        held = {_path(item.match) for item in found}
        score = round(best.probability, 4)
        others = [
            replace(match, score=score)
            for match in ranked
            if lexical >= UNDERSTOOD
            and _path(match) in held
            and _path(match) != _path(best.match)
            and abs(match.score - lexical) <= _TIE
            and match.kind == best.match.kind
        ]
        return [replace(best.match, score=score), *others]

    def _own(self, head: str, ranked: Sequence[PropertyMatch], time: TimeConstraint | None) -> list[PropertyPath]:
        """What the head has, and what it is the value of; at a time also what the wording may mean by its words."""
        graph = self._graph
        paths: set[PropertyPath] = {(prop, False) for prop in graph.properties_of(head)}
        paths |= {(prop, True) for prop in graph.properties_of(head, inverse=True)}
        paths |= {
            _path(match)
            for match in ranked[:_RANKED_READ]
            if _path(match) not in paths and self._has(head, match, time)
        }
        return sorted(paths)

    def _has(self, head: str, match: PropertyMatch, time: TimeConstraint | None) -> bool:
        plain = self._graph.has(head, match.property, inverse=match.inverse)
        if plain or time is None:
            return plain
        # What once held may be among the qualified statements alone.
        return qualified_statements(self._graph, head, match.property, inverse=match.inverse) is not None


def _words_decide(found: Sequence[ScoredProperty], accept: float) -> bool:
    """Whether the embedder need not be asked: the wording itself, not just the question, names what is likely."""
    return bool(found) and found[0].probability >= accept and found[0].match.score >= UNDERSTOOD


def _path(match: PropertyMatch) -> PropertyPath:
    return (match.property, match.inverse)


def _entity_properties(graph: KnowledgeGraph, iri: str) -> list[str]:
    """The properties that the entity has statements of, the most used in the graph first; what it is an instance of is
    left out."""
    held = graph.properties_of(iri) - set(TYPE_PROPERTIES)
    return sorted(held, key=lambda prop: (-(row.uses if (row := graph.properties.get(prop)) else 0), prop))


def nearest_properties(
    graph: KnowledgeGraph, semantic: SemanticSimilarity | None, iri: str, wording: str, limit: int = MOST_NEAR
) -> tuple[str, ...]:
    """Labels of what the entity has, the nearest to the wording first: by meaning where that is given, else by
    letters."""
    labels = list(dict.fromkeys(map(graph.property_label, _entity_properties(graph, iri))))[:_MOST_JUDGED]
    similarities: Iterable[float] | None = (
        semantic.similarities(wording, labels) if semantic and wording and labels else None
    )
    if similarities is None:
        asked = name_key(wording)
        similarities = [fuzz.token_sort_ratio(asked, name_key(label)) / 100 for label in labels]
    ranked = sorted(zip(labels, similarities, strict=True), key=lambda item: -item[1])
    return tuple(label for label, _ in ranked[:limit])
