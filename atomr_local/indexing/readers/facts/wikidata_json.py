"""Reads Wikidata's JSON dumps: an array with one entity per line, or JSON lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from atomr_local.indexing.readers.facts.json_lines import json_object
from atomr_local.indexing.readers.lines import LineReader, Skipped, parsed

_ID = re.compile(r"[QP][1-9]\d{0,11}")
# How each line of a dump begins; what begins so can be skipped without being parsed.
_HEAD = re.compile(
    rb'\s*\{\s*"type"\s*:\s*"(?:item|property)"\s*,\s*(?:"datatype"\s*:\s*"[^"]*"\s*,\s*)?"id"\s*:\s*"([QP]\d+)"'
)


class Record(NamedTuple):
    """A line that is done with: its number, and the entities it held, usually one."""

    record: int
    entities: list[dict[str, Any]]


def read_entities(
    lines: LineReader, skipped: Skipped, wanted: Callable[[str, bytes], bool] | None = None
) -> Iterator[Record]:
    """The file's items and properties; unusable lines are counted in `skipped`, lexemes are skipped.

    Each entity is an object with "id", and "labels", "descriptions", "aliases", "claims" and "sitelinks" that are
    objects where they are there at all.

    Args:
        wanted: asked with the id and the line, where the line shows the id at its beginning; others are not parsed.

    Raises:
        InputError: the file is no such dump: none of its first 200 filled lines holds an entity.
    """
    usable = lines.after > 0

    def parse(text: bytes) -> list[dict[str, Any]]:
        nonlocal usable
        head = _HEAD.match(text) if usable else None
        if head is not None and wanted is not None and not wanted(head[1].decode(), text):
            return []
        found = list(parse_entities(text))
        usable = True
        return found

    hint = 'Each line is an entity such as {"type": "item", "id": "Q42", "labels": {…}, "claims": {…}}.'
    claim = "not a Wikidata JSON dump: "
    for number, entities in parsed(lines, skipped, parse, _objects(lines), claim=claim, hint=hint, may_be_empty=True):
        yield Record(number, entities)


def _objects(lines: LineReader) -> Iterator[tuple[int, bytes]]:
    """The lines without what makes one array of them."""
    first = not lines.after
    for number, line in lines:
        text = line.strip()
        if first:
            text = text.removeprefix(b"[").lstrip()
        text = text.rstrip(b",")
        if text in (b"", b"]"):
            continue
        first = False
        yield number, text[:-1].rstrip().rstrip(b",") if text.endswith(b"}]") else text


def parse_entities(text: bytes) -> Iterator[dict[str, Any]]:
    """The entities of one JSON object: one itself, or several by their ids, also under "entities".

    Raises:
        ValueError: it holds none; the message says why.
    """
    data = json_object(text)
    if "id" in data:
        found = [data]
    else:
        inner = data.get("entities", data)
        found = list(inner.values()) if isinstance(inner, dict) else []
    if not found or not all(isinstance(item, dict) and isinstance(item.get("id"), str) for item in found):
        raise ValueError("no entity with an id")
    for item in found:
        if _ID.fullmatch(item["id"]) and ("claims" in item or "labels" in item):
            for key in ("labels", "descriptions", "aliases", "claims", "sitelinks"):
                if not isinstance(item.get(key), dict):  # an empty object is written [] by some versions
                    item[key] = {}
            yield item
        elif not re.fullmatch(r"[QPLEM]\d+", item["id"]):
            raise ValueError(f"{item['id'][:40]!r} is not a Wikidata id")
