"""The learnt probability that a property is the one that a wording asks for.

Without it, a role that the entity does not have would be answered with the nearest of those that it has. A logistic
model over a few features and their products judges each property that the entity has: by how the wording and the
question agree with its names, and by how much better another property agrees, one that the entity lacks included.
Coefficients: relation_match.json, written by scripts/train_relation_match.py; the file says what they were learnt on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from atomr_local.language.names import name_key
from atomr_local.language.words import picks_out
from atomr_local.sources.graph.properties.matching import PropertyMatch, PropertyMatcher, content_stems
from atomr_local.sources.graph.properties.phrases import expected_kind, fits_kind
from atomr_local.sources.graph.properties.question_matching import PropertyPath

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
    kind = expected_kind(name_key(question), name_key(wording))
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
