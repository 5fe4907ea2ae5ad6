"""What the user asks: a question, perhaps with a plan and changes of an earlier answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atomr_local.reasoning.revision import Revision
    from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
    from atomr_local.tree.nodes import Tree


@dataclass(frozen=True)
class QuestionRequest:
    """One thing to ask: a question, or a question with the plan and the changes that the user made.

    Attributes:
        again: the earlier form of the question, whose place in the conversation it takes.
        understood: how the user says that it is meant.
    """

    question: str
    plan: Tree | None = None
    origin: PlanOrigin = "user"
    revision: Revision | None = None
    again: Trace | None = None
    understood: str | None = None
