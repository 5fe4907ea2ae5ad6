"""Two candidate answers to one question, the tree's and a direct one: whether they agree, and which is likelier right.

Each is as likely right as its calibration says (see `confidence/calibration.py`). The likelier answer stands; two that
agree strengthen each other (RoHT and ProbTree aggregate answers of several ways alike).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from atomr_local.language.names import base_key
from atomr_local.reasoning.confidence.calibration import Calibration
from atomr_local.reasoning.confidence.signals import NAMED, RIVAL


@dataclass(frozen=True, slots=True)
class Compared:
    """How likely right each of two answers is, each with regard to the other, and whether the direct one stands."""

    tree: float
    direct: float
    direct_stands: bool


def compare(calibration: Calibration, tree: Mapping[str, float], direct: Mapping[str, float], same: bool) -> Compared:
    """Compare the tree's answer with a direct one, by their signals; `same`: they agree."""
    one = calibration.of_tree({**tree, RIVAL: float(same)})
    other = calibration.of_whole({**direct, RIVAL: float(same)})
    if not same:
        return Compared(one, other, other > one and not direct.get(NAMED))
    if tree.get(NAMED):  # nothing is gained by repeating the question twice
        return Compared(calibration.of_tree(tree), other, False)
    if calibration.tree.uses(RIVAL):
        both = (one + other) / 2
    else:
        both = _joined(calibration.of_tree(tree), calibration.of_whole(direct))
    return Compared(both, both, False)


def agree(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two answers name the same things."""
    return {base_key(text) for text in one} == {base_key(text) for text in other}


def _joined(one: float, other: float) -> float:
    """Probability of an answer that two independent ways found."""
    return 1.0 - (1.0 - one) * (1.0 - other)
