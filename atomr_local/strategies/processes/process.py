"""A solution process: how a person has answered a question with tools (Lehmann et al., TACL 2024).

Kept files and edited texts are untrusted: everything is checked, and a text is always one line.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from rapidfuzz.distance import Levenshtein

from atomr_local.errors import AtomrError, Cancelled, InputError
from atomr_local.language.names import names_in
from atomr_local.reasoning.asking.forms import BAR, halves
from atomr_local.reasoning.planning.examples import greedy, question_key, shape_terms
from atomr_local.reasoning.ranking import Ranking
from atomr_local.reasoning.reading.checks import named_in
from atomr_local.reasoning.results import Action, Result
from atomr_local.reasoning.sparql.writer import NO_SKETCH, NOTHING_OFFERED
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.sources.privacy import indexes_of
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.loop import ACTION, INPUT, OBSERVATION, THOUGHT, Observation, Tool
from atomr_local.strategies.shared.tools import NONE, NOT_A_QUERY, NOT_ON_PAGE, HumanTools, PageTools
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.files import KeptLines
from atomr_local.system.sanitize import sanitize_line

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


# Which processes are shown for a question: relevant to it, and different from each other.
#
# Lehmann et al., TACL 2024: L[i, j] = q[i] · S[i, j] · q[j], where q is the similarity of the questions and S that of
# the actions.

Choice = Literal["dpp", "relevance", "diversity", "random"]
LEAST_RELEVANCE = 0.01
# Two processes that act alike make S singular, and it need not be positive semidefinite.
RIDGE = 0.05
# Of more than these, only those with the likest wording are compared: what is compared grows with their square.
MOST_COMPARED = 200


def chosen(
    question: str,
    processes: Sequence[Process],
    count: int,
    how: Choice,
    ranking: Ranking,
    cancellation: Cancellation,
    seed: int = 0,
) -> list[Process]:
    """At most `count` processes, in the order of the choice.

    Args:
        ranking: its embedder says how alike questions are; without one their words do.
        seed: of a random choice, together with the question.

    Raises:
        ModelError: the embedder cannot be used.
        Cancelled: `cancellation` was thrown.
    """
    if not processes or count < 1:
        return []
    if how != "random" and len(processes) > MOST_COMPARED:
        likest = sorted(range(len(processes)), key=lambda i: -shared_shape(question, processes[i].question))
        processes = [processes[i] for i in sorted(likest[:MOST_COMPARED])]
    if how == "random":
        places = range(len(processes))
        order = random.Random(f"{seed}:{question}").sample(places, min(count, len(places)))  # noqa: S311
    else:
        quality = [1.0] * len(processes)
        if how != "diversity":
            asked = [process.question for process in processes]
            known = ranking.cosines(question, asked, cancellation)
            quality = known if known is not None else [shared_shape(question, other) for other in asked]
        order = chosen_places(quality, [process.actions for process in processes], count, how)
    return [processes[place] for place in order]


def chosen_places(
    relevance: Sequence[float], actions: Sequence[Sequence[str]], count: int, how: Choice = "dpp"
) -> list[int]:
    """The places of the chosen ones, by how relevant they are and what they do."""
    quality = [max(value, LEAST_RELEVANCE) for value in relevance]
    if how == "relevance":
        return sorted(range(len(quality)), key=lambda i: (-quality[i], i))[:count]
    alike = usable([[likeness(one, other) for other in actions] for one in actions])
    diagonal = [value * alike[i][i] * value for i, value in enumerate(quality)]
    return greedy(diagonal, lambda i, j: quality[i] * alike[i][j] * quality[j], count)


def likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """1 - Levenshtein distance of the actions / the longer number of them."""
    longer = max(len(one), len(other))
    return 1.0 - Levenshtein.distance(one, other) / longer if longer else 1.0


def usable(similarity: Sequence[Sequence[float]]) -> list[list[float]]:
    """The matrix with its negative eigenvalues at 0, and a little more on its diagonal."""
    import numpy as np

    values, vectors = np.linalg.eigh(np.asarray(similarity, dtype=np.float64))
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    # Rounded, so that what is equal stays equal on every processor.
    made: list[list[float]] = np.round(clipped + RIDGE * np.eye(len(clipped)), 9).tolist()
    return made


def shared_shape(question: str, other: str) -> float:
    """How alike two questions are in their words, names masked: a cosine."""
    one, two = shape_terms(question), shape_terms(other)
    return len(one.keys() & two.keys()) / math.sqrt(len(one) * len(two)) if one and two else 0.0


# Does a process again: its observations are made anew, and what a person read or sketched is checked.

_DOING_LONGEST = 1500


@dataclass(frozen=True)
class RepeatedProcess:
    """A process with the observations of now, and what does not hold of it, in words."""

    process: Process
    problems: tuple[str, ...] = ()


def needs_model(process: Process) -> bool:
    """Whether a step of it is one that a model does."""
    return any(step.action in {"read", "query"} and not step.by_hand for step in process.steps)


def done_again(process: Process, tools: QuestionContext) -> RepeatedProcess:
    """Use the tools as the process does. Each step stands in the trace.

    Raises:
        Cancelled: the question was cancelled.
    """
    tools.steps.begin(process.question)
    human = HumanTools(process.question, tools)
    at_hand: tuple[Tool, ...] = human.at_hand()
    if process.method == "react" and tools.pages is not None:
        at_hand = PageTools(tools.pages).at_hand()
    by_name = {tool.name: tool for tool in at_hand}
    names = dict.fromkeys(named_in(process.question))
    steps, problems = list[ProcessStep](), list[str]()
    for number, step in enumerate(process.steps, 1):
        seen = Observation("")
        tool = by_name.get(step.action)
        if tool is None:
            problems.append(f"step {number}: {step.action} needs a source that is not at hand")
        elif problem := _refused(tool, tuple(names), step.input):
            problems.append(f"step {number}: {problem}")
        elif step.action != FINISH:
            with tools.steps.open(process.question, label=f"step {number}") as opened:
                seen = _used(tool, human, opened.id, step)
                opened.result = Result(
                    evidence=list(seen.evidence),
                    thought=step.thought,
                    action=Action(step.action, step.input),
                    observation=seen.text,
                )
            if step.by_hand not in {"", NONE} and seen.text.startswith((NOT_ON_PAGE, NOT_A_QUERY)):
                problems.append(f"step {number}: {seen.text}")
        names |= dict.fromkeys((*seen.names, *names_in([item.text for item in seen.evidence])))
        told = f"{seen.title}: {seen.text}" if seen.title else seen.text
        steps.append(step.model_copy(update={"observation": sanitize_line(told)[:_DOING_LONGEST]}))
    return RepeatedProcess(process.model_copy(update={"steps": tuple(steps)}), tuple(problems))


def _used(tool: Tool, human: HumanTools, node_id: int, step: ProcessStep) -> Observation:
    """The tool's output; a failure of its source is an observation, as in the loop."""
    try:
        if step.by_hand:
            return human.use(node_id, step.action, step.input, step.by_hand)
        assert tool.use is not None
        return tool.use(node_id, step.input)
    except Cancelled:
        raise
    except AtomrError as error:
        return Observation(f"this failed: {error.message}")


def _refused(tool: Tool, names: tuple[str, ...], given: str) -> str:
    """Why the model could not have written this input; "" if it could."""
    field = tool.field(names)
    if field is None:
        return f"{tool.name}[{given}]: no earlier step has shown anything that it could be used on"
    return "" if field.accepts(given) else f"{tool.name}[{given}]: {field.refusal(given)}"


# The process that a finished trace holds, to be corrected step by step.

_NO_THOUGHT = "(no thought was written)"
_UNKNOWN = "Unknown"
_SEEN = 2000
_SKETCH = re.compile(r"query \d+: (.+)")


def process_of(trace: Trace) -> Process:
    """The steps of the trace as a process.

    Raises:
        InputError: its method leaves no process, or it has no steps with tools.
    """
    known = TOOLS.get(trace.strategy)
    if known is None:
        raise InputError(
            f"the strategy {sanitize_line(trace.strategy)[:40]} leaves no process",
            hint=f"Strategies that do: {', '.join(TOOLS)}.",
        )
    steps = list(_steps(trace, known))
    if not steps:
        raise InputError("the trace has no steps with tools", hint="Ask again, or write the process yourself.")
    answer = sanitize_line(", ".join(trace.answers or (trace.guess.answers if trace.guess else ()))) or _UNKNOWN
    if steps[-1]["action"] != FINISH:
        ending = f"{answer}{BAR}{NONE}" if trace.strategy == "humaniq" else answer
        steps.append({"thought": _NO_THOUGHT, "action": FINISH, "input": ending})
    process = checked({"method": trace.strategy, "question": trace.question, "steps": steps, "answer": answer})
    return process.quoting(indexes_of(trace.settings))


def _steps(trace: Trace, known: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """The uses of tools in their order, up to the first that finishes."""
    for node in sorted(trace.nodes, key=lambda node: node.id):
        action = _action(node)
        if action is None or action[0] not in known:
            continue
        seen = sanitize_line(node.observation)[:_SEEN]
        yield {
            "thought": sanitize_line(node.thought) or _NO_THOUGHT,
            "action": action[0],
            "input": action[1],
            "by_hand": _taken(*action, seen),
            "observation": seen,
        }
        if action[0] == FINISH:
            return


def _taken(action: str, given: str, seen: str) -> str:
    """The answer that the model took from a page, or its query, for a person to correct; "" if unknown."""
    if action == "read":
        title = f"{halves(given)[0]}: "
        said = seen.removeprefix(title) if seen.startswith(title) else ""
        return NONE if said.startswith(NOT_ON_PAGE) else said
    if action == "query":
        written = _SKETCH.fullmatch(seen)
        return written[1] if written is not None else NONE if seen in {NO_SKETCH, NOTHING_OFFERED} else ""
    return ""


def _action(node: NodeTrace) -> tuple[str, str] | None:
    """Name and input of the tool that the step used."""
    given = node.action or {}
    name, what = (sanitize_line(str(given.get(key, ""))) for key in ("name", "input"))
    return (name, what) if name and what else None


# The solution processes at hand: those that ship, and those that the user has kept.

_FILE_BYTES = 16 << 20
_MOST_KEPT = 2_000


@cache
def shipped() -> tuple[Process, ...]:
    """The processes that ship; all of `humaniq`, over the starter knowledge."""
    text = files("atomr_local.strategies.processes").joinpath("shipped.jsonl").read_text(encoding="utf-8")
    return tuple(read_process(line) for line in text.splitlines() if line.strip())


def at_hand(path: Path, method: str, withheld: Collection[str] = ()) -> tuple[list[Process], list[str]]:
    """The processes of a method, the user's first, and what was left out: the problems of the user's file.

    One that the user has kept stands for the shipped one with the same question.

    Args:
        withheld: indexes that nothing may be quoted of; processes that may quote one are left out.
    """
    kept, problems = kept_to_show(path, withheld)
    theirs = {question_key(one.question): one for one in shipped() if one.method == method}
    own = {question_key(one.question): one for one in kept if one.method == method}
    found = theirs | own
    return [found[key] for key in sorted(found, key=lambda key: key not in own)], problems


def kept_to_show(path: Path, withheld: Collection[str]) -> tuple[list[Process], list[str]]:
    """The user's processes, without those that may quote one of the indexes `withheld`; and what was left out."""
    try:
        kept, problems = read_processes(path)
    except InputError as error:
        return [], [error.message]
    shown = [one for one in kept if not set(withheld).intersection(one.indexes)]
    if hidden := len(kept) - len(shown):
        told = f"{hidden} of your processes may quote private indexes that this question does not read"
        problems = [told, *problems]
    return shown, problems


def read_process(line: str) -> Process:
    """The process on a line of a file.

    Raises:
        InputError: the line holds none.
    """
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError("not a solution process: no valid JSON") from error
    return checked(data)


def read_processes(path: Path) -> tuple[list[Process], list[str]]:
    """The user's processes, and the problems of the lines that hold none; both are empty if there is no file.

    Raises:
        InputError: the file cannot be read.
    """
    return _kept(path).items()


def _kept(path: Path) -> KeptLines[Process]:
    return KeptLines(path, read_process, _FILE_BYTES)


def keep(path: Path, process: Process, instead_of: str = "") -> None:
    """Add the process to the user's file, in the place of those with the same question.

    Args:
        instead_of: the question of one that it replaces as well.

    Raises:
        InputError: the file cannot be read or written, or is full.
    """

    def added(lines: list[str]) -> list[str]:
        if sum(bool(line.strip()) for line in lines) >= _MOST_KEPT:
            raise InputError(f"{path} holds {_MOST_KEPT} processes", hint="Remove some: `atomr processes remove`.")
        return [*lines, process.model_dump_json()]

    _kept(path).change(_asks(process.question, instead_of), added)


def drop(path: Path, question: str) -> None:
    """Remove the process with this question from the user's file.

    Raises:
        InputError: the file cannot be read or written.
    """
    _kept(path).change(_asks(question))


def _asks(*questions: str) -> Callable[[Process], bool]:
    """Whether a process is for one of these questions."""
    keys = {question_key(question) for question in questions if question}
    return lambda process: question_key(process.question) in keys
