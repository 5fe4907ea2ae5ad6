"""The worked examples of `dsp`: questions of ours, answered by the strategy itself (Khattab et al., 2022, section 3.2).

A worked question becomes an example if the passages hold its answer and the strategy gives it. What became of each is
kept in a file for each model and version of the prompts. That file is untrusted: one that is not as it should be is
made again.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator

from atomr_local import paths
from atomr_local.backbone.templates import render
from atomr_local.cancellation import Cancellation
from atomr_local.errors import AtomrError, Cancelled
from atomr_local.indexing.store import STARTER
from atomr_local.input_files import read_regular
from atomr_local.output_files import put
from atomr_local.reasoning.asking.passages import evidence_block, shown_passages
from atomr_local.reasoning.asking.writer import Written
from atomr_local.reasoning.results import Result
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import SourceName
from atomr_local.strategies.protocol import Toolbox

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
    def of(cls, template: str, slots: dict[str, str], written: Written) -> Turn:
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


Annotate = Callable[[Worked, Toolbox], Demonstration | None]


@cache
def worked_questions() -> tuple[Worked, ...]:
    """The worked questions, as they ship."""
    text = files(PROMPTS).joinpath("questions.jsonl").read_text(encoding="utf-8")
    return tuple(Worked.model_validate_json(line) for line in text.splitlines())


def demonstrated(
    tools: Toolbox, number: int, annotate: Annotate, seconds: float = SECONDS
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
    tools: Toolbox, node_id: int, tried: _Tried, number: int, annotate: Annotate, seconds: float
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


def _file(tools: Toolbox) -> Path:
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
