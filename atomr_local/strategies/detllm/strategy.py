"""DetLLM: hops over heterogeneous knowledge (Zhao et al., Findings of NAACL 2024).

In each hop the model writes the next question of one fact. Passages, facts as text and the rows of a query that the
model writes are found for it and ranked together by that question; the best are read in the next hop.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field as PydanticField

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.names import answer_key
from atomr_local.reasoning.asking.forms import Field, Form, Line, WordsOf, worked_examples
from atomr_local.reasoning.asking.writer import WrittenForm, notes_of
from atomr_local.reasoning.ranking import fuse_ranks
from atomr_local.reasoning.reading.checks import holds, mentioned_share
from atomr_local.reasoning.reading.reader import UNKNOWN
from atomr_local.reasoning.results import Action, Result, add_evidence
from atomr_local.reasoning.source_access import ranked_by_words
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sources.protocol import Evidence, Request, SearchMode, SourceName, Value, ValueKind
from atomr_local.strategies.dsp.strategy import Writing
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import Need, QuestionContext
from atomr_local.strategies.shared.closing import CALLS_USED, Listed, at_root, final_values, read_whole, result_of
from atomr_local.strategies.shared.tools import SearchedOnce, searched, told
from atomr_local.tree.nodes import ROOT_ID, Tree

# The two ways in which `detllm` searches with words: passages, and facts as text, together or apart.

Retrieval = Literal["apart-dense", "apart-words", "together-dense", "together-words"]
# Where passages and facts share a list, it is made of so many times as many of each.
_WIDER = 4
NO_FACTS = "facts are not searched: the graph index has no facts as text (`atomr graph linearise` makes them)"


class Search:
    """Searches for one question, each query once.

    Attributes:
        answers: of earlier hops, of those that the user sees, which are short and fit: their words may go to the web.
    """

    def __init__(self, question: str, tools: QuestionContext, k: int, way: Retrieval, *, facts: bool) -> None:
        self.answers: list[str] = []
        self._question = question
        self._tools = tools
        self._k = k
        self._way = way
        self._facts = facts
        self._found: SearchedOnce[list[Evidence]] = SearchedOnce(tools)

    @property
    def note(self) -> str:
        """Why facts are not searched though they should be; empty if they are."""
        there = SourceName.GRAPH in self._tools.retriever.names
        return NO_FACTS if self._facts and there and self._tools.facts is None else ""

    def lists(self, parent: Step, query: str, label: str) -> list[list[Evidence]]:
        """What is found, each list best first, in a step of its own; none for a query that was searched before."""
        return self._found.found(parent, query, label, lambda below: self._searched(below, query))

    def _searched(self, step: Step, query: str) -> list[list[Evidence]]:
        together = self._way.startswith("together")
        most = self._k * _WIDER if together else self._k
        found = Result()
        step.result = found
        lists = [self._passages(step, query, most), self._statements(step, query, most)]
        if together:
            pool = [item for one in lists for item in one]
            lists = [self._one_list(query, pool)]
            found.evidence = lists[0]
        found.observation = told([item for one in lists for item in one])
        return [one for one in lists if one]

    def _passages(self, step: Step, query: str, most: int) -> list[Evidence]:
        """From every source but the graph."""
        sources = [name for name in self._tools.retriever.permitted(step.id) if name != SourceName.GRAPH]
        if not sources:
            return []
        mode: SearchMode = "words" if self._way.endswith("words") else "dense"
        request = Request(self._question, query, top_k=most, mode=mode)
        gathered = searched(self._tools, step.id, request, self._question, answers=self.answers, sources=sources)
        step.result.dropped += [*gathered.dropped, *gathered.problems]
        found = self._tools.ranking.together(query, gathered.evidence, self._tools.cancellation)
        add_evidence(step.result.evidence, found)
        return found

    def _statements(self, step: Step, query: str, most: int) -> list[Evidence]:
        """From the graph's facts as text."""
        if not self._facts or self._tools.facts is None:
            return []
        try:
            found = self._tools.facts.search(step.id, query, most)
        except Cancelled:
            raise
        except AtomrError as error:  # the passages stand without them
            step.result.dropped.append(f"{self._tools.facts.source}: {error.message}. {error.hint or ''}".strip())
            return []
        add_evidence(step.result.evidence, found)
        return found

    def _one_list(self, query: str, pool: list[Evidence]) -> list[Evidence]:
        if self._way == "together-words":
            return ranked_by_words(query, pool, self._k)
        return self._tools.ranking.nearest(query, pool, self._k, self._tools.cancellation)


def pooled(lists: list[list[Evidence]], before: list[Evidence]) -> list[Evidence]:
    """Everything once: what stands high in several lists first, and last what was found before."""
    pool = fuse_ranks(lists, sum(map(len, lists)))
    add_evidence(pool, before)
    return pool


# What `detllm` has the model write: for each hop what the evidence tells and what is asked next; at last the answer.
# A model that was trained on the closed tasks alone writes with those, as in `dsp`.

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

    def __init__(self, question: str, tools: QuestionContext, draws: int, temperature: float) -> None:
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
    ) -> list[WrittenForm]:
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


def _sureness(written: WrittenForm) -> float:
    score = written.logprob(_QUESTION)
    return -math.inf if score is None else score


_MOST_CITED = 2
_MOST_VALUES = 3  # of a query's rows that stand in where the evidence tells no answer of a hop
# What may go to the web: an answer of so few words, held by evidence that mentions this share of the hop's question.
_MOST_SHARED, _LEAST_MENTIONED = 5, 0.5
NOTHING_FOUND = "nothing was found to reason over"
NO_GRAPH = "no query is written: there is no graph at hand"


class DetLLMOptions(StrategyOptions):
    """How far it goes, and the arms of the published ablation: `retrieval` with and without `sparql`."""

    hops: int = PydanticField(2, ge=1, le=4, description="Rounds of searching; published: 2.")
    queries: int = PydanticField(
        3, ge=1, le=20, description="Questions sampled per hop, each searched beside the whole one."
    )
    k: int = PydanticField(5, ge=1, le=20, description="Pieces of evidence that a hop keeps; published: 5.")
    temperature: float = PydanticField(0.7, ge=0, le=2, description="Of the sampled questions; published: 0.7.")
    retrieval: Retrieval = PydanticField(
        "apart-dense",
        description="Passages and facts apart, passages by vectors (published: the best arm) or by words; or together "
        "in one list, by vectors or by words. Facts apart are always found by words.",
    )
    facts: bool = PydanticField(True, description="Search the facts of the graph as text.")
    sparql: bool = PydanticField(True, description="Let the model write a query to the graph in every hop.")

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

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        options = DetLLMOptions.of(tools.options)
        tools.steps.begin(question)
        program = _Program(question, tools, options)
        program.search()
        return at_root(tools, question, program.conclude, program.notes)


class _Program:
    """The hops of one question."""

    def __init__(self, question: str, tools: QuestionContext, options: DetLLMOptions) -> None:
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
        found = Result()
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
