"""What `searchain` has the model write: whole chains of queries, each with the model's own answer or marked unsolved.

A model that was trained on the closed tasks alone cannot write a chain in one go: it asks the next question and answers
it from memory, one after another, until it does not know an answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from atomr_local.reasoning.asking.extractive_compression import cut_passage
from atomr_local.reasoning.asking.forms import Branch, Field, Form, Line, worked_examples
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.asked_before import asked_before, same_question
from atomr_local.strategies.shared.closing import CALLS_USED, repeats_question
from atomr_local.strategies.shared.step_answers import Final

_PACKAGE = "atomr_local.strategies.searchain"
_QUERY, _ANSWER, _NEXT, _FINAL = "Query", "Answer", "Next", "Final"
_ANOTHER, _END = "another query", "the end"
_ANSWER_TOKENS = 20
_FORM = Form(_PACKAGE, "chain", (Line(_QUERY),), worked_examples(_PACKAGE, "chain_examples"))
_UNSOLVED = re.compile(
    r"(?:unsolved|unknown|unsure|none|not (?:known|sure)|i (?:do not|don't) know)\b.*", re.IGNORECASE
)
UNSOLVED = "unsolved"


@dataclass(frozen=True)
class Link:
    """A query of a chain, and the model's own answer; "" where it marked the query as unsolved.

    Attributes:
        sure: exp of the mean log-probability of the answer's tokens; None if it is not known.
    """

    query: str
    answer: str = ""
    sure: float | None = None


@dataclass(frozen=True)
class Chain:
    """What the model wrote in a round. `final` is None where the chain does not tell the final answer."""

    links: tuple[Link, ...] = ()
    final: Final | None = None
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole chain on one line."""
        told = [f"{place}. {link.query} {link.answer or UNSOLVED}" for place, link in enumerate(self.links, 1)]
        end = [f"final: {self.final.text}"] if self.final is not None else []
        return "; ".join([*told, *end]) or "nothing more is asked"


class ChainWriting:
    """Has the model write the chains for one question.

    Attributes:
        begun: how many queries of the conversation are behind: a chain goes on with the next one.
    """

    def __init__(self, question: str, tools: Toolbox, most: int) -> None:
        """Begin.

        Args:
            most: the most queries one after another, those of earlier rounds that stand included.
        """
        self.begun = 0
        self._question = question
        self._tools = tools
        self._most = most
        self._said = ""
        self._turns: list[tuple[str, str]] = []

    @property
    def sees_passages(self) -> bool:
        """Whether the model has been shown passages, which may steer what it writes."""
        return bool(self._turns)

    def write(self, node_id: int, known: Sequence[tuple[str, str]]) -> Chain:
        """The chain from here to the end.

        Args:
            known: the queries behind, with their answers.

        Raises:
            AtomrError: the model failed, or no call is left.
            Cancelled: the question was cancelled.
        """
        return self._asked_on(node_id, known) if self._tools.asking.lean else self._filled(node_id)

    def tell(self, place: int, link: Link, answer: str, passage: Evidence | None) -> None:
        """Go on after the chain's link `place`, from 1, with this answer."""
        self.begun += place
        done = "corrected" if link.answer else "answered"
        told = f"{_QUERY} {self.begun} is {done} by what was found: {answer}."
        if passage is not None:
            words = self._tools.settings.limits.passage_words
            text = cut_passage(f"{link.query} {answer}", passage.title, passage.text, words)
            told += f" Passage: {passage.title}: {text}"
        if not self._tools.asking.lean:
            self._turns.append((self._said, told))

    def _filled(self, node_id: int) -> Chain:
        """A chain that the model writes in one go, in the conversation so far."""
        form = replace(_FORM, fields=self._rest(self.begun) if self.begun else self._from(1))
        [written] = self._tools.writer.write(node_id, "chain", form, turns=self._turns, question=self._question)
        self._said = "\n".join(f"{label}: {filled.text}" for label, filled in written.fields.items())
        links = []
        for number in range(self.begun + 1, self._most + 1):
            query, label = written[f"{_QUERY} {number}"], f"{_ANSWER} {number}"
            if not query:
                break
            answer = self._own(query, written[label])
            mean = written.logprob(label) if answer else None
            links.append(Link(query, answer, None if mean is None else math.exp(mean)))
        final = written[_FINAL]
        problem = [] if written.problem is None else [f"the chain is cut: {written.problem}"]
        return Chain(
            tuple(links),
            None if not final or _UNSOLVED.fullmatch(final) else Final(final, written.logprob(_FINAL)),
            (*written.dropped, *problem),
        )

    def _from(self, number: int) -> tuple[Field, ...]:
        """The fields of the query with this number and of all that may follow it."""
        return Line(f"{_QUERY} {number}"), Line(f"{_ANSWER} {number}", _ANSWER_TOKENS), *self._rest(number)

    def _rest(self, number: int) -> tuple[Field, ...]:
        """The fields behind the query with this number."""
        end = (Line(_FINAL, _ANSWER_TOKENS),)
        if number >= self._most:
            return end
        return (Branch(f"{_NEXT} {number}", {_ANOTHER: self._from(number + 1), _END: end}),)

    def _asked_on(self, node_id: int, known: Sequence[tuple[str, str]]) -> Chain:
        """A chain of questions that are answered from memory, up to the first that the model cannot answer."""
        steps, links = list(known), list[Link]()
        while len(links) < self._most - self.begun:
            if not self._tools.asking.calls_left:
                return Chain(tuple(links), notes=(CALLS_USED,))
            if any(same_question(asked, self._question) for asked, _ in steps):
                break  # nothing is left to ask
            query = self._next(node_id, steps) or ("" if steps else self._question)
            if not query:
                break
            if asked_before(query, [asked for asked, _ in steps], self._tools):
                return Chain(tuple(links), notes=(f"the model asked again: {query}",))
            reading = self._tools.reader.from_memory(node_id, query)
            answer = self._own(query, ", ".join(reading.answers))
            links.append(Link(query, answer, reading.confidence if answer else None))
            if not answer:
                break
            steps.append((query, answer))
        return Chain(tuple(links))

    def _next(self, node_id: int, steps: Sequence[tuple[str, str]]) -> str:
        """The next question; "" if there is none."""
        if self._tools.reader.knows_next:
            return next(iter(self._tools.reader.follow_ups(node_id, self._question, steps)), "")
        asked: tuple[Field, ...] = (Line(f"{_QUERY} {len(steps) + 1}"),)
        if steps:
            asked = (Branch(f"{_NEXT} {len(steps)}", {_ANOTHER: asked, _END: ()}),)
        turns = [
            (
                (f"{_NEXT} {number - 1}: {_ANOTHER}\n" if number > 1 else "") + f"{_QUERY} {number}: {query}",
                f"{_QUERY} {number} is answered: {answer}.",
            )
            for number, (query, answer) in enumerate(steps, 1)
        ]
        form = replace(_FORM, fields=asked)
        [written] = self._tools.writer.write(node_id, "next query", form, turns=turns, question=self._question)
        query, mark, _ = written[f"{_QUERY} {len(steps) + 1}"].partition("?")
        return query + mark  # what a model of closed tasks writes behind the question is the notation of plans

    def _own(self, query: str, answer: str) -> str:
        """The model's own answer; "" where it has none."""
        return "" if _UNSOLVED.fullmatch(answer.strip(" .[]()")) or repeats_question(query, answer) else answer
