"""Chain-of-Knowledge: chains of rationales are sampled; where they disagree, each rationale is corrected by what the
sources have before the next one is written, and the answer follows from the corrected ones (Li et al., ICLR 2024).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic import Field

from atomr_local.language.names import answer_key
from atomr_local.reasoning.candidates import Vote, vote
from atomr_local.reasoning.operations.compute import evidence_of
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.steps import Step
from atomr_local.sources.protocol import Evidence, Request
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.shared.closing import noting, voted
from atomr_local.strategies.shared.loop import asked_before
from atomr_local.strategies.shared.tasks import Rationale, Rationales
from atomr_local.strategies.shared.tools import searched, tell_sources
from atomr_local.strategies.shared.work import StepwiseStrategy, Work
from atomr_local.tree.nodes import ROOT_ID

AGREED = "the sampled chains agree: nothing was looked up, this is the model's own knowledge"
UNCHECKED = "no rationale could be checked by evidence: this is the model's own knowledge"
FELL_BACK = "the rationales do not tell the answer: it is the one of most sampled chains, the model's own knowledge"
NO_CHAIN = "no chain gave an answer"


class CoKOptions(StrategyOptions):
    """How much is sampled, when it is checked, and how much is retrieved."""

    samples: int = Field(5, ge=1, le=40, description="Sampled chains of rationales that vote; published: 5 of 10.")
    temperature: float = Field(0.7, ge=0, le=2, description="Of the sampled chains; published: 0.7.")
    threshold: float = Field(
        0.5, ge=0, le=1, description="Share of the chains from which their answer stands unchecked; published: 0.5."
    )
    k: int = Field(3, ge=1, le=20, description="Pieces of evidence per rationale and source.")
    queries: bool = Field(
        True, description="Have the model write a graph query for each rationale; false: its words are searched."
    )
    at_once: bool = Field(False, description="Correct all rationales without writing the later ones anew.")


_CALLS_A_QUERY = 3  # two sketches, and the check of what they give


@dataclass(eq=False)
class _Correction(Work[CoKOptions]):
    """Samples chains; where they disagree, corrects the rationales of one in turn, and answers from them."""

    _sampled: Result = field(default_factory=Result, init=False)  # the answer of most chains
    _share: float = field(default=0.0, init=False)  # of the chains that give it
    _first: list[Rationale] = field(default_factory=list, init=False)  # as they were written
    _known: list[Rationale] = field(default_factory=list, init=False)  # as they stand after the check
    _results: list[Result] = field(default_factory=list, init=False)
    _where: tuple[str, ...] = field(default=(), init=False)  # the sources that were chosen for the question
    _shown: tuple[str, ...] = field(default=(), init=False)  # answers that the user sees: their words may go to the web

    def _choose(self) -> None:
        """Choose the sources that suit the question, in a step of its own where there is a choice."""
        names = self._where = self.tools.retriever.names
        if len(names) < 2:
            return
        sizes = range(1, len(names) + 1)
        options = [", ".join(some) for size in sizes for some in itertools.combinations(names, size)]
        with self.tools.steps.open(self.question, label="where to look") as step:
            chosen = self.tools.reader.choose(step.id, self.question, options)
            self._where = tuple(chosen.split(", "))
            step.result = Result(observation=chosen)

    def _collect(self, step: Step, rationale: str) -> tuple[list[Evidence], list[str]]:
        """Evidence on the rationale, best first, and notes: each chosen source is asked in its own language."""
        rows, told_all, notes = self._queried(step, rationale)
        where = [name for name in self._where if not told_all or name != rows[0].source]
        request = Request(rationale, rationale, top_k=self.options.k)
        shown = (*self._shown, *(text for result in self._results for text in result.texts))
        found = searched(self.tools, step.id, request, self.question, answers=shown, sources=where)
        tell_sources(self.tools, step.id, self._where)
        evidence = self.tools.ranking.together(rationale, [*rows, *found.evidence], self.tools.cancellation)
        return evidence, [*notes, *found.dropped, *found.problems]

    def _queried(self, step: Step, rationale: str) -> tuple[list[Evidence], bool, list[str]]:
        """The rows of a graph query that the model writes; whether they tell enough; notes.

        The graph is searched in words, too, where no query can be written, where none gives rows or it gives a bare yes
        or no, and where calls are short.
        """
        graph, writer = self.tools.graph, self.tools.sparql
        asked = self.options.queries and graph is not None and graph.source in self._where
        if not asked or graph is None or writer is None or not self.tools.asking.spares(_CALLS_A_QUERY):
            return [], False, []
        known = [value for result in self._results for value in result.values]
        answer, notes = None, list[str]()
        with noting(notes, str(graph.source)):
            answer = writer.answer(step.id, rationale, values=known)
        if answer is None:
            return [], False, notes
        notes = [f"query: {sketch.text}" for sketch in answer.tried]
        if answer.problem:
            return [], False, [*notes, f"{answer.problem}: the {graph.source} was searched in words"]
        assert answer.queried is not None
        row, found = answer.queried.evidence, answer.queried.found
        return [row] if row is not None else [], found is not None and found.boolean is None, notes

    def go(self) -> None:
        chains, tally = self._chains()
        self._share = tally.share
        if tally.share < self.options.threshold:
            self._shown = tuple(tally.counts)
            self._correct(_majority(chains, tally) or (self.tasks.rationale_of(),))

    def conclude(self) -> Result:
        """The answer of most chains if it stands, or else from the corrected rationales; without one that of most
        chains again, if guesses are on."""
        sampled = self._sampled
        if self._share >= self.options.threshold:
            told = [AGREED] if sampled.values else sampled.dropped
            return replace(sampled, confidence=self._share, dropped=told)
        if not self._known:
            return replace(sampled, dropped=[UNCHECKED] if sampled.values else [])
        evidence, cited = evidence_of(self._results)
        result = self.tasks.answer_from(self._known)
        if result.values:
            result.cited = cited
            if not cited:
                result.method = "closed_book"
                result.dropped.append(UNCHECKED)
        elif sampled.values and self.tools.settings.features.guess:
            unread = [result.error["message"]] if result.error else []
            result = replace(sampled, dropped=[*result.dropped, *unread, FELL_BACK])
        result.evidence = evidence
        return result

    def _chains(self) -> tuple[Sequence[Rationales], Vote]:
        """Sampled chains, and the vote on their answers; the step may have failed."""
        chains: Sequence[Rationales] = ()
        tally = Vote("", 0.0)
        samples = self.options.samples
        with self.tools.steps.open(self.question, label="vote") as step:
            chains, notes = self.tasks.rationales(step.id, samples, self.options.temperature)
            # A sample that was left out agrees with none.
            tally = vote([*(chain.answer for chain in chains), *[""] * (samples - len(chains))])
            if tally.answer:
                step.result = voted(tally, max(samples, len(chains)), "chains", notes)
            else:
                step.result = Result(dropped=notes, observation=NO_CHAIN)
        self._sampled = step.result
        return chains, tally

    def _correct(self, drafts: Sequence[Rationale]) -> None:
        """Check the rationales in turn, until none follows, one repeats, or a limit is reached."""
        rationale: Rationale | None = drafts[0] if self.may_ask() else None
        if rationale is not None:
            self._choose()
        while rationale is not None and self.may_ask():
            self._first.append(rationale)
            self._known.append(rationale)
            with self.tools.steps.open(rationale.query, label=f"rationale {len(self._known)}") as step:
                found, notes = self._collect(step, rationale.query)
                self._known[-1], step.result = self.tasks.verified(step.id, self._known[:-1], rationale, found)
                step.result.dropped = [*notes, *step.result.dropped]
            self._results.append(step.result)
            rationale = self._following(drafts)

    def _following(self, drafts: Sequence[Rationale]) -> Rationale | None:
        """The next rationale: written anew from the corrected ones; the chain's own where that gives nothing new."""
        place = len(self._known)
        draft = drafts[place] if place < len(drafts) else None
        if self.options.at_once or not self.may_ask():
            return draft
        written, notes = None, list[str]()
        with noting(notes, "not written anew"):
            written, notes = self.tasks.next_rationale(ROOT_ID, self._known, len(drafts))
        if written is None and not notes:
            return None  # none is needed
        is_new = written is not None and self._is_new(written)
        if written is not None and not is_new:
            notes.append(f"the model repeated “{written.query}”")
        self.notes += [note for note in notes if note not in self.notes]
        if is_new:
            return written
        return draft if draft is not None and self._is_new(draft) else None

    def _is_new(self, rationale: Rationale) -> bool:
        earlier = [one.query for one in (*self._first, *self._known)]
        return not asked_before(rationale.query, earlier, self.tools)


def _majority(chains: Sequence[Rationales], tally: Vote) -> tuple[Rationale, ...]:
    """The rationales of the first chain with the answer of most; without one, of the first chain that has any."""
    key = answer_key(tally.answer)
    ranked = sorted(chains, key=lambda chain: not (key and answer_key(chain.answer) == key))
    return next((chain.rationales for chain in ranked if chain.rationales), ())


class CoK(StepwiseStrategy):
    name = "cok"
    summary = "sample chains of rationales; where they disagree, correct one after another by what the sources have"
    paper = (
        "Li et al.: Chain-of-Knowledge: Grounding Large Language Models via Dynamic Knowledge Adapting over "
        "Heterogeneous Sources, ICLR 2024"
    )
    options = CoKOptions
    work = _Correction
