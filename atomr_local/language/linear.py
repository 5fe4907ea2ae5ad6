"""A linear classifier over named features, read from a JSON file: no library, no network, loaded in milliseconds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Multinomial logistic regression: P(class) = softmax(bias + Σ weight / √number of features).

    Attributes:
        weights: of each feature, hundredths for each class; a feature that is not here says nothing.
        options: what else the file holds (thresholds).
        pieces: common pieces of words, where the model uses them.
    """

    classes: tuple[str, ...]
    bias: tuple[float, ...]
    weights: Mapping[str, Sequence[int]]
    options: Mapping[str, Any]
    pieces: frozenset[str] = frozenset()

    def probabilities(self, features: Iterable[str]) -> dict[str, float]:
        """The probability of each class. Each feature counts once."""
        present = set(features)
        scores = list(self.bias)
        scale = 0.01 / math.sqrt(max(len(present), 1))
        for feature in sorted(present):  # sums in one order are the same sums everywhere
            for place, weight in enumerate(self.weights.get(feature, ())):
                scores[place] += weight * scale
        highest = max(scores)
        parts = [math.exp(score - highest) for score in scores]
        total = sum(parts)
        return {name: part / total for name, part in zip(self.classes, parts, strict=True)}


def from_json(data: Mapping[str, Any]) -> LinearModel:
    """A model in a file of `scripts/training/models/linear.py`; zeros at the end of weights are left out there."""
    return LinearModel(
        tuple(data["classes"]),
        tuple(data["bias"]),
        data["weights"],
        data.get("options", {}),
        frozenset(data.get("pieces", "").split()),
    )


@cache
def shipped(name: str) -> LinearModel:
    """The model `name` of this package ("en/is_question"), read once."""
    return from_json(json.loads(files("atomr_local.language").joinpath(f"{name}.json").read_text(encoding="utf-8")))
