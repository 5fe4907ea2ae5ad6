"""Beam search over an unsure step: its alternative answers are tried in the step that depends on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from atomr_local.reasoning.answer_selection.answer_signals import raw_confidence
from atomr_local.reasoning.confidence.signals import READING
from atomr_local.reasoning.results import Result, add_evidence, product_confidence


def surest_pair(earlier: Result, result: Result, answer_after: Callable[[Result], Result]) -> tuple[Result, Result]:
    """The results of the earlier and of the dependent step with the highest confidence together.

    Args:
        earlier: the result of an unsure step, with alternatives.
        result: the dependent step's result after `earlier`; it receives the evidence of every trial.
        answer_after: runs the dependent step after another result of the earlier one.
    """
    best_earlier, best = earlier, result
    best_confidence = _together(raw_confidence(earlier), result)
    for value, confidence in earlier.others:
        trial = replace(earlier, values=(value,), confidence=confidence, others=(), signals={READING: confidence})
        found = answer_after(trial)
        together = _together(confidence, found)
        if together > best_confidence:
            best_earlier, best, best_confidence = trial, found, together
        add_evidence(result.evidence, found.evidence)
    if best_earlier is not earlier:
        best.evidence = result.evidence
    return best_earlier, best


def _together(earlier: float | None, result: Result) -> float:
    """Confidence of two steps together; 0 if the operator of the second gave no answer."""
    if not result.values or result.method != "operator":
        return 0.0
    return product_confidence(earlier, raw_confidence(result)) or 0.0
