"""Decisions of a person about made questions: kept beside the file, one line each, in the order they were taken.

questions.reviews.jsonl    every decision; the last one about a question counts
questions.accepted.jsonl   the questions that were accepted, in their present words
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, Literal, get_args

from atomr_local.errors import InputError
from atomr_local.evaluation.line_files import append_line, cut_torn_line, locked
from atomr_local.evaluation.records import read_records
from atomr_local.output_files import write_output
from atomr_local.question_making.checks import answer_leak, leaks
from atomr_local.question_making.lines import Line
from atomr_local.question_making.revised import revised_fields

Verdict = Literal["accepted", "revised", "rejected"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
# Grounds that reviewers of such questions give (DivKnowQA); any other words will do.
GROUNDS = ("circular", "bridge leaks", "answer leaks", "meaning changed", "not true", "badly worded")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided. `question` and `answers`: as they are to be, for "revised"."""

    id: str
    verdict: Verdict
    reason: str = ""
    question: str = ""
    answers: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = {"id": self.id, "verdict": self.verdict}
        if self.reason:
            told["reason"] = self.reason
        if self.verdict == "revised":
            told |= {"question": self.question, "answers": list(self.answers)}
        return told


@dataclass
class Review:
    """A review under way.

    Attributes:
        lines: the questions.
        decisions: by id, the last one about each.
    """

    path: Path
    lines: Sequence[Line]
    stream: FileIO
    decisions: dict[str, Decision] = field(default_factory=dict)

    def decide(self, decision: Decision) -> None:
        """Keep a decision; it is on the disk when this returns."""
        append_line(self.stream, decision.to_dict())
        self.decisions[decision.id] = decision

    @property
    def place(self) -> int:
        """Where to go on: the first question without a decision; the number of questions if there is none."""
        return next((at for at, line in enumerate(self.lines) if line.id not in self.decisions), len(self.lines))

    def counts(self) -> dict[str, int]:
        ids = {line.id for line in self.lines}
        made = [decision.verdict for one, decision in self.decisions.items() if one in ids]
        return {verdict: made.count(verdict) for verdict in VERDICTS} | {"open": len(ids) - len(made)}

    def accepted(self) -> list[dict[str, Any]]:
        """The lines that were accepted, those that were revised in their new words; see :func:`revised_fields`."""
        found = []
        for line in self.lines:
            decision = self.decisions.get(line.id)
            if decision is not None and decision.verdict == "accepted":
                found.append(dict(line.fields))
            elif decision is not None and decision.verdict == "revised":
                found.append(revised_fields(line, decision.question, decision.answers))
        return found

    def write_accepted(self) -> Path:
        """Write the accepted questions beside the file.

        Raises:
            InputError: it cannot be written.
        """
        file = accepted_file(self.path)
        write_output(file, "".join(json.dumps(line, ensure_ascii=True) + "\n" for line in self.accepted()))
        return file


def reviews_file(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.reviews.jsonl")


def accepted_file(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.accepted.jsonl")


@contextmanager
def reviewing(path: Path, lines: Sequence[Line]) -> Iterator[Review]:
    """The review of a file's questions, going on where it was left.

    Raises:
        InputError: the decisions cannot be read or written, or another review of the file is open.
    """
    file = reviews_file(path)
    try:
        if file.exists() and not file.is_file():
            raise InputError(f"{file} is not a regular file", hint="Remove it.")
        with locked(file.with_name(f".{file.name}.lock"), path, "another review"):
            cut_torn_line(file)
            with file.open("ab", buffering=0) as stream:
                yield Review(path, lines, stream, _decisions(file))
    except OSError as error:
        raise InputError(f"{error.filename or file} cannot be written: {error.strerror or error}") from error


def revision_problem(line: Line, question: str, answers: Sequence[str]) -> str:
    """Why a revised question is no good; "" if nothing speaks against it."""
    if not question.strip() or not any(answer.strip() for answer in answers):
        return "a question and an answer are needed"
    names = line.fields.get("bridge")
    if leaked := leaks(question, map(str, names) if isinstance(names, list) else [hop.head for hop in line.hops[1:]]):
        return f"the question names the bridge, {leaked}"
    if line.form == "short" and (leaked := answer_leak(question, answers)):
        return f"the question says its answer, {leaked}"
    return ""


def _decisions(file: Path) -> dict[str, Decision]:
    found = {}
    for record in read_records(file):
        verdict = record.text("verdict")
        if verdict not in VERDICTS:
            raise record.error(f'"verdict" is none of {", ".join(VERDICTS)}')
        revised = verdict == "revised"
        found[record.text("id")] = Decision(
            record.text("id"),
            verdict,
            record.text("reason", empty=True) if "reason" in record.fields else "",
            record.text("question") if revised else "",
            record.texts("answers") if revised else (),
        )
    return found
