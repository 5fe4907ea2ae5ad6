"""Detects the format of a file of articles or facts from its content, and opens the reader of articles."""

from __future__ import annotations

import bz2
import re
import zlib
from pathlib import Path
from typing import Literal, get_args

from atomr_local.errors import InputError
from atomr_local.indexing.readers.articles.json_lines import JsonLinesReader
from atomr_local.indexing.readers.base import ArticleReader
from atomr_local.indexing.readers.facts.json_lines import parse_fact
from atomr_local.indexing.readers.facts.wikidata_json import parse_entities
from atomr_local.indexing.readers.lines import LineReader
from atomr_local.input_files import open_regular

TextFormat = Literal["auto", "jsonl", "mediawiki", "parquet", "zim"]
TEXT_FORMATS: tuple[TextFormat, ...] = get_args(TextFormat)
FoundGraphFormat = Literal["nt", "turtle", "wikidata-json", "facts-jsonl"]
GraphFormat = Literal["auto", FoundGraphFormat]
GRAPH_FORMATS: tuple[GraphFormat, ...] = get_args(GraphFormat)

# A bzip2 block holds up to 900 kB and gives nothing before it is whole.
_HEAD = 1 << 20
_MEDIAWIKI = re.compile(rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<mediawiki[\s>]", re.S)
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


def open_articles(path: Path, format: TextFormat = "auto") -> ArticleReader:
    """The reader for a file of texts; nothing but its head is read yet.

    Raises:
        InputError: the file cannot be opened, or is packed in a way that no reader takes.
    """
    kind = detect_text_format(path) if format == "auto" else format
    if kind == "mediawiki":
        from atomr_local.indexing.readers.wikipedia.mediawiki import MediaWikiReader

        return MediaWikiReader(path)
    if kind == "parquet":
        from atomr_local.indexing.readers.articles.parquet import ParquetReader

        return ParquetReader(path)
    if kind == "zim":
        from atomr_local.indexing.readers.wikipedia.zim import ZimReader

        return ZimReader(path)
    return JsonLinesReader(path)


def detect_text_format(path: Path) -> TextFormat:
    """What the content looks like; "jsonl" where it is nothing else.

    Raises:
        InputError: the file cannot be opened, or is packed in a way that no reader takes.
    """
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD)
    except IsADirectoryError as error:
        raise InputError(f"{path} is a directory", hint="Give the files in it.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ZIM\x04"):
        return "zim"
    for magic, name in _PACKED.items():
        if head.startswith(magic):
            raise InputError(
                f"{path}: packed with {name}", hint="Unpack it first; gzip and bzip2 are read as they are."
            )
    return "mediawiki" if _MEDIAWIKI.match(_unpacked(head)) else "jsonl"


def record_kind(path: Path, format: TextFormat = "auto") -> str:
    """What the reader of this file counts: "line", "page", "row" or "entry"; "record" where the file is gone."""
    try:
        kind = detect_text_format(path) if format == "auto" else format
    except InputError:
        return "record"
    return {"mediawiki": "page", "parquet": "row", "zim": "entry"}.get(kind, "line")


def _unpacked(head: bytes) -> bytes:
    # What is damaged gives less or nothing here; the reader then tells the place.
    try:
        if head.startswith(b"\x1f\x8b"):
            return zlib.decompressobj(wbits=31).decompress(head, _HEAD)
        if head.startswith(b"BZh"):
            return bz2.BZ2Decompressor().decompress(head, _HEAD)
    except (OSError, zlib.error):
        return b""
    return head


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
