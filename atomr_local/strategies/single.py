"""Strategies with a single node: the baselines `rag`, `closed-book` and `cot`."""

from __future__ import annotations

from pydantic import Field

from atomr_local.reasoning.planning.planner import fallback_tree
from atomr_local.reasoning.reading.answer_formats import Reading
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.schema import Method, PlanOrigin
from atomr_local.sources.protocol import Evidence, Request
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import QuestionContext, Strategy
from atomr_local.strategies.shared.closing import closed, read_whole, result_of
from atomr_local.strategies.shared.plans import plan_ready
from atomr_local.tree.nodes import ROOT_ID, Tree


class SingleNode(Strategy):
    """A tree of the root alone. Subclasses set the attributes and `answer`; this class emits the events."""

    uses_sources = False
    method: Method = "closed_book"

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        tools.steps.begin_tree(plan_ready(fallback_tree(question), "fallback"))
        with tools.steps.root(question) as step:
            with tools.asking.concluding():  # its few calls are all that is needed for the answer
                reading, evidence = self.answer(question, tools)
            step.result = closed(tools, question, result_of(reading, self.method, evidence))
        return step.result

    def answer(self, question: str, tools: QuestionContext) -> tuple[Reading, list[Evidence]]:
        """The reading, and the evidence that it is based on."""
        raise NotImplementedError


class RagOptions(StrategyOptions):
    """How much is retrieved, and in which order it is read."""

    top_k: int | None = Field(
        None, ge=1, le=50, description="Pieces of evidence per source; none: the setting top_k of all strategies."
    )
    ranking: bool = Field(
        False, description="Order evidence of several sources by how well it suits the question, not source by source."
    )


class Rag(SingleNode):
    name = "rag"
    summary = "retrieve once for the whole question and answer from the passages in one call"
    paper = "Lewis et al.: Retrieval-Augmented Generation for Knowledge-Intensive NLP Tasks, NeurIPS 2020"
    options = RagOptions
    uses_sources = True
    method: Method = "direct_rag"

    def answer(self, question: str, tools: QuestionContext) -> tuple[Reading, list[Evidence]]:
        options = RagOptions.of(tools.options)
        top_k = options.top_k or tools.settings.top_k
        found = tools.retriever.everywhere(ROOT_ID, Request(question, question, top_k=top_k))
        if not found.evidence:
            return Reading(dropped=tuple(found.problems)), []
        best_first = found.evidence
        if options.ranking:
            best_first = tools.ranking.together(question, best_first, tools.cancellation)
        return read_whole(tools, ROOT_ID, question, best_first), found.evidence


class ClosedBook(SingleNode):
    name = "closed-book"
    summary = "answer from the model's own knowledge, without looking anything up"

    def answer(self, question: str, tools: QuestionContext) -> tuple[Reading, list[Evidence]]:
        return tools.reader.from_memory(ROOT_ID, question), []


class ChainOfThought(SingleNode):
    name = "cot"
    summary = "think step by step from the model's own knowledge, then answer"
    paper = "Wei et al.: Chain-of-Thought Prompting Elicits Reasoning in Large Language Models, NeurIPS 2022"

    def answer(self, question: str, tools: QuestionContext) -> tuple[Reading, list[Evidence]]:
        return tools.reader.from_thoughts(ROOT_ID, question), []
