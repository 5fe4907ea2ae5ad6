"""The tasks of a model that was trained on closed tasks alone: it reads, remembers and combines, and may have learnt to
write the next question of one hop. What it has not learnt is asked for by forms of a few words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from atomr_local.language.names import answer_key, capitalised
from atomr_local.language.words import english
from atomr_local.reasoning.asking.forms import Branch, Field, Line, OneOf
from atomr_local.reasoning.asking.writer import FilledForm, WrittenForm
from atomr_local.reasoning.candidates import Candidate
from atomr_local.reasoning.operators import values_read
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.reading.answer_formats import Reading
from atomr_local.reasoning.reading.reader import UNKNOWN
from atomr_local.reasoning.results import Result, text_values
from atomr_local.sources.protocol import Evidence, Value
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.closing import (
    CALLS_USED,
    OWN,
    UNTOLD,
    ScoredAnswer,
    answer_score,
    final_values,
    following_from,
    memory_signals,
    read_whole,
    result_of,
    same,
)
from atomr_local.strategies.shared.loop import NextQuestions, asked_before, same_question
from atomr_local.strategies.shared.tasks import (
    ANOTHER,
    END,
    NEXT,
    QUERY,
    Chain,
    Chains,
    FollowUp,
    Hop,
    Hops,
    Link,
    Rationale,
    Rationales,
    ReasonedAnswer,
    ReasonedHops,
    Tasks,
    form,
    own_answer,
)
from atomr_local.tree.nodes import ROOT_ID

_MOST = 4  # rationales of a chain
_NAME_CHARACTERS = 120
_MARKS = '?!.,;:()"“”«»'


def tasks_of(question: str, tools: QuestionContext) -> Tasks:
    """The tasks in the style of the model that answers this question."""
    return TrainedTasks(question, tools) if tools.asking.lean else Tasks(question, tools)


class TrainedTasks(Tasks):
    """See :class:`Tasks`. Rationales are questions of one hop with their answers."""

    chooses_tools = False
    _ending = ()  # it combines the answers of steps in a call of its own

    def __init__(self, question: str, tools: QuestionContext) -> None:
        super().__init__(question, tools)
        self._asked: dict[tuple[Rationale, ...], str] = {}

    def follow_up(self, steps: Sequence[tuple[str, str]]) -> FollowUp:
        if not self.tools.reader.knows_next:
            return super().follow_up(steps)
        written = self.tools.reader.follow_ups(ROOT_ID, self.question, steps)
        return FollowUp(written[0] if written else "")

    def concluded(self, steps: Sequence[tuple[str, Result]], final: FilledForm | None) -> Result:
        """An answer that follows from the steps is taken where the model has learnt to ask on, without asking it."""
        following = following_from(self.question, steps) if self.tools.reader.knows_next else None
        return following if following is not None else super().concluded(steps, final)

    def asking_on(self) -> NextQuestions | None:
        return NextQuestions(self.question, self.tools) if self.tools.reader.knows_next else None

    def chains(self, most: int) -> Chains:
        return ChainsByQuestion(self, most)

    def rationale_of(self) -> Rationale:
        return Rationale("", self.question)

    def rationales(self, node_id: int, draws: int, temperature: float) -> tuple[list[Rationales], list[str]]:
        """Questions are written greedily, so that equal beginnings share them; answers are sampled."""
        chains = [tuple[Rationale, ...]()] * draws
        drawing = list(range(draws))
        for place in range(_MOST):
            if self.tools.asking.calls_left < 2 * len(drawing):
                return self._ended(node_id, chains), [CALLS_USED]
            growing = []
            for draw in drawing:
                asked = self._next(node_id, chains[draw]) or ("" if place else self.question)
                if asked:
                    growing.append((draw, asked))

            def one(item: tuple[int, str]) -> str:
                draw, asked = item
                number = 0 if temperature == 0 else draw + 1
                reading = self.tools.reader.from_memory(node_id, asked, draw=number, temperature=temperature)
                return own_answer(asked, self.listed.text(reading.answers))

            answers = run_each(one, growing, self.tools.settings.llm.parallel)
            for (draw, asked), answer in zip(growing, answers, strict=True):
                chains[draw] = (*chains[draw], Rationale(answer, asked))
            drawing = [draw for draw, _ in growing]
        return self._ended(node_id, chains), []

    def verified(
        self, node_id: int, known: Sequence[Rationale], rationale: Rationale, evidence: Sequence[Evidence]
    ) -> tuple[Rationale, Result]:
        reader, notes = self.tools.reader, [UNTOLD if evidence else OWN] if rationale.text else []
        if evidence:
            read = reader.whole if rationale.asked == self.question else reader.from_evidence
            reading = reader.checked(node_id, read(node_id, rationale.asked, evidence))
            result = result_of(reading, "direct_rag", evidence)
            if result.values:
                unchanged = answer_key(result.answer) == answer_key(rationale.text)
                result.corrected_from = None if unchanged else rationale.text
                return Rationale(self.listed.text(result.texts), rationale.asked), result
            notes = [*result.dropped, *([result.error["message"]] if result.error else []), *notes]
        values = self._values(rationale.text)
        return rationale, Result(values, "closed_book" if values else None, evidence=list(evidence), dropped=notes)

    def next_rationale(
        self, node_id: int, known: Sequence[Rationale], drafts: int
    ) -> tuple[Rationale | None, list[str]]:
        asked = self._next(node_id, tuple(known)) if len(known) < _MOST else ""
        if not asked:
            return None, []
        if asked_before(asked, [rationale.asked for rationale in known], self.tools):
            return Rationale("", asked), []  # it is not needed
        reading = self.tools.reader.from_memory(node_id, asked)
        return Rationale(own_answer(asked, self.listed.text(reading.answers)), asked), list(reading.dropped)

    def answer_from(self, known: Sequence[Rationale]) -> Result:
        if self._is_whole(known):
            values = self._values(known[0].text)
            return Result(values, "child" if values else None)
        return result_of(self.tools.reader.from_steps(ROOT_ID, self.question, _pairs(known)), "child", ())

    def hops(self, draws: int, temperature: float) -> Hops:
        return ReadHops(self, draws, temperature)

    def reasoned_hops(self, draws: int, temperature: float) -> ReasonedHops:
        return ReadHops(self, draws, temperature)

    def respond(
        self, node_id: int, text: Sequence[Value], graph: Sequence[Value], own: Sequence[Value]
    ) -> tuple[Sequence[Value], float | None, list[str]]:
        """The answer that text and graph share, that of the only one, or the model's choice between the two."""
        if not text or not graph or same(text, graph):
            return graph or text, None, []
        said = [(self.question, ", ".join(value.text for value in values)) for values in (text, graph)]
        reading = self.tools.reader.from_steps(node_id, self.question, said)
        made = text_values(reading.answers)
        known = next((values for values in (graph, text) if same(values, made)), ())
        return known or text, reading.confidence if known else None, []

    def _scored(
        self, origin: str, read: Callable[[], Reading], write: Callable[..., list[WrittenForm]]
    ) -> ScoredAnswer:
        """The answer by the closed task; its own tokens are scored. By the form where their probability is unknown."""
        reading = read()
        score = answer_score(reading)
        if score is None:
            return super()._scored(origin, read, write)
        candidate = Candidate(values_read(reading), score, origin, tuple(item.id for item in reading.cited))
        signals = reading.signals | memory_signals(origin)
        return ScoredAnswer(candidate, "", signals, reading.dropped, reading.problem, reading)

    def _is_whole(self, known: Sequence[Rationale]) -> bool:
        """Whether the chain is the question itself."""
        return len(known) == 1 and known[0].asked == self.question

    def _values(self, text: str) -> tuple[Value, ...]:
        return self.listed.values(text) if text in self.listed else final_values(text)

    def _next(self, node_id: int, known: tuple[Rationale, ...]) -> str:
        """The next question; "" if there is none, or if the model has not learnt to ask one."""
        if not self.tools.reader.knows_next:
            return ""
        if known not in self._asked:
            written = self.tools.reader.follow_ups(node_id, self.question, _pairs(known))
            self._asked[known] = next(iter(written), "")
        return self._asked[known]

    def _ended(self, node_id: int, chains: Sequence[tuple[Rationale, ...]]) -> list[Rationales]:
        """The chains with the answers that their rationales lead to."""
        answers: dict[tuple[Rationale, ...], str] = {}
        for known in dict.fromkeys(chains):
            if self._is_whole(known):
                answers[known] = known[0].text
            elif known and self.tools.asking.calls_left:
                reading = self.tools.reader.from_steps(node_id, self.question, _pairs(known))
                answers[known] = own_answer(self.question, self.listed.text(reading.answers))
        return [Rationales(known, answers.get(known, "")) for known in chains]


def _pairs(known: Sequence[Rationale]) -> list[tuple[str, str]]:
    return [(rationale.asked, rationale.text or UNKNOWN) for rationale in known]


class ChainsByQuestion(Chains):
    """Chains that are not written in one go: the next question is asked and answered from memory, one after another, up
    to the first that the model cannot answer."""

    def write(self, node_id: int, known: Sequence[tuple[str, str]]) -> Chain:
        tools, question = self.tasks.tools, self.tasks.question
        steps, links = list(known), list[Link]()
        while len(links) < self.most - self.begun:
            if not tools.asking.calls_left:
                return Chain(tuple(links), notes=(CALLS_USED,))
            if any(same_question(asked, question) for asked, _ in steps):
                break  # nothing is left to ask
            query = self._next(node_id, steps) or ("" if steps else question)
            if not query:
                break
            if asked_before(query, [asked for asked, _ in steps], tools):
                return Chain(tuple(links), notes=(f"the model asked again: {query}",))
            reading = tools.reader.from_memory(node_id, query)
            answer = self.own(query, ", ".join(reading.answers))
            links.append(Link(query, answer, reading.confidence if answer else None))
            if not answer:
                break
            steps.append((query, answer))
        return Chain(tuple(links))

    def tell(self, place: int, link: Link, answer: str, passage: Evidence | None) -> None:
        self.begun += place

    def _next(self, node_id: int, steps: Sequence[tuple[str, str]]) -> str:
        """The next question; "" if there is none."""
        if self.tasks.tools.reader.knows_next:
            return next(iter(self.tasks.tools.reader.follow_ups(node_id, self.tasks.question, steps)), "")
        asked: tuple[Field, ...] = (Line(f"{QUERY} {len(steps) + 1}"),)
        if steps:
            asked = (Branch(f"{NEXT} {len(steps)}", {ANOTHER: asked, END: ()}),)
        turns = [
            (
                (f"{NEXT} {number - 1}: {ANOTHER}\n" if number > 1 else "") + f"{QUERY} {number}: {query}",
                f"{QUERY} {number} is answered: {answer}.",
            )
            for number, (query, answer) in enumerate(steps, 1)
        ]
        written = self.tasks.fill(node_id, "next query", form("searchain_chain", *asked), turns=turns)
        query, mark, _ = written[f"{QUERY} {len(steps) + 1}"].partition("?")
        return query + mark  # what a model of closed tasks writes behind the question is the notation of plans


class ReadHops(ReasonedHops):
    """Hops that are read: the next questions of one hop where the model has learnt to write them; else queries of words
    that it has seen."""

    def __init__(self, tasks: Tasks, draws: int, temperature: float) -> None:
        super().__init__(tasks, draws, temperature)
        self._pending = ""  # the question of one hop that was searched last
        self.shows_examples = not self.tools.reader.knows_next

    def hop(self, node_id: int, passages: Sequence[Evidence]) -> Hop:
        asks_on = self.tools.reader.knows_next
        about = self._pending if asks_on else self.question
        summaries = self._read(node_id, passages, about) if passages and about else []
        self.known += [best.text for best in summaries[:1]]
        if not asks_on:
            return self.queries(node_id, OneOf(QUERY, self._names(passages)), summaries)
        if passages and about:
            self.steps.append((about, summaries[0].text if summaries else UNKNOWN))
        written = self.tools.reader.follow_ups(
            node_id, self.question, self.steps, draws=self.draws, temperature=self.temperature
        )
        self._pending = written[0] if written else ""
        return Hop(self._pending or self.question, written, summaries)

    def thoughts(self, passages: Sequence[Evidence], draws: int) -> tuple[list[ReasonedAnswer], list[str]]:
        readings = self.tools.reader.samples(ROOT_ID, self.question, passages, draws, self.temperature)
        notes = list(dict.fromkeys(note for reading in readings for note in reading.dropped))
        fit = [self.fit(self.listed.text(reading.answers)) for reading in readings]
        return [ReasonedAnswer(one, "", reading.signals) for one, reading in zip(fit, readings, strict=True)], notes

    def answer(self, evidence: Sequence[Evidence]) -> Result:
        reading = read_whole(self.tools, ROOT_ID, self.question, evidence)
        return result_of(reading, "direct_rag", evidence)

    def _read(self, node_id: int, passages: Sequence[Evidence], question: str) -> list[FilledForm]:
        """The answers of the passages to the question."""
        reading = self.tools.reader.from_evidence(node_id, question, passages)
        if not reading.answers:
            return []
        score = math.log(reading.confidence) if reading.confidence else None
        return [FilledForm(self.listed.text(reading.answers), score)]

    def _names(self, passages: Sequence[Evidence]) -> tuple[str, ...]:
        """The names seen so far: of the question, of what was carried on, and of the pages that were found."""
        opening, _, rest = self.question.partition(" ")
        asked = rest if opening.casefold() in english().stop else self.question
        own = [name.strip(_MARKS).removesuffix("'s").removesuffix("’s") for name in capitalised([asked])]
        names = (*(own or [self.question]), *self.known, *(item.title for item in passages))
        return tuple(name[:_NAME_CHARACTERS] for name in names)
