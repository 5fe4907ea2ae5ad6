"""The calibrated confidence: a small logistic model over the signals of an answer.

The confidence of a language model is not the probability that it is right. A logistic regression therefore weighs the
signals for and against an answer (below). It is fitted on questions that the adapter was not trained on
(`scripts/calibrate.py`) and stored in the adapter's card. If needed, isotonic regression adds a monotone correction,
stored as knots. An absent signal has a weight of its own, because absence is informative: an answer of the graph has no
reading. Models without a card use hand-set coefficients.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from atomr_local.models.protocol import Generation

# Signals for and against an answer: named numbers from 0 to 1.
#
# An absent signal is unknown. A step's signals are in its result and in the trace; the calibration turns them into one
# probability.


# exp of the mean log-probability of the tokens that the model wrote.
READING = "reading"
# Probability of Unknown at the beginning of the answer, against the token that was written there.
NULL = "null"
# Probability that the model says yes when asked whether the evidence supports the answer.
VERIFY = "verify"
# Scores of the graph's entity link and relation match, and whether its values have the type asked for.
LINK = "link"
RELATION = "relation"
TYPE_FIT = "type_fit"
# 1 if evidence from two places contains the answer, 0 if only one of several places does.
AGREE = "agree"
# 1 if the cited evidence contains every answer, else 0.
SUPPORT = "support"
# Share of the question's content words that the cited evidence contains.
MENTIONED = "mentioned"
# 1 if the cited evidence is about the one that was asked about, 0 if it is clearly about another.
SUBJECT = "subject"
# From the span reader: the probability that the passages answer the question, and that this is the answer.
ANSWERABLE = "answerable"
SPAN = "span"
# 1 if the model was not allowed to say Unknown.
GUESS = "guess"

# 1 if the model answered from its own knowledge.
MEMORY = "memory"

# 1 if a source that was chosen failed: what it would have said is unknown.
FAILED_SOURCE = "failed_source"

# For an answer that depends on several steps; each signal above is then the worst one of the steps.
# Product of the confidences of everything that was looked up or read.
LEAVES = "leaves"
# Product of the steps' VERIFY.
VERIFIED = "verified"
# 1 if the answer was computed from the steps' answers.
COMPUTED = "computed"
# Share of the steps answered by direct RAG because their operator had no result, and of those without an answer.
FALLBACK = "fallback"
UNFINISHED = "unfinished"
# Number of steps, and number of answers.
STEPS = "steps"
ANSWERS = "answers"
# 1 if the answer only repeats what the question names.
NAMED = "named"
# 1 if the model named the sentences that answer; then QUOTED is 1 if they are the answer, 0 if some of their words are.
POINTED = "pointed"
QUOTED = "quoted"
# Whether another method found the same answer to the whole question.
RIVAL = "rival"
# Prefix of the signals of the answer that was not chosen.
OTHER = "other."

# Signals whose larger values are worse.
_AGAINST = frozenset({NULL, GUESS, MEMORY, FAILED_SOURCE})


def worst(several: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """For each signal the worst value."""
    result: dict[str, float] = {}
    for signals in several:
        for name, value in signals.items():
            known = result.get(name, value)
            result[name] = max(known, value) if name in _AGAINST else min(known, value)
    return result


def null_score(completion: Generation, before: str) -> float | None:
    """The reader's null score (Devlin et al., 2019, section 4.3, as a probability): p₀ / (p₀ + p₁) of the first token
    of Unknown and of the token that was written in its place. p₀ alone if Unknown was written.

    Args:
        completion: made with Unknown as its first watched text, after `before`.

    Returns:
        None if the model gives no probabilities, or if the answer begins with the same token as Unknown.
    """
    unknown = completion.watched[0] if completion.watched else math.nan
    first = _logprob_behind(completion, before)
    if first is None or math.isnan(unknown) or math.isnan(first):
        return None
    if completion.text[len(before) :].startswith("Unknown"):
        return math.exp(unknown)
    return None if unknown == first else _share(unknown, first)


def said_yes(completion: Generation) -> float | None:
    """P(yes) against P(no) of a yes/no answer, with or without a capital letter.

    Args:
        completion: yes or no, with the watched texts yes, no, Yes and No.

    Returns:
        None if the model gives no probabilities.
    """
    watched = [-math.inf if math.isnan(logprob) else logprob for logprob in completion.watched]
    if len(watched) == 4 and max(watched) > -math.inf:
        return _share(max(watched[0], watched[2]), max(watched[1], watched[3]))
    said = completion.mean_probability
    if said is None:
        return None
    return said if completion.text.strip().casefold() == "yes" else 1.0 - said


def token_shares(completion: Generation, written: Sequence[str], before: str) -> list[float | None]:
    """exp of the mean log-probability of the tokens of each text; None for a text that is not in the completion.

    Args:
        written: texts in their order in the completion, after `before`.
    """
    shares: list[float | None] = []
    at = len(before) if completion.text.startswith(before) else 0
    for text in written:
        begin = completion.text.find(text, at)
        if begin < 0:
            shares.append(None)
            continue
        at = begin + len(text)
        shares.append(_share_between(completion, begin, at))
    return shares


def _share_between(completion: Generation, begin: int, end: int) -> float | None:
    """exp of the mean log-probability of the tokens that overlap this part of the text."""
    mean = mean_logprob(completion, begin, end)
    return None if math.isnan(mean) else math.exp(mean)


def mean_logprob(completion: Generation, begin: int, end: int) -> float:
    """The mean log-probability of the tokens that overlap this part of the text; nan if unknown or without tokens."""
    inside = logprobs_between(completion, begin, end)
    return sum(inside) / len(inside) if inside else math.nan


def logprobs_between(completion: Generation, begin: int, end: int) -> tuple[float, ...]:
    """Log-probabilities of the tokens that overlap this part of the text."""
    inside: list[float] = []
    at = 0
    for token in completion.tokens:
        if at < end and at + len(token.text) > begin:
            inside.append(token.logprob)
        at += len(token.text)
    return tuple(inside)


def _logprob_behind(completion: Generation, before: str) -> float | None:
    so_far = ""
    for token in completion.tokens:
        if so_far == before:
            return token.logprob
        so_far += token.text
    return None


def _share(one: float, other: float) -> float:
    """exp(one) / (exp(one) + exp(other)), numerically stable."""
    return 1.0 / (1.0 + math.exp(max(-700.0, min(700.0, other - one))))


_LEAST = 0.005
_LEAST_PRODUCT = 0.02
_MOST_TERMS = 64
_MOST_KNOTS = 200
# The limit for fitted probabilities: more likely right than wrong.
_ACCEPT = 0.5
# An answer that was found while a source had failed is never "well supported". No questions with failing sources were
# measured: the factor is set by hand.
_WITHOUT_SOURCE = 0.79


def log_odds(share: float, least: float = _LEAST) -> float:
    """The logit of a probability, which counts as at least `least` and at most 1 - `least`."""
    share = min(max(share, least), 1.0 - least)
    return math.log(share / (1.0 - share))


def _product(share: float) -> float:
    return math.log(max(share, _LEAST_PRODUCT))


def _count(number: float) -> float:
    return math.log1p(max(number, 0.0))


def _plain(share: float) -> float:
    return share


# How each signal enters the sum.
FEATURES: Mapping[str, Callable[[float], float]] = {
    READING: log_odds,
    NULL: log_odds,
    VERIFY: log_odds,
    LINK: log_odds,
    RELATION: log_odds,
    TYPE_FIT: _plain,
    AGREE: _plain,
    SUPPORT: _plain,
    MENTIONED: _plain,
    SUBJECT: _plain,
    ANSWERABLE: log_odds,
    SPAN: log_odds,
    GUESS: _plain,
    MEMORY: _plain,
    LEAVES: _product,
    VERIFIED: _product,
    COMPUTED: _plain,
    FALLBACK: _plain,
    UNFINISHED: _plain,
    NAMED: _plain,
    STEPS: _count,
    ANSWERS: _count,
    RIVAL: _plain,
    QUOTED: _plain,
}


@dataclass(frozen=True, slots=True)
class LogisticTerm:
    """The term of one signal: coefficient · (feature − mean), or `missing` if the signal is absent."""

    name: str
    coefficient: float
    mean: float = 0.0
    missing: float = 0.0


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """P(right) = knots(1 / (1 + exp(−(intercept + Σ terms)))).

    Attributes:
        knots: (x, y) of a monotone piecewise linear function on 0 to 1, x ascending; () leaves the probability as is.
    """

    intercept: float
    terms: tuple[LogisticTerm, ...] = ()
    knots: tuple[tuple[float, float], ...] = ()

    def probability(self, given: Mapping[str, float]) -> float:
        """The probability of being right, given these signals; signals unknown to the model are ignored.

        If a source failed, the probability is lower: what that source would have said is unknown.
        """
        z = self.intercept
        for term in self.terms:
            value = given.get(term.name, math.nan)
            known = math.isfinite(value)
            z += term.coefficient * (FEATURES[term.name](value) - term.mean) if known else term.missing
        found = self._isotonic(1.0 / (1.0 + math.exp(-max(min(z, 60.0), -60.0))))
        return found * _WITHOUT_SOURCE if given.get(FAILED_SOURCE) else found

    def uses(self, name: str) -> bool:
        return any(term.name == name for term in self.terms)

    def _isotonic(self, probability: float) -> float:
        if not self.knots:
            return probability
        at = bisect_right([x for x, _ in self.knots], probability)
        if at == 0:
            return self.knots[0][1]
        if at == len(self.knots):
            return self.knots[-1][1]
        (x0, y0), (x1, y1) = self.knots[at - 1], self.knots[at]
        return y0 + (y1 - y0) * (probability - x0) / (x1 - x0)

    @classmethod
    def from_card(cls, given: object) -> LogisticModel | None:
        """A model in the format of a card: {"features": […], "coefficients": […], "means": […], "missing": […],
        "intercept": …, "knots": [[x, y], …]}, the last three lists optional. None if the format is wrong.
        """
        if not isinstance(given, dict):
            return None
        features = given.get("features")
        if (
            not isinstance(features, list)
            or len(features) > _MOST_TERMS
            or not set(map(str, features)) <= set(FEATURES)
        ):
            return None
        coefficients = _numbers(given.get("coefficients"), len(features))
        means = _numbers(given.get("means", [0.0] * len(features)), len(features))
        missing = _numbers(given.get("missing", [0.0] * len(features)), len(features))
        intercept = number(given.get("intercept"))
        knots = _knots(given.get("knots", []))
        if coefficients is None or means is None or missing is None or knots is None or math.isnan(intercept):
            return None
        terms = (
            LogisticTerm(str(name), *rest) for name, *rest in zip(features, coefficients, means, missing, strict=True)
        )
        return cls(intercept, tuple(terms), knots)


def number(given: object, default: float = math.nan) -> float:
    """A finite number of a card, else the default."""
    try:
        value = float(given) if isinstance(given, int | float) else default
    except OverflowError:  # an integer beyond all floating-point numbers
        return default
    return value if math.isfinite(value) else default


def _numbers(given: object, count: int) -> list[float] | None:
    if not isinstance(given, list) or len(given) != count:
        return None
    values = [number(value) for value in given]
    return None if any(map(math.isnan, values)) else values


def _knots(given: object) -> tuple[tuple[float, float], ...] | None:
    if not isinstance(given, list) or len(given) > _MOST_KNOTS:
        return None
    pairs = [_numbers(pair, 2) for pair in given]
    knots = tuple((pair[0], pair[1]) for pair in pairs if pair is not None)
    rising = all(x0 < x1 and y0 <= y1 for (x0, y0), (x1, y1) in pairwise(knots))
    bounded = all(0 <= value <= 1 for knot in knots for value in knot)
    return knots if len(knots) == len(pairs) and rising and bounded else None


# Defaults without a card, centred on an average answer, so that absent signals change nothing. Signs and order of the
# weights are those of every fit so far; verification counts little, because an untrained model seldom says no.
_READ = (
    LogisticTerm(READING, 0.5, 0.85),
    LogisticTerm(NULL, -0.35, -1.4),
    LogisticTerm(VERIFY, 0.25, 0.5),
    LogisticTerm(SUPPORT, 1.0, 0.9),
    LogisticTerm(AGREE, 0.4, 0.4),
    LogisticTerm(MENTIONED, 1.0, 0.8),
    LogisticTerm(SUBJECT, 2.5, 1.0),
    LogisticTerm(ANSWERABLE, 0.2, 0.8),
    LogisticTerm(SPAN, 0.2, 0.6),
    LogisticTerm(TYPE_FIT, 1.5, 0.8),
    LogisticTerm(NAMED, -3.0),
    LogisticTerm(GUESS, -1.5),
    LogisticTerm(MEMORY, -1.5),
    LogisticTerm(RIVAL, 1.2, 0.4),
)
_LOOKED_UP = (
    *_READ,
    LogisticTerm(LINK, 0.3, 2.2),
    LogisticTerm(RELATION, 0.5, 1.4),
    LogisticTerm(FALLBACK, -0.8),
    LogisticTerm(UNFINISHED, -2.5),
)
_TREE = (*_LOOKED_UP, LogisticTerm(STEPS, -0.4, math.log(3)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibration of one model's answers, by the method that found them.

    Attributes:
        tree: for answers that depend on the steps of a tree.
        direct: for answers read in the results of a search for the whole question.
        pointed: likewise, for answers of which the model named the sentences.
        step: for a single step.
        sure: from this probability on, no direct answer competes with the tree's.
        settled: from this probability on, an answer read in the passages of documents nearest to the question needs no
            plan.
        settled_articles: the same where the passages are of articles; None: those are not read before a plan is made.
        accept_articles: below this probability, what was read in articles before the plan is no answer.
        accept: answers below this probability are declined. Without a card the values are not probabilities, so the
            limit is lower.
        accept_pointed: the same for answers of which the model named the sentences.
    """

    tree: LogisticModel = field(default=LogisticModel(0.6, _TREE))
    direct: LogisticModel = field(default=LogisticModel(0.2, _READ))
    step: LogisticModel = field(default=LogisticModel(1.2, _LOOKED_UP))
    sure: float = 0.6
    accept: float = 0.3
    pointed: LogisticModel = field(default=LogisticModel(0.2, _READ))
    settled: float = 0.75
    accept_pointed: float = 0.3
    settled_articles: float | None = None
    accept_articles: float = 0.3

    @classmethod
    def from_card(cls, card: Mapping[str, Any]) -> Calibration:
        """The calibration in an adapter's card; missing or malformed parts keep their defaults."""
        given = card.get("calibration")
        if not isinstance(given, dict):
            return cls()
        default = cls()
        models = given.get("model")
        models = models if isinstance(models, dict) else {}
        tree = LogisticModel.from_card(models.get("tree"))
        accept = min(max(number(given.get("accept"), _ACCEPT if tree else default.accept), 0.0), 1.0)
        pointed = min(max(number(given.get("accept_pointed"), accept), 0.0), 1.0)
        articles = number(given.get("settled_articles"))
        return cls(
            tree or default.tree,
            LogisticModel.from_card(models.get("direct")) or default.direct,
            LogisticModel.from_card(models.get("step")) or default.step,
            number(given.get("sure"), default.sure),
            accept,
            LogisticModel.from_card(models.get("pointed")) or default.pointed,
            number(given.get("settled"), default.settled),
            pointed,
            None if math.isnan(articles) else articles,
            number(given.get("accept_articles"), pointed),
        )

    def bound(self, given: Mapping[str, float]) -> float:
        """The probability below which an answer with these signals is declined."""
        return self.accept_pointed if POINTED in given else self.accept

    def of_whole(self, given: Mapping[str, float]) -> float:
        """The probability that an answer to the whole question at once is right.

        Cards say nothing of answers from the model's own knowledge: the default model weighs those.
        """
        model = Calibration().direct if MEMORY in given else self.direct
        if POINTED in given:
            model = self.pointed
        return model.probability(given)


# Confidence in words.

NOT_FOUND = "not found"
# Lowest confidence (calibrated, 0 to 1) for each word, highest first; "not sure" below all of them.
_LEVELS = ((0.8, "well supported"), (0.6, "probably"))
_LEAST_FOR = "not sure"
_SYMBOLS = {"well supported": "✓", "probably": "≈", _LEAST_FOR: "⚠"}
CONFIDENCE_WORDS = tuple(_SYMBOLS)


def confidence_word(confidence: float) -> str:
    """ "well supported", "probably" or "not sure"."""
    return next((word for least, word in _LEVELS if confidence >= least), _LEAST_FOR)


def confidence_levels() -> list[tuple[float, str, str]]:
    """Lowest confidence, word and sign of every level, the surest first."""
    return [(least, word, _SYMBOLS[word]) for least, word in (*_LEVELS, (0.0, _LEAST_FOR))]


def confidence_symbol(confidence: float) -> str:
    """A sign for the word, for where colour alone would tell it: "✓", "≈" or "⚠"."""
    return _SYMBOLS[confidence_word(confidence)]


def confidence_text(confidence: float | None) -> str:
    """Word and figure, such as "probably, confidence 0.71"; empty if the confidence is not known."""
    return "" if confidence is None else f"{confidence_word(confidence)}, confidence {confidence:.2f}"


def confidence_value(confidence: float) -> str:
    """Word and figure without the label: "probably, 0.71"."""
    return f"{confidence_word(confidence)}, {confidence:.2f}"


def status_word(status: str) -> str:
    """A trace's status for people: "not found" for "unknown", else the status itself."""
    return NOT_FOUND if status == "unknown" else status
