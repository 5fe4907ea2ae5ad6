"""The result of a condition for one entity."""

from __future__ import annotations

from dataclasses import dataclass

from atomr_local.sources.graph.knowledge_graph import SelectResult


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """The result of a condition for one entity.

    Attributes:
        satisfied: None if the graph does not tell.
        score: how surely the condition was matched to properties, 0 to 1.
        reasons: (sentence, the query behind it) of what was looked at.
    """

    satisfied: bool | None
    score: float = 0.0
    reasons: tuple[tuple[str, SelectResult], ...] = ()
