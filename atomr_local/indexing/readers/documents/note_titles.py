"""Titles of notes, as the programs that keep them show them, and what the names of files say of them."""

from __future__ import annotations

import calendar
import re
from contextlib import suppress
from datetime import date
from pathlib import PurePosixPath
from urllib.parse import unquote

from atomr_local.indexing.readers.documents.document import Document, short_line
from atomr_local.indexing.readers.documents.notion import properties_of, title_in
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
    if (title := title_in(stem)) is not None or kind == "notion page":
        if kind in {"markdown", "notion page"}:
            properties_of(document)
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
