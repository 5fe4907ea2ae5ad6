"""Reads the fields of a form from what the model wrote.

Under the form's grammar the output is read as it stands. Servers that ignore grammars write prose around the lines,
other cases, labels in bold or twice, `search[name]`, or a JSON object: that is read as far as it fits, and what does
not fit is a problem in words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atomr_local.reasoning.asking.fields import Branch, Field, is_needed
from atomr_local.sanitize import sanitize_line

_THOUGHT_END = "</think>"  # before it reasoning models think aloud
# Bounded, so that no output takes long to read.
_BEFORE_LABEL = r"[\s>*_#`\-•]{0,12}(?:\d{1,2}[.)]\s{0,4})?[*_`]{0,4}"
_BEHIND_LABEL = r"\s{0,4}[*_`]{0,4}\s{0,4}[:：]\s{0,4}[*_]{0,4}\s{0,4}"
_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class Read:
    """A field's text, sanitised, and where it stands in the output; None if its place is unknown."""

    text: str
    place: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Parsed:
    fields: Mapping[str, Read]
    problem: str | None = None


def parse(fields: tuple[Field, ...], output: str) -> Parsed:
    """The fields that can be read, and the first problem if one cannot."""
    strict = _strict(fields, output)
    if strict is not None:
        return Parsed(strict)
    output = output[:_LONGEST]
    begin = output.rfind(_THOUGHT_END)
    begin = 0 if begin < 0 else begin + len(_THOUGHT_END)
    data = _object(output, begin, fields)
    return _from_object(fields, data, output) if data is not None else _Lines(fields, output, begin).parsed()


def _strict(fields: tuple[Field, ...], output: str) -> dict[str, Read] | None:
    """The output is exactly what the grammar allows; None if it is not."""
    reads: dict[str, Read] = {}
    lines = output.split("\n")
    at = 0
    left = list(fields)
    while left and lines:
        field, line = left.pop(0), lines[0]
        head = f"{field.label}: "
        if not line.startswith(head) and not is_needed(field):
            continue
        lines.pop(0)
        text = line.removeprefix(head)
        if not line.startswith(head) or not field.accepts(text):
            return None
        reads[field.label] = Read(sanitize_line(text), (at + len(head), at + len(line)))
        if isinstance(field, Branch):
            left += field.options[text]
        at += len(line) + 1
    return None if lines or any(map(is_needed, left)) else reads


class _Lines:
    """A tolerant reading of labelled lines: of a label that stands there twice the first one after the last field."""

    def __init__(self, fields: tuple[Field, ...], output: str, begin: int) -> None:
        self._fields = fields
        self._output = output
        self._lines: list[tuple[int, str]] = []  # with their places
        at = begin
        for line in output[begin:].split("\n"):
            self._lines.append((at, line))
            at += len(line) + 1
        labels = "|".join(map(re.escape, _labels(fields)))
        self._any_label = re.compile(f"{_BEFORE_LABEL}(?:{labels}){_BEHIND_LABEL}", re.IGNORECASE)

    def parsed(self) -> Parsed:
        reads: dict[str, Read] = {}
        left = list(self._fields)
        line, inline = 0, ""  # where to look on, and what stands behind a choice: search[name]
        while left:
            field = left.pop(0)
            found = self._labelled(field, line)
            if found is None and not reads:
                found = self._unlabelled()
            if found is None and inline:
                found = line, *self._place(line - 1, inline)
            inline = ""
            if found is None and not is_needed(field):
                continue
            if found is None:
                return Parsed(reads, f"no {field.label} was written")
            number, at, raw = found
            text = field.read(raw)
            if text is None:
                return Parsed(reads, f"{field.label}: {field.refusal(raw)}")
            reads[field.label] = Read(text, _inside(raw, text, at))
            line = number + 1
            if isinstance(field, Branch):
                left += field.options[text]
                inline = _behind(raw, text)
        return Parsed(reads)

    def _labelled(self, field: Field, start: int) -> tuple[int, int, str] | None:
        """Number of the line, place and text of the field; the text may stand on the next line."""
        label = re.compile(f"{_BEFORE_LABEL}{re.escape(field.label)}{_BEHIND_LABEL}", re.IGNORECASE)
        for number in (*range(start, len(self._lines)), *range(start)):
            at, line = self._lines[number]
            match = label.match(line)
            if match is None:
                continue
            if line[match.end() :].strip():
                return number, at + match.end(), line[match.end() :]
            for behind in range(number + 1, len(self._lines)):
                at, line = self._lines[behind]
                if self._any_label.match(line):
                    break
                if line.strip():
                    return behind, at, line
        return None

    def _unlabelled(self) -> tuple[int, int, str] | None:
        """The first line that says something without a label."""
        for number, (at, line) in enumerate(self._lines):
            if line.strip() and not line.lstrip().startswith("```") and not self._any_label.match(line):
                return number, at, line
        return None

    def _place(self, number: int, inline: str) -> tuple[int, str]:
        at, line = self._lines[number]
        return at + line.rindex(inline), inline


def _labels(fields: tuple[Field, ...]) -> list[str]:
    found = []
    for field in fields:
        found.append(field.label)
        if isinstance(field, Branch):
            found += [label for more in field.options.values() for label in _labels(more)]
    return list(dict.fromkeys(found))


def _behind(raw: str, option: str) -> str:
    """What stands in brackets, or after a colon, behind the chosen option."""
    match = re.search(rf"{re.escape(option)}\s*(?:\[(.*?)\]|\((.*?)\)|:\s*(.+))", raw, re.IGNORECASE)
    return next((found for found in match.groups() if found), "").strip() if match is not None else ""


def _inside(raw: str, text: str, at: int) -> tuple[int, int]:
    """Where the text stands in what was written; all of it if it was changed."""
    begin = raw.casefold().find(text.casefold())
    if begin < 0 or len(raw.casefold()) != len(raw):
        begin, size = len(raw) - len(raw.lstrip()), len(raw.strip())
    else:
        size = len(text)
    return at + begin, at + begin + size


def _object(output: str, begin: int, fields: tuple[Field, ...]) -> dict[str, Any] | None:
    """The output as a JSON object that has one of the labels; None if it is none."""
    opening, closing = output.find("{", begin), output.rfind("}")
    if opening < 0 or closing < opening or output[begin:opening].strip().strip("`").strip() not in {"", "json"}:
        return None
    try:
        data = json.loads(output[opening : closing + 1], strict=False)
    except (ValueError, RecursionError):
        return None
    folded = {key.casefold(): value for key, value in data.items()} if isinstance(data, dict) else {}
    return folded if any(field.label.casefold() in folded for field in fields) else None


def _from_object(fields: tuple[Field, ...], data: Mapping[str, Any], output: str) -> Parsed:
    reads: dict[str, Read] = {}
    left = list(fields)
    at = 0
    while left:
        field = left.pop(0)
        value = data.get(field.label.casefold())
        if value is None and not is_needed(field):
            continue
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return Parsed(reads, f"no {field.label} was written")
        text = field.read(str(value))
        if text is None:
            return Parsed(reads, f"{field.label}: {field.refusal(str(value))}")
        written = {json.dumps(str(value))[1:-1], json.dumps(str(value), ensure_ascii=False)[1:-1]}
        places = [(begin, begin + len(form)) for form in written if form and (begin := output.find(form, at)) >= 0]
        place = min(places, default=None)
        at = place[1] if place is not None else at
        reads[field.label] = Read(text, place)
        if isinstance(field, Branch):
            left += field.options[text]
    return Parsed(reads)
