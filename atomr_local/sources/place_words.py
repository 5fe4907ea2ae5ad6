"""The place of evidence in words: in a file of the user's, with its address for the program that opens it, or in the
tables and infobox of a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

# What a place is called in a citation, for one and for several.
_WORDS = {
    "page": ("p.", "pp."),
    "slide": ("slide", "slides"),
    "line": ("line", "lines"),
    "cell": ("cell", "cells"),
    "cells": ("", ""),
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
        if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
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
