"""Where evidence stands in the user's own documents: file, page, heading, line or cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any

from atomr_local.indexing.store import Manifest
from atomr_local.indexing.text_index.document_catalog import Places, listed_documents
from atomr_local.indexing.text_index.documents import folders_of, root_names
from atomr_local.sources.protocol import Day, Evidence


def is_of_documents(manifest: Manifest) -> bool:
    """Whether the index was built from documents, so that its passages have places; it may come from elsewhere."""
    return "folders" in manifest.settings or isinstance(manifest.settings.get("documents"), dict)


@dataclass(frozen=True, slots=True)
class PlacedArticle:
    """An article with the file that it was read from.

    Attributes:
        path: as citations give it.
        paths: all that may stand for the file: with what tells its folder from others, on this machine, of its copies.
        modified: the day that the file was changed last; None if that is not known.
        listed: the path with what tells its folder from others.
    """

    article: str
    title: str
    path: str
    paths: tuple[str, ...]
    modified: Day | None
    listed: str = ""


class DocumentPlaces:
    """The places of an index of documents. Thread-safe."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self._places, self._directory = Places(directory), directory
        self._roots = [folder.root for folder in folders_of(manifest.settings)]
        self._names = root_names(self._roots)

    def close(self) -> None:
        self._places.close()

    def placed(self, evidence: Evidence) -> Evidence:
        """The evidence with "file", "folder", "heading" and its place in the locator, where they are known.

        The folder is the one that the file lies in or below, "" where the index was made on another machine; "above" is
        what tells it from another folder of the same name.
        """
        locator = dict(evidence.locator)
        start, end = locator["span"]
        article = str(locator["passage"]).rpartition("#")[0]
        found = self._places.locate(article, int(start), int(end))
        if not found:
            return evidence
        found |= self._below(found.pop("root"), found["file"])
        if heading := locator.get("section"):
            found["heading"] = heading
        return replace(evidence, locator=locator | found)

    def articles(self) -> Iterator[PlacedArticle]:
        """All of them, in order."""
        copies: dict[str, list[str]] = {}
        for one in listed_documents(self._directory):
            copies.setdefault(one.original, []).append(one.path)
        for article, title, path, root, stamp in self._places.articles():
            below = {"file": path} | self._below(root, path)
            paths = [below["file"], path, *([f"{below['folder']}/{below['file']}"] if below["folder"] else [])]
            paths += copies.get(path, ())
            yield PlacedArticle(article, title, below["file"], tuple(dict.fromkeys(paths)), _day(stamp), path)

    def _below(self, number: int, path: str) -> dict[str, str]:
        """The folder to look in for the file of a root, and the path that is left of it."""
        if not 0 <= number < len(self._roots):
            return {"folder": ""}
        root, name = self._roots[number], self._names[number]
        if not name:
            # A single file was given: its folder is the one that it lies in.
            return {"folder": str(root if root.is_dir() else root.resolve().parent)}
        above = name
        if path == name:  # a file was given
            above, _, path = name.rpartition("/")
            place = {"folder": str(root.resolve().parent), "file": path}
        else:
            place = {"folder": str(root), "file": path.removeprefix(f"{name}/")}
        return place | ({"above": above} if "/" in name else {})


def _day(stamp: str) -> Day | None:
    """The day of a stamp's first time, in nanoseconds."""
    modified = stamp.partition(":")[0]
    try:
        return date.fromtimestamp(int(modified) // 10**9).timetuple()[:3] if modified else None
    except (ValueError, OverflowError, OSError):  # the index may come from elsewhere
        return None


# The place of evidence in words: in a file of the user's, with its address for the program that opens it, or in the
# tables and infobox of a page.


# What a place is called in a citation, for one and for several.
_WORDS = {
    "page": ("p.", "pp."),
    "slide": ("slide", "slides"),
    "line": ("line", "lines"),
    "cell": ("cell", "cells"),
    "cells": ("", ""),
    "time": ("", ""),
    "message": ("", ""),
}

_PAGE_KINDS = {"table": "table", "infobox": "infobox", "code": "source code"}


def place_words(locator: Mapping[str, Any]) -> str:
    """The place as a citation gives it: "report.pdf, p. 3, Methods", "table 2, rows 3–9, Isotopes".

    "" where the evidence is prose of no file. Untrusted.
    """
    file = locator.get("file")
    if not isinstance(file, str) or not file:
        return _place_on_page(locator)
    above = locator.get("above")
    parts = [f"{above}/{file}" if isinstance(above, str) and above else file]
    for kind, (one, several) in _WORDS.items():
        if kind not in locator:
            continue
        value = locator[kind]
        if kind == "page" and "page_words" in locator:
            parts.append(str(locator["page_words"]))
        elif isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
            parts.append(f"{several} {value[0]}–{value[1]}".strip())
        else:
            parts.append(f"{one} {value}".strip())
    if heading := locator.get("heading"):
        parts.append(str(heading))
    return ", ".join(parts)


def _place_on_page(locator: Mapping[str, Any]) -> str:
    """The place of a passage that is no prose; "" of prose."""
    kind = locator.get("kind")
    if not isinstance(kind, str) or kind not in _PAGE_KINDS:
        return ""
    parts = [_PAGE_KINDS[kind]]
    if kind == "table":
        parts[0] += f" {locator['table']}" if "table" in locator else ""
        rows = locator.get("table_rows")
        if isinstance(rows, Sequence) and len(rows) == 2:
            parts.append(f"row {rows[0]}" if rows[0] == rows[1] else f"rows {rows[0]}–{rows[1]}")
    if section := locator.get("section"):
        parts.append(str(section))
    return ", ".join(parts)


def made_elsewhere(locator: Mapping[str, Any]) -> bool:
    """Whether the index was made on another machine, and handed on without the files."""
    return locator.get("folder") == ""


def file_path(locator: Mapping[str, Any]) -> Path | None:
    """The file; None where it is not there or leads out of its folder."""
    file, folder = locator.get("file"), locator.get("folder")
    if not isinstance(file, str) or not isinstance(folder, str) or not file or not folder:
        return None
    try:
        root = Path(folder).resolve(strict=True)
        path = (root / PurePosixPath(file)).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return path if path.is_relative_to(root) and path.is_file() else None


def page_at(locator: Mapping[str, Any], at: int = 0) -> int | None:
    """The page of a PDF on which stands what is at the offset `at` of the evidence's text; None of other files."""
    page = locator.get("page")
    found = page[0] if isinstance(page, list | tuple) and page else page
    starts = locator.get("page_starts")
    for start in starts if isinstance(starts, list | tuple) else ():
        match start:
            case [int(offset), int(number)] if offset <= at:
                found = number
    return found if isinstance(found, int) else None
