"""Reads facts as JSON lines: {"s", "p", "o"} with labels; ids, types, aliases and descriptions are optional."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from atomr_local.indexing.readers import base
from atomr_local.indexing.readers.lines import LineReader, Skipped, parsed

_QID = re.compile(r"Q[1-9]\d{0,11}")
_PID = re.compile(r"P[1-9]\d{0,7}")
_MAX_LABEL = 2000


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
    hint = 'Each line is an object such as {"s": "Paris", "p": "country", "o": "France"}.'
    return parsed(lines, skipped, parse_fact, claim="not facts in JSON lines: ", hint=hint, may_be_empty=True)


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


def encodable(text: str) -> str:
    """The text without what no UTF-8 file can hold: JSON may spell lone surrogates ("\\ud800") and NUL."""
    return base.encodable(text).replace("\x00", "")
