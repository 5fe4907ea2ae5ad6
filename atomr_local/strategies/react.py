"""ReAct: thoughts and actions in turns, on pages that are opened by title (Yao et al., ICLR 2023)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

from pydantic import Field

from atomr_local import paths
from atomr_local.reasoning.asking.forms import Form, Line, worked_examples
from atomr_local.reasoning.candidates import Candidate, Vote, vote
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.reading.checks import are_verdicts, holds
from atomr_local.reasoning.results import Result, text_values
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.processes.process import at_hand as kept_processes
from atomr_local.strategies.processes.process import chosen
from atomr_local.strategies.protocol import Need, QuestionContext
from atomr_local.strategies.shared.closing import Final, closed, final_values
from atomr_local.strategies.shared.loop import THOUGHT, AskingOn, Loop
from atomr_local.strategies.shared.tools import PageTools, needed_pages
from atomr_local.tree.nodes import Tree

_PACKAGE = "atomr_local.strategies"
_FORM = Form(_PACKAGE, "react", (Line(THOUGHT),), worked_examples(_PACKAGE, "react_examples"))
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


class React:
    name = "react"
    summary = "think, open a page or look words up on it, see what it says, and so on until the answer is found"
    paper = "Yao et al.: ReAct: Synergizing Reasoning and Acting in Language Models, ICLR 2023"
    needs: frozenset[Need] = frozenset({"pages"})
    options: type[StrategyOptions] = ReactOptions
    uses_sources = True
    revises = False
    takes_plans = False

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        options = ReactOptions.of(tools.options)
        pages = needed_pages(tools, self.name)
        tools.steps.begin(question)
        voted = _voted(question, tools, options.votes) if options.first == "cot" else None
        result, notes = Result(), list[str]()
        if voted is None or voted.confidence is None or voted.confidence < _ENOUGH:
            asking = AskingOn(question, tools) if tools.reader.knows_next else None
            at_hand = PageTools(pages, asking).at_hand()
            thinks = asking.thought if asking is not None else None
            loop = Loop(question, tools, at_hand, _form(question, tools), options.rounds, thinks=thinks)
            final = loop.run()
            notes += loop.notes
            if final is not None:
                result = _found(final, loop)
                if asking is not None and asking.answer:  # the model was left no choice of what to end with
                    result.confidence = asking.confidence
            result.evidence = loop.evidence
            if not result.values and options.fallback == "cot":
                with tools.asking.concluding():
                    result = _from_vote(voted or _voted(question, tools, options.votes), loop.evidence)
        else:
            result = _from_vote(voted, [])
        with tools.steps.root(question) as root:
            result.dropped = [*notes, *result.dropped]
            root.result = closed(tools, question, result)
        return root.result


def _form(question: str, tools: QuestionContext) -> Form:
    """The form with the worked examples, processes that the user has kept first."""
    kept, _ = kept_processes(paths.processes_file(), React.name, tools.withheld)
    shown = chosen(question, kept, _PROCESSES, "dpp", tools.ranking, tools.cancellation)
    examples = (*(process.as_example() for process in shown), *_FORM.examples)
    return replace(_FORM, examples=examples[: len(_FORM.examples)])


def _found(final: Final, loop: Loop) -> Result:
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


def _voted(question: str, tools: QuestionContext, votes: int) -> Result:
    """The most frequent answer of several chains of thought, in a step of its own; empty if there is none."""
    with tools.steps.open(question, label="vote") as step:
        affordable = min(votes, tools.asking.calls_left // _CALLS_A_CHAIN)
        if affordable < votes:
            step.result.dropped.append(f"{votes - affordable} of {votes} chains left out: model calls are used up")

        def chain(draw: int) -> str:
            reading = tools.reader.from_thoughts(step.id, question, draw=draw, temperature=_TEMPERATURE)
            return ", ".join(reading.answers)

        drawn = run_each(chain, range(1, affordable + 1), tools.settings.llm.parallel)
        step.result = _counted(vote(drawn), len(drawn), step.result.dropped)
    return step.result


def _counted(won: Vote, chains: int, notes: list[str]) -> Result:
    weighed = tuple(Candidate(text_values([text]), count / chains, "model") for text, count in won.counts.items())
    if not won.answer:
        return Result(dropped=[*notes, "no chain of thought gave an answer"], candidates=weighed)
    counted = f"{won.counts[won.answer]} of {chains} chains of thought"
    return Result(
        text_values([won.answer]), "closed_book", won.share, computation=counted, dropped=notes, candidates=weighed
    )


def _from_vote(voted: Result, seen: list[Evidence]) -> Result:
    """The vote as the answer to the whole question: it rests on nothing that was seen."""
    return replace(voted, evidence=seen, dropped=[VOTED] if voted.values else [], error=None)
