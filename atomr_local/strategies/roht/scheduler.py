"""RoHT's scheduler: which of graph, text and sub-questions suit a question (Zhang et al., 2023, section 3.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from atomr_local.reasoning.operators import overlap_coefficient
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.protocol import Toolbox

_FILE = Path(__file__).with_name("skeletons.json")
_LEAST_ANSWERED = 5  # questions from which a precision is one


@dataclass(frozen=True)
class SkeletonTable:
    """How often the graph's answer to questions of an operator skeleton was right.

    Attributes:
        counts: by skeleton, the questions that the graph answered, and those of them that it answered rightly.
    """

    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def precision(self, skeleton: str) -> float | None:
        """The share of right answers; None where too few are known."""
        answered, right = self.counts.get(skeleton, (0, 0))
        return right / answered if answered >= _LEAST_ANSWERED else None


@cache
def shipped_tables() -> dict[tuple[str, str | None], SkeletonTable]:
    """The tables that ship, by model and adapter. `scripts/make_skeletons.py` makes them."""
    given: list[dict[str, Any]] = json.loads(_FILE.read_text("utf-8"))["tables"]
    return {
        (one["model"], one["adapter"]): SkeletonTable(
            {name: (counts["answered"], counts["right"]) for name, counts in one["skeletons"].items()}
        )
        for one in given
    }


@dataclass(frozen=True)
class GraphFit:
    """Whether a question suits the graph.

    Attributes:
        asked: whether to ask at all.
        sure: whether only a sure answer counts.
        note: why it is not asked, or ""."""

    asked: bool
    sure: bool = False
    note: str = ""


@dataclass(frozen=True)
class Scheduler:
    """Decides for one question.

    Attributes:
        gamma: the precision above which a skeleton suits the graph.
        on: without it everything suits.
    """

    tools: Toolbox
    gamma: float
    on: bool

    def graph(self, skeleton: str) -> GraphFit:
        """Whether questions of this skeleton suit the graph: by the table made for this model, else by the answer."""
        if not self.on:
            return GraphFit(True)
        info = self.tools.asking.info
        table = shipped_tables().get((info.name, info.adapter), SkeletonTable())
        precision = table.precision(skeleton)
        if precision is None:
            return GraphFit(True, sure=True)
        if precision > self.gamma:
            return GraphFit(True)
        return GraphFit(False, note=f"the graph was not asked: {skeleton} was right {precision:.2f} of the time")

    def passages(self, question: str, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The passages that suit the question: those that have enough of its words."""
        if not self.on:
            return list(evidence)
        least = self.tools.settings.filter_overlap
        return [item for item in evidence if overlap_coefficient(question, f"{item.title} {item.text}") >= least]
