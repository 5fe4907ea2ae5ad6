"""The stages at which a wrong answer can go wrong, and what is said of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Stage(StrEnum):
    """Where a wrong answer went wrong; :mod:`.diagnosis` has the rules."""

    PLANNING = "planning"
    STEP = "step"
    STOPPED = "stopped"
    LINKING = "linking"
    RETRIEVAL = "retrieval"
    READING = "reading"
    REASONING = "reasoning"
    FINAL = "final"
    FORM = "form"
    MODEL = "model"
    DECLINED = "declined"
    ANSWERED = "answered"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`node` is the trace's node at fault, where one is; `reason` says in one line what was seen."""

    stage: Stage
    reason: str
    node: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"stage": str(self.stage), "node": self.node, "reason": self.reason}


def count_stages(diagnoses: Sequence[Diagnosis]) -> dict[str, int]:
    """How many wrong answers went wrong at each stage, every stage named."""
    counted = Counter(diagnosis.stage for diagnosis in diagnoses)
    return {str(stage): counted[stage] for stage in Stage}
