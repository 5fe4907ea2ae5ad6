"""A solution process: how a person has answered a question with tools (Lehmann et al., TACL 2024).

Kept files and edited texts are untrusted: everything is checked, and a text is always one line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from atomr_local.errors import InputError
from atomr_local.sanitize import sanitize_line
from atomr_local.strategies.shared.loop import ACTION, INPUT, OBSERVATION, THOUGHT

Method = Literal["humaniq", "react"]
FINISH = "finish"
# What a process of each method may do.
TOOLS: dict[str, tuple[str, ...]] = {
    "humaniq": ("search", "read", "id", "query", "run", "label", FINISH),
    "react": ("search", "lookup", FINISH),
}
MOST_STEPS = 30
_LONGEST, _LONGEST_SEEN = 500, 2000
_MOST_INDEXES = 100
BY_HAND = "By hand"
_QUESTION, _ANSWER, _METHOD = "Question", "Answer", "Method"
_LABELS = (_METHOD, _QUESTION, THOUGHT, ACTION, INPUT, BY_HAND, OBSERVATION, _ANSWER)
_MOST_TEXT = 200_000


def _one_line(value: object) -> object:
    return sanitize_line(value) if isinstance(value, str) else value


_Said = Annotated[str, StringConstraints(min_length=1, max_length=_LONGEST), BeforeValidator(_one_line)]
_Maybe = Annotated[str, StringConstraints(max_length=_LONGEST), BeforeValidator(_one_line)]
_Seen = Annotated[str, StringConstraints(max_length=_LONGEST_SEEN), BeforeValidator(_one_line)]


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ProcessStep(_Kept):
    """One use of a tool.

    Attributes:
        by_hand: what the person took from it where a model would: the answer read on a page, the sketch of a query.
            Checked against the source, never believed. "" leaves it to the model.
        observation: what the tool gave; the program's own, made again after every change.
    """

    thought: _Said
    action: _Said
    input: _Said
    by_hand: _Maybe = ""
    observation: _Seen = ""


class Process(_Kept):
    """A question with the steps that solve it; the last one finishes.

    Attributes:
        answer: the final response.
        indexes: names of the indexes that its steps may quote.
    """

    question: _Said
    steps: tuple[ProcessStep, ...]
    answer: _Said
    method: Method = "humaniq"
    indexes: tuple[_Said, ...] = Field(default=(), max_length=_MOST_INDEXES)

    @model_validator(mode="after")
    def _can_be_done(self) -> Self:
        if not 1 < len(self.steps) <= MOST_STEPS:
            raise ValueError(f"a process has 2 to {MOST_STEPS} steps")
        known = TOOLS[self.method]
        for number, step in enumerate(self.steps, 1):
            if step.action not in known:
                raise ValueError(
                    f"step {number}: {step.action[:40]!r} is no action of {self.method} ({', '.join(known)})"
                )
            if (step.action == FINISH) != (number == len(self.steps)):
                raise ValueError(f"step {number}: the last step, and no other, is {FINISH}")
        return self

    def quoting(self, indexes: Iterable[str]) -> Self:
        """The process, marked as one that may quote these indexes too."""
        return self.model_copy(update={"indexes": tuple(sorted({*self.indexes, *indexes}))[:_MOST_INDEXES]})

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(step.action for step in self.steps)

    def as_example(self, longest: int = 160) -> str:
        """The process as a worked example of a form; observations are cut."""
        turns = [f"--- user\n{_QUESTION}: {self.question}"]
        for step in self.steps:
            turns.append(f"--- assistant\n{THOUGHT}: {step.thought}\n{ACTION}: {step.action}\n{INPUT}: {step.input}")
            if step.action != FINISH:
                seen = step.observation
                turns.append(
                    f"--- user\n{OBSERVATION}: {seen if len(seen) <= longest else f'{seen[:longest].rstrip()} …'}"
                )
        return "\n".join(turns)

    def as_text(self) -> str:
        """The process as a person edits it; :func:`read_text_form` reads it."""
        lines = [f"{_METHOD}: {self.method}", f"{_QUESTION}: {self.question}"]
        for step in self.steps:
            lines += ["", f"{THOUGHT}: {step.thought}", f"{ACTION}: {step.action}", f"{INPUT}: {step.input}"]
            lines += [f"{BY_HAND}: {step.by_hand}"] if step.by_hand else []
            lines += [f"{OBSERVATION}: {step.observation}"] if step.observation else []
        return "\n".join([*lines, "", f"{_ANSWER}: {self.answer}", ""])


def checked(data: object) -> Process:
    """The process that the value describes.

    Raises:
        InputError: naming what is wrong.
    """
    try:
        return Process.model_validate(data)
    except ValidationError as error:
        raise InputError(f"not a solution process: {_problem(error)}") from error


def _problem(error: ValidationError) -> str:
    """The first thing that is wrong, with its place in words."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = [f"step {part + 1}" if isinstance(part, int) else str(part) for part in first["loc"] if part != "steps"]
    said = str(first.get("ctx", {}).get("error", "")) if first["type"] == "value_error" else first["msg"].lower()
    return sanitize_line(": ".join(filter(None, (", ".join(place).replace("_", " "), said))))[:300]


def read_text_form(text: str) -> Process:
    """The process of an edited text.

    Raises:
        InputError: naming the line.
    """
    if len(text) > _MOST_TEXT:
        raise InputError(f"the text is longer than {_MOST_TEXT} characters")
    head: dict[str, str] = {}
    steps: list[dict[str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        label, colon, said = line.partition(":")
        label = next((known for known in _LABELS if known.casefold() == label.strip().casefold()), "")
        if not label or not colon:
            raise InputError(f"line {number} begins with none of {', '.join(f'{known}:' for known in _LABELS)}")
        where = head
        if label == THOUGHT:
            steps.append({})
        if label not in {_METHOD, _QUESTION, _ANSWER}:
            if not steps:
                raise InputError(f"line {number}: a step begins with {THOUGHT}:")
            where = steps[-1]
        key = label.casefold().replace(" ", "_")
        if key in where:
            raise InputError(f"line {number}: {label} stands there twice; a step begins with {THOUGHT}:")
        where[key] = said.strip()
    given = {"steps": steps, **head}
    if given.get("method", "humaniq") not in get_args(Method):
        raise InputError(
            f"Method: {sanitize_line(str(given['method']))[:40]!r} is none of {', '.join(get_args(Method))}"
        )
    return checked(given)
