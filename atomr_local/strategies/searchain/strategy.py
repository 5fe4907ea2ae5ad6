"""SearChain: a whole chain of queries and answers, checked query by query (Xu et al., WWW 2024).

Where evidence corrects an answer, or gives one that the model did not know, the model writes a new chain from there: a
new branch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import Field as PydanticField

from atomr_local.language.names import answer_key
from atomr_local.reasoning.asking.asking import cut_passage
from atomr_local.reasoning.asking.forms import Branch, Field, Form, Line, worked_examples
from atomr_local.reasoning.candidates import Candidate
from atomr_local.reasoning.operations.compute import evidence_of
from atomr_local.reasoning.reading.checks import holds
from atomr_local.reasoning.results import Result, text_values
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sources.protocol import Evidence, Request
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import Need, QuestionContext
from atomr_local.strategies.shared.closing import (
    CALLS_USED,
    OWN,
    UNTOLD,
    Final,
    answer_from,
    at_root,
    echoes,
    repeats_question,
    result_of,
    weighed_step,
)
from atomr_local.strategies.shared.loop import alike_before, asked_before, same_question
from atomr_local.strategies.shared.tools import searched
from atomr_local.tree.nodes import ROOT_ID, Tree

# What `searchain` has the model write: whole chains of queries, each with the model's own answer or marked unsolved.
#
# A model that was trained on the closed tasks alone cannot write a chain in one go: it asks the next question and
# answers it from memory, one after another, until it does not know an answer.

_PACKAGE = "atomr_local.strategies.searchain"
_QUERY, _ANSWER, _NEXT, _FINAL = "Query", "Answer", "Next", "Final"
_ANOTHER, _END = "another query", "the end"
_ANSWER_TOKENS = 20
_FORM = Form(_PACKAGE, "chain", (Line(_QUERY),), worked_examples(_PACKAGE, "chain_examples"))
_UNSOLVED = re.compile(
    r"(?:unsolved|unknown|unsure|none|not (?:known|sure)|i (?:do not|don't) know)\b.*", re.IGNORECASE
)
UNSOLVED = "unsolved"


@dataclass(frozen=True)
class Link:
    """A query of a chain, and the model's own answer; "" where it marked the query as unsolved.

    Attributes:
        sure: exp of the mean log-probability of the answer's tokens; None if it is not known.
    """

    query: str
    answer: str = ""
    sure: float | None = None


@dataclass(frozen=True)
class Chain:
    """What the model wrote in a round. `final` is None where the chain does not tell the final answer."""

    links: tuple[Link, ...] = ()
    final: Final | None = None
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole chain on one line."""
        told = [f"{place}. {link.query} {link.answer or UNSOLVED}" for place, link in enumerate(self.links, 1)]
        end = [f"final: {self.final.text}"] if self.final is not None else []
        return "; ".join([*told, *end]) or "nothing more is asked"


class ChainWriting:
    """Has the model write the chains for one question.

    Attributes:
        begun: how many queries of the conversation are behind: a chain goes on with the next one.
    """

    def __init__(self, question: str, tools: QuestionContext, most: int) -> None:
        """Begin.

        Args:
            most: the most queries one after another, those of earlier rounds that stand included.
        """
        self.begun = 0
        self._question = question
        self._tools = tools
        self._most = most
        self._said = ""
        self._turns: list[tuple[str, str]] = []

    @property
    def sees_passages(self) -> bool:
        """Whether the model has been shown passages, which may steer what it writes."""
        return bool(self._turns)

    def write(self, node_id: int, known: Sequence[tuple[str, str]]) -> Chain:
        """The chain from here to the end.

        Args:
            known: the queries behind, with their answers.

        Raises:
            AtomrError: the model failed, or no call is left.
            Cancelled: the question was cancelled.
        """
        return self._asked_on(node_id, known) if self._tools.asking.lean else self._filled(node_id)

    def tell(self, place: int, link: Link, answer: str, passage: Evidence | None) -> None:
        """Go on after the chain's link `place`, from 1, with this answer."""
        self.begun += place
        done = "corrected" if link.answer else "answered"
        told = f"{_QUERY} {self.begun} is {done} by what was found: {answer}."
        if passage is not None:
            words = self._tools.settings.limits.passage_words
            text = cut_passage(f"{link.query} {answer}", passage.title, passage.text, words)
            told += f" Passage: {passage.title}: {text}"
        if not self._tools.asking.lean:
            self._turns.append((self._said, told))

    def _filled(self, node_id: int) -> Chain:
        """A chain that the model writes in one go, in the conversation so far."""
        form = replace(_FORM, fields=self._rest(self.begun) if self.begun else self._from(1))
        [written] = self._tools.writer.write(node_id, "chain", form, turns=self._turns, question=self._question)
        self._said = "\n".join(f"{label}: {filled.text}" for label, filled in written.fields.items())
        links = []
        for number in range(self.begun + 1, self._most + 1):
            query, label = written[f"{_QUERY} {number}"], f"{_ANSWER} {number}"
            if not query:
                break
            answer = self._own(query, written[label])
            mean = written.logprob(label) if answer else None
            links.append(Link(query, answer, None if mean is None else math.exp(mean)))
        final = written[_FINAL]
        problem = [] if written.problem is None else [f"the chain is cut: {written.problem}"]
        return Chain(
            tuple(links),
            None if not final or _UNSOLVED.fullmatch(final) else Final(final, written.logprob(_FINAL)),
            (*written.dropped, *problem),
        )

    def _from(self, number: int) -> tuple[Field, ...]:
        """The fields of the query with this number and of all that may follow it."""
        return Line(f"{_QUERY} {number}"), Line(f"{_ANSWER} {number}", _ANSWER_TOKENS), *self._rest(number)

    def _rest(self, number: int) -> tuple[Field, ...]:
        """The fields behind the query with this number."""
        end = (Line(_FINAL, _ANSWER_TOKENS),)
        if number >= self._most:
            return end
        return (Branch(f"{_NEXT} {number}", {_ANOTHER: self._from(number + 1), _END: end}),)

    def _asked_on(self, node_id: int, known: Sequence[tuple[str, str]]) -> Chain:
        """A chain of questions that are answered from memory, up to the first that the model cannot answer."""
        steps, links = list(known), list[Link]()
        while len(links) < self._most - self.begun:
            if not self._tools.asking.calls_left:
                return Chain(tuple(links), notes=(CALLS_USED,))
            if any(same_question(asked, self._question) for asked, _ in steps):
                break  # nothing is left to ask
            query = self._next(node_id, steps) or ("" if steps else self._question)
            if not query:
                break
            if asked_before(query, [asked for asked, _ in steps], self._tools):
                return Chain(tuple(links), notes=(f"the model asked again: {query}",))
            reading = self._tools.reader.from_memory(node_id, query)
            answer = self._own(query, ", ".join(reading.answers))
            links.append(Link(query, answer, reading.confidence if answer else None))
            if not answer:
                break
            steps.append((query, answer))
        return Chain(tuple(links))

    def _next(self, node_id: int, steps: Sequence[tuple[str, str]]) -> str:
        """The next question; "" if there is none."""
        if self._tools.reader.knows_next:
            return next(iter(self._tools.reader.follow_ups(node_id, self._question, steps)), "")
        asked: tuple[Field, ...] = (Line(f"{_QUERY} {len(steps) + 1}"),)
        if steps:
            asked = (Branch(f"{_NEXT} {len(steps)}", {_ANOTHER: asked, _END: ()}),)
        turns = [
            (
                (f"{_NEXT} {number - 1}: {_ANOTHER}\n" if number > 1 else "") + f"{_QUERY} {number}: {query}",
                f"{_QUERY} {number} is answered: {answer}.",
            )
            for number, (query, answer) in enumerate(steps, 1)
        ]
        form = replace(_FORM, fields=asked)
        [written] = self._tools.writer.write(node_id, "next query", form, turns=turns, question=self._question)
        query, mark, _ = written[f"{_QUERY} {len(steps) + 1}"].partition("?")
        return query + mark  # what a model of closed tasks writes behind the question is the notation of plans

    def _own(self, query: str, answer: str) -> str:
        """The model's own answer; "" where it has none."""
        return "" if _UNSOLVED.fullmatch(answer.strip(" .[]()")) or repeats_question(query, answer) else answer


_SAMPLES = 3
_TEMPERATURE = 0.7
UNSURE = "what was found may say otherwise, and not surely enough: the model's own answer stays"
AGREEMENT = f"the model gives no log-probabilities: how sure a reading is, is the agreement of {_SAMPLES} samples"
CONFIRMED = "what was found says so too"


class SearChainOptions(StrategyOptions):
    """How long chains are, and what corrects them."""

    rounds: int = PydanticField(5, ge=1, le=20, description="The most chains that are written; published: 5.")
    queries: int = PydanticField(
        5, ge=1, le=10, description="The most queries from the beginning of a chain to its end."
    )
    k: int = PydanticField(1, ge=1, le=10, description="Pieces of evidence per query and source; published: 1.")
    sure: float = PydanticField(
        0.7, ge=0, le=1, description="Probability of what is read from which it corrects the model's answer."
    )
    alike: float = PydanticField(
        0.9, ge=0, le=1, description="Cosine from which a query was checked before and is passed over."
    )


class SearChain:
    name = "searchain"
    summary = "write a whole chain of queries and answers, check each, and go on anew from what evidence corrects"
    paper = (
        "Xu et al.: Search-in-the-Chain: Interactively Enhancing Large Language Models with Search for "
        "Knowledge-intensive Tasks, WWW 2024"
    )
    needs: frozenset[Need] = frozenset()
    options: type[StrategyOptions] = SearChainOptions
    uses_sources = True
    revises = False
    takes_plans = False

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        tools.steps.begin(question)
        search = _Search(question, tools, SearChainOptions.of(tools.options))
        search.rounds()
        return at_root(tools, question, search.concluded, search.notes)


class _Search:
    """The rounds of one question."""

    def __init__(self, question: str, tools: QuestionContext, options: SearChainOptions) -> None:
        self.notes: list[str] = []
        self._question = question
        self._tools = tools
        self._options = options
        self._writing = ChainWriting(question, tools, options.queries)
        self._steps: list[tuple[int, str, Result]] = []  # what was checked, with the numbers of the nodes
        self._sendable: list[str] = []  # answers that no passage can have put into the model's mouth unseen
        self._final: Final | None = None

    def rounds(self) -> None:
        """Write chains and check them, until one stands unchanged or a limit is reached."""
        parent = ROOT_ID
        for number in range(1, self._options.rounds + 1):
            if not self._tools.asking.calls_left:
                self.notes.append(CALLS_USED)
                return
            chain = Chain()
            with self._tools.steps.open(self._question, parent, f"round {number}") as step:
                chain = self._writing.write(step.id, [(asked, result.told) for _, asked, result in self._steps])
                step.result = Result(thought=chain.text, dropped=list(chain.notes))
            if step.result.error is not None:
                self.notes.append(f"no further round: {step.result.error['message']}")
                return
            self._final = chain.final
            changed = self._check(step.id, chain)
            if changed is None:
                return
            parent, self._final = changed, None
        self.notes.append(f"the last of {self._options.rounds} chains was corrected too: answered from its steps")

    def concluded(self) -> Result:
        """The final answer of the chain that stands, or else one from the answers of its steps."""
        for node_id, asked, result in reversed(self._steps if self._final is None else []):
            if result.values and same_question(asked, self._question):
                evidence, _ = evidence_of([known for _, _, known in self._steps])
                taken = replace(result, evidence=evidence, dropped=[], corrected_from=None, candidates=())
                return replace(taken, computation=f"answer of [{node_id}]")
        steps = [(asked, result) for _, asked, result in self._steps]
        return answer_from(self._tools, self._question, steps, self._final)

    def _check(self, round_id: int, chain: Chain) -> int | None:
        """Check the chain's queries in turn; the number of the one that was corrected or completed, if one was."""
        for place, link in enumerate(chain.links, 1):
            number = self._writing.begun + place
            if not self._tools.asking.calls_left:
                left = len(chain.links) - place + 1
                self.notes += [CALLS_USED, f"{left} of {len(chain.links)} queries of the last chain were not checked"]
                return None
            known = None
            with self._tools.steps.open(link.query, round_id, f"query {number}") as step:
                known = self._known(link)
                step.result = self._passed_over(*known) if known is not None else self._looked_up(step, link)
            result = step.result
            if known is None:
                self._steps.append((step.id, link.query, result))
            if result.values and (result.method != "closed_book" or not self._writing.sees_passages):
                self._sendable.append(result.answer)
            if known is None and result.corrected_from is not None:
                cited = next((item for item in result.evidence if item.id in result.cited), None)
                self._writing.tell(place, link, result.answer, cited or next(iter(result.evidence), None))
                return step.id
        return None

    def _known(self, link: Link) -> tuple[int, Result] | None:
        """The step that checked this query before. One that the model marks as unsolved has to be the same."""
        checked = [(node_id, asked, result) for node_id, asked, result in self._steps if result.values]
        place = alike_before(link.query, [asked for _, asked, _ in checked], self._tools, self._options.alike)
        if place is None or not (link.answer or same_question(link.query, checked[place][1])):
            return None
        return checked[place][0], checked[place][2]

    def _passed_over(self, node_id: int, before: Result) -> Result:
        note = f"checked before, in step {node_id}"
        return replace(before, dropped=[note], corrected_from=None, candidates=(), error=None)

    def _looked_up(self, step: Step, link: Link) -> Result:
        """The query's answer after what is found has been read."""
        request = Request(link.query, link.query, top_k=self._options.k)
        found = searched(self._tools, step.id, request, self._question, answers=self._sendable)
        step.result = Result(evidence=found.evidence)
        own = Result(text_values([link.answer]) if link.answer else (), None, link.sure, list(found.evidence))
        own.method = "closed_book" if own.values else None
        notes = [*found.dropped, *found.problems]
        if not found.evidence:
            own.dropped = [*notes, *([OWN] if own.values else [])]
            return own
        reading = self._tools.reader.from_evidence(step.id, link.query, found.evidence)
        read = result_of(self._tools.reader.checked(step.id, reading), "direct_rag", found.evidence)
        if echoes(link.query, read.answer):
            read.values = ()
        if read.values:
            notes += self._weighed(step.id, link, read)
        else:
            notes += [read.error["message"]] if read.error else []
        result = self._decided(link, own, read)
        result.dropped = [*notes, *read.dropped, *result.dropped]
        if not result.values:
            result.candidates = (_candidate(read, found.evidence),)
        elif read.values and own.values:
            candidates = (_candidate(read, found.evidence), Candidate(own.values, own.confidence, "model"))
            result.candidates = candidates[::-1] if result is own else candidates
        return result

    def _weighed(self, node_id: int, link: Link, read: Result) -> list[str]:
        """Give what was read its probability, and notes: by agreement where the model tells none and it matters."""
        weighed_step(self._tools, read)
        if read.confidence is not None or not link.answer or _contains(link.answer, read.answer):
            return []
        if not self._tools.asking.calls_left:
            read.confidence = 1 / _SAMPLES
            return ["how sure the reading is could not be asked: the question's model calls are used"]
        draws = self._tools.reader.samples(node_id, link.query, read.evidence, _SAMPLES - 1, _TEMPERATURE)
        same = [draw for draw in draws if answer_key(", ".join(draw.answers)) == answer_key(read.answer)]
        read.confidence = (1 + len(same)) / _SAMPLES
        return [AGREEMENT, *dict.fromkeys(note for draw in draws for note in draw.dropped)]

    def _decided(self, link: Link, own: Result, read: Result) -> Result:
        """Whose answer stands."""
        if not read.values:
            own.dropped = [UNTOLD] if own.values else []
            return own
        if not own.values:
            return replace(read, corrected_from="", dropped=[])
        if _contains(link.answer, read.answer):
            held = [item for item in read.evidence if item.id in read.cited and holds(link.answer, item)]
            return replace(read, values=own.values if held else read.values, dropped=[CONFIRMED])
        if read.confidence is not None and read.confidence >= self._options.sure:
            return replace(read, corrected_from=link.answer, dropped=[])
        own.dropped = [UNSURE]
        return own


def _contains(answer: str, part: str) -> bool:
    """Whether the words of `part` stand in the answer, in this order."""
    return f" {answer_key(part)} " in f" {answer_key(answer)} "


def _candidate(read: Result, evidence: list[Evidence]) -> Candidate:
    sources = [str(item.source) for item in evidence if item.id in read.cited] or [str(evidence[0].source)]
    return Candidate(read.values, read.confidence, sources[0], tuple(read.cited))
