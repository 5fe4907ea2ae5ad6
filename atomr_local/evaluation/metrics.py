"""Exact match, cover exact match and token F1, equal to the scorer of the published predictions.

Answers are compared in the normal form of `language/answer_key.py`. Its hyphens, which differ from the SQuAD script's,
are what reproduces all fifteen published figures of AtomR.

An answer's score is its best over the gold answers (SQuAD). F1 follows the HotpotQA evaluation script (Yang et al.,
2018): where prediction or gold is exactly yes, no or noanswer and the two differ, F1 is 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from atomr_local.language.answer_key import answer_key
from atomr_local.language.literals import parse_date, parse_quantity
from atomr_local.language.names import name_key

_CLOSED_ANSWERS = frozenset({"yes", "no", "noanswer"})


@dataclass(frozen=True, slots=True)
class Score:
    """Scores of one answer, or means over many; each 0 to 1."""

    em: float
    cover_em: float
    f1: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Means in %, rounded to two decimals; in the order of the contract.

    Attributes:
        n: questions.
        em, cover_em, f1: over the questions that have an answer; one that was declined counts as wrong.
        guess_f1: the same with the best guess counted where the question was declined.
        precision: mean F1 of the answers that were given; an answer to a question that has none counts as wrong.
        coverage: share of all questions that were answered.
    """

    n: int
    em: float
    cover_em: float
    f1: float
    guess_f1: float
    precision: float
    coverage: float


def exact_match(predicted: str, gold: str) -> bool:
    return answer_key(predicted) == answer_key(gold)


def cover_match(predicted: str, gold: str) -> bool:
    """Whether the normalised gold answer stands anywhere in the normalised prediction."""
    expected = answer_key(gold)
    found = answer_key(predicted)
    return expected in found if expected else not found


def token_f1(predicted: str, gold: str) -> float:
    """Harmonic mean of token precision and recall, tokens counted with multiplicity."""
    found, expected = answer_key(predicted), answer_key(gold)
    if found != expected and not _CLOSED_ANSWERS.isdisjoint((found, expected)):
        return 0.0
    found_tokens, expected_tokens = found.split(), expected.split()
    common = (Counter(found_tokens) & Counter(expected_tokens)).total()
    return 2 * common / (len(found_tokens) + len(expected_tokens)) if common else 0.0


def same_value(one: str, other: str) -> bool:
    """Whether two answers denote the same thing, in any form.

    Beyond :func:`exact_match`: one date or quantity written two ways ("1987-10-05", "October 5, 1987"), and names
    that differ only in accents and punctuation. Not part of the published scorer; reported beside it.
    """
    if exact_match(one, other):
        return True
    if not one.strip() or not other.strip():
        return False
    if name_key(one) == name_key(other):
        return True
    for parse in (parse_date, parse_quantity):
        first, second = parse(one), parse(other)
        if first is not None and first == second:
            return True
    return False


def score_answer(predicted: str, golds: Sequence[str]) -> Score:
    """The answer's best score, metric by metric, over the gold answers.

    Without any the question has no answer: saying nothing is right then, anything else wrong (SQuAD 2.0).
    """
    if not golds:
        nothing = float(not answer_key(predicted))
        return Score(nothing, nothing, nothing)
    return Score(
        em=float(any(exact_match(predicted, gold) for gold in golds)),
        cover_em=float(any(cover_match(predicted, gold) for gold in golds)),
        f1=max(token_f1(predicted, gold) for gold in golds),
    )


def mean_percent(values: Iterable[float]) -> float:
    """The mean in %, rounded to two decimals; zero over no values."""
    counted = list(values)
    return round(100 * sum(counted) / len(counted), 2) if counted else 0.0
