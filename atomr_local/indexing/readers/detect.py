"""Detects the format of a file of articles from its content, and opens its reader."""

from __future__ import annotations

import bz2
import re
import zlib
from pathlib import Path
from typing import Literal, get_args

from atomr_local.errors import InputError
from atomr_local.indexing.readers.articles import ArticleReader
from atomr_local.indexing.readers.corpus import JsonLinesReader
from atomr_local.input_files import open_regular

TextFormat = Literal["auto", "jsonl", "mediawiki", "parquet", "zim"]
TEXT_FORMATS: tuple[TextFormat, ...] = get_args(TextFormat)

# A bzip2 block holds up to 900 kB and gives nothing before it is whole.
_HEAD = 1 << 20
_MEDIAWIKI = re.compile(rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<mediawiki[\s>]", re.S)
_PACKED = {
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"PK\x03\x04": "Zip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "Zstandard",
}


def open_articles(path: Path, format: TextFormat = "auto") -> ArticleReader:
    """The reader for a file of texts; nothing but its head is read yet.

    Raises:
        InputError: the file cannot be opened, or is packed in a way that no reader takes.
    """
    kind = detect_text_format(path) if format == "auto" else format
    if kind == "mediawiki":
        from atomr_local.indexing.readers.mediawiki import MediaWikiReader

        return MediaWikiReader(path)
    if kind == "parquet":
        from atomr_local.indexing.readers.parquet import ParquetReader

        return ParquetReader(path)
    if kind == "zim":
        from atomr_local.indexing.readers.zim import ZimReader

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
