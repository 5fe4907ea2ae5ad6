"""What a tool loop is to find out next, from a model that has learnt to ask on."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.reasoning.results import product_confidence
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.protocol import Toolbox

ALL_FOUND = "everything that was to be found out is known"


class AskingOn:
    """Questions of one hop, one after another; each is answered from what the tools give.

    Attributes:
        pending: the question to be answered now; "" before the first one and once there are no more.
        answer: to the whole question, once there are no more questions; "" if they do not tell.
    """

    def __init__(self, question: str, tools: Toolbox) -> None:
        self.pending = ""
        self.answer = ""
        self.finished = False
        self._question = question
        self._reader = tools.reader
        self._steps: list[tuple[str, str]] = []
        self._sure: list[float | None] = []

    @property
    def confidence(self) -> float | None:
        """How surely everything that the answer rests on was read; None if that is not known."""
        return product_confidence(*self._sure)

    def thought(self, node_id: int) -> str:
        """What the round is for: the pending question, the next one, or that there is none.

        Raises:
            AtomrError: the model failed, or no call is left.
            Cancelled: the question was cancelled.
        """
        if not self.pending and not self.finished:
            written = self._reader.follow_ups(node_id, self._question, self._steps)
            self.pending = written[0] if written else ""
            self.finished = not written
            if self.finished and self._steps:
                reading = self._reader.from_steps(node_id, self._question, self._steps)
                self.answer = ", ".join(reading.answers)
                self._sure.append(reading.confidence)
        return self.pending or ALL_FOUND

    def read(self, node_id: int, evidence: Sequence[Evidence]) -> str:
        """What the evidence says to the pending question; "" if nothing: then it stays pending.

        Raises:
            AtomrError: the model failed, or no call is left.
            Cancelled: the question was cancelled.
        """
        if not self.pending or not evidence:
            return ""
        reading = self._reader.from_evidence(node_id, self.pending, evidence)
        found = ", ".join(reading.answers)
        if found:
            self._sure.append(reading.confidence)
            self._steps.append((self.pending, found))
            self.pending = ""
        return found
