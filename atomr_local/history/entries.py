"""Kept questions as they are listed and as they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from atomr_local.reasoning.trace.schema import Trace
from atomr_local.sanitize import sanitize, sanitize_line

Origin = Literal["asked", "imported"]
SUMMARY_COLUMNS = "id, asked_at, origin, question, answer, status, strategy, confidence, seconds"


@dataclass(frozen=True, slots=True)
class QuestionSummary:
    """One kept question as it is listed. The texts are sanitised.

    Attributes:
        id: its number; never given again once deleted.
        asked_at: ISO 8601, UTC; of an imported one, when it was imported.
        seconds: how long answering took.
        follows: of a follow-up question, the number of the first kept question of its conversation.
    """

    id: int
    asked_at: str
    origin: Origin
    question: str
    answer: str
    status: str
    strategy: str
    confidence: float | None
    seconds: float
    follows: int | None = None

    @property
    def local_time(self) -> str:
        """When it was asked, in local time to the minute; what is no time, as it is."""
        try:
            return datetime.fromisoformat(self.asked_at).astimezone().strftime("%Y-%m-%d %H:%M")
        except (ValueError, OverflowError):
            return sanitize_line(self.asked_at)[:16]


@dataclass(frozen=True, slots=True)
class StoredQuestion:
    """One kept question with its trace.

    Attributes:
        document: the trace's JSON object as it was kept, with keys that a later version may have added.
    """

    summary: QuestionSummary
    trace: Trace
    document: dict[str, Any]


def summary_of(row: Sequence[Any], follows: int | None = None) -> QuestionSummary:
    """The row of :data:`SUMMARY_COLUMNS`; its texts sanitised."""
    texts: Sequence[Any] = [sanitize(value) if isinstance(value, str) else value for value in row]
    number, asked_at, origin, question, answer, status, strategy, confidence, seconds = texts
    return QuestionSummary(number, asked_at, origin, question, answer, status, strategy, confidence, seconds, follows)
