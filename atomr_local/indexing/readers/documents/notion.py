"""Pages and tables as Notion names them: the names of files end with an id, and a page begins with its properties."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePosixPath

from atomr_local.indexing.readers.documents.document import Document
from atomr_local.indexing.readers.documents.front_matter import TAGS, add_field, add_tags

_NAME = re.compile(r"(.*?) ?[0-9a-f]{32}(?:_all)?")
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
    return is_notion_archive(name) or (path.suffix in {".md", ".csv", ".html"} and title_in(path.stem) is not None)


def title_in(stem: str) -> str | None:
    """The title in the name of a file of Notion; None where it is none."""
    named = _NAME.fullmatch(stem)
    return named and named[1].strip()


def properties_of(document: Document) -> None:
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
