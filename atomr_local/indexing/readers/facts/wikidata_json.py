"""Reads Wikidata's JSON dumps: an array with one entity per line, or JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from atomr_local.errors import InputError
from atomr_local.indexing.readers.lines import LineReader, Skipped

_ID = re.compile(r"[QP][1-9]\d{0,11}")
# How each line of a dump begins; what begins so can be skipped without being parsed.
_HEAD = re.compile(
    rb'\s*\{\s*"type"\s*:\s*"(?:item|property)"\s*,\s*(?:"datatype"\s*:\s*"[^"]*"\s*,\s*)?"id"\s*:\s*"([QP]\d+)"'
)
_TRIAL = 200


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
    usable, filled = (1, 1) if lines.after else (0, 0)
    first_reason: tuple[int, str] | None = None
    for number, line in lines:
        text = line.strip()
        if text.startswith(b"[") and not filled:
            text = text[1:].lstrip()
        text = text.rstrip(b",")
        if text in (b"", b"]"):
            continue
        filled += 1
        head = _HEAD.match(text) if wanted is not None and usable else None
        if head is not None and wanted is not None and not wanted(head[1].decode(), text):
            yield Record(number, [])
            continue
        if filled == 1 or text.endswith(b"]"):
            text = _closed(text)
        try:
            entities = list(parse_entities(text))
        except ValueError as error:
            skipped.add(lines.path, number, str(error))
            first_reason = first_reason or (number, str(error))
            if not usable and filled >= _TRIAL:
                break
            continue
        usable += 1
        yield Record(number, entities)
    if filled and not usable and first_reason:
        raise InputError(
            f"{lines.path}, line {first_reason[0]}: not a Wikidata JSON dump: {first_reason[1]}",
            hint='Each line is an entity such as {"type": "item", "id": "Q42", "labels": {…}, "claims": {…}}.',
        )


def _closed(text: bytes) -> bytes:
    """The entity on the line that also closes the array."""
    return text[:-1].rstrip().rstrip(b",") if text.endswith(b"}]") else text


def parse_entities(text: bytes) -> Iterator[dict[str, Any]]:
    """The entities of one JSON object: one itself, or several by their ids, also under "entities".

    Raises:
        ValueError: it holds none; the message says why.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from None
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
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
