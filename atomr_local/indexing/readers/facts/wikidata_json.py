"""Reads a Wikibase's JSON: dumps (an array with one entity per line, JSON lines), indented files, single entities.

What `Special:EntityData` and the API give is read too: entities by their ids, under "entities" or by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from atomr_local.errors import InputError
from atomr_local.indexing.readers.facts.json_lines import json_value
from atomr_local.indexing.readers.lines import LineReader, Skipped, parsed

_ID = re.compile(r"[QPM][1-9]\d{0,11}")
_OTHER_ID = re.compile(r"[LE][1-9]\d{0,11}(?:-[FS][1-9]\d{0,11})?")
_PASSED_OVER = {"L": "lexemes", "E": "entity schemas"}
# How each line of a dump begins; what begins so can be skipped without being parsed.
_HEAD = re.compile(
    rb'\s*\{\s*"type"\s*:\s*"(?:item|property)"\s*,\s*(?:"datatype"\s*:\s*"[^"]*"\s*,\s*)?"id"\s*:\s*"([QP]\d+)"'
)
# How a value begins that goes over several lines: nothing is on its first line but what opens it, and one key at most.
_INDENTED = re.compile(rb'(?:\[\s*)?\{\s*(?:"[^"\\]{1,40}"\s*:\s*(?:\{|\[|"[^"\\]{0,200}",?|\d{1,20},?)?\s*)?')
# Of a string that does not end on its line, the rest of the line.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?')
_MOST_BYTES = 64 << 20  # of one value over several lines


class Record(NamedTuple):
    """What is done with: the number of its last line, and the entities it held, usually one."""

    record: int
    entities: list[dict[str, Any]]


def read_entities(
    lines: LineReader,
    skipped: Skipped,
    wanted: Callable[[str, bytes], bool] | None = None,
    passed_over: Callable[[str, int], None] = lambda *_: None,
) -> Iterator[Record]:
    """The file's items, properties and media; unusable lines are counted in `skipped`.

    Each entity is an object with "id", and "labels", "descriptions", "aliases", "claims" and "sitelinks" that are
    objects where they are there at all.

    Args:
        wanted: asked with the id and the line, where the line shows the id at its beginning; others are not parsed.
        passed_over: told the kind and number of entities that no graph is built of: lexemes and entity schemas.

    Raises:
        InputError: the file is no such dump: none of its first 200 filled lines holds an entity; or a value over
            several lines is longer than 64 MiB.
    """
    usable = lines.after > 0

    def parse(text: bytes) -> list[dict[str, Any]]:
        nonlocal usable
        head = _HEAD.match(text) if usable else None
        if head is not None and wanted is not None and not wanted(head[1].decode(), text):
            return []
        found = list(parse_entities(text, passed_over))
        usable = True
        return found

    hint = 'Each line is an entity such as {"type": "item", "id": "Q42", "labels": {…}, "claims": {…}}.'
    claim = "not a Wikidata JSON dump: "
    texts = _values(lines) if is_indented(lines.path) else _objects(lines)
    for number, entities in parsed(lines, skipped, parse, texts, claim=claim, hint=hint, may_be_empty=True):
        yield Record(number, entities)


def is_indented(path: Path) -> bool:
    """Whether the file's first value goes over several lines.

    Raises:
        InputError: the file cannot be read.
    """
    for _, line in LineReader(path):
        text = line.removeprefix(b"\xef\xbb\xbf").strip()
        if text not in (b"", b"["):
            return _INDENTED.fullmatch(text) is not None
    return False


def _objects(lines: LineReader) -> Iterator[tuple[int, bytes]]:
    """The lines without what makes one array of them."""
    first = not lines.after
    for number, line in lines:
        text = line.strip()
        if first:
            text = text.removeprefix(b"\xef\xbb\xbf")
            if text.startswith(b"[") and text.endswith(b"]") and len(text) > 2:  # the array on one line
                first = False
                yield number, text
                continue
            text = text.removeprefix(b"[").lstrip()
        text = text.rstrip(b",")
        if text in (b"", b"]"):
            continue
        first = False
        yield number, text[:-1].rstrip().rstrip(b",") if text.endswith(b"}]") else text


def _values(lines: LineReader) -> Iterator[tuple[int, bytes]]:
    """The values of an indented file, those of an array one by one, each with the number of its last line.

    Raises:
        InputError: a value is too long.
    """
    first = not lines.after
    held: list[bytes] = []
    depth = size = number = 0
    for number, line in lines:
        text = line.strip()
        if first:
            text = text.removeprefix(b"\xef\xbb\xbf")
        if not held:
            text = text.lstrip(b",").lstrip()
            if first:
                text = text.removeprefix(b"[").lstrip()
            if text in (b"", b"]"):
                continue
            first = False
        held.append(text)
        size += len(text)
        if size > _MOST_BYTES:
            raise InputError(
                f"{lines.path}, line {number}: a JSON value is longer than {_MOST_BYTES >> 20} MiB",
                hint="Write one entity on each line, as Wikidata's own dumps do.",
            )
        bare = _STRING.sub(b"", text)
        depth += bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")
        if depth <= 0:
            whole = b"\n".join(held).rstrip(b", ")
            yield number, whole[:-1] if depth < 0 and whole.endswith(b"]") else whole
            held, depth, size = [], 0, 0
    if held:
        yield number, b"\n".join(held)


def parse_entities(text: bytes, passed_over: Callable[[str, int], None] = lambda *_: None) -> Iterator[dict[str, Any]]:
    """The entities of one JSON value: one itself, several by their ids, also under "entities", or an array of them.

    Args:
        passed_over: as for :func:`read_entities`.

    Raises:
        ValueError: it holds none; the message says why.
    """
    data = json_value(text)
    if isinstance(data, list) and all(isinstance(item, dict) for item in data):
        found = data
    elif not isinstance(data, dict):
        raise ValueError("not a JSON object")
    elif "id" in data:
        found = [data]
    else:
        inner = data.get("entities", data)
        found = list(inner.values()) if isinstance(inner, dict) else inner if isinstance(inner, list) else []
    if not found or not all(isinstance(item, dict) and isinstance(item.get("id"), str) for item in found):
        raise ValueError("no entity with an id")
    for item in found:
        if "statements" in item and "claims" not in item:  # as structured data of media calls them
            item["claims"] = item["statements"]
        if _ID.fullmatch(item["id"]) and ("claims" in item or "labels" in item):
            for key in ("labels", "descriptions", "aliases", "claims", "sitelinks"):
                if not isinstance(item.get(key), dict):  # an empty object is written [] by some versions
                    item[key] = {}
            yield item
        elif _OTHER_ID.fullmatch(item["id"]):
            passed_over(_PASSED_OVER[item["id"][0]], 1)
        elif not _ID.fullmatch(item["id"]):
            raise ValueError(f"{item['id'][:40]!r} is not a Wikidata id")
