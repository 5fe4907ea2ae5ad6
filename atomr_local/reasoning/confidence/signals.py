"""Signals for and against an answer: named numbers from 0 to 1.

A signal that is not there is not known. A step's signals are in its result and in the trace; `calibration.py` makes one
probability of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from atomr_local.backbone.protocol import Generation

# exp of the mean log-probability of the tokens that the model wrote.
READING = "reading"
# Probability of Unknown where the answer begins, against the token that was written there.
NULL = "null"
# Probability that the model, asked whether the evidence says so, says yes.
VERIFY = "verify"
# How surely the graph linked the entity and matched the relation, and whether its values are of the type asked for.
LINK = "link"
RELATION = "relation"
TYPE_FIT = "type_fit"
# 1 where two pieces of evidence from different places hold the answer, 0 where only one of several does.
AGREE = "agree"
# 1 where every answer stands in the evidence that it cites, 0 where one does not.
SUPPORT = "support"
# Share of the question's telling words that the cited evidence holds.
MENTIONED = "mentioned"
# What the span reader says: the probability that the passages answer the question, and that they do with this answer.
ANSWERABLE = "answerable"
SPAN = "span"
# 1 if the model was not allowed to say Unknown.
GUESS = "guess"

# 1 if the model answered from its own knowledge.
MEMORY = "memory"

# Of an answer that rests on several steps; the signals above are then those of the step that they speak against most.
# Product of the confidences of everything that was looked up or read.
LEAVES = "leaves"
# Product of the steps' VERIFY.
VERIFIED = "verified"
# 1 if the answer was computed of the steps' answers.
COMPUTED = "computed"
# Share of the steps that were answered by direct RAG, their operator having given nothing; and of those without answer.
FALLBACK = "fallback"
UNFINISHED = "unfinished"
# How many steps, and how many answers.
STEPS = "steps"
ANSWERS = "answers"
# 1 if the answer only repeats what the question names.
NAMED = "named"
# Whether another way to the whole question came to the same answer.
RIVAL = "rival"
# Before the names of the signals of the answer that did not stand.
OTHER = "other."

# The larger, the worse.
_AGAINST = frozenset({NULL, GUESS, MEMORY})


def worst(several: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Of each signal the value that speaks most against the answer."""
    result: dict[str, float] = {}
    for signals in several:
        for name, value in signals.items():
            known = result.get(name, value)
            result[name] = max(known, value) if name in _AGAINST else min(known, value)
    return result


def null_score(completion: Generation, before: str) -> float | None:
    """The reader's null score (Devlin et al., 2019, section 4.3, as a probability): p₀ / (p₀ + p₁) of the first token
    of Unknown and of the token that was written in its place. p₀ alone where Unknown was written.

    Args:
        completion: made with Unknown as its first watched text, behind `before`.

    Returns:
        None if the model does not tell, and where an answer begins with the same token as Unknown.
    """
    unknown = completion.watched[0] if completion.watched else math.nan
    first = _logprob_behind(completion, before)
    if first is None or math.isnan(unknown) or math.isnan(first):
        return None
    if completion.text[len(before) :].startswith("Unknown"):
        return math.exp(unknown)
    return None if unknown == first else _share(unknown, first)


def said_yes(completion: Generation) -> float | None:
    """P(yes) against P(no) of an answer to the question whether something is so, in small letters or capitals.

    Args:
        completion: yes or no, with the watched texts yes, no, Yes and No.

    Returns:
        None if the model does not tell.
    """
    watched = [-math.inf if math.isnan(logprob) else logprob for logprob in completion.watched]
    if len(watched) == 4 and max(watched) > -math.inf:
        return _share(max(watched[0], watched[2]), max(watched[1], watched[3]))
    said = completion.mean_probability
    if said is None:
        return None
    return said if completion.text.strip().casefold() == "yes" else 1.0 - said


def token_shares(completion: Generation, written: Sequence[str], before: str) -> list[float | None]:
    """exp of the mean log-probability of the tokens of each text of a list; None for one that is not found as such.

    Args:
        written: texts in the order in which they stand in the completion, behind `before`.
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
    """Of the tokens that reach into this part of the text."""
    inside: list[float] = []
    at = 0
    for token in completion.tokens:
        if at < end and at + len(token.text) > begin:
            inside.append(token.logprob)
        at += len(token.text)
    mean = sum(inside) / len(inside) if inside else math.nan
    return None if math.isnan(mean) else math.exp(mean)


def _logprob_behind(completion: Generation, before: str) -> float | None:
    so_far = ""
    for token in completion.tokens:
        if so_far == before:
            return token.logprob
        so_far += token.text
    return None


def _share(one: float, other: float) -> float:
    """exp(one) / (exp(one) + exp(other)), without loss where both are small."""
    return 1.0 / (1.0 + math.exp(max(-700.0, min(700.0, other - one))))
