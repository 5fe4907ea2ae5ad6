"""Detects the format of a file of facts from its content."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from atomr_local.errors import InputError
from atomr_local.indexing.readers.facts import parse_fact
from atomr_local.indexing.readers.lines import LineReader
from atomr_local.indexing.readers.wikidata_json import parse_entities

FoundFormat = Literal["nt", "turtle", "wikidata-json", "facts-jsonl"]
GraphFormat = Literal["auto", "nt", "turtle", "wikidata-json", "facts-jsonl"]
FORMATS: tuple[GraphFormat, ...] = ("auto", "nt", "turtle", "wikidata-json", "facts-jsonl")

_TURTLE = re.compile(rb"\s*(?:@prefix\s|@base\s|(?i:prefix)\s+[\w.-]*:\s*<|(?i:base)\s+<)")
_NT_LINE = re.compile(rb'\s*(?:<[^>]*>|_:\S+)\s*<[^>]*>\s*(?:<[^>]*>|_:\S+|".*)\s*\.\s*(?:#.*)?$', re.DOTALL)
_LINES = 20
# Enough of a line to tell an entity of a dump, whose lines can be megabytes long, from a fact.
_ENTITY = re.compile(
    rb'\[?\s*\{\s*"(?:type"\s*:\s*"(?:item|property|lexeme)"|[QP]\d+"\s*:\s*\{|entities"\s*:\s*\{|id"\s*:\s*"[QP]\d+")'
)


def detect_format(file: Path) -> FoundFormat:
    """The format that the first filled lines of the file show.

    Raises:
        InputError: they show none that we read, or the file cannot be read.
    """
    iris = 0
    for seen, (_, line) in enumerate(LineReader(file)):
        text = line.strip()
        if not text or text.startswith(b"#"):
            continue
        if _TURTLE.match(text):
            return "turtle"
        if text.startswith((b"<", b"_:")):
            if _NT_LINE.match(text) and not text.endswith((b";", b",")):
                return "nt"
            iris += 1
        elif text == b"[" or _ENTITY.match(text):
            return "wikidata-json"
        elif text.startswith(b"{"):
            found = _json_lines(text)
            if found or seen >= _LINES:
                return found or "facts-jsonl"
        elif iris:
            return "turtle"
        if seen >= _LINES:
            break
    if iris:
        return "turtle"
    raise InputError(
        f"{file}: the format cannot be recognised from the content",
        hint='Facts are lines such as {"s": "Paris", "p": "country", "o": "France"}; N-Triples are lines such as '
        "<subject> <predicate> <object> .; Turtle and Wikidata's JSON dumps are read too.",
    )


def _json_lines(text: bytes) -> FoundFormat | None:
    try:
        parse_fact(text)
    except ValueError:
        pass
    else:
        return "facts-jsonl"
    try:
        return "wikidata-json" if list(parse_entities(text)) else None
    except ValueError:
        return None
