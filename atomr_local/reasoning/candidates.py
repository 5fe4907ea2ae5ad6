"""Candidate answers with scores from several origins: fused, averaged, and put to the vote."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atomr_local.language.names import answer_key
from atomr_local.sources.protocol import Value

UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One possible answer.

    Attributes:
        values: the bare answers; empty for Unknown.
        score: larger is better, comparable among the candidates of one step; None if it is not known.
        origin: where it comes from, such as "text", "graph", "children" or "model".
        evidence: ids of the evidence that it rests on.
    """

    values: tuple[Value, ...]
    score: float | None
    origin: str
    evidence: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        return ", ".join(value.text for value in self.values) if self.values else UNKNOWN

    @property
    def key(self) -> str:
        """What equal answers share: the words without case, articles and punctuation, in any order of the values."""
        return "; ".join(sorted(answer_key(value.text) for value in self.values))

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Candidate:
        """The candidate that :meth:`to_dict` wrote; several answers come back as one text."""
        answer = str(given["answer"])
        values = () if answer == UNKNOWN else (Value(answer),)
        return cls(values, given["score"], str(given["origin"]), tuple(given["evidence"]))

    def to_dict(self) -> dict[str, Any]:
        """The candidate as events and the trace write it; a score that JSON cannot write is None."""
        score = None if self.score is None or not math.isfinite(self.score) else self.score
        return {"answer": self.answer, "score": score, "origin": self.origin, "evidence": list(self.evidence)}


def _rank(candidate: Candidate) -> float:
    return -math.inf if candidate.score is None else candidate.score


def fused(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Equal answers once, with their best score, best first; ties keep their order (RoHT, section 3.4)."""
    best: dict[str, Candidate] = {}
    for candidate in candidates:
        known = best.get(candidate.key)
        if known is None or _rank(candidate) > _rank(known):
            best[candidate.key] = candidate
    return sorted(best.values(), key=_rank, reverse=True)


def top(candidates: Iterable[Candidate], k: int) -> list[Candidate]:
    """The `k` best of the fused candidates."""
    return fused(candidates)[:k]


def mean(scores: Iterable[float | None]) -> float | None:
    """The mean of the known scores; None if there is none."""
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True)
class Vote:
    """The outcome of a vote.

    Attributes:
        answer: the winner as it was first written; "" if nobody gave an answer.
        share: of all votes, those without an answer included, 0 to 1.
        counts: by each answer as it was first written, most votes first.
    """

    answer: str
    share: float
    counts: Mapping[str, int] = field(default_factory=dict)


def vote(answers: Sequence[str]) -> Vote:
    """The most frequent answer (self-consistency: Wang et al., 2023).

    Answers are compared as the scorer compares them. The first seen wins a tie. Unknown and empty answers never win.
    """
    written: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for answer in answers:
        key = answer_key(answer)
        if key and key != "unknown":
            written.setdefault(key, answer)
            counts[key] += 1
    if not counts:
        return Vote("", 0.0)
    ordered = sorted(counts, key=lambda key: -counts[key])
    return Vote(written[ordered[0]], counts[ordered[0]] / len(answers), {written[key]: counts[key] for key in ordered})
