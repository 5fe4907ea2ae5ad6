"""What `detllm` has the model write: for each hop what the evidence tells and what is asked next; at last the answer.

A model that was trained on the closed tasks alone writes with those, as in `dsp`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from atomr_local.reasoning.asking.forms import Field, Form, Line, WordsOf, worked_examples
from atomr_local.reasoning.asking.writer import Written, notes_of
from atomr_local.reasoning.reading.reader import UNKNOWN
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.dsp.writing import Writing
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.listed import Listed
from atomr_local.tree.nodes import ROOT_ID

PROMPTS = "atomr_local.strategies.detllm"
_REASONS, _FOUND, _QUESTION, _NAME, _ANSWER = "Reasons", "Found", "Question", "Name", "Answer"
_REASON_TOKENS, _QUESTION_TOKENS = 60, 30
_ALWAYS = ("yes", "no", UNKNOWN)
_NOTHING, _OPEN = "(nothing)", "(open)"
_LONGEST_FOUND = 12  # words; more are no answer of one hop


@dataclass(frozen=True)
class Asked:
    """What is asked in a hop.

    Attributes:
        question: of one hop; the whole question where the model writes none.
        queries: to search with.
        found: the answer of the hop before; empty if it has none.
        name: what the question asks about; empty if the model does not tell.
    """

    question: str
    queries: tuple[str, ...]
    found: str = ""
    name: str = ""
    reasons: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Final:
    """The answer, with the probability of its words; None if unknown."""

    answer: str
    reasons: str = ""
    probability: float | None = None
    notes: tuple[str, ...] = ()


class HopWriting:
    """Writes for one question.

    Attributes:
        steps: the questions of the hops so far with their answers.
    """

    def __init__(self, question: str, tools: Toolbox, draws: int, temperature: float) -> None:
        self.steps: list[tuple[str, str]] = []
        self._question = question
        self._tools = tools
        self._draws = draws
        self._temperature = temperature
        self._closed = Writing(question, tools, draws, temperature)

    @property
    def lean(self) -> bool:
        """Whether the model writes with the closed tasks alone."""
        return self._tools.asking.lean

    @property
    def listed(self) -> Listed:
        """The lists among the answers that are found."""
        return self._closed.listed

    def hop(self, node_id: int, evidence: Sequence[Evidence]) -> Asked:
        """What is asked next, after the evidence of the hop before, if there was one.

        Raises:
            AtomrError: the model failed, or no call is left.
            Cancelled: the question was cancelled.
        """
        return self._by_closed_tasks(node_id, evidence) if self.lean else self._by_form(node_id, evidence)

    def _by_closed_tasks(self, node_id: int, evidence: Sequence[Evidence]) -> Asked:
        hop = self._closed.hop(node_id, evidence)
        found = hop.summaries[0].text if hop.summaries else ""
        own = hop.queries[0] if hop.queries and self._tools.reader.knows_next else self._question
        return Asked(own, tuple(hop.queries), found, notes=tuple(hop.notes))

    def _by_form(self, node_id: int, evidence: Sequence[Evidence]) -> Asked:
        first = not self.steps or not evidence
        texts = [text for item in evidence for text in (item.title, item.text)]
        fields: list[Field] = [Line(_REASONS, _REASON_TOKENS)]
        if not first:
            fields.append(WordsOf(_FOUND, (*texts, *_ALWAYS)))
        fields += [Line(_QUESTION, _QUESTION_TOKENS), WordsOf(_NAME, (self._question, *self._known, *texts))]
        written = self._write(node_id, "query", "first" if first else "next", fields, evidence, self._draws)
        read = [one for one in written if one[_QUESTION]]
        best = max(read, key=_sureness, default=written[0])
        found = best[_FOUND] if not first else ""
        if found.casefold() == UNKNOWN.casefold() or len(found.split()) > _LONGEST_FOUND:
            found = ""
        queries = tuple(dict.fromkeys([one[_QUESTION] for one in ([best] if read else []) + read]))
        question = best[_QUESTION] or self._question
        self._asked(question, found, first=first)
        return Asked(question, queries, found, best[_NAME], best[_REASONS], tuple(notes_of(written)))

    def _asked(self, question: str, found: str, *, first: bool) -> None:
        if not first:
            before, _ = self.steps[-1]
            self.steps[-1] = (before, found or UNKNOWN)
        self.steps.append((question, _OPEN))

    def answer(self, evidence: Sequence[Evidence]) -> Final:
        """The answer to the whole question from the evidence and the hops, by a form.

        Raises:
            AtomrError: the model failed, or no call is left.
            Cancelled: the question was cancelled.
        """
        texts = (text for item in evidence for text in (item.title, item.text))
        fields: list[Field] = [
            Line(_REASONS, _REASON_TOKENS),
            WordsOf(_ANSWER, (*texts, *self._known, self._question, *_ALWAYS)),
        ]
        [written] = self._write(ROOT_ID, "answer", "answer", fields, evidence, 1)
        logprob = written.logprob(_ANSWER)
        probability = math.exp(logprob) if logprob is not None else None
        return Final(written[_ANSWER], written[_REASONS], probability, tuple(notes_of([written])))

    def _write(
        self,
        node_id: int,
        purpose: str,
        template: str,
        fields: Sequence[Field],
        evidence: Sequence[Evidence],
        draws: int,
    ) -> list[Written]:
        form = Form(PROMPTS, template, tuple(fields), worked_examples(PROMPTS, f"{template}_examples"))
        return self._tools.writer.write(
            node_id,
            purpose,
            form,
            evidence=evidence,
            draws=draws,
            temperature=self._temperature if purpose == "query" else 0.0,
            question=self._question,
            steps=self._told(),
        )

    @property
    def _known(self) -> list[str]:
        """Answers of hops."""
        return [answer for _, answer in self.steps if answer not in (_OPEN, UNKNOWN)]

    def _told(self) -> str:
        """The hops so far, on one line."""
        told = (f"{question} {answer}" for question, answer in self.steps)
        return " ".join(told) or _NOTHING


def _sureness(written: Written) -> float:
    score = written.logprob(_QUESTION)
    return -math.inf if score is None else score
