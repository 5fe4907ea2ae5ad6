"""JSON and JSON lines as text: an object a line, "name: Ann; city: Leeds", at the line of the file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import BinaryIO

from atomr_local.indexing.readers.documents.document import Document, Writer
from atomr_local.indexing.readers.documents.text_file import as_it_is, read_text, without_escapes

_TOKEN = re.compile(
    r"""(?P<space>\s++|//[^\n]*+|/\*(?s:.*?)\*/) | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<comma>,)
    | (?P<text>"(?:[^"\\]|\\(?s:.))*+")(?P<key>\s*+:)? | (?P<value>-?\d[\d.eE+-]*+|true|false|null|NaN|-?Infinity)""",
    re.X,
)
_MOST_DEPTH = 200
_LONGEST_PREFIX = 200
_LONGEST_VALUE = 200  # characters; a longer text has a line of its own
_LONGEST_LINE = 500  # behind so many characters, the rest of an object begins another line


class _NoJsonError(ValueError):
    """The text is something else."""


@dataclass(slots=True)
class _Open:
    """An array or object that is open.

    Attributes:
        bracket: it begins with.
        prefix: the keys that lead to its lines; they stand before each.
        label: the keys that lead from there to its values.
        key: of the value that comes.
        own: its lines hold nothing of what is around it.
        told: whether it has given a value.
    """

    bracket: str
    prefix: str = ""
    label: str = ""
    key: str = ""
    own: bool = True
    told: bool = False


def parse_json(stream: BinaryIO) -> Document:
    """The values with their keys; the lines of a file that is no JSON."""
    source = read_text(stream)
    try:
        return _JsonLines().read(source)
    except _NoJsonError:
        return as_it_is(without_escapes(source))


class _JsonLines:
    def __init__(self) -> None:
        self._writer = Writer("line")
        self._within: list[_Open] = []
        self._pieces: list[tuple[str, str]] = []  # of the line: keys and value
        self._prefix = ""
        self._length = 0
        self._after_value = False

    def read(self, source: str) -> Document:
        """The document; tokens are taken one by one, so that depth and damage cost nothing.

        Raises:
            _NoJsonError: the text is no JSON.
        """
        end, number = 0, 1
        for token in _TOKEN.finditer(source):
            if token.start() != end:
                raise _NoJsonError
            end = token.end()
            self._take(token, number)
            number += token[0].count("\n")
        if end != len(source):
            raise _NoJsonError
        self._write()
        return self._writer.done()

    def _take(self, token: re.Match[str], number: int) -> None:
        top = self._within[-1] if self._within else None
        kind = token.lastgroup
        if kind == "space":
            return
        if kind == "comma":
            self._after_value = False
        elif kind == "close":
            if top is None or token[0] != {"[": "]", "{": "}"}[top.bracket]:
                raise _NoJsonError
            self._within.pop()
            self._after_value = True
            if top.own:
                self._write()
        elif (self._after_value and top is not None) or len(self._within) > _MOST_DEPTH:
            raise _NoJsonError
        elif kind == "key":
            if top is None or top.bracket != "{":
                raise _NoJsonError
            top.key = _string(token["text"])
        elif kind == "open":
            self._open(token[0], top)
        else:
            self._value(_string(token[0]) if kind == "text" else token[0], top, number)

    def _open(self, bracket: str, top: _Open | None) -> None:
        self._after_value = False
        if top is None:
            self._within.append(_Open(bracket))
            return
        label = f"{top.label} {top.key}".strip()[:_LONGEST_PREFIX]
        if top.bracket == "[" or (bracket == "{" and not top.told):
            self._write()
            self._within.append(_Open(bracket, f"{top.prefix} {label}".strip()[:_LONGEST_PREFIX]))
        else:
            self._within.append(_Open(bracket, top.prefix, label, own=False))

    def _value(self, value: str, top: _Open | None, number: int) -> None:
        self._after_value = True
        label = f"{top.label} {top.key}".strip() if top is not None else ""
        if len(value) > _LONGEST_VALUE or self._length > _LONGEST_LINE:
            self._write()
        if not self._pieces:
            self._prefix = top.prefix if top is not None else ""
            self._writer.at(number)
        if top is not None:
            top.told = True
        if value:
            self._pieces.append((label, value))
            self._length += len(label) + len(value)
        if len(self._within) < 2 and (top is None or top.bracket == "["):
            self._write()

    def _write(self) -> None:
        """Write the line; values of one label stand in a row."""
        parts: list[str] = []
        for i, (label, value) in enumerate(self._pieces):
            if i and label == self._pieces[i - 1][0]:
                parts[-1] += f", {value}"
            else:
                parts.append(f"{label}: {value}" if label else value)
        self._pieces.clear()
        self._length = 0
        if parts:
            self._writer.line(f"{self._prefix}: {'; '.join(parts)}" if self._prefix else "; ".join(parts))


def _string(token: str) -> str:
    try:
        found = json.loads(token, strict=False)
    except ValueError:
        found = token[1:-1]
    return " ".join(str(found).split())
