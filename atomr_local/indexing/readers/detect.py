"""Detects the format of a file of articles or facts from its content, and opens the reader of articles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, get_args

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import ArticleReader
from atomr_local.indexing.readers.facts.json_lines import parse_fact
from atomr_local.indexing.readers.facts.wikidata_json import parse_entities
from atomr_local.indexing.readers.formats import FALLBACK, HEAD, find_format, matching
from atomr_local.indexing.readers.lines import LineReader
from atomr_local.input_files import open_regular

FoundGraphFormat = Literal["nt", "turtle", "wikidata-json", "facts-jsonl"]
GraphFormat = Literal["auto", FoundGraphFormat]
GRAPH_FORMATS: tuple[GraphFormat, ...] = get_args(GraphFormat)

_PACKED = {
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"PK\x03\x04": "Zip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "Zstandard",
}

_TURTLE = re.compile(rb"\s*(?:@prefix\s|@base\s|(?i:prefix)\s+[\w.-]*:\s*<|(?i:base)\s+<)")
_NT_LINE = re.compile(rb'\s*(?:<[^>]*>|_:\S+)\s*<[^>]*>\s*(?:<[^>]*>|_:\S+|".*)\s*\.\s*(?:#.*)?$', re.DOTALL)
_LOOKED_AT = 20
# Enough of a line to tell an entity of a dump, whose lines can be megabytes long, from a fact.
_ENTITY = re.compile(
    rb'\[?\s*\{\s*"(?:type"\s*:\s*"(?:item|property|lexeme)"|[QP]\d+"\s*:\s*\{|entities"\s*:\s*\{|id"\s*:\s*"[QP]\d+")'
)


def open_articles(path: Path, format: str = "auto") -> ArticleReader:
    """The reader for a file of articles; nothing but its head is read yet.

    Args:
        format: a name of :func:`~atomr_local.indexing.readers.formats.format_names`.

    Raises:
        InputError: there is no such format, or the file cannot be opened or is packed in a way that no reader takes.
        SettingsError: the package that offers the format cannot be loaded.
    """
    return find_format(detect_text_format(path) if format == "auto" else format).open(path)


def detect_text_format(path: Path) -> str:
    """The name of the format that the content looks like; "jsonl" if it is nothing else.

    Raises:
        InputError: the file cannot be opened, or is packed in a way that no reader takes.
    """
    try:
        with open_regular(path) as file:
            head = file.read(HEAD)
    except IsADirectoryError as error:
        raise InputError(f"{path} is a directory", hint="Give the files in it.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if found := matching(head):
        return found
    for magic, name in _PACKED.items():
        if head.startswith(magic):
            raise InputError(
                f"{path}: packed with {name}", hint="Unpack it first; gzip and bzip2 are read as they are."
            )
    return FALLBACK


def record_kind(path: Path, format: str = "auto") -> str:
    """What the reader of this file counts: "line", "page", "row" or "entry"; "record" if the file is gone."""
    try:
        return find_format(detect_text_format(path) if format == "auto" else format).record
    except InputError:
        return "record"


def detect_graph_format(file: Path) -> FoundGraphFormat:
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
            found = _json_format(text)
            if found or seen >= _LOOKED_AT:
                return found or "facts-jsonl"
        elif iris:
            return "turtle"
        if seen >= _LOOKED_AT:
            break
    if iris:
        return "turtle"
    raise InputError(
        f"{file}: the format cannot be recognised from the content",
        hint='Facts are lines such as {"s": "Paris", "p": "country", "o": "France"}; N-Triples are lines such as '
        "<subject> <predicate> <object> .; Turtle and Wikidata's JSON dumps are read too.",
    )


def _json_format(text: bytes) -> FoundGraphFormat | None:
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
