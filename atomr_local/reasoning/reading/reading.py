"""A structured answer of the model, with what it says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atomr_local.backbone.protocol import Prompt
from atomr_local.reasoning.confidence import signals as names
from atomr_local.reasoning.confidence.signals import MENTIONED, NULL, READING, VERIFY
from atomr_local.sources.protocol import Evidence

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.span_reader import SpanVerdict


@dataclass(frozen=True)
class Reading:
    """A structured answer of the model.

    Attributes:
        answers: empty when the model says Unknown or its output could not be read.
        each: for each of the answers exp of its own tokens' mean log-probability; () where that is not known.
        null: probability that the model would have said Unknown, against what it began to write; None if no
            Unknown was possible or its probability is not known.
        verified: for each of the answers the probability that the model says yes when asked whether the evidence
            says so; () where it was not asked.
        cited: the evidence that it says it used.
        confidence: exp of the mean token log-probability.
        others: further answers that the model might have given, each with its confidence, the surest first.
        dropped: evidence left out because the prompt would not fit, in words.
        problem: why the output could not be read, or None.
        asked: the prompt, where the model can be asked about its answer.
        verdict: what the span reader says of the answers and of the passages that were shown; None without one.
        mentioned: the share of the question's telling words that the cited evidence holds; None without either.
        lines: for each of the answers what the model would have written, had it given that one alone.
    """

    answers: tuple[str, ...] = ()
    cited: tuple[Evidence, ...] = ()
    confidence: float | None = None
    each: tuple[float, ...] = ()
    null: float | None = None
    verified: tuple[float, ...] = ()
    others: tuple[tuple[str, float], ...] = ()
    dropped: tuple[str, ...] = field(default=())
    problem: str | None = None
    asked: Prompt | None = None
    lines: tuple[str, ...] = ()
    mentioned: float | None = None
    verdict: SpanVerdict | None = None

    @property
    def signals(self) -> dict[str, float]:
        """What this reading says of itself, each 0 to 1 (see `confidence/signals.py`)."""
        return {
            name: value
            for name, value in (
                (READING, self.confidence),
                (NULL, self.null),
                (VERIFY, min(self.verified, default=None)),
                (MENTIONED, self.mentioned),
                *self._judged,
            )
            if value is not None
        }

    @property
    def _judged(self) -> tuple[tuple[str, float | None], ...]:
        if self.verdict is None:
            return ()
        told = [share for share in self.verdict.answers if share is not None]
        return (names.ANSWERABLE, self.verdict.answerable), (names.SPAN, min(told, default=None))
