"""Chain-of-Knowledge: chains of rationales are sampled; where they disagree, each rationale is corrected by what the
sources have before the next one is written, and the answer follows from the corrected ones (Li et al., ICLR 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.answer_key import answer_key
from atomr_local.reasoning.candidates import Candidate, Vote, vote
from atomr_local.reasoning.operations.computed_nodes import evidence_of
from atomr_local.reasoning.results import Result, text_values
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.strategies.cok.evidence import RationaleEvidence
from atomr_local.strategies.cok.pairs import Pairs
from atomr_local.strategies.cok.writing import Chain, Rationale, Sentences, Writing
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import Need, Toolbox
from atomr_local.strategies.shared.asked_before import asked_before
from atomr_local.strategies.shared.closing import CALLS_USED, at_root
from atomr_local.tree.nodes import ROOT_ID, Tree

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


class CoK:
    name = "cok"
    summary = "sample chains of rationales; where they disagree, correct one after another by what the sources have"
    paper = (
        "Li et al.: Chain-of-Knowledge: Grounding Large Language Models via Dynamic Knowledge Adapting over "
        "Heterogeneous Sources, ICLR 2024"
    )
    needs: frozenset[Need] = frozenset()
    options: type[StrategyOptions] = CoKOptions
    uses_sources = True
    revises = False
    takes_plans = False

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: Toolbox) -> Result:
        options = CoKOptions.of(tools.options)
        tools.steps.begin(question)
        kind = Pairs if tools.asking.lean else Sentences
        writing = kind(question, tools, options.temperature)
        chains, tally, sampled = _sampled(question, tools, writing, options.samples)
        process = None
        if tally.share < options.threshold:
            process = _Correction(question, tools, options, writing, tuple(tally.counts))
            process.correct(_majority(chains, tally) or (writing.whole(),))

        def concluded() -> Result:
            if process is not None:
                return process.concluded(sampled)
            told = [AGREED] if sampled.values else sampled.dropped
            return replace(sampled, confidence=tally.share, dropped=told)

        return at_root(tools, question, concluded)


def _sampled(question: str, tools: Toolbox, writing: Writing, samples: int) -> tuple[Sequence[Chain], Vote, Result]:
    """Chains, the vote on their answers, and its result; the step may have failed."""
    chains: Sequence[Chain] = ()
    tally = Vote("", 0.0)
    with tools.steps.open(question, label="vote") as step:
        chains, notes = writing.chains(step.id, samples)
        # A sample that was left out agrees with none.
        tally = vote([*(chain.answer for chain in chains), *[""] * (samples - len(chains))])
        if tally.answer:
            step.result = _voted(tally, max(samples, len(chains)), notes)
        else:
            step.result = Result(dropped=notes, observation=NO_CHAIN)
    return chains, tally, step.result


def _voted(tally: Vote, chains: int, notes: list[str]) -> Result:
    weighed = tuple(Candidate(text_values([text]), count / chains, "model") for text, count in tally.counts.items())
    counted = f"{tally.counts[tally.answer]} of {chains} chains"
    return Result(text_values([tally.answer]), "closed_book", computation=counted, dropped=notes, candidates=weighed)


def _majority(chains: Sequence[Chain], tally: Vote) -> tuple[Rationale, ...]:
    """The rationales of the first chain with the answer of most; without one, of the first chain that has any."""
    key = answer_key(tally.answer)
    ranked = sorted(chains, key=lambda chain: not (key and answer_key(chain.answer) == key))
    return next((chain.rationales for chain in ranked if chain.rationales), ())


class _Correction:
    """Corrects the rationales of a chain one after another, and answers from them."""

    def __init__(
        self, question: str, tools: Toolbox, options: CoKOptions, writing: Writing, shown: tuple[str, ...]
    ) -> None:
        """Begin.

        Args:
            shown: answers that the user sees already; their words may go to the web.
        """
        self._question = question
        self._tools = tools
        self._options = options
        self._writing = writing
        self._evidence = RationaleEvidence(tools, question, options.k, shown, queries=options.queries)
        self._first: list[Rationale] = []  # as they were written
        self._known: list[Rationale] = []  # as they stand after the check
        self._results: list[Result] = []
        self._notes: list[str] = []

    def correct(self, drafts: Sequence[Rationale]) -> None:
        """Check the rationales in turn, until none follows, one repeats, or a limit is reached."""
        rationale: Rationale | None = drafts[0] if self._may_ask() else None
        if rationale is not None:
            self._evidence.choose()
        while rationale is not None and self._may_ask():
            self._first.append(rationale)
            self._known.append(rationale)
            with self._tools.steps.open(rationale.query, label=f"rationale {len(self._known)}") as step:
                found, notes = self._evidence.collect(step, rationale.query, self._results)
                self._known[-1], step.result = self._writing.checked(step.id, self._known[:-1], rationale, found)
                step.result.dropped = [*notes, *step.result.dropped]
            self._results.append(step.result)
            rationale = self._following(drafts)

    def concluded(self, sampled: Result) -> Result:
        """The answer from the corrected rationales; without one the answer of most chains, if guesses are on."""
        if not self._known:
            return replace(sampled, dropped=[*self._notes, *([UNCHECKED] if sampled.values else [])])
        evidence, cited = evidence_of(self._results)
        result = self._writing.answer(self._known)
        result.dropped = [*self._notes, *result.dropped]
        if result.values:
            result.cited = cited
            if not cited:
                result.method = "closed_book"
                result.dropped.append(UNCHECKED)
        elif sampled.values and self._tools.settings.features.guess:
            unread = [result.error["message"]] if result.error else []
            result = replace(sampled, dropped=[*result.dropped, *unread, FELL_BACK])
        result.evidence = evidence
        return result

    def _following(self, drafts: Sequence[Rationale]) -> Rationale | None:
        """The next rationale: written anew from the corrected ones; the chain's own where that gives nothing new."""
        place = len(self._known)
        draft = drafts[place] if place < len(drafts) else None
        if self._options.at_once or not self._may_ask():
            return draft
        try:
            written, notes = self._writing.following(ROOT_ID, self._known, len(drafts))
        except Cancelled:
            raise
        except AtomrError as error:
            written, notes = None, [f"not written anew: {error.message}"]
        if written is not None and self._is_new(written):
            self._notes += [note for note in notes if note not in self._notes]
            return written
        if written is not None:
            notes.append(f"the model repeated “{written.query}”")
        elif not notes:
            return None  # none is needed
        self._notes += [note for note in notes if note not in self._notes]
        return draft if draft is not None and self._is_new(draft) else None

    def _may_ask(self) -> bool:
        """Whether a model call is left; noted if none is."""
        if not self._tools.asking.calls_left and CALLS_USED not in self._notes:
            self._notes.append(CALLS_USED)
        return self._tools.asking.calls_left > 0

    def _is_new(self, rationale: Rationale) -> bool:
        earlier = [one.query for one in (*self._first, *self._known)]
        return not asked_before(rationale.query, earlier, self._tools)
