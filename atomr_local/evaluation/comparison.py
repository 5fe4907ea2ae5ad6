"""Two runs side by side, over the questions that both answered."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.evaluation.bootstrap import paired_difference
from atomr_local.evaluation.datasets import Prediction
from atomr_local.evaluation.diagnosis import Diagnosis, count_stages, diagnose
from atomr_local.evaluation.report import METRICS, damaged, metric_values, question_of_prediction
from atomr_local.evaluation.run_directory import RunDirectory

Pair = tuple[Prediction, Prediction]


def compare_runs(first: Path, second: Path) -> dict[str, Any]:
    """Paired difference, second minus first, over the questions that both runs answered.

    Returns:
        {"n", metric: {"first", "second", "difference": {"value", "low", "high", "p"}}, …} in %, of the questions that
        have an answer; "by_type": the same for each type of question; "wins" and "losses": the questions whose F1 is
        higher or lower in the second run, the largest change first, and "ties", their number; "seconds": means a
        question; "diagnosis": of each run, {"wrong", "stages"} as in its report.

    Raises:
        InputError: a directory holds no run or a damaged one, they have no question in common, or a common id stands
            for another question or other gold answers.
    """
    runs = [RunDirectory(path) for path in (first, second)]
    found = []
    for run in runs:
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
    kinds = {pair[0].id: str(pair[0].fields.get("type") or "(none)") for pair in pairs}
    by_type: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_type.setdefault(kinds[pair[0].id], []).append(pair)
    changed = sorted((_change(pair, kinds[pair[0].id]) for pair in pairs), key=lambda change: -abs(_gain(change)))
    return {
        **_figures(pairs),
        "seconds": {
            name: _mean_seconds([pair[side] for pair in pairs]) for side, name in enumerate(("first", "second"))
        },
        "by_type": {
            kind: _figures(items) for kind, items in sorted(by_type.items(), key=lambda item: (-len(item[1]), item[0]))
        },
        "wins": [change for change in changed if _gain(change) > 0],
        "losses": [change for change in changed if _gain(change) < 0],
        "ties": sum(_gain(change) == 0 for change in changed),
        "diagnosis": {
            "first": _stages(runs[0], {pair[0].id: pair[0] for pair in pairs}),
            "second": _stages(runs[1], {pair[1].id: pair[1] for pair in pairs}),
        },
    }


def _figures(pairs: Sequence[Pair]) -> dict[str, Any]:
    figures: dict[str, Any] = {"n": len(pairs)}
    pairs = [pair for pair in pairs if pair[0].answerable] or pairs
    for metric in METRICS:
        values = [metric_values([pair[side] for pair in pairs], metric) for side in (0, 1)]
        figures[metric] = {
            "first": round(100 * statistics.fmean(values[0]), 2),
            "second": round(100 * statistics.fmean(values[1]), 2),
            "difference": asdict(paired_difference(*values)),
        }
    return figures


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
    """None where a line does not tell, or tells something other than a number."""
    seconds = [prediction.fields.get("seconds") for prediction in predictions]
    known = [float(value) for value in seconds if isinstance(value, int | float)]
    return round(statistics.fmean(known), 2) if len(known) == len(seconds) else None


def _stages(run: RunDirectory, predictions: Mapping[str, Prediction]) -> dict[str, Any]:
    diagnoses: list[Diagnosis] = []
    for trace in run.traces():
        prediction = predictions.get(trace["id"])
        if prediction is None:
            continue
        try:
            found = diagnose(question_of_prediction(run.path, prediction), trace)
        except (KeyError, TypeError, AttributeError) as error:
            raise damaged(run, trace, error) from error
        if found is not None:
            diagnoses.append(found)
    return {"wrong": len(diagnoses), "stages": count_stages(diagnoses)}
