"""Titles of notes, as the programs that keep them show them, and what the names of files say of them."""

from __future__ import annotations

import calendar
import re
from contextlib import suppress
from datetime import date
from itertools import pairwise
from pathlib import PurePosixPath
from urllib.parse import unquote

from atomr_local.indexing.readers.documents.document import Document, short_line
from atomr_local.indexing.readers.documents.front_matter import TAGS, add_field, add_tags
from atomr_local.indexing.readers.documents.text_file import top_heading

_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d{4}_\d\d_\d\d")
# Names that are made for programs; others are written as people write titles.
_SLUG = re.compile(r"[\da-z._-]+|[A-Z._-]+")
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


def name_note(document: Document, name: str, kind: str) -> None:
    """Take from the name of its file, and from its top, what a note does not say otherwise: its title and its day.

    Args:
        kind: as in :data:`process.PARSERS`.
    """
    stem = PurePosixPath(name).stem
    if (title := _title_in(stem)) is not None or kind == "notion page":
        if kind in {"markdown", "notion page"}:
            _take_properties(document)
            title = top_heading(document) or title
        document.title = document.title or title or ""
    elif kind == "markdown":
        title = _title(document, stem)
        document.title = document.title or title
    elif kind == "zim wiki":
        document.title = top_heading(document) or stem.replace("_", " ")


def _title(document: Document, stem: str) -> str:
    """The heading at the top if it says what the file is about, else the name, which Obsidian and Logseq show; "" for
    the name as it is.

    Logseq writes ``___`` for the slash in the name of a page, and signs as in a URL; a page of its journal is called
    by the day.
    """
    heading = top_heading(document)
    if _DAY.fullmatch(stem):
        with suppress(ValueError):
            day = date.fromisoformat(stem.replace("_", "-"))
            document.details.setdefault("date", day.isoformat())
            if stem[:4] in heading or "_" not in stem:
                return heading if stem[:4] in heading else ""
            return f"{calendar.month_abbr[day.month]} {day.day}{_ENDINGS.get(day.day, 'th')}, {day.year}"
    words = set(_WORD.findall(stem.casefold()))
    said = words & set(_WORD.findall(heading.casefold()))
    if heading and "___" not in stem and (_SLUG.fullmatch(stem) or 2 * len(said) > len(words)):
        return heading
    told = unquote(stem).replace("___", "/")
    return short_line(told) if told != stem and told.isprintable() else ""


# Pages and tables as Notion names them: the names of files end with an id, and a page begins with its properties.

_NOTION_NAME = re.compile(r"(.*?) ?[0-9a-f]{32}(?:_all)?")
_ARCHIVE = re.compile(r"(?i)Export(?:Block)?-[\w-]+\.zip|.*-Part-\d+\.zip")
_PROPERTY = re.compile(r"([^\W\d_][^:\n]{0,40}): (\S[^\n]*)")
_MOST_PROPERTIES = 30
_LONGEST = 300  # characters of a value
_DETAILS = {"author": "author"} | dict.fromkeys(("date", "created", "created time", "created at"), "date")
# Where the page stands that a property names.
_TARGET = re.compile(r" \((?:https?://|[^()\n]*\.(?:md|html|csv))[^()\n]*\)")


def is_notion_archive(name: str) -> bool:
    """Whether an export is so named: one in several parts holds them as archives."""
    return _ARCHIVE.fullmatch(PurePosixPath(name).name) is not None


def is_of_notion(name: str) -> bool:
    """Whether a file of an archive is so named that the archive is an export."""
    path = PurePosixPath(name)
    return is_notion_archive(name) or (path.suffix in {".md", ".csv", ".html"} and _title_in(path.stem) is not None)


def _title_in(stem: str) -> str | None:
    """The title in the name of a file of Notion; None where it is none."""
    named = _NOTION_NAME.fullmatch(stem)
    return named and named[1].strip()


def _take_properties(document: Document) -> None:
    """Take tags, date and the like, and other fields, from the properties at the head of a page."""
    if document.place_kind == "line":  # several may be in one paragraph
        starts = [offset for offset, _ in document.places[:_MOST_PROPERTIES]]
        spans = pairwise([*starts, len(document.text)])
        pieces = [document.text[start : min(end, start + 2 * _LONGEST)] for start, end in spans]
    else:
        pieces = document.text[: _MOST_PROPERTIES * _LONGEST].splitlines(keepends=True)[:_MOST_PROPERTIES]
    for piece in pieces:
        found = _PROPERTY.fullmatch(piece.strip())
        if found is None:
            return
        label, value = found[1].casefold(), _TARGET.sub("", found[2])[:_LONGEST]
        if label in TAGS:
            add_tags(document, value.split(","))
        elif key := _DETAILS.get(label):
            document.details.setdefault(key, value)
        else:
            add_field(document, label, value)
        if piece.endswith("\n\n"):
            return
