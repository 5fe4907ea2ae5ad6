"""Reads a Wikibase's JSON: dumps (an array with one entity per line, JSON lines), indented files, single entities.

What `Special:EntityData` and the API give is read too: entities by their ids, under "entities" or by themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from atomr_local.errors import InputError
from atomr_local.indexing.readers import base
from atomr_local.indexing.readers.lines import LineReader, Skipped, parsed

# Reads facts as JSON lines: {"s", "p", "o"} with labels; ids, types, aliases and descriptions are optional.

_QID = re.compile(r"Q[1-9]\d{0,11}")
_PID = re.compile(r"P[1-9]\d{0,7}")
_MAX_LABEL = 2000
EXAMPLE = 'Each line is an object such as {"s": "Paris", "p": "country", "o": "France"}.'


@dataclass(frozen=True, slots=True)
class Term:
    """One end of a fact: a label, the Wikidata id where given, and what is said about it beside the fact."""

    label: str
    qid: str | None = None
    description: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stated:
    """Where a fact is stated: the page's title, the passage's id in its text index, and the sentence. Untrusted."""

    title: str
    passage: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """`object_type` is "" where the line does not say, else lower case: entity, string, date, quantity, …

    `stated` is the passage that says so, where the line tells.
    """

    subject: Term
    property: str
    pid: str | None
    object: Term
    object_type: str = ""
    stated: Stated | None = None


def read_facts(lines: LineReader, skipped: Skipped) -> Iterator[tuple[int, Fact]]:
    """The facts of a file, with their line numbers; unusable lines are counted in `skipped`.

    Raises:
        InputError: the file holds no facts: none of its first 200 filled lines is one.
    """
    return parsed(lines, skipped, parse_fact, claim="not facts in JSON lines: ", hint=EXAMPLE, may_be_empty=True)


def json_object(text: bytes) -> dict[str, Any]:
    """The object that the text is in JSON.

    Raises:
        ValueError: it is none; the message says why.
    """
    data = json_value(text)
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    return data


def json_value(text: bytes) -> Any:
    """The value that the text is in JSON.

    Raises:
        ValueError: it is none; the message says why.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from None


def parse_fact(line: bytes) -> Fact:
    """The fact on one line.

    Raises:
        ValueError: it is not one; the message says why.
    """
    data = json_object(line)
    predicate = _label(data, "p")
    pid = data.get("p_id")
    object_type = data.get("o_type")
    return Fact(
        subject=_term(data, "s"),
        property=predicate,
        pid=pid if isinstance(pid, str) and _PID.fullmatch(pid) else None,
        object=_term(data, "o"),
        object_type=object_type.casefold() if isinstance(object_type, str) else "",
        stated=_stated(data.get("stated")),
    )


def _stated(given: Any) -> Stated | None:
    if not isinstance(given, dict):
        return None
    title, passage, said = (
        encodable(" ".join(text.split()))[:_MAX_LABEL] if isinstance(text := given.get(name), str) else ""
        for name in ("title", "passage", "said")
    )
    return Stated(title, passage, said) if title else None


def _term(data: dict[str, Any], key: str) -> Term:
    qid = data.get(f"{key}_qid")
    description = data.get(f"{key}_description")
    aliases = data.get(f"{key}_aliases")
    return Term(
        _label(data, key),
        qid if isinstance(qid, str) and _QID.fullmatch(qid) else None,
        encodable(description.strip()) if isinstance(description, str) else "",
        tuple(encodable(a.strip()) for a in aliases if isinstance(a, str) and a.strip())
        if isinstance(aliases, list)
        else (),
    )


def _label(data: dict[str, Any], key: str) -> str:
    if key not in data:
        raise ValueError(f'no "{key}"')
    value = data[key]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f'"{key}" is not a text')
    text = str(value).strip()
    if not text:
        raise ValueError(f'"{key}" is empty')
    if len(text) > _MAX_LABEL:
        raise ValueError(f'"{key}" is longer than {_MAX_LABEL} characters')
    return encodable(text)


encodable = base.storable  # JSON may spell lone surrogates ("\\ud800") and NUL


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
