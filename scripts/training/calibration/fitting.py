"""Fits what `calibrate.py` writes into a card: logistic models over signals, and the bounds on their probabilities.

A model is fitted without signals whose coefficient would have the wrong sign: what speaks for an answer must not make
it less likely right because of a few dozen questions.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atomr_lab.evaluation.report import auroc, calibration_error, coverage_at

from atomr_local.reasoning import confidence as names
from atomr_local.reasoning.answer_selection import compare
from atomr_local.reasoning.confidence import FEATURES, Calibration, LogisticModel, LogisticTerm

Row = dict[str, Any]
Sample = tuple[Mapping[str, float], bool, float]  # signals, right, weight

_FOR = frozenset(
    {
        names.READING, names.VERIFY, names.LINK, names.RELATION, names.TYPE_FIT, names.AGREE, names.SUPPORT,
        names.ANSWERABLE, names.SPAN,
        names.MENTIONED, names.LEAVES, names.VERIFIED, names.RIVAL,
    }
)  # fmt: skip
_AGAINST = frozenset({names.NULL, names.GUESS, names.FALLBACK, names.UNFINISHED, names.NAMED})
_LEFT_OUT = frozenset({names.MEMORY})  # of memory nothing is fitted
_FEWEST = 8  # answers with a signal, and without, for it to count
_ENOUGH = 60  # answers, for a way to have a model of its own
_SURE = (0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
_WORTH = 0.002  # F1 that asking a rival less often may cost
_KNOTS = 20
_ALIKE = 1 / 16  # less than chance makes of some hundred answers


def samples(rows: Iterable[Row], way: str) -> list[Sample]:
    """What the model of a way learns from: "tree", "direct" or "step".

    An answer whose rival is known counts half with and half without it, for both are asked of the model.
    """
    made: list[Sample] = []
    for row in rows:
        if way == "step":
            tree = row["tree"]
            alone = tree["signals"].get(names.STEPS) == 1 and not tree["signals"].get(names.COMPUTED)
            if row["way"] == "tree" and alone and len(row["steps"]) == 1:
                made.append((row["steps"][0], tree["right"], 1.0))
            continue
        given = row[way]
        if not given or not given["answer"] or (way == "tree" and row["way"] != "tree"):
            continue
        rival = row["direct"] if way == "tree" else given if row["way"] == "tree" and row["tree"]["answer"] else None
        if rival is None or not rival["answer"]:
            made.append((given["signals"], given["right"], 1.0))
            continue
        made.append((given["signals"], given["right"], 0.5))
        made.append(({**given["signals"], names.RIVAL: float(rival["same"])}, given["right"], 0.5))
    return made


def fit(given: Sequence[Sample], without: frozenset[str] = frozenset(), strength: float = 1.0) -> LogisticModel | None:
    """A logistic model; None where the answers are too few or all alike.

    Args:
        without: signals to leave out.
        strength: inverse of the regularisation, over features scaled to unit variance.
    """
    if len(given) < _ENOUGH or len({right for _, right, _ in given}) < 2:
        return None
    left = without | _LEFT_OUT
    while True:
        terms, intercept = _fitted(given, left, strength)
        wrong = {
            t.name
            for t in terms
            if (t.name in _FOR and t.coefficient < 0) or (t.name in _AGAINST and t.coefficient > 0)
        }
        if not wrong:
            return LogisticModel(intercept, terms)
        left = left | wrong


def _fitted(given: Sequence[Sample], left: frozenset[str], strength: float) -> tuple[tuple[LogisticTerm, ...], float]:
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    columns, described = [], []  # each column with its name, whether it says that the signal is missing, mean and scale
    for name, feature in FEATURES.items():
        values = np.array([feature(s[name]) if name in s else np.nan for s, _, _ in given])
        there = ~np.isnan(values)
        if name in left or there.sum() < _FEWEST or np.ptp(values[there]) < 1e-9:
            continue
        mean, scale = float(values[there].mean()), float(values[there].std()) or 1.0
        columns.append(np.where(there, (values - mean) / scale, 0.0))
        described.append((name, False, mean, scale))
        if (~there).sum() >= _FEWEST:
            columns.append(~there * 1.0)
            described.append((name, True, 0.0, 1.0))
    right, weights = np.array([r for _, r, _ in given]), np.array([w for _, _, w in given])
    if not columns:
        share = min(max(float(np.average(right, weights=weights)), 0.01), 0.99)
        return (), float(np.log(share / (1 - share)))
    model = LogisticRegression(C=strength, max_iter=2000).fit(np.stack(columns, axis=1), right, sample_weight=weights)
    terms: dict[str, LogisticTerm] = {}
    for (name, missing, mean, scale), weight in zip(described, model.coef_[0], strict=True):
        if missing:
            terms[name] = replace(terms[name], missing=float(weight))
        else:
            terms[name] = LogisticTerm(name, float(weight) / scale, mean)
    return tuple(terms.values()), float(model.intercept_[0])


def calibration(rows: Sequence[Row], without: frozenset[str] = frozenset(), sure: float = 0.7) -> Calibration:
    """Models of all ways; the program's own fallback where there is too little to learn from."""
    made = {way: fit(samples(rows, way), without) for way in ("tree", "direct", "step")}
    default = Calibration()
    return Calibration(
        made["tree"] or default.tree,
        made["direct"] or default.direct,
        step=made["step"] or default.step,
        sure=sure,
    )


@dataclass(frozen=True)
class Outcome:
    """What the program would answer to a question, and how surely."""

    row: Row
    confidence: float
    right: bool
    f1: float
    answered: bool


def outcome(row: Row, by: Calibration) -> Outcome:
    """As `atomr_local/reasoning/answer_selection.py` decides it."""
    own = row["tree"]
    if not own["answer"]:
        return Outcome(row, 0.0, False, 0.0, answered=False)
    if row["way"] != "tree":
        return Outcome(row, by.of_whole(own["signals"]), own["right"], own["f1"], answered=True)
    sure = by.tree.probability(own["signals"])
    rival = row["direct"]
    if sure >= by.sure or not rival["answer"]:
        return Outcome(row, sure, own["right"], own["f1"], answered=True)
    compared = compare(by, own["signals"], rival["signals"], rival["same"])
    if compared.direct_stands:
        return Outcome(row, compared.direct, rival["right"], rival["f1"], answered=True)
    return Outcome(row, compared.tree, own["right"], own["f1"], answered=True)


def cross_validated(
    rows: Sequence[Row], without: frozenset[str] = frozenset(), *, folds: int = 5, seed: int = 0
) -> list[tuple[Row, Calibration]]:
    """Each row with the models fitted on the other folds."""
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    made: list[tuple[Row, Calibration]] = []
    for fold in range(folds):
        held = set(order[fold::folds])
        by = calibration([row for i, row in enumerate(rows) if i not in held], without)
        made += [(rows[i], by) for i in sorted(held)]
    return made


def outcomes(folded: Iterable[tuple[Row, Calibration]], sure: float) -> list[Outcome]:
    return [outcome(row, replace(by, sure=sure)) for row, by in folded]


def best_sure(folded: Sequence[tuple[Row, Calibration]]) -> float:
    """From which confidence on a tree need not be rivalled: the lowest bound that costs no F1 to speak of."""
    means = {sure: _mean([o.f1 for o in outcomes(folded, sure)]) for sure in _SURE}
    return min(sure for sure in _SURE if means[sure] >= max(means.values()) - _WORTH)


def accepted(judged: Iterable[tuple[float, bool]]) -> float:
    """The bound on confidence, in steps of 0.05, with the fewest right answers declined and wrong ones given: both cost
    the same. Of bounds that are as good but for a sixteenth, the lowest."""
    given = list(judged)
    costs = [sum((sure >= step / 20) != right for sure, right in given) for step in range(20)]
    return next(step for step, cost in enumerate(costs) if cost <= min(costs) * (1 + _ALIKE)) / 20


@dataclass(frozen=True)
class Figures:
    """How well confidences tell right from wrong; see `atomr_lab/evaluation/report.py`."""

    answers: int
    f1: float
    auroc: float
    ece: float
    coverage_at_90: float

    def __str__(self) -> str:
        return (
            f"{self.answers:5d} {100 * self.f1:6.1f} {self.auroc:6.3f} {self.ece:6.3f} {100 * self.coverage_at_90:6.1f}"
        )


HEADER = "    n     F1  AUROC    ECE  cov@90"


def figures(judged: Sequence[tuple[float, bool]], f1: Sequence[float], total: int) -> Figures:
    return Figures(len(judged), _mean(f1), auroc(judged), calibration_error(judged), coverage_at(judged, total))


def of_outcomes(made: Sequence[Outcome]) -> Figures:
    """Over all questions; F1 over those that have an answer."""
    judged = [(o.confidence, o.right) for o in made if o.answered]
    return figures(judged, [o.f1 for o in made if o.row["answerable"]], len(made))


def of_way(folded: Sequence[tuple[Row, Calibration]], way: str) -> Figures:
    """The answers of one way alone, by its own model, without a look at another."""
    told = [
        ((by.tree if way == "tree" else by.direct).probability(row[way]["signals"]), row[way])
        for row, by in folded
        if row[way] and row[way]["answer"] and (way != "tree" or row["way"] == "tree")
    ]
    return figures([(p, a["right"]) for p, a in told], [a["f1"] for _, a in told], len(told))


def alone(rows: Sequence[Row], way: str, name: str) -> float | None:
    """AUROC of one signal by itself, the larger the likelier right; None where it is hardly there or always alike."""
    told = [(signals[name], right) for signals, right, _ in samples(rows, way) if name in signals]
    if len(told) < 2 * _FEWEST or len({value for value, _ in told}) < 2:
        return None
    return auroc(told)


def isotonic(model: LogisticModel, given: Sequence[tuple[float, bool]]) -> LogisticModel:
    """The model with its probabilities made monotone shares (Zadrozny and Elkan, 2002), by probabilities that models
    fitted on other questions gave."""
    import numpy as np
    from sklearn.isotonic import IsotonicRegression

    x = np.array([probability for probability, _ in given])
    fitted = IsotonicRegression(y_min=0.02, y_max=0.98, out_of_bounds="clip").fit(x, [float(r) for _, r in given])
    places = np.unique(np.quantile(x, np.linspace(0, 1, _KNOTS)).round(4))
    knots = tuple((float(at), round(float(y), 4)) for at, y in zip(places, fitted.predict(places), strict=True))
    return replace(model, knots=knots)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def written(model: LogisticModel | None) -> dict[str, Any] | None:
    """As a card has it."""
    if model is None:
        return None
    return {
        "features": [term.name for term in model.terms],
        "coefficients": [round(term.coefficient, 4) for term in model.terms],
        "means": [round(term.mean, 4) for term in model.terms],
        "missing": [round(term.missing, 4) for term in model.terms],
        "intercept": round(model.intercept, 4),
    } | ({"knots": [list(knot) for knot in model.knots]} if model.knots else {})
