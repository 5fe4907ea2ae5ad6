"""Combinations of the answers that a question rests on, one candidate of each step (RoHT, section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from atomr_local.reasoning.candidates import Candidate
from atomr_local.reasoning.results import Result


@dataclass(frozen=True)
class Combination:
    """One candidate of each step that is referred to.

    Attributes:
        results: of all steps, those of the referred ones with the chosen candidate alone.
        scores: of the chosen candidates; 0 for a step without an answer, None where it is not known.
    """

    results: Mapping[int, Result]
    scores: tuple[float | None, ...] = ()


def combinations(results: Mapping[int, Result], steps: Sequence[int], cap: int) -> tuple[list[Combination], int]:
    """The `cap` combinations with the highest mean score, best first, and how many others there are.

    Without steps there is one, which chooses nothing.
    """
    columns = [_candidates(results.get(step, Result())) for step in steps]
    # The best sums over all columns continue the best ones over the first columns, so that no others are kept.
    best: list[tuple[Candidate, ...]] = [()]
    for column in columns:
        longer = [(*chosen, one) for chosen in best for one in column]
        best = sorted(longer, key=lambda chosen: -sum(one.score or 0.0 for one in chosen))[:cap]
    made = [
        Combination(
            {**results, **{step: _only(results, step, one) for step, one in zip(steps, chosen, strict=True)}},
            tuple(one.score for one in chosen),
        )
        for chosen in best
    ]
    return made, math.prod(map(len, columns)) - len(made)


def _candidates(result: Result) -> list[Candidate]:
    if not result.values:
        return [Candidate((), 0.0, "")]
    own = Candidate(result.values, result.confidence, "", tuple(result.cited))
    known = [one for one in result.candidates if one.values]
    if not known:
        return [own]
    # The winner's values may know more: what they denote, and what they are values of.
    return [replace(known[0], values=own.values), *known[1:]]


def _only(results: Mapping[int, Result], step: int, chosen: Candidate) -> Result:
    known = results.get(step, Result())
    return replace(known, values=chosen.values, cited=list(chosen.evidence), confidence=chosen.score, none=False)
