"""The report of a run: scores with intervals, cost, plans, nodes, and diagnosis of wrong answers."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.datasets import DatasetRecord, Prediction, Question, load_plans, question_of, summarize
from atomr_lab.evaluation.diagnosis import Diagnosis, count_stages, diagnose, gold_hops
from atomr_lab.evaluation.metrics import SEED, Interval, mean_interval, paired_difference, same_value
from atomr_lab.evaluation.runs import PREDICTIONS_FILE, RunDirectory, write_file
from atomr_local.errors import InputError
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import ROOT_ID, Node, NodeKind, Tree
from atomr_local.tree.validation import Limits, check

# Measures declining, and how well confidence separates right answers from wrong ones.
#
# A question's guess is its answer, or, where it was declined, the best answer that was found all the same. A guess is
# right with a token F1 of at least :data:`RIGHT_F1`, or where it denotes a gold answer in another form; to a question
# that has no answer no guess is right.

RIGHT_F1 = 0.6
PRECISION = 0.9
_BINS = 10
_RESAMPLES = 1000
_TAIL = 2.5

Judged = Sequence[tuple[float, bool]]
"""Confidence of each guess, and whether it is right."""


def is_right(prediction: Prediction) -> bool:
    """Whether the guess is right; see the module."""
    if not prediction.answerable or not prediction.guess:
        return False
    return prediction.guess_score.f1 >= RIGHT_F1 or any(same_value(prediction.guess, gold) for gold in prediction.gold)


def auroc(judged: Judged) -> float:
    """The probability that a right guess has more confidence than a wrong one, ties counted half (Hanley and McNeil,
    1982); 0.5 where all are right or all are wrong."""
    right = sum(1 for _, correct in judged if correct)
    wrong = len(judged) - right
    if not right or not wrong:
        return 0.5
    below, wins = 0, 0.0  # wrong ones with less confidence; pairs that are in order
    for _, tied in groupby(sorted(judged), key=itemgetter(0)):
        verdicts = [correct for _, correct in tied]
        here = sum(verdicts)
        wins += here * (below + (len(verdicts) - here) / 2)
        below += len(verdicts) - here
    return wins / (right * wrong)


def calibration_error(judged: Judged) -> float:
    """Expected calibration error over ten bins of equal width: the mean distance of confidence from the share of right
    guesses, weighted by how many are in the bin (Guo et al., 2017)."""
    distances = [0.0] * _BINS
    for confidence, correct in judged:
        distances[min(int(confidence * _BINS), _BINS - 1)] += confidence - correct
    return sum(map(abs, distances)) / len(judged) if judged else 0.0


def coverage_at(judged: Judged, total: int, precision: float = PRECISION) -> float:
    """The largest share of `total` questions that a bound on confidence answers, with at least this share right."""
    best, right = 0, 0
    ordered = sorted(judged, reverse=True)
    for count, (confidence, correct) in enumerate(ordered, 1):
        right += correct
        ends = count == len(ordered) or ordered[count][0] < confidence  # a bound cannot part equal confidences
        if ends and right >= precision * count:
            best = count
    return best / total if total else 0.0


def declining_figures(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """Of a run.

    Returns:
        "precision" (mean F1 of the answers given) and "coverage" (share of questions answered), each {"value", "low",
        "high"} in %; "answerable" {"n", "declined", "right", "right_declined", "lost": % of right guesses that were
        declined}; "unanswerable" {"n", "declined", "share": %}.
    """
    given = [item for item in predictions if item.predicted]
    answerable = [item for item in predictions if item.answerable]
    unanswerable = [item for item in predictions if not item.answerable]
    right = [item for item in answerable if is_right(item)]
    lost = sum(not item.predicted for item in right)
    declined = sum(not item.predicted for item in unanswerable)
    return {
        "precision": asdict(mean_interval([item.score.f1 for item in given])),
        "coverage": asdict(mean_interval([float(bool(item.predicted)) for item in predictions])),
        "answerable": {
            "n": len(answerable),
            "declined": sum(not item.predicted for item in answerable),
            "right": len(right),
            "right_declined": lost,
            "lost": _percent(lost, len(right)),
        },
        "unanswerable": {
            "n": len(unanswerable),
            "declined": declined,
            "share": _percent(declined, len(unanswerable)),
        },
    }


def confidence_figures(predictions: Sequence[Prediction]) -> dict[str, Any] | None:
    """How well confidence separates right guesses from wrong ones, including unanswerable questions.

    Returns:
        "n" (guesses with a confidence), "auroc" and "ece" (0 to 1) and "coverage_at_90" (% of all questions), each
        {"value", "low", "high"} with 95% bootstrap intervals; None if no line has a confidence.
    """
    told = [
        (item.confidence, is_right(item)) if item.confidence is not None and item.guess else None
        for item in predictions
    ]
    if not any(told):
        return None
    return {
        "n": sum(item is not None for item in told),
        "auroc": asdict(_interval(told, lambda judged, _: auroc(judged), 1, 4)),
        "ece": asdict(_interval(told, lambda judged, _: calibration_error(judged), 1, 4)),
        "coverage_at_90": asdict(_interval(told, coverage_at, 100, 2)),
    }


def _interval(
    told: Sequence[tuple[float, bool] | None], figure: Callable[[Judged, int], float], scale: float, digits: int
) -> Interval:
    """A figure of the questions with its percentile interval over resampled questions."""
    import numpy as np

    generator = np.random.default_rng(SEED)

    def of(sample: Sequence[tuple[float, bool] | None]) -> float:
        return scale * figure([item for item in sample if item is not None], len(sample))

    drawn = [
        of([told[i] for i in generator.integers(0, len(told), len(told)).tolist()])
        for _ in range(_RESAMPLES if len(told) > 1 else 1)
    ]
    low, high = np.percentile(drawn, [_TAIL, 100 - _TAIL])
    return Interval(round(of(told), digits), round(float(low), digits), round(float(high), digits))


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 2) if whole else 0.0


# Compares the operators of a plan, and how they are connected, with a gold plan.
#
# A plan's *structure* is what its answer is made of, as a nested term: an operator leaf is its operator over the terms
# of the nodes that its arguments refer to; a direct node and a parent are "combine" over the terms of what they draw
# on, in any order. A parent whose last child rests on all the others has that child's term, as the executor passes its
# answer up. So these do not count: names, relations, conditions and questions, numbering, the order of independent
# steps, and whether a chain is written flat or below a parent. A step left out, one too many, another operator, or one
# that continues from another step, does.
#
#     Where was the director of Metropolis born?    relate(relate(search))
#     Who was born first, Newton or Leibniz?        combine(relate(search), relate(search))
#
# Two terms have equal *operators* if each name occurs in both equally often.
#
# The gold structure of a question is that of its gold plan, where one is given, or comes from its gold evidences, as
# 2WikiMultihopQA has them: each fact is a Relate of the fact whose tail is its head, else of a Search; the facts from
# which none goes on are combined.


# The widest that the settings allow: what a run's own limits let through is valid here.
WIDEST = Limits(nodes=400, depth=32, fan_out=64)


@dataclass(frozen=True, slots=True)
class Structure:
    """A nested term, compared by its digest: written out, a term that shares its parts grows exponentially."""

    digest: str
    operators: frozenset[tuple[str, int]]

    @classmethod
    def of(cls, name: str, parts: Sequence[Structure] = ()) -> Structure:
        """The term `name(parts…)`."""
        counted = Counter({name: 1})
        for part in parts:
            counted.update(dict(part.operators))
        text = f"{name}({','.join(part.digest for part in parts)})"
        return cls(hashlib.sha256(text.encode()).hexdigest(), frozenset(counted.items()))

    @classmethod
    def combine(cls, parts: Sequence[Structure]) -> Structure:
        """What several terms are drawn together to; their order does not count."""
        return cls.of("combine", sorted(parts, key=lambda part: part.digest))


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """What a trace's plan is worth.

    Attributes:
        valid: a plan that keeps the rules was run, not the fallback.
        at_once: … and it was the first attempt.
        structure_equal: to the gold one; None if there is none. A plan that is not valid is equal to none.
        operators_equal: the same of its operators.
    """

    valid: bool
    at_once: bool
    structure_equal: bool | None = None
    operators_equal: bool | None = None


def plan_structure(tree: Tree) -> Structure:
    """The structure of a valid tree.

    Raises:
        KeyError: a reference points to a node that is not answered before.
    """
    found: dict[int, Structure] = {}
    rests_on: dict[int, frozenset[int]] = {}
    for node in tree.bottom_up():
        below = {*(child.id for child in node.children), *(node.references if node is not tree.root else ())}
        rests_on[node.id] = frozenset({node.id}).union(*(rests_on[i] for i in below))
        found[node.id] = _term(node, found, rests_on)
    return found[tree.root.id]


def _term(node: Node, found: Mapping[int, Structure], rests_on: Mapping[int, frozenset[int]]) -> Structure:
    if node.call is not None:
        return Structure.of(str(node.kind), [found[i] for i in node.call.references])
    if not node.children:
        # The root is the user's own question: a bracketed number in it is text.
        # An operation draws its operands together as a direct step does: gold plans hold no operations.
        drawn = node.references if node.kind in (NodeKind.DIRECT, NodeKind.OPERATION) else ()
        return Structure.combine([found[i] for i in drawn])
    last = node.children[-1].id
    if rests_on[last].issuperset(child.id for child in node.children):
        return found[last]
    return Structure.combine([found[child.id] for child in node.children])


def gold_structure(question: Question) -> Structure | None:
    """The structure that the question's gold evidences ask for; None if it has none."""
    if not question.evidences:
        return None
    hops = gold_hops(question.question, question.evidences, question.gold_titles)
    terms: list[Structure] = []
    for hop in hops:
        head = Structure.of("search") if hop.previous is None else terms[hop.previous]
        terms.append(Structure.of("relate", [head]))
    going_on = {hop.previous for hop in hops}
    ends = [term for index, term in enumerate(terms) if index not in going_on]
    return ends[0] if len(ends) == 1 else Structure.combine(ends)


def judge_plan(question: str, plan: Mapping[str, Any], gold: Structure | None) -> PlanVerdict:
    """Judge the plan of a trace (`atomr.trace/1`).

    Args:
        gold: the structure that it should have, if that is known.
    """
    structure = None
    if plan["origin"] != "fallback":
        try:
            tree = parse_compact(plan["compact"], question)
            check(tree, WIDEST)
            structure = plan_structure(tree)
        except TreeError:
            pass
    valid = structure is not None
    at_once = valid and plan["attempts"] <= 1
    if gold is None:
        return PlanVerdict(valid, at_once)
    operators_equal = structure is not None and structure.operators == gold.operators
    return PlanVerdict(valid, at_once, structure == gold, operators_equal)


def gold_structures(questions: Sequence[Question], plans_file: Path | None = None) -> dict[str, Structure]:
    """Gold structures by question id, where they are known; a given plan counts more than the gold evidences.

    Raises:
        InputError: naming the file and line of a plan that is missing, not valid, or there twice.
    """
    known = {question.id: term for question in questions if (term := gold_structure(question)) is not None}
    given = load_plans(plans_file, questions, WIDEST) if plans_file else {}
    return known | {key: plan_structure(tree) for key, tree in given.items()}


def plan_figures(verdicts: Sequence[tuple[str, PlanVerdict]]) -> dict[str, Any] | None:
    """The plans of a run in figures.

    Args:
        verdicts: type of question and verdict.

    Returns:
        "n", and in % with intervals "plans_valid" and "plans_valid_at_once"; then, over the "with_gold" plans whose
        gold structure is known (None if it is of none), "plan_structure_equal", "plan_operators_equal" and
        "by_type". None if there is no plan.
    """
    if not verdicts:
        return None
    judged = [(kind, verdict) for kind, verdict in verdicts if verdict.structure_equal is not None]
    kinds = Counter(kind for kind, _ in judged)
    return {
        "n": len(verdicts),
        "plans_valid": _share(verdict.valid for _, verdict in verdicts),
        "plans_valid_at_once": _share(verdict.at_once for _, verdict in verdicts),
        "with_gold": len(judged),
        "plan_structure_equal": _share(verdict.structure_equal for _, verdict in judged),
        "plan_operators_equal": _share(verdict.operators_equal for _, verdict in judged),
        "by_type": {
            kind or "(none)": {
                "n": count,
                "plan_structure_equal": _share(v.structure_equal for other, v in judged if other == kind),
            }
            for kind, count in sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
        },
    }


def _share(truths: Iterable[bool | None]) -> dict[str, float] | None:
    values = [float(bool(truth)) for truth in truths]
    return asdict(mean_interval(values)) if values else None


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


# Compares two runs on the questions that both answered.

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
