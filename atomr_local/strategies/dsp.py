"""DSP: demonstrate, search in hops, predict by a vote (Khattab et al., 2022).

Several queries are sampled a hop; their results are fused. A summary of each hop is carried into the next one.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.indexing.store import STARTER
from atomr_local.language.names import answer_key
from atomr_local.models.templates import render
from atomr_local.reasoning.asking.writer import FilledForm, WrittenForm, evidence_block, shown_passages
from atomr_local.reasoning.candidates import Candidate, vote
from atomr_local.reasoning.ranking import fuse_ranks
from atomr_local.reasoning.reading.checks import holds
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.schema import rating_text
from atomr_local.sources.protocol import Evidence, Request, SourceName
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.closing import holding
from atomr_local.strategies.shared.tasks import PROMPTS, Hops
from atomr_local.strategies.shared.tools import SearchedOnce, searched, told
from atomr_local.strategies.shared.work import StepwiseStrategy, Work
from atomr_local.system import paths
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.files import put, read_regular
from atomr_local.system.sanitize import sanitize_line

# The worked examples of `dsp`: questions of ours, answered by the strategy itself (Khattab et al., 2022, section 3.2).
# A worked question becomes an example if the passages hold its answer and the strategy gives it. What became of each is
# kept in a file for each model and version of the prompts. That file is untrusted: one that is not as it should be is
# made again.

SECONDS = 30.0  # for which one question may be kept waiting, where nothing else is set; the next one goes on
_TEMPLATES = ("dsp_query", "dsp_hop", "dsp_predict")
_PASSAGE_WORDS = 40
_MOST_BYTES = 1 << 18
_Line = Annotated[str, StringConstraints(max_length=1000)]
_Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{1,20}$")]


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class WorkedQuestion(_Kept):
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
    """Outcomes of the first worked questions, in their order: an example, or None."""

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


Annotate = Callable[[WorkedQuestion, QuestionContext], Demonstration | None]


@cache
def worked_questions() -> tuple[WorkedQuestion, ...]:
    """The worked questions, as they ship."""
    text = files(PROMPTS).joinpath("prompts", "dsp_questions.jsonl").read_text(encoding="utf-8")
    return tuple(WorkedQuestion.model_validate_json(line) for line in text.splitlines())


def demonstrated(
    tools: QuestionContext, number: int, annotate: Annotate, seconds: float = SECONDS
) -> tuple[Demonstration, ...]:
    """Up to `number` worked examples, told in a step of their own. Those that are missing are made first, where the
    starter's text is at hand and for so many seconds at most.
    """
    if not number:
        return ()
    shown: tuple[Demonstration, ...] = ()
    with tools.steps.open("Which worked examples can be shown?", label="demonstrations") as step:
        tried, notes = _Tried(), list[str]()
        with suppress(OSError, ValueError, RecursionError):
            tried = _Tried.model_validate_json(read_regular(_file(tools), _MOST_BYTES))
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
            file = _file(tools)
            file.parent.mkdir(parents=True, exist_ok=True)
            put(file, tried.model_dump_json().encode())
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


@dataclass(eq=False)
class _Program(Work[DSPOptions]):
    """Search and predict, for one question."""

    passages: list[Evidence] = field(default_factory=list, init=False)  # of the last hop, best first

    @cached_property
    def writing(self) -> Hops:
        return self.tasks.hops(self.options.queries, self.options.temperature)

    @cached_property
    def _searched(self) -> SearchedOnce[Evidence]:
        return SearchedOnce(self.tools)

    def go(self) -> None:
        options = self.options
        if self.writing.shows_examples:
            shown = demonstrated(self.tools, options.demonstrations, annotated, options.demonstration_seconds)
            turns = (turn for demonstration in shown for turn in demonstration.turns)
            self.writing.examples = [(turn.template, turn.as_example()) for turn in turns]
        self.search()

    def search(self) -> None:
        for number in range(1, self.options.hops + 1):
            if number > 1 and not self.passages:
                self.notes.append(f"hop {number} left out: nothing was found before")
                return
            if number > 1 and not self.may_ask():
                return
            with self.tools.steps.open(self.question, label=f"hop {number}") as step:
                self._hop(step)

    def conclude(self) -> Result:
        """The answer that most chains of thought give, with its share of them."""
        if not self.passages:
            return Result(dropped=["nothing was found to reason over"])
        chains, notes = self.writing.thoughts(self.passages, self.options.chains)
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
            cited=list(weighed[0].evidence[:_MOST_CITED]),
            dropped=notes,
            others=tuple((one.values[0], one.score or 0.0) for one in weighed[1:]),
            signals=dict(winner.signals),  # what is measured is calibrated; else the share is the confidence
            thought=winner.reasons,
            candidates=weighed,
        )

    def _candidate(self, answer: str, share: float) -> Candidate:
        values = self.writing.listed.values(answer)
        held = holding(self.question, [value.text for value in values], self.passages)
        return Candidate(values, share, "chains of thought", tuple(item.id for item in held))

    def _hop(self, step: Step) -> None:
        """Search with the question and with sampled queries; keep the best of what they find together."""
        before = self.passages
        lists = [self._find(step, self.question, "question")]
        self.passages = fuse_ranks(lists, self.options.k) or before  # what is left if the model fails
        step.result = Result(evidence=self.passages)
        if not self.may_ask():
            return
        written = self.writing.hop(step.id, before)
        step.result.dropped = list(written.notes)
        if written.summaries:
            step.result.thought = written.summaries[0].text
            step.result.dropped.append(_chosen(written.summaries))
        for query in written.queries:
            lists.append(self._find(step, query, "query"))
        step.result.evidence = self.passages = fuse_ranks(lists, self.options.k)
        step.result.observation = told(self.passages)

    def _find(self, step: Step, query: str, label: str) -> list[Evidence]:
        """Evidence for the query, best first, found in a step of its own; a repeated query is not searched again."""
        return self._searched.found(step, query, label, lambda below: self._gather(below, query))

    def _gather(self, step: Step, query: str) -> list[Evidence]:
        """The evidence of all sources; where several have some, in the order in which it suits the query."""
        request = Request(self.question, query, top_k=self.options.k)
        gathered = searched(self.tools, step.id, request, self.question)
        found = Result(evidence=gathered.evidence, dropped=[*gathered.dropped, *gathered.problems])
        step.result = found
        found.evidence = self.tools.ranking.together(query, found.evidence, self.tools.cancellation)
        found.observation = told(found.evidence)
        return found.evidence


class DSP(StepwiseStrategy):
    name = "dsp"
    summary = "search in two hops with several queries each, and let several chains of thought vote"
    paper = (
        "Khattab et al.: Demonstrate-Search-Predict: Composing Retrieval and Language Models for Knowledge-Intensive "
        "NLP, arXiv 2022"
    )
    options = DSPOptions
    work = _Program


def annotated(worked: WorkedQuestion, tools: QuestionContext) -> Demonstration | None:
    """The worked question as the program itself answers it; None if it does not find the answer, or gives another."""
    tools.steps.begin(worked.question)
    program = _Program(worked.question, tools, _TRIAL)
    program.search()
    result = program.conclude()
    in_context = any(holds(worked.answer, item) for item in program.passages)
    right = answer_key(result.answer) == answer_key(worked.answer)
    turns = tuple(Turn.of(*filled) for filled in program.writing.filled)
    return Demonstration(question=worked.question, turns=turns) if in_context and right else None


def _chosen(summaries: Sequence[FilledForm]) -> str:
    """Which summary was carried on, and why."""
    score = summaries[0].logprob
    if score is None:
        return NO_SCORES
    which = f"the surest of {len(summaries)} summaries" if len(summaries) > 1 else "the summary"
    return f"{which} is carried on: mean log-probability {rating_text(score)}"
