"""Detects the format of a file of articles or facts from its content, and opens the reader of articles."""

from __future__ import annotations

import logging
import lzma
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, cast, get_args

from atomr_local.errors import AtomrError, InputError
from atomr_local.indexing.readers.articles import (
    Columns,
    DelimitedReader,
    JsonLinesReader,
    ParquetReader,
    looks_delimited,
)
from atomr_local.indexing.readers.base import ArticleReader, PageWork
from atomr_local.indexing.readers.facts.json_lines import is_indented, parse_entities, parse_fact
from atomr_local.indexing.readers.lines import READ_PACKED, LineReader, decompressed, encoding_of, head_as_utf8, kind_in
from atomr_local.indexing.readers.wikipedia.mediawiki import ExtractedReader, MediaWikiReader
from atomr_local.indexing.readers.wikipedia.zim import ZimReader
from atomr_local.system.files import kind_of, open_regular
from atomr_local.system.plugins import find, load_all, offered

# The registry of article formats: ours, and those of other packages (entry points).

ENTRY_POINTS = "atomr_local.readers"
# Bytes of a file that a format is recognised by. A bzip2 block holds up to 900 kB and gives nothing before it is whole.
HEAD = 1 << 20
_BLOCK = 1 << 16
_log = logging.getLogger(__name__)
# Atomic: a comment ends at its first mark; trying other ends would double the time with each comment.
_MEDIAWIKI = re.compile(rb"\s*+(?:<\?xml[^>]*+>\s*+)?+(?:(?><!--.*?-->)\s*+)*+<mediawiki[\s>]", re.S)
_EXTRACTED = re.compile(rb"\s*+<doc\s++[a-z_]++=\"")


@dataclass(frozen=True, slots=True)
class ArticleFormat:
    """A format of articles.

    Attributes:
        record: what the reader counts, in the singular, such as "row".
        matches: whether a file that begins with these bytes, at most :data:`HEAD`, is of this format.
        open: the reader of a file; it reads nothing yet.
        packed: whether the reader takes packed files and any encoding. `matches` then sees them unpacked, in UTF-8.
        mapped: the reader of a file whose columns the user names, where the format has columns.
        parallel: the reader of a file whose pages are read by several processes, where there is one.
    """

    record: str
    matches: Callable[[bytes], bool]
    open: Callable[[Path], ArticleReader]
    packed: bool = False
    mapped: Callable[[Path, Columns], ArticleReader] | None = None
    parallel: Callable[[Path, PageWork], ArticleReader] | None = None


def content_head(file: BinaryIO) -> bytes:
    """The first bytes of what a file holds, unpacked and in UTF-8; b"" where that cannot be told.

    What is damaged gives less or nothing; the reader then names the place.
    """
    found = b""
    try:
        stream = decompressed(file)
        while len(found) < HEAD and (block := cast(BufferedReader, stream).read1(_BLOCK)):
            found += block
    except (OSError, EOFError, zlib.error, lzma.LZMAError, AtomrError):
        pass
    return head_as_utf8(found)


FALLBACK = "jsonl"  # what a file is where no format matches
FORMATS: dict[str, ArticleFormat] = {
    FALLBACK: ArticleFormat("line", lambda _: False, JsonLinesReader, packed=True, mapped=JsonLinesReader),
    "mediawiki": ArticleFormat(
        "page", lambda head: bool(_MEDIAWIKI.match(head)), MediaWikiReader, packed=True, parallel=MediaWikiReader
    ),
    "parquet": ArticleFormat("row", lambda head: head.startswith(b"PAR1"), ParquetReader, mapped=ParquetReader),
    "zim": ArticleFormat("entry", lambda head: head.startswith(b"ZIM\x04"), ZimReader),
    "wikiextractor": ArticleFormat("article", lambda head: bool(_EXTRACTED.match(head)), ExtractedReader, packed=True),
    "csv": ArticleFormat("row", looks_delimited, DelimitedReader, packed=True, mapped=DelimitedReader),
}


def find_format(name: str) -> ArticleFormat:
    """The format of this name.

    Raises:
        InputError: there is none.
        SettingsError: the package that offers it cannot be loaded.
    """
    if (found := find(ENTRY_POINTS, FORMATS, name, "article format", ArticleFormat)) is not None:
        return found
    known = ", ".join([*FORMATS, *offered(ENTRY_POINTS, FORMATS)])
    raise InputError(f"there is no format named {name!r}", hint=f"Known: {known}.")


def matching(head: bytes, content: bytes) -> str:
    """The name of the first format that a file with this beginning is of; "" if none matches.

    A format of another package that cannot be loaded, or fails, is logged and does not match.

    Args:
        content: the beginning of what is packed in the file, in UTF-8.
    """
    for name, found in load_all(ENTRY_POINTS, FORMATS, "article format", ArticleFormat).items():
        try:
            if found.matches(content if found.packed else head):
                return name
        except Exception as error:
            if name in FORMATS:
                raise
            _log.warning("The article format %s failed: %s", name, type(error).__name__)
    return ""


def format_names() -> list[str]:
    """The names that a user may give, "auto" first."""
    return ["auto", *FORMATS, *offered(ENTRY_POINTS, FORMATS)]


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
        format: a name of :func:`~atomr_local.indexing.readers.detect.format_names`.

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
