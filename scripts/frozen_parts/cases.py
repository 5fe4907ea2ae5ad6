"""Texts that the program makes, kept in files, and the first line in which a new text differs from a kept one."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SHOWN = 160  # characters of a line, around the place where it differs
_BEFORE = 40
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
# What processors may round differently, of numbers that are kept with six places.
_TOLERANCE = 2e-6


@dataclass(frozen=True)
class Case:
    """One text that must not change.

    Attributes:
        name: in its part; groups of cases have the beginning of the name in common.
        lines: the text.
        problem: what went wrong before there was a text that can be compared, such as a prompt that was not recorded.
    """

    name: str
    lines: tuple[str, ...]
    problem: str = ""


@dataclass
class Run:
    """One run over a part.

    Attributes:
        recording: whether the texts are to be kept, and models may be asked.
        folder: where the recorded files are.
        scratch: an empty folder for homes and inputs.
        skipped: why groups of cases cannot be made here, by the beginning of their names.
        tell: takes a line about how far it is.
    """

    recording: bool
    folder: Path
    scratch: Path
    skipped: dict[str, str] = field(default_factory=dict)
    tell: Callable[[str], None] = lambda _line: None

    def skips(self, name: str) -> bool:
        return any(name.startswith(beginning) for beginning in self.skipped)


Cases = Callable[[Run], Iterator[Case]]


@dataclass(frozen=True)
class Outcome:
    """What a check found.

    Attributes:
        same: how many cases are as they were.
        left_out: how many cannot be made here.
        differences: of the others, in words, by the name of the case.
    """

    same: int
    left_out: int
    differences: Mapping[str, str]


def read_lines(file: Path) -> list[Any]:
    """The records of a compressed file of JSON lines; none where there is no file."""
    if not file.is_file():
        return []
    return [json.loads(line) for line in lzma.decompress(file.read_bytes()).decode("utf-8").splitlines()]


def write_lines(file: Path, records: Iterable[Any]) -> None:
    """The records as a compressed file of JSON lines: for the same records the same bytes."""
    text = "".join(json.dumps(record, ensure_ascii=True, separators=(",", ":")) + "\n" for record in records)
    file.parent.mkdir(parents=True, exist_ok=True)
    packed = lzma.compress(text.encode("ascii"), format=lzma.FORMAT_XZ, preset=9 | lzma.PRESET_EXTREME)
    unfinished = file.with_suffix(".new")
    unfinished.write_bytes(packed)
    unfinished.replace(file)


def keep(file: Path, cases: Iterable[Case]) -> int:
    """Keep the texts of the cases; how many there are.

    Raises:
        ValueError: two have the same name, or one has a problem instead of a text.
    """
    kept: dict[str, tuple[str, ...]] = {}
    for case in cases:
        if case.problem or case.name in kept:
            raise ValueError(f"{case.name}: {case.problem or 'there are two of this name'}")
        kept[case.name] = case.lines
    write_lines(file, ([name, *lines] for name, lines in kept.items()))
    return len(kept)


def compare(file: Path, run: Run, cases: Iterable[Case]) -> Outcome:
    """What differs between these cases and the kept ones; groups that cannot be made here are left out."""
    kept = {name: tuple(lines) for name, *lines in read_lines(file)}
    differences: dict[str, str] = {}
    seen = set()
    for case in cases:
        seen.add(case.name)
        if case.problem:
            differences[case.name] = case.problem
        elif case.name not in kept:
            differences[case.name] = "it is not recorded"
        elif told := difference(kept[case.name], case.lines):
            differences[case.name] = told
    missing = [name for name in kept if name not in seen]
    left_out = [name for name in missing if run.skips(name)]
    differences |= {name: "it is recorded, and was not made now" for name in missing if not run.skips(name)}
    return Outcome(len(seen) - len(differences.keys() & seen), len(left_out), differences)


def difference(recorded: Sequence[str], now: Sequence[str]) -> str:
    """The first line that differs, both ways, with the place it is at; "" if there is none."""
    for number, (one, other) in enumerate(zip(recorded, now, strict=False)):
        if not _same(one, other):
            place = place_of(recorded, number)
            return "\n".join([f"line {number + 1}{f', in {place}' if place else ''}", *both(one, other)])
    if len(recorded) == len(now):
        return ""
    number = min(len(recorded), len(now))
    longer, said = (recorded, "only recorded") if len(recorded) > len(now) else (now, "only now")
    return f"line {number + 1}, {said}: {longer[number].strip()[:_SHOWN]}"


def both(recorded: str, now: str) -> tuple[str, str]:
    """The two lines, around the first character that differs."""
    same = next(
        (at for at, (one, other) in enumerate(zip(recorded, now, strict=False)) if one != other),
        min(len(recorded), len(now)),
    )
    begin = max(0, same - _BEFORE) if max(len(recorded), len(now)) > _SHOWN else 0
    return f"  recorded: {_around(recorded, begin)}", f"  now:      {_around(now, begin)}"


def _around(line: str, begin: int) -> str:
    shown = line[begin : begin + _SHOWN].strip()
    return f"{'…' if begin else ''}{shown}{'…' if len(line) > begin + _SHOWN else ''}"


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(abs(float(left) - float(right)) <= _TOLERANCE * max(1.0, abs(float(left))) for left, right in pairs)


def place_of(lines: Sequence[str], number: int) -> str:
    """The keys that lead to a line of an indented text, such as "trace > nodes > answers"."""
    depth, keys = _depth(lines[number]), []
    for line in reversed(lines[: number + 1]):
        if _depth(line) < depth:
            depth = _depth(line)
            if found := re.match(r'\s*"?([\w .-]+)"?:', line):
                keys.append(found[1])
        if depth == 0:
            break
    return " > ".join(reversed(keys))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
