"""What `cok` has the model write: chains of rationales, the check of each by what was found, the next one, the answer.

A model that follows instructions writes sentences; `cok_pairs.py` is for one that has learnt the closed tasks alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

from atomr_local.language.answer_key import answer_key
from atomr_local.reasoning.asking.forms import Branch, Field, Form, Line, worked_examples
from atomr_local.reasoning.asking.writer import Written, left_out
from atomr_local.reasoning.reading.reader import UNKNOWN
from atomr_local.reasoning.results import Result
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.closing import final_values
from atomr_local.tree.nodes import ROOT_ID

_PACKAGE = "atomr_local.strategies.cok"
_FIRST, _SECOND, _THIRD, _FOURTH, _ANSWER = "First", "Second", "Third", "Fourth", "Answer"
_PASSAGE, _FACT, _NONE, _NOTHING = "Passage", "Fact", "none", "(nothing)"
_ANSWER_TOKENS = 20
STANDS = "checked: it stands as it was written"
UNTOLD = "what was found does not tell: left as it was written"
NOT_FOUND = "nothing was found: left as it was written"


@dataclass(frozen=True)
class Rationale:
    """A step of a chain: a sentence; or a question of one hop with its answer ("" if that is not known)."""

    text: str
    asked: str = ""

    @property
    def query(self) -> str:
        return self.asked or self.text

    @property
    def told(self) -> str:
        return f"{self.asked} {self.text or UNKNOWN}" if self.asked else self.text


@dataclass(frozen=True)
class Chain:
    """Rationales, and the answer that they lead to; "" if there is none."""

    rationales: tuple[Rationale, ...]
    answer: str = ""


class Writing(Protocol):
    """The ways of writing. All methods raise AtomrError if the model fails, and Cancelled."""

    def chains(self, node_id: int, draws: int) -> tuple[list[Chain], list[str]]:
        """Sampled chains, and notes."""
        ...

    def whole(self) -> Rationale:
        """The question in the place of a chain that could not be written."""
        ...

    def checked(
        self, node_id: int, known: Sequence[Rationale], rationale: Rationale, evidence: Sequence[Evidence]
    ) -> tuple[Rationale, Result]:
        """The rationale as the evidence has it, and the step's result; `known`: the rationales before it."""
        ...

    def following(self, node_id: int, known: Sequence[Rationale], drafts: int) -> tuple[Rationale | None, list[str]]:
        """The rationale after these, and notes; None if there is none. `drafts`: how many the chain had."""
        ...

    def answer(self, known: Sequence[Rationale]) -> Result:
        """The answer from the rationales alone."""
        ...


@cache
def _form(name: str, *fields: Field) -> Form:
    return Form(_PACKAGE, name, fields, worked_examples(_PACKAGE, f"{name}_examples"))


def _chain_form() -> Form:
    rationales = (Line(_FIRST), Line(_SECOND), Line(_THIRD, needed=False), Line(_FOURTH, needed=False))
    return _form("chain", *rationales, Line(_ANSWER, _ANSWER_TOKENS))


class Sentences:
    """Rationales are sentences."""

    def __init__(self, question: str, tools: Toolbox, temperature: float) -> None:
        self._question = question
        self._tools = tools
        self._temperature = temperature

    def whole(self) -> Rationale:
        return Rationale(self._question)

    def chains(self, node_id: int, draws: int) -> tuple[list[Chain], list[str]]:
        written = self._tools.writer.write(
            node_id, "chain", _chain_form(), draws=draws, temperature=self._temperature, question=self._question
        )
        notes = left_out(written)
        chains = [_read(one, self._question) for one in written]
        if unread := sum(not chain.answer for chain in chains):
            notes.append(f"{unread} of {len(chains)} chains gave no answer")
        return chains, notes

    def checked(
        self, node_id: int, known: Sequence[Rationale], rationale: Rationale, evidence: Sequence[Evidence]
    ) -> tuple[Rationale, Result]:
        if not evidence:
            return rationale, Result(thought=rationale.text, dropped=[NOT_FOUND])
        numbers = {str(number): (Line(_FACT),) for number in range(1, len(evidence) + 1)}
        form = replace(_form("check", Line(_FACT)), fields=(Branch(_PASSAGE, {**numbers, _NONE: ()}),))
        [written] = self._tools.writer.write(
            node_id,
            "check",
            form,
            evidence=evidence,
            question=rationale.text,  # evidence is cut to what matters for it
            whole=self._question,
            known=_told(known),
        )
        result = Result(evidence=list(evidence), thought=rationale.text, dropped=list(written.dropped))
        new, chosen = written[_FACT], written[_PASSAGE]
        if written.problem is not None:
            result.dropped.append(f"left as it was written: {written.problem}")
        elif chosen == _NONE or int(chosen) > len(written.shown):
            result.dropped.append(UNTOLD)
        else:
            result.thought, result.cited = new, [written.shown[int(chosen) - 1].id]
            if answer_key(new) == answer_key(rationale.text):
                result.dropped.append(STANDS)
            else:
                result.corrected_from = rationale.text
        return Rationale(result.thought), result

    def following(self, node_id: int, known: Sequence[Rationale], drafts: int) -> tuple[Rationale | None, list[str]]:
        if len(known) >= drafts:
            return None, []
        [written] = self._tools.writer.write(
            node_id, "next rationale", _form("next", Line(_FACT)), question=self._question, known=_told(known)
        )
        notes = [*written.dropped, *([] if written.problem is None else [f"not written anew: {written.problem}"])]
        return Rationale(written[_FACT]) if written[_FACT] else None, notes

    def answer(self, known: Sequence[Rationale]) -> Result:
        facts = [f"{number}. {rationale.told}" for number, rationale in enumerate(known, 1)]
        form = _form("answer", Line(_ANSWER, _ANSWER_TOKENS))
        [written] = self._tools.writer.write(ROOT_ID, "answer", form, facts=facts, question=self._question)
        values, mean = final_values(written[_ANSWER]), written.logprob(_ANSWER)
        return Result(
            values,
            "child" if values else None,
            math.exp(mean) if values and mean is not None else None,
            dropped=list(written.dropped),
            error={"title": "Answer not readable", "message": written.problem} if written.problem else None,
        )


def own_answer(question: str, answer: str) -> str:
    """The model's own answer; "" where it only repeats the question or the choice that it offers."""
    said, asked = answer_key(answer), answer_key(question)
    choice = " or " in said and said in asked
    return "" if choice or asked in said else answer


def _told(known: Sequence[Rationale]) -> str:
    return " ".join(rationale.told for rationale in known) or _NOTHING


def _read(written: Written, question: str) -> Chain:
    """The chain that was written; one without a second rationale is one, too."""
    texts = {label: filled.text for label, filled in written.fields.items()}
    if written.problem is not None:
        short = _form("chain", Line(_FIRST), Line(_ANSWER, _ANSWER_TOKENS)).parse(written.generation.text)
        texts = {label: read.text for label, read in short.fields.items()} | texts
    rationales = [Rationale(texts[label]) for label in (_FIRST, _SECOND, _THIRD, _FOURTH) if texts.get(label)]
    answer = ", ".join(value.text for value in final_values(texts.get(_ANSWER, "")))
    return Chain(tuple(rationales), own_answer(question, answer))
