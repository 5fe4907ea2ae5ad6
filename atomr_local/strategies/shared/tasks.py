"""Typed tasks for models, which methods call: here for a model that follows instructions, which fills in forms.

A model that was trained on closed tasks alone does the same in its own way, see `trained.py`; `tasks_of` there chooses
for each question. A method calls tasks, and does not know which model it has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, repeat
from typing import Any

from atomr_local.language.names import answer_key
from atomr_local.reasoning.asking.asking import cut_passage
from atomr_local.reasoning.asking.forms import Branch, Field, Form, Line, WordsOf, worked_examples
from atomr_local.reasoning.asking.writer import FilledForm, WrittenForm, left_out, notes_of
from atomr_local.reasoning.reading.answer_formats import Reading
from atomr_local.reasoning.reading.reader import UNKNOWN
from atomr_local.reasoning.results import Result
from atomr_local.sources.protocol import Evidence, Value
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.closing import (
    ANSWER,
    CALLS_A_WAY,
    CHILDREN,
    MODEL,
    REASONS,
    REPEATED,
    TEXT,
    UNKNOWN_SCORE,
    AnswerLists,
    ScoredAnswer,
    agreed,
    answer_from,
    echoes,
    final_values,
    holding,
    repeats_question,
    same,
    unreadable,
    with_reasons,
)
from atomr_local.strategies.shared.loop import NextQuestions
from atomr_local.tree.nodes import ROOT_ID

PROMPTS = "atomr_local.strategies"
_ANSWER_TOKENS = 20
_TEMPERATURE = 0.7  # of further samples, where the model tells no log-probabilities
_ALWAYS = ("yes", "no", UNKNOWN)
_NOTHING = "(nothing)"


@cache
def _examples(name: str) -> tuple[str, ...]:
    return worked_examples(PROMPTS, f"{name}_examples")


def form(name: str, *fields: Field, stop: tuple[str, ...] = ()) -> Form:
    """The form with the template and the worked examples of this name."""
    return Form(PROMPTS, name, fields, _examples(name), stop)


def _reasoned(name: str) -> Form:
    return form(f"scored_{name}", Line(REASONS), Line(ANSWER, _ANSWER_TOKENS))


class Tasks:
    """The tasks for one question. Each raises AtomrError if the model fails or no call is left, and Cancelled.

    Attributes:
        chooses_tools: whether the model can choose among tools and write their inputs.
        listed: the lists among the answers, which stand as one text in prompts and votes.
    """

    chooses_tools = True
    _ending: tuple[Field, ...] = (Line(ANSWER),)  # of a transcript of follow-up questions

    def __init__(self, question: str, tools: QuestionContext) -> None:
        self.question = question
        self.tools = tools
        self.listed = AnswerLists()

    def fill(self, node_id: int, purpose: str, asked: Form, **given: Any) -> WrittenForm:
        """The form filled once; `given`: see :meth:`Writer.write`. The slot `question` is the whole question, if not
        given."""
        [written] = self.tools.writer.write(node_id, purpose, asked, **{"question": self.question} | given)
        return written

    # One question or one sentence after another.

    def follow_up(self, steps: Sequence[tuple[str, str]]) -> FollowUp:
        """The next question of one fact after these and their answers, or the end: then it has no question."""
        label = _NEXT if steps else _NEEDED
        on, end = _CHOICES[label]
        fields = Branch(label, {on: (Line(_FOLLOW_UP),), end: self._ending})
        turns = [
            (f"{choice}: {_CHOICES[choice][0]}\n{_FOLLOW_UP}: {asked}", f"{_TOLD}: {answer}")
            for choice, (asked, answer) in zip(chain((_NEEDED,), repeat(_NEXT)), steps, strict=False)
        ]
        written = self.fill(ROOT_ID, "follow-up", form("self_ask", fields, stop=(_TOLD,)), turns=turns)
        if written.problem is not None:
            return FollowUp(notes=(*written.dropped, f"no further follow-up: {written.problem}"))
        if written[label] == end:
            return FollowUp("", written.fields.get(ANSWER), written.dropped)
        return FollowUp(written[_FOLLOW_UP], None, written.dropped)

    def next_sentence(
        self, node_id: int, paragraphs: Sequence[Evidence], sentences: Sequence[str]
    ) -> tuple[str, list[str]]:
        """The next sentence of a chain of thought after these, and notes; "" if it cannot be read."""
        told, asked = " ".join(sentences) or "(none)", form("ircot", Line(_NEXT))
        written = self.fill(node_id, "next sentence", asked, evidence=paragraphs, sentences=told)
        return written[_NEXT], _notes(written, "the chain ends here: ")

    def concluded(self, steps: Sequence[tuple[str, Result]], final: FilledForm | None) -> Result:
        """The answer that the model ended with after these questions, or else one that is asked for outright."""
        return answer_from(self.tools, self.question, steps, final)

    def asking_on(self) -> NextQuestions | None:
        """The questions that a loop with tools answers; None: the model's own thoughts guide it."""
        return None

    def chains(self, most: int) -> Chains:
        """Whole chains of queries; `most`: queries one after another, those of earlier rounds that stand included."""
        return Chains(self, most)

    # Rationales: chains of them, the check of one by evidence, the next one, the answer.

    def rationale_of(self) -> Rationale:
        """The question in the place of rationales that could not be written."""
        return Rationale(self.question)

    def rationales(self, node_id: int, draws: int, temperature: float) -> tuple[list[Rationales], list[str]]:
        """Sampled chains of rationales, and notes."""
        lines = (Line(_FIRST), Line(_SECOND), Line(_THIRD, needed=False), Line(_FOURTH, needed=False))
        asked = form("cok_chain", *lines, Line(ANSWER, _ANSWER_TOKENS))
        written = self.tools.writer.write(
            node_id, "chain", asked, draws=draws, temperature=temperature, question=self.question
        )
        notes = left_out(written)
        chains = [_rationales(one, self.question) for one in written]
        if unread := sum(not one.answer for one in chains):
            notes.append(f"{unread} of {len(chains)} chains gave no answer")
        return chains, notes

    def verified(
        self, node_id: int, known: Sequence[Rationale], rationale: Rationale, evidence: Sequence[Evidence]
    ) -> tuple[Rationale, Result]:
        """The rationale as the evidence has it, and the step's result; `known`: the rationales before it."""
        if not evidence:
            return rationale, Result(thought=rationale.text, dropped=[NOT_FOUND])
        numbers = {str(number): (Line(_FACT),) for number in range(1, len(evidence) + 1)}
        asked = form("cok_check", Branch(_PASSAGE, {**numbers, _NONE: ()}))
        # Evidence is cut to what matters for the rationale.
        slots = {"question": rationale.text, "whole": self.question, "known": _told(known)}
        written = self.fill(node_id, "check", asked, evidence=evidence, **slots)
        notes = _notes(written, "left as it was written: ")
        result = Result(evidence=list(evidence), thought=rationale.text, dropped=notes)
        new, chosen = written[_FACT], written[_PASSAGE]
        if written.problem is not None:
            return rationale, result
        if chosen == _NONE or int(chosen) > len(written.shown):
            result.dropped.append(NOT_TOLD)
        else:
            result.thought, result.cited = new, [written.shown[int(chosen) - 1].id]
            if answer_key(new) == answer_key(rationale.text):
                result.dropped.append(STANDS)
            else:
                result.corrected_from = rationale.text
        return Rationale(result.thought), result

    def next_rationale(
        self, node_id: int, known: Sequence[Rationale], drafts: int
    ) -> tuple[Rationale | None, list[str]]:
        """The rationale after these, and notes; None if there is none. `drafts`: how many the chain had."""
        if len(known) >= drafts:
            return None, []
        written = self.fill(node_id, "next rationale", form("cok_next", Line(_FACT)), known=_told(known))
        return Rationale(written[_FACT]) if written[_FACT] else None, _notes(written, "not written anew: ")

    def answer_from(self, known: Sequence[Rationale]) -> Result:
        """The answer from the rationales alone."""
        facts = [f"{number}. {rationale.told}" for number, rationale in enumerate(known, 1)]
        written = self.fill(ROOT_ID, "answer", form("cok_answer", Line(ANSWER, _ANSWER_TOKENS)), facts=facts)
        values, sure = final_values(written[ANSWER]), _probability(written, ANSWER)
        return Result(
            values,
            "child" if values else None,
            sure if values else None,
            dropped=list(written.dropped),
            error=unreadable(written.problem),
        )

    # Hops: what the evidence of the one before tells, and what is searched next.

    def hops(self, draws: int, temperature: float) -> Hops:
        """Hops with a summary each, and chains of thought at last."""
        return Hops(self, draws, temperature)

    def reasoned_hops(self, draws: int, temperature: float) -> ReasonedHops:
        """Hops with a question of one fact each, and the answer at last."""
        return ReasonedHops(self, draws, temperature)

    # Answers.

    def respond(
        self, node_id: int, text: Sequence[Value], graph: Sequence[Value], own: Sequence[Value]
    ) -> tuple[Sequence[Value], float | None, list[str]]:
        """The response to the question from what text, graph and the model's own knowledge answer, how surely it was
        written, and notes."""
        sides = {"text": text, "graph": graph, "own": own}
        slots = {name: ", ".join(value.text for value in values) or UNKNOWN for name, values in sides.items()}
        written = self.fill(node_id, "final response", form("humaniq_response", Line(ANSWER)), **slots)
        notes = _notes(written)
        values = final_values(written[ANSWER]) if written[ANSWER] else ()
        if not values:
            notes.append(f"the model gave no final response: this is the answer of the {'text' if text else 'graph'}")
            return text or graph, None, notes
        # Several answers are several again, and an entity stays one.
        known = next((side for side in (graph, text, own) if side and same(side, values)), values)
        return known, _probability(written, ANSWER), notes

    def from_evidence(self, node_id: int, question: str, evidence: Sequence[Evidence], *, whole: bool) -> ScoredAnswer:
        """Open book; `whole`: from what was collected for several questions, not for this look-up alone."""
        read = self.tools.reader.whole if whole else self.tools.reader.from_evidence
        write = partial(
            self.tools.writer.write, node_id, "open book", _reasoned("evidence"), evidence=evidence, question=question
        )
        return self._scored(TEXT, partial(read, node_id, question, evidence), write)

    def from_memory(self, node_id: int, question: str) -> ScoredAnswer:
        """Closed book. An answer that only repeats the question is none."""
        write = partial(self.tools.writer.write, node_id, "closed book", _reasoned("memory"), question=question)
        found = self._scored(MODEL, partial(self.tools.reader.from_memory, node_id, question), write)
        if not found.found or not all(repeats_question(question, value.text) for value in found.candidate.values):
            return found
        nothing = replace(found.candidate, values=(), score=UNKNOWN_SCORE, evidence=())
        return replace(found, candidate=nothing, signals={}, notes=(*found.notes, REPEATED))

    def from_children(self, node_id: int, question: str, steps: Sequence[tuple[str, str]]) -> ScoredAnswer:
        """From sub-questions and their answers."""
        lines = [f"{number}. {asked} {answer}" for number, (asked, answer) in enumerate(steps, 1)]
        write = partial(
            self.tools.writer.write, node_id, "combine", _reasoned("children"), steps=lines, question=question
        )
        return self._scored(CHILDREN, partial(self.tools.reader.from_steps, node_id, question, steps), write)

    def _scored(
        self, origin: str, read: Callable[[], Reading], write: Callable[..., list[WrittenForm]]
    ) -> ScoredAnswer:
        """The answer by the form. Its score is the mean log-probability of the reasons (ProbTree, section 3.2); where
        the model tells none, the logarithm of the share of samples that agree.

        Args:
            read: answers by a closed task, which gives no reasons.
        """
        [written] = write()
        found = with_reasons(origin, written)
        if not found.found or found.candidate.score is not None:
            return found
        drawn = write(draws=CALLS_A_WAY - 1, temperature=_TEMPERATURE)
        return agreed([found, *(with_reasons(origin, one) for one in drawn)])


# Follow-up questions, and sentences of a chain of thought.

_NEEDED, _NEXT, _FOLLOW_UP, _TOLD = "Needed", "Next", "Follow-up", "Intermediate answer"
# What the model chooses first, and after every intermediate answer: to ask on, or to end.
_CHOICES = {_NEEDED: ("yes", "no"), _NEXT: ("another follow-up", "the answer")}


@dataclass(frozen=True)
class FollowUp:
    """The next question; "" where no more is asked. Then there may be the answer that the model ended with."""

    question: str = ""
    final: FilledForm | None = None
    notes: tuple[str, ...] = ()


# Whole chains of queries, each with the model's own answer or marked unsolved.

QUERY, NEXT = "Query", _NEXT
ANOTHER, END = "another query", "the end"
UNSOLVED = "unsolved"
_FINAL = "Final"
_UNSOLVED = re.compile(
    r"(?:unsolved|unknown|unsure|none|not (?:known|sure)|i (?:do not|don't) know)\b.*", re.IGNORECASE
)


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
    """The chain of one round. `final` is None where it does not tell the final answer."""

    links: tuple[Link, ...] = ()
    final: FilledForm | None = None
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole chain on one line."""
        told = [f"{place}. {link.query} {link.answer or UNSOLVED}" for place, link in enumerate(self.links, 1)]
        end = [f"final: {self.final.text}"] if self.final is not None else []
        return "; ".join([*told, *end]) or "nothing more is asked"


class Chains:
    """Writes chains for one question, all in one conversation.

    Attributes:
        begun: how many queries of the conversation are behind: a chain goes on with the next one.
    """

    def __init__(self, tasks: Tasks, most: int) -> None:
        self.begun = 0
        self.tasks = tasks
        self.most = most
        self._said = ""
        self._turns: list[tuple[str, str]] = []

    @property
    def sees_passages(self) -> bool:
        """Whether the model has been shown passages, which may steer what it writes."""
        return bool(self._turns)

    def write(self, node_id: int, known: Sequence[tuple[str, str]]) -> Chain:
        """The chain from here to the end; `known`: the queries behind, with their answers."""
        asked = form("searchain_chain", *(self._rest(self.begun) if self.begun else self._from(1)))
        written = self.tasks.fill(node_id, "chain", asked, turns=self._turns)
        self._said = "\n".join(f"{label}: {filled.text}" for label, filled in written.fields.items())
        links = []
        for number in range(self.begun + 1, self.most + 1):
            query, label = written[f"{QUERY} {number}"], f"{ANSWER} {number}"
            if not query:
                break
            answer = self.own(query, written[label])
            links.append(Link(query, answer, _probability(written, label) if answer else None))
        final = written[_FINAL]
        return Chain(
            tuple(links),
            None if not final or _UNSOLVED.fullmatch(final) else written.fields[_FINAL],
            tuple(_notes(written, "the chain is cut: ")),
        )

    def tell(self, place: int, link: Link, answer: str, passage: Evidence | None) -> None:
        """Go on after the chain's link `place`, from 1, with this answer."""
        self.begun += place
        done = "corrected" if link.answer else "answered"
        told = f"{QUERY} {self.begun} is {done} by what was found: {answer}."
        if passage is not None:
            words = self.tasks.tools.settings.limits.passage_words
            text = cut_passage(f"{link.query} {answer}", passage.title, passage.text, words)
            told += f" Passage: {passage.title}: {text}"
        self._turns.append((self._said, told))

    def own(self, query: str, answer: str) -> str:
        """The model's own answer; "" where it has none."""
        return "" if _UNSOLVED.fullmatch(answer.strip(" .[]()")) or repeats_question(query, answer) else answer

    def _from(self, number: int) -> tuple[Field, ...]:
        """The fields of the query with this number and of all that may follow it."""
        return Line(f"{QUERY} {number}"), Line(f"{ANSWER} {number}", _ANSWER_TOKENS), *self._rest(number)

    def _rest(self, number: int) -> tuple[Field, ...]:
        """The fields behind the query with this number."""
        end = (Line(_FINAL, _ANSWER_TOKENS),)
        if number >= self.most:
            return end
        return (Branch(f"{NEXT} {number}", {ANOTHER: self._from(number + 1), END: end}),)


# Rationales.

_FIRST, _SECOND, _THIRD, _FOURTH = "First", "Second", "Third", "Fourth"
_PASSAGE, _FACT, _NONE = "Passage", "Fact", "none"
STANDS = "checked: it stands as it was written"
NOT_TOLD = "what was found does not tell: left as it was written"
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
class Rationales:
    """A chain of rationales, and the answer that they lead to; "" if there is none."""

    rationales: tuple[Rationale, ...]
    answer: str = ""


def own_answer(question: str, answer: str) -> str:
    """The model's own answer; "" where it only repeats the question or the choice that it offers."""
    said, asked = answer_key(answer), answer_key(question)
    choice = " or " in said and said in asked
    return "" if choice or asked in said else answer


def _told(known: Sequence[Rationale]) -> str:
    return " ".join(rationale.told for rationale in known) or _NOTHING


def _rationales(written: WrittenForm, question: str) -> Rationales:
    """The chain that was written; one without a second rationale is one, too."""
    texts = {label: filled.text for label, filled in written.fields.items()}
    if written.problem is not None:
        short = form("cok_chain", Line(_FIRST), Line(ANSWER, _ANSWER_TOKENS)).parse(written.generation.text)
        texts = {label: read.text for label, read in short.fields.items()} | texts
    rationales = [Rationale(texts[label]) for label in (_FIRST, _SECOND, _THIRD, _FOURTH) if texts.get(label)]
    answer = ", ".join(value.text for value in final_values(texts.get(ANSWER, "")))
    return Rationales(tuple(rationales), own_answer(question, answer))


# Hops.

_QUERY_TOKENS, _REASON_TOKENS, _QUESTION_TOKENS = 20, 60, 30
_SUMMARY, _FOUND, _QUESTION, _NAME = "Summary", "Found", "Question", "Name"
_OPEN = "(open)"
_LONGEST_FOUND = 12  # words; more are no answer of one hop
_MOST_CITED = 2


@dataclass(frozen=True)
class Hop:
    """One hop as it was written.

    Attributes:
        question: of one fact; the whole question where the model writes none.
        queries: to search with.
        summaries: of the hop before, the surest first: what was found for it.
        name: what the question asks about; empty if the model does not tell.
    """

    question: str
    queries: Sequence[str]
    summaries: Sequence[FilledForm] = ()
    name: str = ""
    reasons: str = ""
    notes: Sequence[str] = ()

    @property
    def found(self) -> str:
        """The answer of the hop before; empty if it has none."""
        return self.summaries[0].text if self.summaries else ""


@dataclass(frozen=True)
class ReasonedAnswer:
    """A chain of thought; `answer` is "" where it gives none. `signals`: for and against the answer, if read so."""

    answer: str
    reasons: str = ""
    signals: Mapping[str, float] = field(default_factory=dict)


class Hops:
    """Writes hop by hop: queries after a summary of what the hop before has found, which is carried on.

    Attributes:
        known: the summaries carried on.
        steps: the questions of the hops so far with their answers, where each hop has one.
        examples: worked examples to show, each with the name of its template.
        shows_examples: whether any prompt has room for them.
        filled: the forms as they were filled: template, slots, and what was written.
    """

    shows_examples = True

    def __init__(self, tasks: Tasks, draws: int, temperature: float) -> None:
        self.question = tasks.question
        self.tools = tasks.tools
        self.listed = tasks.listed
        self.draws = draws
        self.temperature = temperature
        self.known: list[str] = []
        self.steps: list[tuple[str, str]] = []
        self.examples: Sequence[tuple[str, str]] = ()
        self.filled: list[tuple[str, dict[str, str], WrittenForm]] = []

    def hop(self, node_id: int, passages: Sequence[Evidence]) -> Hop:
        """Queries for the next hop, after a summary of what the one before found, if there was one."""
        query = Line(QUERY, _QUERY_TOKENS)
        if not passages:
            return self.queries(node_id, query)
        written = self._write(node_id, "dsp_hop", (Line(_SUMMARY), query), self.draws, passages)
        found = sorted((one for one in written if one[_SUMMARY]), key=_sureness_of(_SUMMARY), reverse=True)
        summaries = [one.fields[_SUMMARY] for one in found]
        self.known += [summary.text for summary in summaries[:1]]
        self._keep("dsp_hop", found[0] if found else written[0])
        return self._hop(written, summaries)

    def queries(self, node_id: int, query: Field, summaries: Sequence[FilledForm] = ()) -> Hop:
        """The hop with queries alone; `summaries`: of the one before, read otherwise."""
        written = self._write(node_id, "dsp_query", (query,), self.draws)
        self._keep("dsp_query", written[0])
        return self._hop(written, summaries)

    def thoughts(self, passages: Sequence[Evidence], draws: int) -> tuple[list[ReasonedAnswer], list[str]]:
        """Chains of thought over the summaries and the passages, and notes."""
        fields = Line(REASONS), WordsOf(ANSWER, (*_words(passages), *self.known, self.question, *_ALWAYS))
        written = self._write(ROOT_ID, "dsp_predict", fields, draws, passages)
        self._keep("dsp_predict", written[0])
        notes = notes_of(written, "chains of thought")
        return [ReasonedAnswer(self.fit(one[ANSWER]), one[REASONS]) for one in written], notes

    def fit(self, answer: str) -> str:
        """The answer; "" where it only repeats the question."""
        return "" if echoes(self.question, answer) else answer

    def _hop(self, written: Sequence[WrittenForm], summaries: Sequence[FilledForm]) -> Hop:
        queries = tuple(dict.fromkeys(one[QUERY] for one in written if one[QUERY]))
        return Hop(self.question, queries, summaries, notes=notes_of(written))

    def _write(
        self, node_id: int, template: str, fields: tuple[Field, ...], draws: int, passages: Sequence[Evidence] = ()
    ) -> list[WrittenForm]:
        examples = tuple(example for name, example in self.examples if name == template)
        return self.tools.writer.write(
            node_id,
            "chain of thought" if node_id == ROOT_ID else "query",
            Form(PROMPTS, template, fields, examples),
            evidence=passages,
            draws=draws,
            temperature=self.temperature,
            question=self.question,
            known=self._carried,
        )

    @property
    def _carried(self) -> str:
        return " ".join(self.known) or _NOTHING

    def _keep(self, template: str, written: WrittenForm) -> None:
        if written.problem is None:
            self.filled.append((template, {"question": self.question, "known": self._carried}, written))


class ReasonedHops(Hops):
    """Writes hop by hop: reasons, the answer of the hop before, and the next question of one fact."""

    def hop(self, node_id: int, passages: Sequence[Evidence]) -> Hop:
        first = not self.steps or not passages
        texts = _words(passages)
        found_field = () if first else (WordsOf(_FOUND, (*texts, *_ALWAYS)),)
        name_field = WordsOf(_NAME, (self.question, *self._found, *texts))
        fields = (Line(REASONS, _REASON_TOKENS), *found_field, Line(_QUESTION, _QUESTION_TOKENS), name_field)
        asked = form(f"detllm_{'first' if first else 'next'}", *fields)
        written = self._reasoned(node_id, "query", asked, passages, draws=self.draws, temperature=self.temperature)
        read = [one for one in written if one[_QUESTION]]
        best = max(read, key=_sureness_of(_QUESTION), default=written[0])
        found = best[_FOUND] if not first else ""
        if found.casefold() == UNKNOWN.casefold() or len(found.split()) > _LONGEST_FOUND:
            found = ""
        queries = tuple(dict.fromkeys([one[_QUESTION] for one in ([best] if read else []) + read]))
        question = best[_QUESTION] or self.question
        if not first:
            self.steps[-1] = (self.steps[-1][0], found or UNKNOWN)
        self.steps.append((question, _OPEN))
        summaries = (FilledForm(found),) if found else ()
        return Hop(question, queries, summaries, best[_NAME], best[REASONS], notes_of(written))

    def answer(self, evidence: Sequence[Evidence]) -> Result:
        """The answer to the whole question from the evidence and the hops."""
        texts = (*_words(evidence), *self._found, self.question, *_ALWAYS)
        asked = form("detllm_answer", Line(REASONS, _REASON_TOKENS), WordsOf(ANSWER, texts))
        [written] = self._reasoned(ROOT_ID, "answer", asked, evidence)
        values = () if echoes(self.question, written[ANSWER]) else final_values(written[ANSWER])
        result = Result(evidence=list(evidence), dropped=notes_of([written]), thought=written[REASONS])
        if values:
            result.values, result.method, result.confidence = values, "tool", _probability(written, ANSWER)
            held = holding(self.question, [written[ANSWER]], evidence)
            result.cited = [item.id for item in held[:_MOST_CITED]]
        else:
            result.dropped.append("the model found no answer in the evidence")
        return result

    def _reasoned(
        self, node_id: int, purpose: str, asked: Form, evidence: Sequence[Evidence], **sampled: Any
    ) -> list[WrittenForm]:
        steps = " ".join(f"{question} {answer}" for question, answer in self.steps) or _NOTHING
        return self.tools.writer.write(
            node_id, purpose, asked, evidence=evidence, question=self.question, steps=steps, **sampled
        )

    @property
    def _found(self) -> list[str]:
        """Answers of hops."""
        return [answer for _, answer in self.steps if answer not in (_OPEN, UNKNOWN)]


def _words(evidence: Iterable[Evidence]) -> list[str]:
    """The texts whose words an answer may be made of."""
    return [text for item in evidence for text in (item.title, item.text)]


def _sureness_of(label: str) -> Callable[[WrittenForm], float]:
    """Orders forms by the mean log-probability of a field; those for which it is not known come last."""

    def sureness(written: WrittenForm) -> float:
        logprob = written.logprob(label)
        return -math.inf if logprob is None else logprob

    return sureness


def _notes(written: WrittenForm, unread: str = "") -> list[str]:
    """Notes on what was left out, and on why the form could not be read, behind the words `unread`."""
    return [*written.dropped, *([] if written.problem is None else [f"{unread}{written.problem}"])]


def _probability(written: WrittenForm, label: str) -> float | None:
    """exp of the mean log-probability of a field; None if that is not known."""
    logprob = written.logprob(label)
    return None if logprob is None else math.exp(logprob)
