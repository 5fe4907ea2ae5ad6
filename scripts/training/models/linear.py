"""Fits the small linear models of `atomr_local/language` and writes them as JSON (scikit-learn, in training only)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy

from atomr_local.language.question_kind import LinearModel, from_json

Features = Callable[[str], Iterable[str]]


def fit(
    texts: Sequence[str],
    labels: Sequence[str],
    weights: Sequence[float],
    features: Features,
    *,
    most: int,
    least_count: int = 2,
    strength: float = 8.0,
    seed: int = 1,
    sparse: int = 0,
) -> dict[str, Any]:
    """A model as its JSON: fitted on all features, cut to the `most` that weigh most, fitted again.

    Args:
        least_count: features of fewer texts are left out.
        strength: inverse of the L2 penalty, scikit-learn's C.
        sparse: weights of fewer hundredths are set to zero.
    """
    found = [sorted(set(features(text))) for text in texts]
    counts = Counter(feature for own in found for feature in own)
    names = sorted(feature for feature, count in counts.items() if count >= least_count)
    sizes = [len(own) for own in found]
    classes = sorted(set(labels))
    coefficients, bias = _fitted(found, sizes, labels, weights, names, strength, seed)
    # What a feature says over all texts: its weight times the root of how often it stands there.
    worth = numpy.abs(coefficients).max(axis=0) * numpy.sqrt([math.log1p(counts[name]) for name in names])
    kept = sorted(names[i] for i in numpy.argsort(-worth)[:most])
    coefficients, bias = _fitted(found, sizes, labels, weights, kept, strength, seed)
    table: dict[str, list[int]] = {}
    for place, name in enumerate(kept):
        row = [round(float(value) * 100) for value in coefficients[:, place]]
        row = [value if abs(value) >= sparse else 0 for value in row]
        while row and row[-1] == 0:
            row.pop()
        if row:
            table[name] = row
    return {"classes": classes, "bias": [round(float(value), 3) for value in bias], "options": {}, "weights": table}


def _fitted(
    found: Sequence[Sequence[str]],
    sizes: Sequence[int],
    labels: Sequence[str],
    weights: Sequence[float],
    names: Sequence[str],
    strength: float,
    seed: int,
) -> tuple[Any, Any]:
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    place = {name: i for i, name in enumerate(names)}
    columns: list[int] = []
    values: list[float] = []
    starts = [0]
    for own, size in zip(found, sizes, strict=True):
        here = [place[feature] for feature in own if feature in place]
        columns.extend(here)
        values.extend([1 / math.sqrt(max(size, 1))] * len(here))
        starts.append(len(columns))
    matrix = csr_matrix((values, columns, starts), shape=(len(found), len(names)))
    model = LogisticRegression(C=strength, max_iter=300, random_state=seed, tol=1e-3)
    model.fit(matrix, list(labels), sample_weight=list(weights))
    if len(model.classes_) == 2:  # one row for the second class: the first gets its mirror image
        half = model.coef_[0] / 2
        return numpy.stack([-half, half]), numpy.array([-model.intercept_[0] / 2, model.intercept_[0] / 2])
    return model.coef_, model.intercept_


def write(data: dict[str, Any], path: Path, provenance: str) -> LinearModel:
    """Write the file, one feature a line, and give back the model that it holds."""
    head: dict[str, Any] = {"provenance": provenance}
    head.update((name, data[name]) for name in ("classes", "bias", "options", "pieces") if name in data)
    lines = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}," for name, value in head.items()]
    rows = [
        f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(row, separators=(',', ':'))}"
        for name, row in data["weights"].items()
    ]
    text = "{\n" + "\n".join(lines) + '\n "weights": {\n' + ",\n".join(rows) + "\n }\n}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return from_json(json.loads(text))


def tempered(data: dict[str, Any], held: Sequence[tuple[Sequence[str], str]]) -> dict[str, Any]:
    """The model at the temperature that makes the held-back labels likeliest (Guo et al., 2017)."""
    model = from_json(data)
    found = [(model.probabilities(own), label) for own, label in held]

    def surprise(temperature: float) -> float:
        total = 0.0
        for probabilities, label in found:
            powered = {name: max(value, 1e-12) ** (1 / temperature) for name, value in probabilities.items()}
            total -= math.log(powered[label] / sum(powered.values()))
        return total

    best = min((0.5 + 0.05 * step for step in range(60)), key=surprise)
    weights = {name: [round(value / best) for value in row] for name, row in data["weights"].items()}
    return {**data, "bias": [round(value / best, 3) for value in data["bias"]], "weights": weights}
