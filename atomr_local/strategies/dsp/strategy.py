"""DSP: demonstrate, search in hops, predict by a vote (Khattab et al., 2022).

Several queries are sampled a hop; their results are fused. A summary of each hop is carried into the next one.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from atomr_local.language.answer_key import answer_key
from atomr_local.reasoning.candidates import Candidate, vote
from atomr_local.reasoning.ranking import fuse_ranks
from atomr_local.reasoning.reading.citation_verification import holds, mentioned_share
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.reasoning.trace.words import rating_text
from atomr_local.sources.protocol import Evidence, Request
from atomr_local.strategies.dsp.demonstrations import SECONDS, Demonstration, Worked, demonstrated
from atomr_local.strategies.dsp.writing import Summary, Writing
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import Need, Toolbox
from atomr_local.strategies.shared.closing import CALLS_USED, at_root
from atomr_local.strategies.shared.searching import SearchedOnce, searched, told
from atomr_local.tree.nodes import Tree

_MOST_CITED = 2
NO_SCORES = "the model gives no log-probabilities: the first summary is carried on"


class DSPOptions(StrategyOptions):
    """How much is sampled, searched and shown."""

    queries: int = Field(3, ge=1, le=20, description="Queries sampled per hop, beside the question; published: 10.")
    chains: int = Field(5, ge=1, le=40, description="Chains of thought that vote on the answer; published: 20.")
    hops: int = Field(2, ge=1, le=4, description="Rounds of searching; published: 2.")
    k: int = Field(5, ge=1, le=20, description="Passages that a hop keeps; published: 5.")
    temperature: float = Field(0.7, ge=0, le=2, description="Of queries and chains of thought; published: 0.7.")
    demonstrations: int = Field(
        3, ge=0, le=7, description="Worked examples shown at most, of 7 that it tries; published: 3; 0: none."
    )
    demonstration_seconds: float = Field(
        SECONDS,
        ge=0,
        le=3600,
        description="Seconds for which a question may be kept waiting while worked examples are made, beside its own "
        "time and `limits.calls`; the next question goes on. 0: only those that are kept are shown.",
    )


# How a worked question is answered: no samples, fewer passages.
_TRIAL = DSPOptions(queries=1, chains=1, k=2, temperature=0.0, demonstrations=0)


class DSP:
    name = "dsp"
    summary = "search in two hops with several queries each, and let several chains of thought vote"
    paper = (
        "Khattab et al.: Demonstrate-Search-Predict: Composing Retrieval and Language Models for Knowledge-Intensive "
        "NLP, arXiv 2022"
    )
    needs: frozenset[Need] = frozenset()
    options: type[StrategyOptions] = DSPOptions
    uses_sources = True
    revises = False
    takes_plans = False

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: Toolbox) -> Result:
        options = DSPOptions.of(tools.options)
        tools.steps.begin(question)
        program = _Program(question, tools, options)
        if program.writing.shows_examples:
            seconds = options.demonstration_seconds
            program.writing.examples = demonstrated(tools, options.demonstrations, annotated, seconds)
        program.search()
        return at_root(tools, question, program.predict, program.notes)


def annotated(worked: Worked, tools: Toolbox) -> Demonstration | None:
    """The worked question as the program itself answers it; None if it does not find the answer, or gives another.

    Raises:
        AtomrError: the model failed.
        Cancelled: the question was cancelled, or its time is up.
    """
    tools.steps.begin(worked.question)
    program = _Program(worked.question, tools, _TRIAL)
    program.search()
    result = program.predict()
    in_context = any(holds(worked.answer, item) for item in program.passages)
    right = answer_key(result.answer) == answer_key(worked.answer)
    return Demonstration(question=worked.question, turns=program.writing.turns()) if in_context and right else None


class _Program:
    """Search and predict, for one question."""

    def __init__(self, question: str, tools: Toolbox, options: DSPOptions) -> None:
        self.passages: list[Evidence] = []  # of the last hop, best first
        self.notes: list[str] = []
        self.writing = Writing(question, tools, options.queries, options.temperature)
        self._question = question
        self._tools = tools
        self._options = options
        self._searched: SearchedOnce[Evidence] = SearchedOnce(tools)

    def search(self) -> None:
        for number in range(1, self._options.hops + 1):
            if number > 1 and not (self._tools.asking.calls_left and self.passages):
                self.notes.append(CALLS_USED if self.passages else f"hop {number} left out: nothing was found before")
                return
            with self._tools.steps.open(self._question, label=f"hop {number}") as step:
                self._hop(step)

    def predict(self) -> Result:
        """The answer that most chains of thought give, with its share of them."""
        if not self.passages:
            return Result(dropped=["nothing was found to reason over"])
        chains, notes = self.writing.chains(self.passages, self._options.chains)
        tally = vote([chain.answer for chain in chains])
        if not tally.answer:
            return Result(evidence=self.passages, dropped=[*notes, "no chain of thought gave an answer"])
        winner = next(chain for chain in chains if answer_key(chain.answer) == answer_key(tally.answer))
        weighed = tuple(self._candidate(answer, count / len(chains)) for answer, count in tally.counts.items())
        return Result(
            self.writing.listed.values(tally.answer),
            "vote",
            tally.share,
            self.passages,
            list(weighed[0].evidence[:_MOST_CITED]),
            dropped=notes,
            others=tuple((one.values[0], one.score or 0.0) for one in weighed[1:]),
            signals=dict(winner.signals),  # what is measured is calibrated; else the share is the confidence
            thought=winner.reasons,
            candidates=weighed,
        )

    def _candidate(self, answer: str, share: float) -> Candidate:
        values = self.writing.listed.values(answer)
        held = [item for item in self.passages if any(holds(value.text, item) for value in values)]
        held.sort(key=lambda item: mentioned_share(self._question, [item]) or 0.0, reverse=True)
        return Candidate(values, share, "chains of thought", tuple(item.id for item in held))

    def _hop(self, step: Step) -> None:
        """Search with the question and with sampled queries; keep the best of what they find together."""
        before = self.passages
        lists = [self._find(step, self._question, "question")]
        self.passages = fuse_ranks(lists, self._options.k) or before  # what is left if the model fails
        step.result = Result(evidence=self.passages)
        if not self._tools.asking.calls_left:
            self.notes.append(CALLS_USED)
            return
        written = self.writing.hop(step.id, before)
        step.result.dropped = list(written.notes)
        if written.summaries:
            step.result.thought = written.summaries[0].text
            step.result.dropped.append(_chosen(written.summaries))
        for query in written.queries:
            lists.append(self._find(step, query, "query"))
        step.result.evidence = self.passages = fuse_ranks(lists, self._options.k)
        step.result.observation = told(self.passages)

    def _find(self, step: Step, query: str, label: str) -> list[Evidence]:
        """What is found, best first, in a step of its own; nothing new for a query that was searched before."""
        return self._searched.found(step, query, label, lambda below: self._gather(below, query))

    def _gather(self, step: Step, query: str) -> list[Evidence]:
        """The evidence of all sources; where several have some, in the order in which it suits the query."""
        request = Request(self._question, query, top_k=self._options.k)
        gathered = searched(self._tools, step.id, request, self._question)
        found = Result(evidence=gathered.evidence, dropped=[*gathered.dropped, *gathered.problems])
        step.result = found
        found.evidence = self._tools.ranking.together(query, found.evidence, self._tools.cancellation)
        found.observation = told(found.evidence)
        return found.evidence


def _chosen(summaries: Sequence[Summary]) -> str:
    """Which summary was carried on, and why."""
    score = summaries[0].score
    if score is None:
        return NO_SCORES
    which = f"the surest of {len(summaries)} summaries" if len(summaries) > 1 else "the summary"
    return f"{which} is carried on: mean log-probability {rating_text(score)}"
