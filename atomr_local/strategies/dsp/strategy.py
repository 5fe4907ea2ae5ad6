"""DSP: demonstrate, search in hops, predict by a vote (Khattab et al., 2022).

Several queries are sampled a hop; their results are fused. A summary of each hop is carried into the next one.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator
from pydantic import Field as PydanticField

from atomr_local import paths
from atomr_local.backbone.templates import render
from atomr_local.cancellation import Cancellation
from atomr_local.errors import AtomrError, Cancelled
from atomr_local.files import put, read_regular
from atomr_local.indexing.store import STARTER
from atomr_local.language.names import answer_key, capitalised
from atomr_local.language.words import english
from atomr_local.reasoning.asking.forms import Field, Form, Line, OneOf, WordsOf
from atomr_local.reasoning.asking.writer import WrittenForm, evidence_block, notes_of, shown_passages
from atomr_local.reasoning.candidates import Candidate, vote
from atomr_local.reasoning.ranking import fuse_ranks
from atomr_local.reasoning.reading.checks import holds, mentioned_share
from atomr_local.reasoning.reading.reader import UNKNOWN
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.schema import PlanOrigin, rating_text
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Evidence, Request, SourceName
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import Need, QuestionContext
from atomr_local.strategies.shared.closing import CALLS_USED, Listed, at_root, echoes
from atomr_local.strategies.shared.tools import SearchedOnce, searched, told
from atomr_local.tree.nodes import ROOT_ID, Tree

# The worked examples of `dsp`: questions of ours, answered by the strategy itself (Khattab et al., 2022, section 3.2).
# A worked question becomes an example if the passages hold its answer and the strategy gives it. What became of each is
# kept in a file for each model and version of the prompts. That file is untrusted: one that is not as it should be is
# made again.

PROMPTS = "atomr_local.strategies.dsp"
SECONDS = 30.0  # for which one question may be kept waiting, where nothing else is set; the next one goes on
_TEMPLATES = ("dsp_query", "dsp_hop", "dsp_predict")
_PASSAGE_WORDS = 40
_MOST_BYTES = 1 << 18
_Line = Annotated[str, StringConstraints(max_length=1000)]
_Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{1,20}$")]


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Worked(_Kept):
    """A question of ours with its answer, about the starter knowledge."""

    question: _Line
    answer: _Line


class Turn(_Kept):
    """A form of the strategy as it was filled."""

    template: Literal["dsp_query", "dsp_hop", "dsp_predict"]
    slots: dict[_Label, _Line]
    passages: tuple[tuple[_Line, _Line], ...]
    fields: dict[_Label, _Line]

    @classmethod
    def of(cls, template: str, slots: dict[str, str], written: WrittenForm) -> Turn:
        passages = [(item.title, item.text) for item in written.shown]
        return cls.model_validate(
            {
                "template": template,
                "slots": slots,
                "passages": tuple(shown_passages(slots["question"], passages, _PASSAGE_WORDS, whole=True)),
                "fields": {label: filled.text for label, filled in written.fields.items()},
            }
        )

    @model_validator(mode="after")
    def _can_be_shown(self) -> Self:
        if len(self.passages) > 20 or not self.fields:
            raise ValueError("an example has fields, and at most 20 passages")
        try:
            self.as_example()
        except KeyError as error:
            raise ValueError(f"the slot {error} is missing") from error
        return self

    def as_example(self) -> str:
        """The turn as a worked example of a form."""
        passages = [(sanitize_line(title), sanitize_line(text)) for title, text in self.passages]
        slots = {name: sanitize_line(text) for name, text in self.slots.items()}
        asked = render(PROMPTS, self.template, **slots | {"evidence": evidence_block(passages)}).dynamic[-1].content
        output = "\n".join(f"{label}: {sanitize_line(text)}" for label, text in self.fields.items())
        return f"--- user\n{asked}\n--- assistant\n{output}"


class Demonstration(_Kept):
    """A worked question as the strategy has answered it."""

    question: _Line
    turns: tuple[Turn, ...]


class _Tried(_Kept):
    """What became of the first worked questions, in their order: an example, or None."""

    questions: tuple[_Line, ...] = ()
    became: tuple[Demonstration | None, ...] = ()

    @model_validator(mode="after")
    def _of_ours(self) -> Self:
        ours = tuple(worked.question for worked in worked_questions())
        if self.questions != ours[: len(self.became)]:
            raise ValueError("these are not the worked questions")
        return self

    @property
    def kept(self) -> tuple[Demonstration, ...]:
        return tuple(filter(None, self.became))


Annotate = Callable[[Worked, QuestionContext], Demonstration | None]


@cache
def worked_questions() -> tuple[Worked, ...]:
    """The worked questions, as they ship."""
    text = files(PROMPTS).joinpath("questions.jsonl").read_text(encoding="utf-8")
    return tuple(Worked.model_validate_json(line) for line in text.splitlines())


def demonstrated(
    tools: QuestionContext, number: int, annotate: Annotate, seconds: float = SECONDS
) -> tuple[Demonstration, ...]:
    """Up to `number` worked examples, told in a step of their own. Those that are missing are made first, where the
    starter's text is at hand and for so many seconds at most.

    Raises:
        Cancelled: the question was cancelled; what was made until then is kept.
    """
    if not number:
        return ()
    shown: tuple[Demonstration, ...] = ()
    with tools.steps.open("Which worked examples can be shown?", label="demonstrations") as step:
        tried = _read(_file(tools))
        notes: list[str] = []
        if not _enough(tried, number):
            tried, notes = _made(tools, step.id, tried, number, annotate, seconds)
        shown = tried.kept[:number]
        told = f"{len(tried.kept)} of {len(tried.became)} worked questions answered rightly. "
        told += f"Shown: {' '.join(one.question for one in shown)}" if shown else "None is shown."
        step.result = Result(observation=told, dropped=notes)
    return shown


def _enough(tried: _Tried, number: int) -> bool:
    return len(tried.kept) >= number or len(tried.became) == len(worked_questions())


def _made(
    tools: QuestionContext, node_id: int, tried: _Tried, number: int, annotate: Annotate, seconds: float
) -> tuple[_Tried, list[str]]:
    """The worked questions that are left, tried one after another; each is kept as soon as it is done."""
    at_hand = SourceName.TEXT in tools.retriever.names
    if not at_hand or tools.recorder.trace.settings.get("text_index") != STARTER:
        return tried, ["worked examples are made of the starter's text only, and this question does not search it"]
    if not seconds:
        return tried, ["no further worked examples: demonstration_seconds is 0"]
    limited = Cancellation()
    tools.cancellation.on_cancel(limited.cancel)
    clock = threading.Timer(seconds, limited.cancel)
    clock.daemon = True
    clock.start()
    notes: list[str] = []
    try:
        while not _enough(tried, number):
            worked = worked_questions()[len(tried.became)]
            with closing(tools.aside(worked.question, node_id, limited)) as aside:
                became = annotate(worked, aside)
            tried = _Tried(questions=(*tried.questions, worked.question), became=(*tried.became, became))
            _write(_file(tools), tried)
    except Cancelled:
        tools.cancellation.check()
        notes.append(f"after {seconds:g} s the other worked questions were left to the next question")
    except (AtomrError, OSError) as error:
        notes.append(f"no further worked examples: {error}")
    finally:
        clock.cancel()
    return tried, notes


def _file(tools: QuestionContext) -> Path:
    """Where the examples of this model and these prompts are kept."""
    info = tools.asking.info
    known = [files(PROMPTS).joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8") for name in _TEMPLATES]
    named = json.dumps([info.name, info.adapter, info.host, tools.asking.style, *known, *map(str, worked_questions())])
    return paths.cache_dir() / "demonstrations" / f"{hashlib.sha256(named.encode()).hexdigest()[:24]}.json"


def _read(file: Path) -> _Tried:
    try:
        return _Tried.model_validate_json(read_regular(file, _MOST_BYTES))
    except (OSError, ValidationError, ValueError, RecursionError):
        return _Tried()


def _write(file: Path, tried: _Tried) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    put(file, tried.model_dump_json().encode())


# What `dsp` has the model write: queries, summaries of hops, and chains of thought.
#
# A model that was trained on the closed tasks alone reads a hop and the passages with those; its queries are made of
# words that it has seen.

_QUERY, _SUMMARY, _REASONS, _ANSWER = "Query", "Summary", "Reasons", "Answer"
_QUERY_TOKENS = 20
_ALWAYS = ("yes", "no", "Unknown")
_NAME_CHARACTERS = 120
_MARKS = '?!.,;:()"“”«»'
_NOTHING = "(nothing)"


@dataclass(frozen=True)
class Summary:
    """A summary with its mean log-probability; None if that is not known."""

    text: str
    score: float | None


@dataclass(frozen=True)
class Hop:
    """What was written for a hop: queries, and summaries of the hop before it, the surest first."""

    queries: Sequence[str]
    summaries: Sequence[Summary] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Chain:
    """A chain of thought; `answer` is "" where it gives none. `signals`: for and against the answer, if read so."""

    answer: str
    reasons: str = ""
    signals: Mapping[str, float] = field(default_factory=dict)


class Writing:
    """Has the model write for one question.

    Attributes:
        known: the summaries carried on.
        asked: questions of one hop with their answers, where the model has learnt to write the next one.
        listed: the lists among the answers, which stand as one text in summaries and chains.
        examples: worked examples to show.
    """

    def __init__(self, question: str, tools: QuestionContext, draws: int, temperature: float) -> None:
        self.known: list[str] = []
        self.asked: list[tuple[str, str]] = []
        self.listed = Listed()
        self.examples: Sequence[Demonstration] = ()
        self._question = question
        self._tools = tools
        self._draws = draws
        self._temperature = temperature
        self._pending = ""  # the question of one hop that was searched last
        self._filled: list[tuple[str, dict[str, str], WrittenForm]] = []

    @property
    def _lean(self) -> bool:
        return self._tools.asking.lean

    @property
    def shows_examples(self) -> bool:
        """Whether any prompt has room for worked examples: those of the closed tasks, and of asking on, have none."""
        return not (self._lean and self._tools.reader.knows_next)

    def hop(self, node_id: int, passages: Sequence[Evidence]) -> Hop:
        """Queries for the next hop, after a summary of what the one before found, if there was one.

        Raises:
            AtomrError: the model failed, or no call is left.
            Cancelled: the question was cancelled.
        """
        if self._tools.reader.knows_next:
            return self._learnt(node_id, passages)
        summaries: list[Summary] = []
        first: tuple[Field, ...] = ()
        if passages and self._lean:
            summaries = self._read(node_id, passages, self._question)
            self.known += [best.text for best in summaries[:1]]
        elif passages:
            first = (Line(_SUMMARY),)
        query = OneOf(_QUERY, self._names(passages)) if self._lean else Line(_QUERY, _QUERY_TOKENS)
        template = "dsp_hop" if first else "dsp_query"
        written = self._write(node_id, template, (*first, query), self._draws, passages if first else ())
        best = written[0]
        if first:
            found = [(one, Summary(one[_SUMMARY], one.logprob(_SUMMARY))) for one in written if one[_SUMMARY]]
            found.sort(key=lambda pair: -math.inf if pair[1].score is None else pair[1].score, reverse=True)
            summaries = [summary for _, summary in found]
            best = found[0][0] if found else best
            self.known += [summary.text for summary in summaries[:1]]
        self._keep(template, best)
        queries = tuple(dict.fromkeys(one[_QUERY] for one in written if one[_QUERY]))
        return Hop(queries, summaries, notes_of(written))

    def chains(self, passages: Sequence[Evidence], draws: int) -> tuple[list[Chain], list[str]]:
        """Chains of thought over the summaries and the passages, and notes.

        Raises:
            AtomrError: the model failed, or no call is left.
            Cancelled: the question was cancelled.
        """
        if self._lean:
            readings = self._tools.reader.samples(ROOT_ID, self._question, passages, draws, self._temperature)
            notes = list(dict.fromkeys(note for reading in readings for note in reading.dropped))
            fit = [self._fit(self.listed.text(reading.answers)) for reading in readings]
            return [Chain(one, "", reading.signals) for one, reading in zip(fit, readings, strict=True)], notes
        texts = (text for item in passages for text in (item.title, item.text))
        answer = WordsOf(_ANSWER, (*texts, *self.known, self._question, *_ALWAYS))
        written = self._write(ROOT_ID, "dsp_predict", (Line(_REASONS), answer), draws, passages)
        self._keep("dsp_predict", written[0])
        return [Chain(self._fit(one[_ANSWER]), one[_REASONS]) for one in written], notes_of(
            written, "chains of thought"
        )

    def turns(self) -> tuple[Turn, ...]:
        """The forms as they were filled, for a worked example."""
        return tuple(Turn.of(template, slots, written) for template, slots, written in self._filled)

    def _learnt(self, node_id: int, passages: Sequence[Evidence]) -> Hop:
        """The next questions of one hop; the first one of the hop before is answered from what was found."""
        reader, summaries = self._tools.reader, list[Summary]()
        if self._pending and passages:
            summaries = self._read(node_id, passages, self._pending)
            self.known += [best.text for best in summaries[:1]]
            self.asked.append((self._pending, summaries[0].text if summaries else UNKNOWN))
        queries = reader.follow_ups(
            node_id, self._question, self.asked, draws=self._draws, temperature=self._temperature
        )
        self._pending = queries[0] if queries else ""
        return Hop(queries, summaries)

    def _read(self, node_id: int, passages: Sequence[Evidence], question: str) -> list[Summary]:
        """What the passages say to the question."""
        reading = self._tools.reader.from_evidence(node_id, question, passages)
        if not reading.answers:
            return []
        score = math.log(reading.confidence) if reading.confidence else None
        return [Summary(self.listed.text(reading.answers), score)]

    def _names(self, passages: Sequence[Evidence]) -> tuple[str, ...]:
        """The names seen so far: of the question, of what was carried on, and of the pages that were found."""
        opening, _, rest = self._question.partition(" ")
        asked = rest if opening.casefold() in english().stop else self._question
        own = [name.strip(_MARKS).removesuffix("'s").removesuffix("’s") for name in capitalised([asked])]
        names = (*(own or [self._question]), *self.known, *(item.title for item in passages))
        return tuple(name[:_NAME_CHARACTERS] for name in names)

    def _fit(self, answer: str) -> str:
        """The answer; "" where it only repeats the question."""
        return "" if echoes(self._question, answer) else answer

    def _write(
        self, node_id: int, template: str, fields: tuple[Field, ...], draws: int, passages: Sequence[Evidence]
    ) -> list[WrittenForm]:
        shown = (turn for example in self.examples for turn in example.turns if turn.template == template)
        form = Form(PROMPTS, template, fields, tuple(turn.as_example() for turn in shown))
        return self._tools.writer.write(
            node_id,
            "chain of thought" if node_id == ROOT_ID else "query",
            form,
            evidence=passages,
            draws=draws,
            temperature=self._temperature,
            question=self._question,
            known=self._carried,
        )

    @property
    def _carried(self) -> str:
        return " ".join(self.known) or _NOTHING

    def _keep(self, template: str, written: WrittenForm) -> None:
        if written.problem is None:
            self._filled.append((template, {"question": self._question, "known": self._carried}, written))


_MOST_CITED = 2
NO_SCORES = "the model gives no log-probabilities: the first summary is carried on"


class DSPOptions(StrategyOptions):
    """How much is sampled, searched and shown."""

    queries: int = PydanticField(
        3, ge=1, le=20, description="Queries sampled per hop, beside the question; published: 10."
    )
    chains: int = PydanticField(5, ge=1, le=40, description="Chains of thought that vote on the answer; published: 20.")
    hops: int = PydanticField(2, ge=1, le=4, description="Rounds of searching; published: 2.")
    k: int = PydanticField(5, ge=1, le=20, description="Passages that a hop keeps; published: 5.")
    temperature: float = PydanticField(0.7, ge=0, le=2, description="Of queries and chains of thought; published: 0.7.")
    demonstrations: int = PydanticField(
        3, ge=0, le=7, description="Worked examples shown at most, of 7 that it tries; published: 3; 0: none."
    )
    demonstration_seconds: float = PydanticField(
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

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        options = DSPOptions.of(tools.options)
        tools.steps.begin(question)
        program = _Program(question, tools, options)
        if program.writing.shows_examples:
            seconds = options.demonstration_seconds
            program.writing.examples = demonstrated(tools, options.demonstrations, annotated, seconds)
        program.search()
        return at_root(tools, question, program.predict, program.notes)


def annotated(worked: Worked, tools: QuestionContext) -> Demonstration | None:
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

    def __init__(self, question: str, tools: QuestionContext, options: DSPOptions) -> None:
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
