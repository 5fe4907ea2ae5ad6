"""Signals for and against an answer: named numbers from 0 to 1.

An absent signal is unknown. A step's signals are in its result and in the trace; `calibration.py` turns them into one
probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from atomr_local.backbone.protocol import Generation

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
    inside: list[float] = []
    at = 0
    for token in completion.tokens:
        if at < end and at + len(token.text) > begin:
            inside.append(token.logprob)
        at += len(token.text)
    return sum(inside) / len(inside) if inside else math.nan


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
