"""What a run came to: scores with intervals, cost, what the plans and nodes did, and where wrong answers went wrong."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.evaluation.bootstrap import mean_interval
from atomr_local.evaluation.datasets import Prediction, question_of
from atomr_local.evaluation.diagnosis import Diagnosis, Stage, count_stages, diagnose
from atomr_local.evaluation.metrics import same_value, summarize
from atomr_local.evaluation.records import Record
from atomr_local.evaluation.run_directory import PREDICTIONS_FILE, RunDirectory, write_file

REPORT_FILE = "report.json"
DIAGNOSIS_FILE = "diagnosis.jsonl"
SCHEMA = "atomr.eval-report/1"
METRICS = ("em", "cover_em", "f1", "value_em")
_COSTS = ("llm_calls", "prompt_tokens", "evaluated_tokens", "generated_tokens")
_WARNINGS_KEPT = 10


@dataclass
class _Usage:
    """What the traces add up to."""

    seconds: list[float] = field(default_factory=list)
    costs: Counter[str] = field(default_factory=Counter)
    retrievals: Counter[str] = field(default_factory=Counter)
    status: Counter[str] = field(default_factory=Counter)
    basis: Counter[str] = field(default_factory=Counter)
    plans: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    made_with: Counter[str] = field(default_factory=Counter)
    nodes: int = 0
    node_errors: int = 0

    def add(self, trace: Mapping[str, Any]) -> None:
        totals = trace["totals"]
        self.seconds.append(totals["seconds"])
        self.costs.update({name: totals[name] for name in _COSTS})
        self.retrievals.update(totals["retrievals"])
        self.made_with[json.dumps(trace["settings"], sort_keys=True)] += 1
        self.status[trace["status"]] += 1
        self.basis[trace["basis"]] += trace["status"] == "answered"
        self.plans[trace["plan"]["origin"]] += 1
        self.methods.update(node["method"] or "none" for node in trace["nodes"])
        self.warnings.update(trace["warnings"])
        self.nodes += len(trace["nodes"])
        self.node_errors += sum(node["error"] is not None for node in trace["nodes"])

    def to_dict(self) -> dict[str, Any]:
        n = len(self.seconds) or 1
        return {
            "made_with": [json.loads(text) | {"questions": count} for text, count in self.made_with.most_common()],
            "cost": {
                "seconds": round(statistics.fmean(self.seconds), 2) if self.seconds else 0.0,
                "seconds_median": round(statistics.median(self.seconds), 2) if self.seconds else 0.0,
                "seconds_max": round(max(self.seconds, default=0.0), 2),
                **{name: round(self.costs[name] / n, 1) for name in _COSTS},
                "retrievals": {name: round(count / n, 2) for name, count in sorted(self.retrievals.items())},
            },
            "status": dict(self.status.most_common()),
            "basis": {name: count for name, count in self.basis.most_common() if count},
            "plan_origin": dict(self.plans.most_common()),
            "nodes": {"total": self.nodes, "errors": self.node_errors, "methods": dict(self.methods.most_common())},
            "warnings": {
                "total": self.warnings.total(),
                "most_frequent": dict(self.warnings.most_common(_WARNINGS_KEPT)),
            },
        }


def build_report(directory: Path) -> dict[str, Any]:
    """Make report.json and diagnosis.jsonl of a run from its predictions and traces.

    Returns:
        What report.json holds: "scores" (each metric's value, low and high, in %), "by_type", "made_with" (the
        traces' settings; more than one where a run was resumed with another model file behind the same name),
        "cost" (means a question), "status", "basis", "plan_origin", "nodes", "diagnosis" and "warnings".

    Raises:
        InputError: the directory holds no run, no finished question, or a damaged file.
    """
    run = RunDirectory(directory)
    description = run.description()
    predictions = run.predictions()
    if not predictions:
        raise InputError(f"{directory} holds no finished question yet", hint="Run `atomr eval run` again.")
    by_id = {prediction.id: prediction for prediction in predictions}
    usage = _Usage()
    diagnoses: dict[str, Diagnosis] = {}
    for trace in run.traces():
        prediction = by_id.get(trace["id"])
        if prediction is None:
            continue
        try:
            usage.add(trace)
            found = diagnose(question_of(Record(directory / PREDICTIONS_FILE, 0, prediction.fields)), trace)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{run.traces_file}: the trace of {trace['id']!r} is not an atomr.trace/1 ({error!r})"
            ) from error
        if found is not None:
            diagnoses[prediction.id] = found
    report = {
        "schema": SCHEMA,
        "run": description,
        "n": len(predictions),
        "scores": {metric: asdict(mean_interval(_values(predictions, metric))) for metric in METRICS},
        "by_type": _by_type(predictions),
        **usage.to_dict(),
        "diagnosis": {"wrong": len(diagnoses), "stages": count_stages(list(diagnoses.values()))},
    }
    write_file(directory / DIAGNOSIS_FILE, "".join(_diagnosis_line(by_id[key], diagnoses[key]) for key in diagnoses))
    write_file(directory / REPORT_FILE, json.dumps(report, indent=1) + "\n")
    return report


def compare_runs(first: Path, second: Path) -> dict[str, Any]:
    """Paired difference, second minus first, over the questions that both runs answered.

    Returns:
        {"n", metric: {"first", "second", "difference": {"value", "low", "high"}}, …} in %.

    Raises:
        InputError: a directory holds no run, or they have no question in common.
    """
    runs = []
    for path in (first, second):
        directory = RunDirectory(path)
        directory.description()
        runs.append({prediction.id: prediction for prediction in directory.predictions()})
    common = [key for key in runs[0] if key in runs[1]]
    if not common:
        raise InputError(f"{first} and {second} have no question in common")
    compared: dict[str, Any] = {"n": len(common)}
    for metric in METRICS:
        values = [_values([run[key] for key in common], metric) for run in runs]
        differences = [second - first for first, second in zip(*values, strict=True)]
        means = [round(100 * statistics.fmean(part), 2) for part in values]
        compared[metric] = {
            "first": means[0],
            "second": means[1],
            "difference": asdict(mean_interval(differences)),
        }
    return compared


def stage_names() -> list[str]:
    return [str(stage) for stage in Stage]


def _values(predictions: Sequence[Prediction], metric: str) -> list[float]:
    if metric == "value_em":
        return [float(any(same_value(item.predicted, gold) for gold in item.gold)) for item in predictions]
    return [float(getattr(item.score, metric)) for item in predictions]


def _by_type(predictions: Sequence[Prediction]) -> dict[str, dict[str, float]]:
    grouped: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        grouped.setdefault(str(prediction.fields.get("type") or "(none)"), []).append(prediction)
    return {
        kind: summarize(item.score for item in items).to_dict()
        for kind, items in sorted(grouped.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    }


def _diagnosis_line(prediction: Prediction, diagnosis: Diagnosis) -> str:
    line = {
        "id": prediction.id,
        "question": prediction.question,
        "predicted": prediction.predicted,
        "gold": list(prediction.gold),
        **diagnosis.to_dict(),
    }
    return json.dumps(line) + "\n"
