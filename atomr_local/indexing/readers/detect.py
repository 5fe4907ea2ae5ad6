"""Detects the format of a file of articles or facts from its content, and opens the reader of articles."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

from atomr_local.errors import InputError
from atomr_local.file_kinds import kind_of
from atomr_local.indexing.readers.base import ArticleReader, PageWork
from atomr_local.indexing.readers.columns import Columns
from atomr_local.indexing.readers.encodings import encoding_of
from atomr_local.indexing.readers.facts.json_lines import parse_fact
from atomr_local.indexing.readers.facts.wikidata_json import is_indented, parse_entities
from atomr_local.indexing.readers.formats import FALLBACK, HEAD, content_head, find_format, matching
from atomr_local.indexing.readers.lines import LineReader, kind_in
from atomr_local.indexing.readers.packed import READ_PACKED
from atomr_local.input_files import open_regular

FoundGraphFormat = Literal["nt", "turtle", "wikidata-json", "facts-jsonl"]
GraphFormat = Literal["auto", FoundGraphFormat]
GRAPH_FORMATS: tuple[GraphFormat, ...] = get_args(GraphFormat)

_TURTLE = re.compile(rb"\s*(?:@prefix\s|@base\s|(?i:prefix)\s+[\w.-]*:\s*<|(?i:base)\s+<)")
# Possessive: a line may be megabytes long, and each part of it has one end.
_NT_LINE = re.compile(
    rb"\s*+(?:<[^>]*+>|_:[^\s<]++)\s*+<[^>]*+>\s*+"
    rb'(?:<[^>]*+>|_:[^\s<]+|"(?:[^"\\]|\\.)*+"(?:@[\w-]++|\^\^<[^>]*+>)?+)\s*+\.\s*+(?:#.*)?$',
    re.DOTALL,
)
_LOOKED_AT = 20
# Enough of a line to tell an entity of a dump, whose lines can be megabytes long, from a fact.
_ENTITY = re.compile(
    rb'\[?\s*\{\s*"(?:type"\s*:\s*"(?:item|property|lexeme|mediainfo)"|[QPM]\d+"\s*:\s*\{|entities"\s*:\s*\{'
    rb'|id"\s*:\s*"[QPM]\d+")'
)
# The same in a file whose values go over several lines, where other keys may come first.
_INDENTED_ENTITY = re.compile(
    rb'"(?:entity-)?type"\s*:\s*"(?:item|property|lexeme|mediainfo)"|"[QPM]\d+"\s*:\s*[{\[]|"entities"\s*:\s*[{\[]'
)
_INDENTED_LINES = 2_000


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How files of articles are read.

    Attributes:
        columns: which columns are id, title and text, where the format has columns.
        salvage: what stands before the damage of a damaged or cut-off file is taken.
        work: how the processes work that read pages, where the format has such; what is read is the same.
    """

    columns: Columns = field(default_factory=Columns)
    salvage: bool = False
    work: PageWork = field(default_factory=PageWork)


_OPTIONS = ReadOptions()


def open_articles(path: Path, format: str = "auto", options: ReadOptions = _OPTIONS) -> ArticleReader:
    """The reader for a file of articles; nothing but its head is read yet.

    Args:
        format: a name of :func:`~atomr_local.indexing.readers.formats.format_names`.

    Raises:
        InputError: there is no such format, the file cannot be opened or is packed in a way that no reader takes, or
            columns are named where the format has none.
        SettingsError: the package that offers the format cannot be loaded.
    """
    name = detect_text_format(path) if format == "auto" else format
    found = find_format(name)
    if not options.columns.given:
        return found.open(path) if found.parallel is None else found.parallel(path, options.work)
    if found.mapped is None:
        raise InputError(
            f"{path}: a file of the format {name} has no columns",
            hint="--id, --title and --text are for CSV, JSON lines and Parquet.",
        )
    return found.mapped(path, options.columns)


def detect_text_format(path: Path) -> str:
    """The name of the format that the content looks like; "jsonl" if it is nothing else.

    Raises:
        InputError: the file cannot be opened, or is packed in a way that no reader takes.
    """
    try:
        with open_regular(path) as file:
            head = file.read(HEAD)
            file.seek(0)
            content = content_head(file)
    except IsADirectoryError as error:
        raise InputError(f"{path} is a directory", hint="Give the files in it.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if found := matching(head, content):
        return found
    kind = kind_of(head)
    if kind and kind.packed not in READ_PACKED and encoding_of(head)[0] == "utf-8":
        raise InputError(f"{path}: {kind.name}", hint=kind.advice)
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
    if kind := kind_in(file):
        raise InputError(f"{file}: {kind.name}, no facts", hint=kind.advice)
    if is_indented(file):
        head = b"\n".join(line for _, line in islice(LineReader(file), _INDENTED_LINES))
        if _INDENTED_ENTITY.search(head):
            return "wikidata-json"
    if found := _format_of_lines(file):
        return found
    raise InputError(
        f"{file}: the format cannot be recognised from the content",
        hint='Facts are lines such as {"s": "Paris", "p": "country", "o": "France"}; N-Triples are lines such as '
        "<subject> <predicate> <object> .; Turtle and Wikidata's JSON dumps are read too.",
    )


def _format_of_lines(file: Path) -> FoundGraphFormat | None:
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
        elif text.startswith((b"{", b"[{")):
            found = _json_format(text)
            if found or seen >= _LOOKED_AT:
                return found or "facts-jsonl"
        elif iris:
            return "turtle"
        if seen >= _LOOKED_AT:
            break
    return "turtle" if iris else None


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
