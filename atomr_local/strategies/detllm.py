"""DetLLM: hops over heterogeneous knowledge (Zhao et al., Findings of NAACL 2024).

In each hop the model writes the next question of one fact. Passages, facts as text and the rows of a query that the
model writes are found for it and ranked together by that question; the best are read in the next hop.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from pydantic import Field

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.names import answer_key
from atomr_local.reasoning.ranking import fuse_ranks
from atomr_local.reasoning.reading.checks import holds, mentioned_share
from atomr_local.reasoning.results import Action, Result, add_evidence
from atomr_local.reasoning.source_access import ranked_by_words
from atomr_local.reasoning.steps import Step
from atomr_local.sources.protocol import Evidence, Request, SearchMode, SourceName, Value, ValueKind
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.shared.tasks import Hop, ReasonedHops
from atomr_local.strategies.shared.tools import SearchedOnce, searched, told
from atomr_local.strategies.shared.work import StepwiseStrategy, Work

# Passages and facts as text are searched together or apart.
Retrieval = Literal["apart-dense", "apart-words", "together-dense", "together-words"]
# Where passages and facts share a list, it is made of so many times as many of each.
_WIDER = 4
NO_FACTS = "facts are not searched: the graph index has no facts as text (`atomr graph linearise` makes them)"
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


@dataclass(eq=False)
class _Program(Work[DetLLMOptions]):
    """The hops of one question."""

    _evidence: list[Evidence] = field(default_factory=list, init=False)  # of the last hop, best first
    # The hop whose answer the next one states.
    _before: tuple[int, Result, float] | None = field(default=None, init=False)
    _rows: tuple[Value, ...] = field(default=(), init=False)  # what the last query gave
    _known: list[Value] = field(default_factory=list, init=False)  # answers of hops
    _asked: set[str] = field(default_factory=set, init=False)
    # Answers of earlier hops that the user sees, which are short and fit: their words may go to the web.
    _answers: list[str] = field(default_factory=list, init=False)

    @cached_property
    def _writing(self) -> ReasonedHops:
        return self.tasks.reasoned_hops(self.options.queries, self.options.temperature)

    @cached_property
    def _once(self) -> SearchedOnce[list[Evidence]]:
        return SearchedOnce(self.tools)

    def _lists(self, parent: Step, query: str, label: str) -> list[list[Evidence]]:
        """Lists of evidence, each best first, found in a step of their own; a repeated query is not searched again."""
        return self._once.found(parent, query, label, lambda below: self._find(below, query))

    def _find(self, step: Step, query: str) -> list[list[Evidence]]:
        together = self.options.retrieval.startswith("together")
        most = self.options.k * _WIDER if together else self.options.k
        found = Result()
        step.result = found
        lists = [self._passages(step, query, most), self._statements(step, query, most)]
        if together:
            pool = [item for one in lists for item in one]
            if self.options.retrieval == "together-words":
                found.evidence = ranked_by_words(query, pool, self.options.k)
            else:
                found.evidence = self.tools.ranking.nearest(query, pool, self.options.k, self.tools.cancellation)
            lists = [found.evidence]
        found.observation = told([item for one in lists for item in one])
        return [one for one in lists if one]

    def _passages(self, step: Step, query: str, most: int) -> list[Evidence]:
        """From every source but the graph."""
        sources = [name for name in self.tools.retriever.permitted(step.id) if name != SourceName.GRAPH]
        if not sources:
            return []
        mode: SearchMode = "words" if self.options.retrieval.endswith("words") else "dense"
        request = Request(self.question, query, top_k=most, mode=mode)
        gathered = searched(self.tools, step.id, request, self.question, answers=self._answers, sources=sources)
        step.result.dropped += [*gathered.dropped, *gathered.problems]
        found = self.tools.ranking.together(query, gathered.evidence, self.tools.cancellation)
        add_evidence(step.result.evidence, found)
        return found

    def _statements(self, step: Step, query: str, most: int) -> list[Evidence]:
        """From the graph's facts as text."""
        if not self.options.facts or self.tools.facts is None:
            return []
        try:
            found = self.tools.facts.search(step.id, query, most)
        except Cancelled:
            raise
        except AtomrError as error:  # the passages stand without them
            step.result.dropped.append(f"{self.tools.facts.source}: {error.message}. {error.hint or ''}".strip())
            return []
        add_evidence(step.result.evidence, found)
        return found

    def go(self) -> None:
        if self.options.facts and SourceName.GRAPH in self.tools.retriever.names and self.tools.facts is None:
            self.notes.append(NO_FACTS)
        if self.options.sparql and self.tools.sparql is None:
            self.notes.append(NO_GRAPH)
        for number in range(1, self.options.hops + 1):
            if number > 1 and not self._evidence:
                self.notes.append(f"hop {number} left out: nothing was found before")
                return
            if number > 1 and not self.may_ask():
                return
            begun = time.monotonic()
            with self.tools.steps.open(self.question, label=f"hop {number}") as step:
                self._hop(step)
            self._before = (step.id, step.result, time.monotonic() - begun)

    def conclude(self) -> Result:
        """The answer that the evidence of the last hop gives."""
        return self._writing.answer(self._evidence) if self._evidence else Result(dropped=[NOTHING_FOUND])

    def _hop(self, step: Step) -> None:
        before = self._evidence
        lists = list(self._lists(step, self.question, "question"))
        self._evidence = self._best(self.question, lists, before)  # what is left if the model fails
        step.result = Result(evidence=self._evidence)
        if not self.may_ask():
            return
        asked = self._writing.hop(step.id, before)
        self._answered(asked.found)
        self._rows = ()
        step.result.thought = asked.reasons
        step.result.dropped = list(asked.notes)
        again = answer_key(asked.question) in self._asked
        if again and asked.question != self.question:
            step.result.dropped.append("the question of this hop is one that was asked before")
        self._asked.add(answer_key(asked.question))
        for query in asked.queries:
            lists += self._lists(step, query, "query")
        if not again and (rows := self._queried(step, asked)) is not None:
            lists.append([rows])
        step.result.evidence = self._evidence = self._best(asked.question, lists, before)
        step.result.action = Action("search", asked.question)
        step.result.observation = told(self._evidence)

    def _best(self, question: str, lists: list[list[Evidence]], before: list[Evidence]) -> list[Evidence]:
        """The best of everything: what stands high in several lists comes first, and last what was found before."""
        pool = fuse_ranks(lists, sum(map(len, lists)))
        add_evidence(pool, before)
        return self.tools.ranking.ranked(question, pool, self.options.k, self.tools.cancellation)

    def _answered(self, found: str) -> None:
        """Report the answer of the hop before, which its evidence gives and which the user sees."""
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
        self.tools.steps.report(node_id, result, seconds)
        self._known += values
        self._answers += _shareable(values, result, from_rows=bool(rows))

    def _queried(self, step: Step, asked: Hop) -> Evidence | None:
        """The rows of a query that the model writes for the question of the hop, in a step of its own."""
        if not self.options.sparql or self.tools.sparql is None or not self.may_ask():
            return None
        found = Result()
        with self.tools.steps.open(asked.question, step.id, "graph query") as below:
            values = [*self._named(asked), *self._known]
            answer = self.tools.sparql.answer(below.id, asked.question, values=values)
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

    def _named(self, asked: Hop) -> list[Value]:
        """The graph's entities that the question of the hop is about."""
        if not asked.name or self.tools.graph is None:
            return []
        return [linked.entity for linked in self.tools.graph.link(asked.name, 1, asked.question)]


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


class DetLLM(StepwiseStrategy):
    name = "detllm"
    summary = "search passages, facts and a written graph query hop by hop, ranked together"
    paper = (
        "Zhao et al.: DivKnowQA: Assessing the Reasoning Ability of LLMs via Open-Domain Question Answering over "
        "Knowledge Base and Text, Findings of NAACL 2024"
    )
    options = DetLLMOptions
    work = _Program
