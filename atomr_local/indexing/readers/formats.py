"""The registry of article formats: ours, and those of other packages (entry points)."""

from __future__ import annotations

import logging
import lzma
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from atomr_local.errors import AtomrError, InputError
from atomr_local.indexing.readers.articles.delimited import DelimitedReader, looks_delimited
from atomr_local.indexing.readers.articles.json_lines import JsonLinesReader
from atomr_local.indexing.readers.articles.parquet import ParquetReader
from atomr_local.indexing.readers.base import ArticleReader, PageWork
from atomr_local.indexing.readers.columns import Columns
from atomr_local.indexing.readers.encodings import head_as_utf8
from atomr_local.indexing.readers.packed import decompressed
from atomr_local.indexing.readers.wikipedia.extracted import ExtractedReader
from atomr_local.indexing.readers.wikipedia.mediawiki import MediaWikiReader
from atomr_local.indexing.readers.wikipedia.zim import ZimReader
from atomr_local.plugins import find, load_all, offered

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


def all_formats() -> dict[str, ArticleFormat]:
    """Every format that can be used, ours first. One that cannot be loaded is logged and left out."""
    return load_all(ENTRY_POINTS, FORMATS, "article format", ArticleFormat)


def matching(head: bytes, content: bytes) -> str:
    """The name of the first format that a file with this beginning is of; "" if none matches.

    A format of another package that fails is logged and does not match.

    Args:
        content: the beginning of what is packed in the file, in UTF-8.
    """
    for name, found in all_formats().items():
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
