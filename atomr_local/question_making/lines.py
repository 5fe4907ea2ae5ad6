"""A line of a file of questions: the question with its answers, both facts and the gold plan, as JSON.

`atomr eval run` reads the same file as questions and as plans: "id", "question", "answers", "type", "evidences",
"gold_titles" and "plan" are those of its formats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.evaluation.datasets import id_of
from atomr_local.evaluation.records import DatasetRecord, read_records
from atomr_local.question_making.composing import Composed
from atomr_local.question_making.hops import BRIDGES, FORMS, Hop, hop_of
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.validation import Limits, validate


@dataclass(frozen=True, slots=True)
class Line:
    """A question as a file holds it. All texts are untrusted.

    Attributes:
        form: short, yes/no or count.
        bridge: "text-graph" and so on.
        hops: both facts; none in a question whose revision they do not answer.
        plan: the gold plan in compact notation; "" where there are no hops.
        fields: the whole line.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    form: str
    bridge: str
    hops: tuple[Hop, ...]
    plan: str
    fields: dict[str, Any]

    @property
    def relations(self) -> tuple[str, ...]:
        return tuple(hop.relation for hop in self.hops)

    @property
    def bridge_key(self) -> str:
        return str(self.fields.get("bridge_key") or next((hop.head for hop in self.hops[1:]), self.id))


def line_of(made: Composed, *, worded: str = "", rephrased: bool = False) -> dict[str, Any]:
    """The line of a question. `worded`: the question in other words than our tables'."""
    candidate = made.candidate
    return {
        "id": candidate.id,
        "question": worded or made.question,
        "answers": list(made.answers),
        "type": made.form,
        "kind": candidate.bridge,
        "hops": [candidate.first.to_dict(), candidate.second.to_dict()],
        "bridge": list(candidate.names),
        "bridge_key": candidate.bridge_key,
        "evidences": made.evidences,
        "gold_titles": made.gold_titles,
        "plan": made.compact,
    } | ({"rephrased": True} if rephrased else {})


def read_lines(path: Path) -> Iterator[Line]:
    """The questions of a file.

    Raises (while iterating):
        InputError: naming the file and line of what is wrong, a repeated id included.
    """
    seen: set[str] = set()
    for record in read_records(path):
        line = line_in(record)
        if line.id in seen:
            raise record.error(f"the id {line.id!r} occurs twice", hint="Give each question an id of its own.")
        seen.add(line.id)
        yield line


def questions_of(path: Path) -> list[Line]:
    """All questions of a file.

    Raises:
        InputError: as :func:`read_lines`, or there is none.
    """
    lines = list(read_lines(path))
    if not lines:
        raise InputError(f"{path} contains no questions", hint="Make some with `atomr questions make`.")
    return lines


def line_in(record: DatasetRecord) -> Line:
    """The question that a line of a file describes.

    Raises:
        InputError: something is missing or is not what it should be.
    """
    bare = "without_plan" in record.fields and record.fields.get("plan") is None
    hops = () if bare else _hops(record)
    form, bridge = record.text("type"), record.text("kind")
    for name, value, known in (("type", form, FORMS), ("kind", bridge, BRIDGES)):
        if value not in known:
            raise record.error(f'"{name}" is none of {", ".join(known)}')
    question = record.text("question")
    plan = "" if bare else _plan(record, question)
    names = record.fields.get("bridge")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise record.error('"bridge" is not a list of strings')
    answers = record.texts("answers")
    return Line(id_of(record), question, answers, form, bridge, hops, plan, record.fields)


def _hops(record: DatasetRecord) -> tuple[Hop, ...]:
    hops = record.fields.get("hops")
    if not isinstance(hops, list) or len(hops) != 2:
        raise record.error(
            f'"hops" is {"missing" if hops is None else "not a list of two"}',
            hint="Name a file that `atomr questions make` has written.",
        )
    try:
        return tuple(map(hop_of, hops))
    except ValueError as error:
        raise record.error(str(error)) from error


def _plan(record: DatasetRecord, question: str) -> str:
    plan = record.text("plan")
    try:
        problems = validate(parse_compact(plan, question), Limits())
    except TreeError as error:
        raise record.error(f"the plan is not valid: {error}") from error
    if problems:
        raise record.error(f"the plan is not valid: {problems[0].message}")
    return plan
