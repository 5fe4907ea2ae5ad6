"""SearChain: a whole chain of queries and answers, checked query by query (Xu et al., WWW 2024).

Where evidence corrects an answer, or gives one that the model did not know, the model writes a new chain from there: a
new branch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from pydantic import Field

from atomr_local.language.names import answer_key
from atomr_local.reasoning.asking.writer import FilledForm
from atomr_local.reasoning.candidates import Candidate
from atomr_local.reasoning.operations.compute import evidence_of
from atomr_local.reasoning.reading.checks import holds
from atomr_local.reasoning.results import Result, text_values
from atomr_local.reasoning.steps import Step
from atomr_local.sources.protocol import Evidence, Request
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.shared.closing import (
    CALLS_USED,
    OWN,
    UNTOLD,
    answer_from,
    echoes,
    result_of,
    weighed_step,
)
from atomr_local.strategies.shared.loop import alike_before, same_question
from atomr_local.strategies.shared.tasks import Chain, Chains, Link
from atomr_local.strategies.shared.tools import searched
from atomr_local.strategies.shared.work import StepwiseStrategy, Work
from atomr_local.tree.nodes import ROOT_ID

_SAMPLES = 3
_TEMPERATURE = 0.7
UNSURE = "what was found may say otherwise, and not surely enough: the model's own answer stays"
AGREEMENT = f"the model gives no log-probabilities: how sure a reading is, is the agreement of {_SAMPLES} samples"
CONFIRMED = "what was found says so too"


class SearChainOptions(StrategyOptions):
    """How long chains are, and what corrects them."""

    rounds: int = Field(5, ge=1, le=20, description="The most chains that are written; published: 5.")
    queries: int = Field(5, ge=1, le=10, description="The most queries from the beginning of a chain to its end.")
    k: int = Field(1, ge=1, le=10, description="Pieces of evidence per query and source; published: 1.")
    sure: float = Field(
        0.7, ge=0, le=1, description="Probability of what is read from which it corrects the model's answer."
    )
    alike: float = Field(
        0.9, ge=0, le=1, description="Cosine from which a query was checked before and is passed over."
    )


@dataclass(eq=False)
class _Search(Work[SearChainOptions]):
    """The rounds of one question."""

    # What was checked, with the numbers of the nodes.
    _steps: list[tuple[int, str, Result]] = field(default_factory=list, init=False)
    # Answers that no passage can have put into the model's mouth unseen.
    _sendable: list[str] = field(default_factory=list, init=False)
    _final: FilledForm | None = field(default=None, init=False)

    @cached_property
    def _writing(self) -> Chains:
        return self.tasks.chains(self.options.queries)

    def go(self) -> None:
        """Write chains and check them, until one stands unchanged or a limit is reached."""
        parent = ROOT_ID
        for number in range(1, self.options.rounds + 1):
            if not self.may_ask():
                return
            chain = Chain()
            with self.tools.steps.open(self.question, parent, f"round {number}") as step:
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
        self.notes.append(f"the last of {self.options.rounds} chains was corrected too: answered from its steps")

    def conclude(self) -> Result:
        """The final answer of the chain that stands, or else one from the answers of its steps."""
        for node_id, asked, result in reversed(self._steps if self._final is None else []):
            if result.values and same_question(asked, self.question):
                evidence, _ = evidence_of([known for _, _, known in self._steps])
                taken = replace(result, evidence=evidence, dropped=[], corrected_from=None, candidates=())
                return replace(taken, computation=f"answer of [{node_id}]")
        steps = [(asked, result) for _, asked, result in self._steps]
        return answer_from(self.tools, self.question, steps, self._final)

    def _check(self, round_id: int, chain: Chain) -> int | None:
        """Check the chain's queries in turn; the number of the one that was corrected or completed, if one was."""
        for place, link in enumerate(chain.links, 1):
            number = self._writing.begun + place
            if not self.tools.asking.calls_left:
                left = len(chain.links) - place + 1
                self.notes += [CALLS_USED, f"{left} of {len(chain.links)} queries of the last chain were not checked"]
                return None
            known = None
            with self.tools.steps.open(link.query, round_id, f"query {number}") as step:
                known = self._known(link)
                step.result = known if known is not None else self._looked_up(step, link)
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

    def _known(self, link: Link) -> Result | None:
        """The result of the step that checked this query before. One that is marked as unsolved has to be the same."""
        checked = [(node_id, asked, result) for node_id, asked, result in self._steps if result.values]
        place = alike_before(link.query, [asked for _, asked, _ in checked], self.tools, self.options.alike)
        if place is None or not (link.answer or same_question(link.query, checked[place][1])):
            return None
        node_id, _, before = checked[place]
        note = f"checked before, in step {node_id}"
        return replace(before, dropped=[note], corrected_from=None, candidates=(), error=None)

    def _looked_up(self, step: Step, link: Link) -> Result:
        """The query's answer after what is found has been read."""
        request = Request(link.query, link.query, top_k=self.options.k)
        found = searched(self.tools, step.id, request, self.question, answers=self._sendable)
        step.result = Result(evidence=found.evidence)
        own = Result(text_values([link.answer]) if link.answer else (), None, link.sure, list(found.evidence))
        own.method = "closed_book" if own.values else None
        notes = [*found.dropped, *found.problems]
        if not found.evidence:
            own.dropped = [*notes, *([OWN] if own.values else [])]
            return own
        reading = self.tools.reader.from_evidence(step.id, link.query, found.evidence)
        read = result_of(self.tools.reader.checked(step.id, reading), "direct_rag", found.evidence)
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
        weighed_step(self.tools, read)
        if read.confidence is not None or not link.answer or _contains(link.answer, read.answer):
            return []
        if not self.tools.asking.calls_left:
            read.confidence = 1 / _SAMPLES
            return ["how sure the reading is could not be asked: the question's model calls are used"]
        draws = self.tools.reader.samples(node_id, link.query, read.evidence, _SAMPLES - 1, _TEMPERATURE)
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
        if read.confidence is not None and read.confidence >= self.options.sure:
            return replace(read, corrected_from=link.answer, dropped=[])
        own.dropped = [UNSURE]
        return own


class SearChain(StepwiseStrategy):
    name = "searchain"
    summary = "write a whole chain of queries and answers, check each, and go on anew from what evidence corrects"
    paper = (
        "Xu et al.: Search-in-the-Chain: Interactively Enhancing Large Language Models with Search for "
        "Knowledge-intensive Tasks, WWW 2024"
    )
    options = SearChainOptions
    work = _Search


def _contains(answer: str, part: str) -> bool:
    """Whether the words of `part` stand in the answer, in this order."""
    return f" {answer_key(part)} " in f" {answer_key(answer)} "


def _candidate(read: Result, evidence: list[Evidence]) -> Candidate:
    sources = [str(item.source) for item in evidence if item.id in read.cited] or [str(evidence[0].source)]
    return Candidate(read.values, read.confidence, sources[0], tuple(read.cited))
