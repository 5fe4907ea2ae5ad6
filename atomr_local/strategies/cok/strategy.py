"""Chain-of-Knowledge: chains of rationales are sampled; where they disagree, each rationale is corrected by what the
sources have before the next one is written, and the answer follows from the corrected ones (Li et al., ICLR 2024).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

from pydantic import Field as PydanticField

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.names import answer_key
from atomr_local.reasoning.asking.forms import Branch, Field, Form, Line, worked_examples
from atomr_local.reasoning.asking.writer import WrittenForm, left_out
from atomr_local.reasoning.candidates import Candidate, Vote, vote
from atomr_local.reasoning.operations.compute import evidence_of
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.reading.reader import UNKNOWN
from atomr_local.reasoning.results import Result, text_values
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.events import SourcesSelected
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sources.protocol import Evidence, Request, Value
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import Need, QuestionContext
from atomr_local.strategies.shared.closing import CALLS_USED, OWN, Listed, at_root, final_values, result_of
from atomr_local.strategies.shared.closing import UNTOLD as UNTOLD_STEP
from atomr_local.strategies.shared.loop import asked_before
from atomr_local.strategies.shared.tools import searched
from atomr_local.tree.nodes import ROOT_ID, Tree

# Evidence on a rationale of `cok`: each chosen source is asked in its own language, the graph by a query.

_CALLS_A_QUERY = 3  # two sketches, and the check of what they give


class RationaleEvidence:
    """Asks the sources that were chosen for the question."""

    def __init__(self, tools: QuestionContext, question: str, k: int, shown: tuple[str, ...], *, queries: bool) -> None:
        """Begin.

        Args:
            k: pieces of evidence per rationale and source.
            shown: answers that the user sees already; their words may go to the web.
            queries: whether the model writes queries for the graph.
        """
        self._tools = tools
        self._question = question
        self._k = k
        self._shown = shown
        self._queries = queries
        self._where: tuple[str, ...] = ()

    def choose(self) -> None:
        """Choose the sources that suit the question, in a step of its own where there is a choice."""
        names = self._where = self._tools.retriever.names
        if len(names) < 2:
            return
        sizes = range(1, len(names) + 1)
        options = [", ".join(some) for size in sizes for some in itertools.combinations(names, size)]
        with self._tools.steps.open(self._question, label="where to look") as step:
            chosen = self._tools.reader.choose(step.id, self._question, options)
            self._where = tuple(chosen.split(", "))
            step.result = Result(observation=chosen)

    def collect(self, step: Step, rationale: str, earlier: Sequence[Result]) -> tuple[list[Evidence], list[str]]:
        """What the sources have on the rationale, best first, and notes.

        Args:
            earlier: results of the rationales before it.

        Raises:
            Cancelled: the question was cancelled.
        """
        rows, told_all, notes = self._queried(step, rationale, earlier)
        where = [name for name in self._where if not told_all or name != rows[0].source]
        request = Request(rationale, rationale, top_k=self._k)
        shown = (*self._shown, *(text for result in earlier for text in result.texts))
        found = searched(self._tools, step.id, request, self._question, answers=shown, sources=where)
        told = tuple(name for name in self._tools.retriever.permitted(step.id) if name in self._where)
        self._tools.recorder.emit(SourcesSelected(node_id=step.id, sources=told, reason="set by the method"))
        evidence = self._tools.ranking.together(rationale, [*rows, *found.evidence], self._tools.cancellation)
        return evidence, [*notes, *found.dropped, *found.problems]

    def _queried(self, step: Step, rationale: str, earlier: Sequence[Result]) -> tuple[list[Evidence], bool, list[str]]:
        """The rows of a graph query that the model writes; whether they tell enough; notes.

        The graph is searched in words, too, where no query can be written, where none gives rows or it gives a bare yes
        or no, and where calls are short.
        """
        graph, writer = self._tools.graph, self._tools.sparql
        if not self._queries or graph is None or writer is None or graph.source not in self._where:
            return [], False, []
        if not self._tools.asking.spares(_CALLS_A_QUERY):
            return [], False, []
        known = [value for result in earlier for value in result.values]
        try:
            answer = writer.answer(step.id, rationale, values=known)
        except Cancelled:
            raise
        except AtomrError as error:
            return [], False, [f"{graph.source}: {error.message}"]
        notes = [f"query: {sketch.text}" for sketch in answer.tried]
        if answer.problem:
            return [], False, [*notes, f"{answer.problem}: the {graph.source} was searched in words"]
        assert answer.queried is not None
        row, found = answer.queried.evidence, answer.queried.found
        return [row] if row is not None else [], found is not None and found.boolean is None, notes


# What `cok` has the model write: chains of rationales, the check of each by what was found, the next one, the answer.
# A model that follows instructions writes sentences; one that has learnt the closed tasks alone has its own way below.

_PACKAGE = "atomr_local.strategies.cok"
_FIRST, _SECOND, _THIRD, _FOURTH, _ANSWER = "First", "Second", "Third", "Fourth", "Answer"
_PASSAGE, _FACT, _NONE, _NOTHING = "Passage", "Fact", "none", "(nothing)"
_ANSWER_TOKENS = 20
STANDS = "checked: it stands as it was written"
UNTOLD = "what was found does not tell: left as it was written"
NOT_FOUND = "nothing was found: left as it was written"


@dataclass(frozen=True)
class Rationale:
    """A step of a chain: a sentence; or a question of one hop with its answer ("" if that is not known)."""

    text: str
    asked: str = ""

    @property
    def query(self) -> str:
        return self.asked or self.text

    @property
    def told(self) -> str:
        return f"{self.asked} {self.text or UNKNOWN}" if self.asked else self.text


@dataclass(frozen=True)
class Chain:
    """Rationales, and the answer that they lead to; "" if there is none."""

    rationales: tuple[Rationale, ...]
    answer: str = ""


class Writing(Protocol):
    """The ways of writing. All methods raise AtomrError if the model fails, and Cancelled."""

    def chains(self, node_id: int, draws: int) -> tuple[list[Chain], list[str]]:
        """Sampled chains, and notes."""
        ...

    def whole(self) -> Rationale:
        """The question in the place of a chain that could not be written."""
        ...

    def checked(
        self, node_id: int, known: Sequence[Rationale], rationale: Rationale, evidence: Sequence[Evidence]
    ) -> tuple[Rationale, Result]:
        """The rationale as the evidence has it, and the step's result; `known`: the rationales before it."""
        ...

    def following(self, node_id: int, known: Sequence[Rationale], drafts: int) -> tuple[Rationale | None, list[str]]:
        """The rationale after these, and notes; None if there is none. `drafts`: how many the chain had."""
        ...

    def answer(self, known: Sequence[Rationale]) -> Result:
        """The answer from the rationales alone."""
        ...


@cache
def _form(name: str, *fields: Field) -> Form:
    return Form(_PACKAGE, name, fields, worked_examples(_PACKAGE, f"{name}_examples"))


def _chain_form() -> Form:
    rationales = (Line(_FIRST), Line(_SECOND), Line(_THIRD, needed=False), Line(_FOURTH, needed=False))
    return _form("chain", *rationales, Line(_ANSWER, _ANSWER_TOKENS))


class Sentences:
    """Rationales are sentences."""

    def __init__(self, question: str, tools: QuestionContext, temperature: float) -> None:
        self._question = question
        self._tools = tools
        self._temperature = temperature

    def whole(self) -> Rationale:
        return Rationale(self._question)

    def chains(self, node_id: int, draws: int) -> tuple[list[Chain], list[str]]:
        written = self._tools.writer.write(
            node_id, "chain", _chain_form(), draws=draws, temperature=self._temperature, question=self._question
        )
        notes = left_out(written)
        chains = [_read(one, self._question) for one in written]
        if unread := sum(not chain.answer for chain in chains):
            notes.append(f"{unread} of {len(chains)} chains gave no answer")
        return chains, notes

    def checked(
        self, node_id: int, known: Sequence[Rationale], rationale: Rationale, evidence: Sequence[Evidence]
    ) -> tuple[Rationale, Result]:
        if not evidence:
            return rationale, Result(thought=rationale.text, dropped=[NOT_FOUND])
        numbers = {str(number): (Line(_FACT),) for number in range(1, len(evidence) + 1)}
        form = replace(_form("check", Line(_FACT)), fields=(Branch(_PASSAGE, {**numbers, _NONE: ()}),))
        [written] = self._tools.writer.write(
            node_id,
            "check",
            form,
            evidence=evidence,
            question=rationale.text,  # evidence is cut to what matters for it
            whole=self._question,
            known=_told(known),
        )
        result = Result(evidence=list(evidence), thought=rationale.text, dropped=list(written.dropped))
        new, chosen = written[_FACT], written[_PASSAGE]
        if written.problem is not None:
            result.dropped.append(f"left as it was written: {written.problem}")
        elif chosen == _NONE or int(chosen) > len(written.shown):
            result.dropped.append(UNTOLD)
        else:
            result.thought, result.cited = new, [written.shown[int(chosen) - 1].id]
            if answer_key(new) == answer_key(rationale.text):
                result.dropped.append(STANDS)
            else:
                result.corrected_from = rationale.text
        return Rationale(result.thought), result

    def following(self, node_id: int, known: Sequence[Rationale], drafts: int) -> tuple[Rationale | None, list[str]]:
        if len(known) >= drafts:
            return None, []
        [written] = self._tools.writer.write(
            node_id, "next rationale", _form("next", Line(_FACT)), question=self._question, known=_told(known)
        )
        notes = [*written.dropped, *([] if written.problem is None else [f"not written anew: {written.problem}"])]
        return Rationale(written[_FACT]) if written[_FACT] else None, notes

    def answer(self, known: Sequence[Rationale]) -> Result:
        facts = [f"{number}. {rationale.told}" for number, rationale in enumerate(known, 1)]
        form = _form("answer", Line(_ANSWER, _ANSWER_TOKENS))
        [written] = self._tools.writer.write(ROOT_ID, "answer", form, facts=facts, question=self._question)
        values, mean = final_values(written[_ANSWER]), written.logprob(_ANSWER)
        return Result(
            values,
            "child" if values else None,
            math.exp(mean) if values and mean is not None else None,
            dropped=list(written.dropped),
            error={"title": "Answer not readable", "message": written.problem} if written.problem else None,
        )


def own_answer(question: str, answer: str) -> str:
    """The model's own answer; "" where it only repeats the question or the choice that it offers."""
    said, asked = answer_key(answer), answer_key(question)
    choice = " or " in said and said in asked
    return "" if choice or asked in said else answer


def _told(known: Sequence[Rationale]) -> str:
    return " ".join(rationale.told for rationale in known) or _NOTHING


def _read(written: WrittenForm, question: str) -> Chain:
    """The chain that was written; one without a second rationale is one, too."""
    texts = {label: filled.text for label, filled in written.fields.items()}
    if written.problem is not None:
        short = _form("chain", Line(_FIRST), Line(_ANSWER, _ANSWER_TOKENS)).parse(written.generation.text)
        texts = {label: read.text for label, read in short.fields.items()} | texts
    rationales = [Rationale(texts[label]) for label in (_FIRST, _SECOND, _THIRD, _FOURTH) if texts.get(label)]
    answer = ", ".join(value.text for value in final_values(texts.get(_ANSWER, "")))
    return Chain(tuple(rationales), own_answer(question, answer))


# What `cok` asks of a model that has learnt the closed tasks alone: its rationales are questions of one hop with their
# answers, from memory in the sampled chains and from evidence where they are checked.

_MOST = 4  # rationales of a chain


class Pairs:
    """Rationales are questions of one hop with their answers."""

    def __init__(self, question: str, tools: QuestionContext, temperature: float) -> None:
        self._question = question
        self._tools = tools
        self._temperature = temperature
        self._listed = Listed()
        self._asked: dict[tuple[Rationale, ...], str] = {}

    def whole(self) -> Rationale:
        return Rationale("", self._question)

    def chains(self, node_id: int, draws: int) -> tuple[list[Chain], list[str]]:
        """Questions are written greedily, so that equal beginnings share them; answers are sampled."""
        chains = [tuple[Rationale, ...]()] * draws
        drawing = list(range(draws))
        for place in range(_MOST):
            if self._tools.asking.calls_left < 2 * len(drawing):
                return self._ended(node_id, chains), [CALLS_USED]
            growing = []
            for draw in drawing:
                asked = self._next(node_id, chains[draw]) or ("" if place else self._question)
                if asked:
                    growing.append((draw, asked))

            def one(item: tuple[int, str]) -> str:
                draw, asked = item
                number = 0 if self._temperature == 0 else draw + 1
                reading = self._tools.reader.from_memory(node_id, asked, draw=number, temperature=self._temperature)
                return own_answer(asked, self._listed.text(reading.answers))

            answers = run_each(one, growing, self._tools.settings.llm.parallel)
            for (draw, asked), answer in zip(growing, answers, strict=True):
                chains[draw] = (*chains[draw], Rationale(answer, asked))
            drawing = [draw for draw, _ in growing]
        return self._ended(node_id, chains), []

    def checked(
        self, node_id: int, known: Sequence[Rationale], rationale: Rationale, evidence: Sequence[Evidence]
    ) -> tuple[Rationale, Result]:
        reader, notes = self._tools.reader, [UNTOLD_STEP if evidence else OWN] if rationale.text else []
        if evidence:
            read = reader.whole if rationale.asked == self._question else reader.from_evidence
            reading = reader.checked(node_id, read(node_id, rationale.asked, evidence))
            result = result_of(reading, "direct_rag", evidence)
            if result.values:
                same = answer_key(result.answer) == answer_key(rationale.text)
                result.corrected_from = None if same else rationale.text
                return Rationale(self._listed.text(result.texts), rationale.asked), result
            notes = [*result.dropped, *([result.error["message"]] if result.error else []), *notes]
        values = self._values(rationale.text)
        return rationale, Result(values, "closed_book" if values else None, evidence=list(evidence), dropped=notes)

    def following(self, node_id: int, known: Sequence[Rationale], drafts: int) -> tuple[Rationale | None, list[str]]:
        asked = self._next(node_id, tuple(known)) if len(known) < _MOST else ""
        if not asked:
            return None, []
        if asked_before(asked, [rationale.asked for rationale in known], self._tools):
            return Rationale("", asked), []  # it is not needed
        reading = self._tools.reader.from_memory(node_id, asked)
        return Rationale(own_answer(asked, self._listed.text(reading.answers)), asked), list(reading.dropped)

    def answer(self, known: Sequence[Rationale]) -> Result:
        if self._is_whole(known):
            values = self._values(known[0].text)
            return Result(values, "child" if values else None)
        pairs = [(rationale.asked, rationale.text or UNKNOWN) for rationale in known]
        return result_of(self._tools.reader.from_steps(ROOT_ID, self._question, pairs), "child", ())

    def _values(self, text: str) -> tuple[Value, ...]:
        return self._listed.values(text) if text in self._listed else final_values(text)

    def _is_whole(self, known: Sequence[Rationale]) -> bool:
        """Whether the chain is the question itself."""
        return len(known) == 1 and known[0].asked == self._question

    def _next(self, node_id: int, known: tuple[Rationale, ...]) -> str:
        """The next question; "" if there is none, or if the model has not learnt to ask one."""
        if not self._tools.reader.knows_next:
            return ""
        if known not in self._asked:
            pairs = [(rationale.asked, rationale.text or UNKNOWN) for rationale in known]
            self._asked[known] = next(iter(self._tools.reader.follow_ups(node_id, self._question, pairs)), "")
        return self._asked[known]

    def _ended(self, node_id: int, chains: Sequence[tuple[Rationale, ...]]) -> list[Chain]:
        """The chains with the answers that their rationales lead to."""
        answers: dict[tuple[Rationale, ...], str] = {}
        for known in dict.fromkeys(chains):
            if self._is_whole(known):
                answers[known] = known[0].text
            elif known and self._tools.asking.calls_left:
                pairs = [(rationale.asked, rationale.text or UNKNOWN) for rationale in known]
                reading = self._tools.reader.from_steps(node_id, self._question, pairs)
                answers[known] = own_answer(self._question, self._listed.text(reading.answers))
        return [Chain(known, answers.get(known, "")) for known in chains]


AGREED = "the sampled chains agree: nothing was looked up, this is the model's own knowledge"
UNCHECKED = "no rationale could be checked by evidence: this is the model's own knowledge"
FELL_BACK = "the rationales do not tell the answer: it is the one of most sampled chains, the model's own knowledge"
NO_CHAIN = "no chain gave an answer"


class CoKOptions(StrategyOptions):
    """How much is sampled, when it is checked, and how much is retrieved."""

    samples: int = PydanticField(
        5, ge=1, le=40, description="Sampled chains of rationales that vote; published: 5 of 10."
    )
    temperature: float = PydanticField(0.7, ge=0, le=2, description="Of the sampled chains; published: 0.7.")
    threshold: float = PydanticField(
        0.5, ge=0, le=1, description="Share of the chains from which their answer stands unchecked; published: 0.5."
    )
    k: int = PydanticField(3, ge=1, le=20, description="Pieces of evidence per rationale and source.")
    queries: bool = PydanticField(
        True, description="Have the model write a graph query for each rationale; false: its words are searched."
    )
    at_once: bool = PydanticField(False, description="Correct all rationales without writing the later ones anew.")


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

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
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


def _sampled(
    question: str, tools: QuestionContext, writing: Writing, samples: int
) -> tuple[Sequence[Chain], Vote, Result]:
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
        self, question: str, tools: QuestionContext, options: CoKOptions, writing: Writing, shown: tuple[str, ...]
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
