"""Compares two runs on the questions that both answered."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.evaluation.bootstrap import paired_difference
from atomr_local.evaluation.datasets import Prediction
from atomr_local.evaluation.diagnosis import diagnose
from atomr_local.evaluation.report import METRICS, checked_trace, metric_values, question_of_prediction
from atomr_local.evaluation.run_directory import RunDirectory
from atomr_local.evaluation.stages import Diagnosis, count_stages

Pair = tuple[Prediction, Prediction]
_SIDES = ("first", "second")


def compare_runs(first: Path, second: Path) -> dict[str, Any]:
    """Paired difference, second minus first, over the questions that both runs answered.

    Returns:
        What :func:`paired_figures` gives; "by_type": the same for each type of question; "wins" and "losses": the
        questions whose F1 is higher or lower in the second run, the largest change first, and "ties", their number;
        "seconds": means a question; "diagnosis": of each run, {"wrong", "stages"} as in its report.

    Raises:
        InputError: a directory holds no run or a damaged one, they have no question in common, or a common id stands
            for another question or other gold answers.
    """
    pairs = pairs_of(first, second)
    kinds = {pair[0].id: str(pair[0].fields.get("type") or "(none)") for pair in pairs}
    by_type: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_type.setdefault(kinds[pair[0].id], []).append(pair)
    changed = sorted((_change(pair, kinds[pair[0].id]) for pair in pairs), key=lambda change: -abs(_gain(change)))
    return {
        **paired_figures(pairs),
        "seconds": {name: _mean_seconds([pair[side] for pair in pairs]) for side, name in enumerate(_SIDES)},
        "by_type": {
            kind: paired_figures(items)
            for kind, items in sorted(by_type.items(), key=lambda item: (-len(item[1]), item[0]))
        },
        "wins": [change for change in changed if _gain(change) > 0],
        "losses": [change for change in changed if _gain(change) < 0],
        "ties": sum(_gain(change) == 0 for change in changed),
        "diagnosis": {
            "first": _stages(RunDirectory(first), {pair[0].id: pair[0] for pair in pairs}),
            "second": _stages(RunDirectory(second), {pair[1].id: pair[1] for pair in pairs}),
        },
    }


def pairs_of(first: Path, second: Path) -> list[Pair]:
    """What two runs predicted for the questions that both answered.

    Raises:
        InputError: see :func:`compare_runs`.
    """
    found = []
    for run in (RunDirectory(first), RunDirectory(second)):
        run.description()
        found.append({prediction.id: prediction for prediction in run.predictions()})
    pairs = [(prediction, found[1][key]) for key, prediction in found[0].items() if key in found[1]]
    if not pairs:
        raise InputError(f"{first} and {second} have no question in common")
    for one, other in pairs:
        if (one.question, set(one.gold)) != (other.question, set(other.gold)):
            raise InputError(
                f"the id {one.id!r} stands for another question or other answers in {second} than in {first}",
                hint="Compare runs of one question set.",
            )
    return pairs


def paired_figures(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Both sides of the pairs, and their paired difference, second minus first.

    Returns:
        {"n", name: {"first", "second", "difference": {"value", "low", "high", "p"}}, …} in %. The names are METRICS, of
        the questions that have an answer; and "coverage", the share of all questions that were answered. "precision",
        the mean F1 of the answers given, has no difference, for the two sides answer different questions; None on a
        side that answers none.
    """
    figures: dict[str, Any] = {"n": len(pairs)}
    with_answer = [pair for pair in pairs if pair[0].answerable] or pairs
    for metric in METRICS:
        figures[metric] = _sides(*(metric_values([pair[side] for pair in with_answer], metric) for side in (0, 1)))
    given = [[float(bool(pair[side].predicted.strip())) for pair in pairs] for side in (0, 1)]
    figures["coverage"] = _sides(*given)
    figures["precision"] = {name: _precision([pair[side] for pair in pairs]) for side, name in enumerate(_SIDES)}
    return figures


def _sides(first: list[float], second: list[float]) -> dict[str, Any]:
    return {
        "first": round(100 * statistics.fmean(first), 2),
        "second": round(100 * statistics.fmean(second), 2),
        "difference": asdict(paired_difference(first, second)),
    }


def _precision(predictions: Sequence[Prediction]) -> float | None:
    scores = [item.score.f1 for item in predictions if item.predicted.strip()]
    return round(100 * statistics.fmean(scores), 2) if scores else None


def _change(pair: Pair, kind: str) -> dict[str, Any]:
    one, other = pair
    return {
        "id": one.id,
        "type": kind,
        "question": one.question,
        "gold": list(one.gold),
        "first": {"predicted": one.predicted, "f1": round(one.score.f1, 4)},
        "second": {"predicted": other.predicted, "f1": round(other.score.f1, 4)},
    }


def _gain(change: Mapping[str, Any]) -> float:
    return float(change["second"]["f1"] - change["first"]["f1"])


def _mean_seconds(predictions: Sequence[Prediction]) -> float | None:
    """None if a line has none, or something other than a number."""
    seconds = [prediction.fields.get("seconds") for prediction in predictions]
    known = [float(value) for value in seconds if isinstance(value, int | float)]
    return round(statistics.fmean(known), 2) if len(known) == len(seconds) else None


def _stages(run: RunDirectory, predictions: Mapping[str, Prediction]) -> dict[str, Any]:
    diagnoses: list[Diagnosis] = []
    for trace in run.traces():
        prediction = predictions.get(trace["id"])
        if prediction is None:
            continue
        with checked_trace(run, trace):
            found = diagnose(question_of_prediction(run.path, prediction), trace)
        if found is not None:
            diagnoses.append(found)
    return {"wrong": len(diagnoses), "stages": count_stages(diagnoses)}
