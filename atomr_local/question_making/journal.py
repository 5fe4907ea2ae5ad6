"""The directory that questions are made into. It survives being killed, and an interrupted run goes on from it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.evaluation.line_files import append_line, cut_torn_line, differences, locked
from atomr_local.evaluation.records import DatasetRecord, read_records
from atomr_local.evaluation.run_directory import write_file
from atomr_local.input_files import read_text
from atomr_local.question_making.checks import Reason
from atomr_local.question_making.lines import Line, line_in, read_lines

SCHEMA = "atomr.questions/1"
ABOUT_FILE = "make.json"
QUESTIONS_FILE = "questions.jsonl"
DROPPED_FILE = "dropped.jsonl"
WEB_FILE = "web_queries.jsonl"
_LOCK_FILE = ".lock"
_ABOUT_BYTES = 16 << 20


@dataclass
class Decisions:
    """What was decided, and files to add to it; each decision is on the disk when the method returns.

    Attributes:
        kept: the questions that were kept, in order.
        dropped: reasons by id.
    """

    path: Path
    questions: FileIO
    losses: FileIO
    kept: list[Line] = field(default_factory=list)
    dropped: dict[str, Reason] = field(default_factory=dict)

    def keep(self, fields: dict[str, Any]) -> Line:
        append_line(self.questions, fields)
        line = line_in(DatasetRecord(self.path / QUESTIONS_FILE, len(self.kept) + 1, fields))
        self.kept.append(line)
        return line

    def drop(self, fields: dict[str, Any]) -> None:
        append_line(self.losses, fields)
        self.dropped[fields["id"]] = Reason(fields["reason"])

    def searched(self, to: str, query: str) -> None:
        """Keep a query of the web: the host that it goes to, its words, and when.

        Raises:
            OSError: it cannot be written.
        """
        when = datetime.now(UTC).isoformat(timespec="seconds")
        with (self.path / WEB_FILE).open("ab", buffering=0) as stream:
            append_line(stream, {"time": when, "to": to, "query": query})


@contextlib.contextmanager
def deciding(path: Path, description: Mapping[str, Any]) -> Iterator[Decisions]:
    """The directory, opened for adding to it: begun if it is new, resumed if not.

    Raises:
        InputError: it cannot be written, was begun with another description, is being written by another process, or
            holds a damaged line before the last.
    """
    described: dict[str, Any] = json.loads(json.dumps(description))
    try:
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is not a directory", hint="Name another --out.")
        path.mkdir(parents=True, exist_ok=True)
        for name in (_LOCK_FILE, ABOUT_FILE, QUESTIONS_FILE, DROPPED_FILE, WEB_FILE):
            if (path / name).exists() and not (path / name).is_file():
                raise InputError(f"{path / name} is not a regular file", hint="Remove it, or name another --out.")
        with locked(path / _LOCK_FILE, path, "another process"):
            _begin_or_resume(path, described)
            cut_torn_line(path / QUESTIONS_FILE)
            cut_torn_line(path / DROPPED_FILE)
            cut_torn_line(path / WEB_FILE)
            with (
                (path / QUESTIONS_FILE).open("ab", buffering=0) as questions,
                (path / DROPPED_FILE).open("ab", buffering=0) as losses,
            ):
                kept = list(read_lines(path / QUESTIONS_FILE))
                yield Decisions(path, questions, losses, kept, _dropped(path / DROPPED_FILE))
    except OSError as error:
        raise InputError(f"{error.filename or path} cannot be written: {error.strerror or error}") from error


def _dropped(path: Path) -> dict[str, Reason]:
    found = {}
    for record in read_records(path):
        try:
            found[record.text("id")] = Reason(record.text("reason"))
        except ValueError as error:
            raise record.error('"reason" is none of those that questions are dropped for') from error
    return found


def _begin_or_resume(path: Path, described: dict[str, Any]) -> None:
    file = path / ABOUT_FILE
    if not file.exists():
        if (path / QUESTIONS_FILE).exists() or (path / DROPPED_FILE).exists():
            raise InputError(
                f"{path} holds questions but no {ABOUT_FILE}, so it cannot be resumed", hint="Name another --out."
            )
        write_file(file, json.dumps(described, ensure_ascii=False, indent=1) + "\n")
        return
    try:
        before = json.loads(read_text(file, _ABOUT_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint="Name another --out.") from error
    changed = list(differences(before, described))
    if changed:
        shown = "; ".join(f"{key} was {was}, is now {now}" for key, was, now in changed[:5])
        raise InputError(
            f"{path} was begun with other settings: {shown}",
            hint="Use the same settings to go on, or name another --out.",
        )
