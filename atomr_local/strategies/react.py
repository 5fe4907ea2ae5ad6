"""ReAct: thoughts and actions in turns, on pages that are opened by title (Yao et al., ICLR 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import Field

from atomr_local.reasoning.asking.forms import Form, Line
from atomr_local.reasoning.asking.writer import FilledForm
from atomr_local.reasoning.candidates import vote
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.reading.checks import are_verdicts, holds
from atomr_local.reasoning.results import Result
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.processes.process import at_hand as kept_processes
from atomr_local.strategies.processes.process import chosen
from atomr_local.strategies.shared.closing import final_values, voted
from atomr_local.strategies.shared.loop import THOUGHT, Loop
from atomr_local.strategies.shared.tasks import form
from atomr_local.strategies.shared.tools import PageTools
from atomr_local.strategies.shared.work import StepwiseStrategy, Work
from atomr_local.system import paths

_PROCESSES = 3  # of the user's own that are shown
_TEMPERATURE = 0.7
_ENOUGH = 0.5  # share of the votes from which `first = "cot"` does not act
_CALLS_A_CHAIN = 2
VOTED = "the answer is the vote of chains of thought: the model's own knowledge"
NOT_SEEN = "no observation contains this answer: it is the model's own"


class ReactOptions(StrategyOptions):
    """How long the model acts, and the vote that stands in for it."""

    rounds: int = Field(7, ge=1, le=30, description="The most rounds of thought and action; published: 7.")
    fallback: Literal["cot", "none"] = Field(
        "cot", description="Without an answer after the last round: the vote of chains of thought, or none."
    )
    votes: int = Field(5, ge=1, le=50, description="Chains of thought in the vote; published: 21.")
    first: Literal["act", "cot"] = Field(
        "act", description="cot: vote first, and act only where no answer has half of the votes."
    )


@dataclass(eq=False)
class _Acting(Work[ReactOptions]):
    _result: Result = field(default_factory=Result, init=False)

    def go(self) -> None:
        voted = self._voted() if self.options.first == "cot" else None
        if voted is not None and voted.confidence is not None and voted.confidence >= _ENOUGH:
            self._result = _from_vote(voted, [])
            return
        loop = self._acted()
        self._result.evidence = loop.evidence
        if not self._result.values and self.options.fallback == "cot":
            with self.tools.asking.concluding():
                self._result = _from_vote(voted or self._voted(), loop.evidence)

    def conclude(self) -> Result:
        return self._result

    def _acted(self) -> Loop:
        """The rounds; their answer becomes the result."""
        assert self.tools.pages is not None
        asking = self.tasks.asking_on()
        at_hand = PageTools(self.tools.pages, asking).at_hand()
        thinks = asking.thought if asking is not None else None
        loop = Loop(self.question, self.tools, at_hand, self._form(), self.options.rounds, thinks=thinks)
        final = loop.run()
        self.notes += loop.notes
        if final is not None:
            self._result = _found(final, loop)
            if asking is not None and asking.answer:  # the model was left no choice of what to end with
                self._result.confidence = asking.confidence
        return loop

    def _form(self) -> Form:
        """The form with its worked examples, processes that the user has kept first."""
        kept, _ = kept_processes(paths.processes_file(), React.name, self.tools.withheld)
        picked = chosen(self.question, kept, _PROCESSES, "dpp", self.tools.ranking, self.tools.cancellation)
        bare = form("react", Line(THOUGHT))
        examples = (*(process.as_example() for process in picked), *bare.examples)
        return replace(bare, examples=examples[: len(bare.examples)])

    def _voted(self) -> Result:
        """The most frequent answer of several chains of thought, in a step of its own; empty if there is none."""
        tools, votes = self.tools, self.options.votes
        with tools.steps.open(self.question, label="vote") as step:
            affordable = min(votes, tools.asking.calls_left // _CALLS_A_CHAIN)
            notes = step.result.dropped
            if affordable < votes:
                notes.append(f"{votes - affordable} of {votes} chains left out: model calls are used up")

            def one(draw: int) -> str:
                reading = tools.reader.from_thoughts(step.id, self.question, draw=draw, temperature=_TEMPERATURE)
                return ", ".join(reading.answers)

            drawn = run_each(one, range(1, affordable + 1), tools.settings.llm.parallel)
            won = vote(drawn)
            if won.answer:
                step.result = replace(voted(won, len(drawn), "chains of thought", notes), confidence=won.share)
            else:
                step.result = Result(dropped=[*notes, "no chain of thought gave an answer"])
        return step.result


class React(StepwiseStrategy):
    name = "react"
    summary = "think, open a page or look words up on it, see what it says, and so on until the answer is found"
    paper = "Yao et al.: ReAct: Synergizing Reasoning and Acting in Language Models, ICLR 2023"
    needs = frozenset({"pages"})
    options = ReactOptions
    work = _Acting


def _found(final: FilledForm, loop: Loop) -> Result:
    """The answer that the loop ended with; it cites the observations that contain it. Without one it is a memory."""
    values = final_values(final.text)
    if not values:
        return Result()
    verdict = are_verdicts([values[0].text])
    cited = [item.id for item in loop.evidence if verdict or holds(values[0].text, item)]
    return Result(
        values,
        "tool" if cited else "closed_book",
        None if final.logprob is None else math.exp(final.logprob),
        cited=cited,
        dropped=[] if cited else [NOT_SEEN],
    )


def _from_vote(voted: Result, seen: list[Evidence]) -> Result:
    """The vote as the answer to the whole question: it rests on nothing that was seen."""
    return replace(voted, evidence=seen, dropped=[VOTED] if voted.values else [], error=None)
