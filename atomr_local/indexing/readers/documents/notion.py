"""Pages and tables as Notion names them: the names of files end with an id, and a page begins with its properties."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePosixPath

from atomr_local.indexing.readers.documents.document import Document

_NAME = re.compile(r"(.*?) ?[0-9a-f]{32}(?:_all)?")
_ARCHIVE = re.compile(r"(?i)Export(?:Block)?-[\w-]+\.zip|.*-Part-\d+\.zip")
_PROPERTY = re.compile(r"([^\W\d_][^:\n]{0,40}): (\S[^\n]*)")
_MOST_PROPERTIES = 30
_LONGEST = 300  # characters of a value
_DETAILS = {"tag": "tags", "tags": "tags", "author": "author"} | dict.fromkeys(
    ("date", "created", "created time", "created at"), "date"
)


def is_notion_archive(name: str) -> bool:
    """Whether an export is so named: one in several parts holds them as archives."""
    return _ARCHIVE.fullmatch(PurePosixPath(name).name) is not None


def is_of_notion(name: str) -> bool:
    """Whether a file of an archive is so named that the archive is an export."""
    path = PurePosixPath(name)
    return is_notion_archive(name) or (path.suffix in {".md", ".csv", ".html"} and bool(_NAME.fullmatch(path.stem)))


def name_note(document: Document, name: str) -> None:
    """Take the title from the name of a file of Notion, and tags and date from the properties at the head of a page."""
    named = _NAME.fullmatch(PurePosixPath(name).stem)
    if named is None:
        return
    document.title = document.title or named[1].strip()
    starts = [offset for offset, _ in document.places[:_MOST_PROPERTIES]] if document.place_kind == "line" else []
    for start, end in pairwise([*starts, len(document.text)]):
        found = _PROPERTY.fullmatch(document.text[start : min(end, start + 2 * _LONGEST)].strip())
        if found is None:
            return
        if key := _DETAILS.get(found[1].casefold()):
            document.details.setdefault(key, found[2][:_LONGEST])
