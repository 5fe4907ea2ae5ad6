"""A structured answer of the model with its signals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atomr_local.backbone.protocol import Prompt
from atomr_local.reasoning.confidence import signals as names
from atomr_local.sources.protocol import Evidence

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.span_reader import SpanVerdict


@dataclass(frozen=True)
class Reading:
    """A structured answer of the model.

    Attributes:
        answers: empty if the model says Unknown or its output could not be read.
        each: for each answer exp of its own tokens' mean log-probability; () if unknown.
        null: probability of Unknown against what the model began to write; None if Unknown was not possible or its
            probability is unknown.
        verified: for each answer the probability that the model says yes when asked whether the evidence supports it;
            () if it was not asked.
        cited: the evidence that the model cites.
        confidence: exp of the mean token log-probability.
        others: alternative answers, each with its confidence, best first.
        dropped: notes about evidence left out because the prompt would not fit.
        problem: why the output could not be read, or None.
        asked: the prompt, if the model can be asked about its answer.
        verdict: the span reader's verdict on the answers and the passages; None without one.
        mentioned: the share of the question's content words in the cited evidence; None without either.
        lines: for each answer the output that the model would have written for it alone.
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
        """The signals of this reading, each 0 to 1 (see `confidence/signals.py`)."""
        known = {
            names.READING: self.confidence,
            names.NULL: self.null,
            names.VERIFY: min(self.verified, default=None),
            names.MENTIONED: self.mentioned,
        }
        if self.verdict is not None:
            shares = [share for share in self.verdict.answers if share is not None]
            known |= {names.ANSWERABLE: self.verdict.answerable, names.SPAN: min(shares, default=None)}
        return {name: value for name, value in known.items() if value is not None}
