"""Self-Ask: the model asks itself simpler questions, one after another (Press et al., Findings of EMNLP 2023).

Each follow-up is searched and read; the next one is written from the questions and answers so far, never from passages.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, repeat

from pydantic import Field

from atomr_local.errors import InputError
from atomr_local.reasoning.asking.forms import Branch, Form, Line, worked_examples
from atomr_local.reasoning.asking.writer import WrittenForm
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import Need, QuestionContext
from atomr_local.strategies.shared.closing import Final, answer_from, at_root, following_from
from atomr_local.strategies.shared.follow_ups import FollowUps
from atomr_local.tree.nodes import ROOT_ID, Tree

_PACKAGE = "atomr_local.strategies"
_NEEDED, _NEXT, _FOLLOW_UP, _ANSWER, _TOLD = "Needed", "Next", "Follow-up", "Answer", "Intermediate answer"
# What the model chooses first, and after every intermediate answer: to ask on, or to end.
_CHOICES = {_NEEDED: ("yes", "no"), _NEXT: ("another follow-up", "the answer")}
_FORM = Form(_PACKAGE, "self_ask", (Line(_FOLLOW_UP),), worked_examples(_PACKAGE, "self_ask_examples"), stop=(_TOLD,))


class SelfAskOptions(StrategyOptions):
    """Where and how often is looked up."""

    source: str = Field(
        "all",
        pattern=r"^[\w.-]+$",
        description="What follow-ups are searched in: all, or one source such as text; published: web.",
    )
    follow_ups: int = Field(6, ge=0, le=20, description="The most follow-up questions.")
    k: int = Field(3, ge=1, le=20, description="Pieces of evidence per follow-up and source.")

    def only_source(self) -> str | None:
        return None if self.source == "all" else self.source


class SelfAsk:
    name = "self-ask"
    summary = "ask simpler follow-up questions one after another, look each up, then answer"
    paper = "Press et al.: Measuring and Narrowing the Compositionality Gap in Language Models, Findings of EMNLP 2023"
    needs: frozenset[Need] = frozenset()
    options: type[StrategyOptions] = SelfAskOptions
    uses_sources = True
    revises = False
    takes_plans = False

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        options = SelfAskOptions.of(tools.options)
        sources = tools.retriever.names if options.source == "all" else (options.source,)
        if not set(sources) <= set(tools.retriever.names):
            raise InputError(
                f"strategies.self-ask.source: the source {options.source} is not at hand",
                hint=f"Turn it on, or choose one of: {', '.join(('all', *tools.retriever.names))}.",
            )
        tools.steps.begin(question)
        asked = FollowUps(question, tools, options.follow_ups, options.k, sources)
        transcript = _Transcript(asked, tools)
        asked.ask(None if tools.reader.knows_next else transcript.next)
        return at_root(tools, question, lambda: _concluded(tools, asked, transcript.final), asked.notes)


class _Transcript:
    """The transcript of a model that has not learnt to ask on: it chooses in words whether to ask, and what."""

    def __init__(self, asked: FollowUps, tools: QuestionContext) -> None:
        self.final: WrittenForm | None = None  # the turn that gave the final answer
        self._asked = asked
        self._tools = tools

    def next(self) -> str:
        """What the model writes after the transcript so far; "" if it gives the answer, or nothing that can be read.

        Raises:
            AtomrError: the model failed.
            Cancelled: the question was cancelled.
        """
        label, written = self._turn()
        notes = self._asked.notes
        notes.extend(note for note in written.dropped if note not in notes)
        if written.problem is not None:
            notes.append(f"no further follow-up: {written.problem}")
            return ""
        if _CHOICES[label][1] == written[label]:
            self.final = written
            return ""
        return written[_FOLLOW_UP]

    def _turn(self) -> tuple[str, WrittenForm]:
        """What the model writes next, and the label of its choice."""
        label = _NEXT if self._asked.steps else _NEEDED
        on, end = _CHOICES[label]
        # A model that has learnt to combine the answers of steps does so in a call of its own.
        last = () if self._tools.asking.lean else (Line(_ANSWER),)
        form = replace(_FORM, fields=(Branch(label, {on: (Line(_FOLLOW_UP),), end: last}),))
        turns = [
            (f"{choice}: {_CHOICES[choice][0]}\n{_FOLLOW_UP}: {asked}", f"{_TOLD}: {result.told}")
            for choice, (asked, result) in zip(chain((_NEEDED,), repeat(_NEXT)), self._asked.steps, strict=False)
        ]
        [written] = self._tools.writer.write(ROOT_ID, "follow-up", form, turns=turns, question=self._asked.question)
        return label, written


def _concluded(tools: QuestionContext, asked: FollowUps, final: WrittenForm | None) -> Result:
    """The final answer: the one that the transcript ends with, or else one that is asked for outright.

    Where a model has learnt to ask on, an answer that follows from the steps is taken, and no model is asked.
    """
    following = following_from(asked.question, asked.steps) if tools.reader.knows_next else None
    if following is not None:
        return following
    ended = Final(final[_ANSWER], final.logprob(_ANSWER)) if final is not None else None
    return answer_from(tools, asked.question, asked.steps, ended)
