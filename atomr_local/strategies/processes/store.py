"""The solution processes at hand: those that ship, and those that the user has kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import cache
from importlib.resources import files
from pathlib import Path

from atomr_local.errors import InputError
from atomr_local.kept_lines import KeptLines
from atomr_local.planning.examples import question_key
from atomr_local.strategies.processes.process import Process, checked

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
