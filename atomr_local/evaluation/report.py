"""The report of a run: scores with intervals, cost, plans, nodes, and diagnosis of wrong answers."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.evaluation.bootstrap import mean_interval
from atomr_local.evaluation.datasets import Prediction, Question, question_of, summarize
from atomr_local.evaluation.declining import confidence_figures, declining_figures
from atomr_local.evaluation.diagnosis import diagnose
from atomr_local.evaluation.metrics import same_value
from atomr_local.evaluation.plan_structure import PlanVerdict, gold_structures, judge_plan, plan_figures
from atomr_local.evaluation.records import DatasetRecord
from atomr_local.evaluation.run_directory import PREDICTIONS_FILE, RunDirectory, write_file
from atomr_local.evaluation.stages import Diagnosis, count_stages
from atomr_local.tree.nodes import ROOT_ID

REPORT_FILE = "report.json"
DIAGNOSIS_FILE = "diagnosis.jsonl"
SCHEMA = "atomr.eval-report/1"
PLANNING_STRATEGY = "atomr"
METRICS = ("em", "cover_em", "f1", "guess_f1", "value_em")
_COSTS = ("llm_calls", "prompt_tokens", "evaluated_tokens", "generated_tokens")
_WARNINGS_KEPT = 10


@dataclass
class Usage:
    """What the traces of a run add up to."""

    seconds: list[float] = field(default_factory=list)
    costs: Counter[str] = field(default_factory=Counter)
    retrievals: Counter[str] = field(default_factory=Counter)
    status: Counter[str] = field(default_factory=Counter)
    basis: Counter[str] = field(default_factory=Counter)
    plans: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    made_with: Counter[str] = field(default_factory=Counter)
    support: Counter[str] = field(default_factory=Counter)
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
        self.support[_support(trace)] += trace["status"] == "answered"
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
            "support": {name: count for name, count in self.support.most_common() if count},
            "plan_origin": dict(self.plans.most_common()),
            "nodes": {"total": self.nodes, "errors": self.node_errors, "methods": dict(self.methods.most_common())},
            "warnings": {
                "total": self.warnings.total(),
                "most_frequent": dict(self.warnings.most_common(_WARNINGS_KEPT)),
            },
        }


def _support(trace: Mapping[str, Any]) -> str:
    """Whether the evidence that the answer cites contains it: "supported", "not supported", or "not checked"."""
    root: Mapping[str, Any] = next((node for node in trace["nodes"] if node["id"] == ROOT_ID), {})
    checked = root.get("supported")
    return "not checked" if checked is None else "supported" if checked else "not supported"


def build_report(directory: Path, gold_plans: Path | None = None) -> dict[str, Any]:
    """Make report.json and diagnosis.jsonl of a run from its predictions and traces.

    Args:
        gold_plans: JSON lines {"id", "plan"}, by which plans are judged instead of by the gold evidences.

    Returns:
        What report.json holds: "scores" (each metric's value, low and high, in %, over the questions that have an
        answer), "by_type" and "by_kind", "declining" and "confidence" (see `declining`), "made_with" (the
        traces' settings; more than one where a run was resumed with another model file behind the same name),
        "cost" (means a question), "status", "basis", "support" (of answers, by the evidence that they cite),
        "plan_origin", "plans" (see `plan_structure`; None if no planning strategy ran), "nodes", "diagnosis" and
        "warnings".

    Raises:
        InputError: the directory holds no run, no finished question, or a damaged file; or the gold plans are bad.
    """
    run = RunDirectory(directory)
    description = run.description()
    predictions = run.predictions()
    if not predictions:
        raise InputError(f"{directory} has no finished question yet", hint="Run `atomr eval run` again.")
    by_id = {prediction.id: prediction for prediction in predictions}
    questions = {key: question_of_prediction(directory, prediction) for key, prediction in by_id.items()}
    gold = gold_structures(list(questions.values()), gold_plans)
    usage = Usage()
    diagnoses: dict[str, Diagnosis] = {}
    verdicts: list[tuple[str, PlanVerdict]] = []
    for trace in run.traces():
        question = questions.get(trace["id"])
        if question is None:
            continue
        with checked_trace(run, trace):
            usage.add(trace)
            if (found := diagnose(question, trace)) is not None:
                diagnoses[question.id] = found
            if trace["strategy"] == PLANNING_STRATEGY and (trace["nodes"] or trace["status"] != "unknown"):
                verdicts.append((question.type, judge_plan(question.question, trace["plan"], gold.get(question.id))))
    report = {
        "schema": SCHEMA,
        "run": description,
        "n": len(predictions),
        "scores": {metric: asdict(mean_interval(metric_values(scored(predictions), metric))) for metric in METRICS},
        "by_type": _by(predictions, "type", "kind"),
        "by_kind": _by([item for item in predictions if item.fields.get("kind")], "kind"),
        "declining": declining_figures(predictions),
        "confidence": confidence_figures(predictions),
        **usage.to_dict(),
        "plans": plan_figures(verdicts),
        "diagnosis": {"wrong": len(diagnoses), "stages": count_stages(list(diagnoses.values()))},
    }
    write_file(directory / DIAGNOSIS_FILE, "".join(_diagnosis_line(by_id[key], diagnoses[key]) for key in diagnoses))
    write_file(directory / REPORT_FILE, json.dumps(report, indent=1) + "\n")
    return report


def question_of_prediction(directory: Path, prediction: Prediction) -> Question:
    """The question as the run's prediction line carries it along.

    Raises:
        InputError: the line's gold fields are damaged.
    """
    return question_of(DatasetRecord(directory / PREDICTIONS_FILE, 0, prediction.fields))


@contextmanager
def checked_trace(run: RunDirectory, trace: Mapping[str, Any]) -> Iterator[None]:
    """What is missing in the trace, or of another type, is damage.

    Raises:
        InputError: the trace is damaged.
    """
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        where = f"{run.traces_file}: the trace of {trace['id']!r}"
        raise InputError(f"{where} is not an atomr.trace/1 ({error!r})") from error


def metric_values(predictions: Sequence[Prediction], metric: str) -> list[float]:
    """One of METRICS for each prediction, 0 to 1."""
    if metric == "guess_f1":
        return [item.guess_score.f1 for item in predictions]
    if metric == "value_em":
        return [float(any(same_value(item.predicted, gold) for gold in item.gold)) for item in predictions]
    return [float(getattr(item.score, metric)) for item in predictions]


def scored(predictions: Sequence[Prediction]) -> list[Prediction]:
    """Those whose questions have an answer; all where none has one."""
    return [item for item in predictions if item.answerable] or list(predictions)


def _by(predictions: Sequence[Prediction], *keys: str) -> dict[str, dict[str, float]]:
    """The figures by the first of these fields that a question has, the most frequent value first."""
    grouped: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        name = next((str(value) for key in keys if (value := prediction.fields.get(key))), "(none)")
        grouped.setdefault(name, []).append(prediction)
    return {
        name: asdict(summarize(items))
        for name, items in sorted(grouped.items(), key=lambda pair: (-len(pair[1]), pair[0]))
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
