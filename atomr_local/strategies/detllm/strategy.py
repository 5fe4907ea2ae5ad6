"""DetLLM: hops over heterogeneous knowledge (Zhao et al., Findings of NAACL 2024).

In each hop the model writes the next question of one fact. Passages, facts as text and the rows of a query that the
model writes are found for it and ranked together by that question; the best are read in the next hop.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from pydantic import Field

from atomr_local.language.answer_key import answer_key
from atomr_local.reasoning.reading.citation_verification import holds, mentioned_share
from atomr_local.reasoning.results import Action, Result
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sources.protocol import Evidence, Value, ValueKind
from atomr_local.strategies.detllm.search import Retrieval, Search, pooled
from atomr_local.strategies.detllm.writing import Asked, HopWriting
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import Need, Toolbox
from atomr_local.strategies.shared.closing import CALLS_USED, at_root, final_values, read_whole, result_of
from atomr_local.strategies.shared.searching import told
from atomr_local.tree.nodes import ROOT_ID, Tree

_MOST_CITED = 2
_MOST_VALUES = 3  # of a query's rows that stand in where the evidence tells no answer of a hop
# What may go to the web: an answer of so few words, held by evidence that mentions this share of the hop's question.
_MOST_SHARED, _LEAST_MENTIONED = 5, 0.5
NOTHING_FOUND = "nothing was found to reason over"
NO_GRAPH = "no query is written: there is no graph at hand"


class DetLLMOptions(StrategyOptions):
    """How far it goes, and the arms of the published ablation: `retrieval` with and without `sparql`."""

    hops: int = Field(2, ge=1, le=4, description="Rounds of searching; published: 2.")
    queries: int = Field(3, ge=1, le=20, description="Questions sampled per hop, each searched beside the whole one.")
    k: int = Field(5, ge=1, le=20, description="Pieces of evidence that a hop keeps; published: 5.")
    temperature: float = Field(0.7, ge=0, le=2, description="Of the sampled questions; published: 0.7.")
    retrieval: Retrieval = Field(
        "apart-dense",
        description="Passages and facts apart, passages by vectors (published: the best arm) or by words; or together "
        "in one list, by vectors or by words. Facts apart are always found by words.",
    )
    facts: bool = Field(True, description="Search the facts of the graph as text.")
    sparql: bool = Field(True, description="Let the model write a query to the graph in every hop.")

    def searches_facts(self) -> bool:
        return self.facts


class DetLLM:
    name = "detllm"
    summary = "search passages, facts and a written graph query hop by hop, ranked together"
    paper = (
        "Zhao et al.: DivKnowQA: Assessing the Reasoning Ability of LLMs via Open-Domain Question Answering over "
        "Knowledge Base and Text, Findings of NAACL 2024"
    )
    needs: frozenset[Need] = frozenset()
    options: type[StrategyOptions] = DetLLMOptions
    uses_sources = True
    revises = False
    takes_plans = False

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: Toolbox) -> Result:
        options = DetLLMOptions.of(tools.options)
        tools.steps.begin(question)
        program = _Program(question, tools, options)
        program.search()
        return at_root(tools, question, program.conclude, program.notes)


class _Program:
    """The hops of one question."""

    def __init__(self, question: str, tools: Toolbox, options: DetLLMOptions) -> None:
        self.evidence: list[Evidence] = []  # of the last hop, best first
        self.notes: list[str] = []
        self._question = question
        self._tools = tools
        self._options = options
        self._writing = HopWriting(question, tools, options.queries, options.temperature)
        self._search = Search(question, tools, options.k, options.retrieval, facts=options.facts)
        self._before: tuple[int, Result, float] | None = None  # the hop whose answer the next one states
        self._rows: tuple[Value, ...] = ()  # what the last query gave
        self._known: list[Value] = []  # answers of hops
        self._asked: set[str] = set()
        self.notes += filter(None, [self._search.note])
        if options.sparql and tools.sparql is None:
            self.notes.append(NO_GRAPH)

    def search(self) -> None:
        for number in range(1, self._options.hops + 1):
            if number > 1 and not (self._tools.asking.calls_left and self.evidence):
                self.notes.append(CALLS_USED if self.evidence else f"hop {number} left out: nothing was found before")
                return
            begun = time.monotonic()
            with self._tools.steps.open(self._question, label=f"hop {number}") as step:
                self._hop(step)
            self._before = (step.id, step.result, time.monotonic() - begun)

    def conclude(self) -> Result:
        """The answer that the evidence of the last hop gives."""
        if not self.evidence:
            return Result(dropped=[NOTHING_FOUND])
        if self._writing.lean:
            reading = read_whole(self._tools, ROOT_ID, self._question, self.evidence)
            return result_of(reading, "direct_rag", self.evidence)
        final = self._writing.answer(self.evidence)
        values = final_values(final.answer)
        if answer_key(final.answer) == answer_key(self._question):
            values = ()
        result = Result(values, "tool", final.probability, self.evidence, dropped=list(final.notes))
        result.thought = final.reasons
        if values:
            result.cited = self._holding(final.answer)
        else:
            result.method = result.confidence = None
            result.dropped.append("the model found no answer in the evidence")
        return result

    def _holding(self, answer: str) -> list[str]:
        held = [item for item in self.evidence if holds(answer, item)]
        held.sort(key=lambda item: mentioned_share(self._question, [item]) or 0.0, reverse=True)
        return [item.id for item in held[:_MOST_CITED]]

    def _hop(self, step: Step) -> None:
        before = self.evidence
        lists = list(self._search.lists(step, self._question, "question"))
        self.evidence = self._best(self._question, lists, before)  # what is left if the model fails
        step.result = Result(evidence=self.evidence)
        if not self._tools.asking.calls_left:
            self.notes.append(CALLS_USED)
            return
        asked = self._writing.hop(step.id, before)
        self._answered(asked.found)
        self._rows = ()
        step.result.thought = asked.reasons
        step.result.dropped = list(asked.notes)
        again = answer_key(asked.question) in self._asked
        if again and asked.question != self._question:
            step.result.dropped.append("the question of this hop is one that was asked before")
        self._asked.add(answer_key(asked.question))
        for query in asked.queries:
            lists += self._search.lists(step, query, "query")
        if not again and (rows := self._queried(step, asked)) is not None:
            lists.append([rows])
        step.result.evidence = self.evidence = self._best(asked.question, lists, before)
        step.result.action = Action("search", asked.question)
        step.result.observation = told(self.evidence)

    def _best(self, question: str, lists: list[list[Evidence]], before: list[Evidence]) -> list[Evidence]:
        pool = pooled(lists, before)
        return self._tools.ranking.ranked(question, pool, self._options.k, self._tools.cancellation)

    def _answered(self, found: str) -> None:
        """What the evidence of the hop before says to its question is that hop's answer, which the user sees."""
        if self._before is None:
            return
        node_id, result, seconds = self._before
        rows = tuple(one for one in self._rows if answer_key(one.text) == answer_key(found))
        values = rows or self._writing.listed.values(found)
        if not found:
            rows = tuple(value for value in self._rows if value.kind is not ValueKind.BOOLEAN)
            values = rows if len(rows) <= _MOST_VALUES else ()
        if not values:
            return
        result.values, result.method = values, "tool"
        held = [item.id for item in result.evidence if any(holds(value.text, item) for value in values)]
        result.cited = held[:_MOST_CITED]
        self._tools.steps.report(node_id, result, seconds)
        self._known += values
        self._search.answers += _shareable(values, result, from_rows=bool(rows))

    def _queried(self, step: Step, asked: Asked) -> Evidence | None:
        """The rows of a query that the model writes for the question of the hop, in a step of its own."""
        if not self._options.sparql or self._tools.sparql is None:
            return None
        if not self._tools.asking.calls_left:
            self.notes.append(CALLS_USED)
            return None
        with self._tools.steps.open(asked.question, step.id, "graph query") as below:
            values = [*self._named(asked), *self._known]
            answer = self._tools.sparql.answer(below.id, asked.question, values=values)
            found = Result(method="sparql")
            if answer.sketch is not None:
                found.action = Action("query", answer.sketch.text)
            if answer.queried is not None and answer.queried.evidence is not None:
                found.evidence = [answer.queried.evidence]
                found.observation = answer.queried.evidence.text
            if answer.problem:
                found.method = None
                found.observation = answer.problem
            else:
                self._rows = found.values = answer.values
                found.cited = [item.id for item in found.evidence]
            below.result = found
        return found.evidence[0] if found.method and found.evidence else None

    def _named(self, asked: Asked) -> list[Value]:
        """What the question of the hop asks about, in the graph."""
        if not asked.name or self._tools.graph is None:
            return []
        return [linked.entity for linked in self._tools.graph.link(asked.name, 1, asked.question)]


def _shareable(values: Sequence[Value], result: Result, *, from_rows: bool) -> list[str]:
    """Of a hop's answer what may go to the web: what is an answer to its question, not any words of a passage."""
    texts = [value.text for value in values]
    if from_rows:
        return [text for text in texts if len(text.split()) <= _MOST_SHARED]
    if sum(len(text.split()) for text in texts) > _MOST_SHARED:
        return []
    asked = result.action.input if result.action is not None else ""
    about = [item for item in result.evidence if (mentioned_share(asked, [item]) or 0.0) >= _LEAST_MENTIONED]
    return [text for text in texts if any(holds(text, item) for item in about)]
