"""What `cok` asks of a model that has learnt the closed tasks alone: its rationales are questions of one hop with their
answers, from memory in the sampled chains and from evidence where they are checked.
"""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.language.answer_key import answer_key
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.reading.reader import UNKNOWN
from atomr_local.reasoning.results import Result
from atomr_local.sources.protocol import Evidence, Value
from atomr_local.strategies.cok.writing import Chain, Rationale, own_answer
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.asked_before import asked_before
from atomr_local.strategies.shared.closing import CALLS_USED, final_values, result_of
from atomr_local.strategies.shared.listed import Listed
from atomr_local.strategies.shared.step_answers import OWN, UNTOLD
from atomr_local.tree.nodes import ROOT_ID

_MOST = 4  # rationales of a chain


class Pairs:
    """Rationales are questions of one hop with their answers."""

    def __init__(self, question: str, tools: Toolbox, temperature: float) -> None:
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
        reader, notes = self._tools.reader, [UNTOLD if evidence else OWN] if rationale.text else []
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
