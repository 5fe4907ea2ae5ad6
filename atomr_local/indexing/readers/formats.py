"""The registry of article formats: ours, and those of other packages (entry points)."""

from __future__ import annotations

import bz2
import logging
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from atomr_local.errors import InputError
from atomr_local.indexing.readers.articles.json_lines import JsonLinesReader
from atomr_local.indexing.readers.articles.parquet import ParquetReader
from atomr_local.indexing.readers.base import ArticleReader
from atomr_local.indexing.readers.wikipedia.mediawiki import MediaWikiReader
from atomr_local.indexing.readers.wikipedia.zim import ZimReader
from atomr_local.plugins import find, load_all, offered

ENTRY_POINTS = "atomr_local.readers"
# Bytes of a file that a format is recognised by. A bzip2 block holds up to 900 kB and gives nothing before it is whole.
HEAD = 1 << 20
_log = logging.getLogger(__name__)
_MEDIAWIKI = re.compile(rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<mediawiki[\s>]", re.S)


@dataclass(frozen=True, slots=True)
class ArticleFormat:
    """A format of articles.

    Attributes:
        record: what the reader counts, in the singular, such as "row".
        matches: whether a file that begins with these bytes, at most :data:`HEAD`, is of this format.
        open: the reader of a file; it reads nothing yet.
    """

    record: str
    matches: Callable[[bytes], bool]
    open: Callable[[Path], ArticleReader]


def unpacked(head: bytes) -> bytes:
    """The first bytes of what a file holds, packed with gzip or bzip2 or not.

    What is damaged gives less or nothing; the reader then names the place.
    """
    try:
        if head.startswith(b"\x1f\x8b"):
            return zlib.decompressobj(wbits=31).decompress(head, HEAD)
        if head.startswith(b"BZh"):
            return bz2.BZ2Decompressor().decompress(head, HEAD)
    except (OSError, zlib.error):
        return b""
    return head


FALLBACK = "jsonl"  # what a file is where no format matches
FORMATS: dict[str, ArticleFormat] = {
    FALLBACK: ArticleFormat("line", lambda _: False, JsonLinesReader),
    "mediawiki": ArticleFormat("page", lambda head: bool(_MEDIAWIKI.match(unpacked(head))), MediaWikiReader),
    "parquet": ArticleFormat("row", lambda head: head.startswith(b"PAR1"), ParquetReader),
    "zim": ArticleFormat("entry", lambda head: head.startswith(b"ZIM\x04"), ZimReader),
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


def matching(head: bytes) -> str:
    """The name of the first format that a file with this beginning is of; "" if none matches.

    A format of another package that fails is logged and does not match.
    """
    for name, found in all_formats().items():
        try:
            if found.matches(head):
                return name
        except Exception as error:
            if name in FORMATS:
                raise
            _log.warning("The article format %s failed: %s", name, type(error).__name__)
    return ""


def format_names() -> list[str]:
    """The names that a user may give, "auto" first."""
    return ["auto", *FORMATS, *offered(ENTRY_POINTS, FORMATS)]
