"""OpenDocument: text, spreadsheets and presentations of LibreOffice and others."""

from __future__ import annotations

from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, Writer, write_table
from atomr_local.indexing.readers.documents.tables import write_rows
from atomr_local.indexing.readers.documents.xml import parse_xml
from atomr_local.indexing.readers.documents.zip_limits import open_zip, part

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_HIDDEN = frozenset({f"{_TEXT}tracked-changes", f"{_OFFICE}annotation", f"{_TEXT}note-citation"})
_MOST_REPEATED = 500
_MOST_DEPTH = 100


def parse_opendocument(stream: BinaryIO) -> Document:
    with open_zip(stream) as archive:
        if b"encryption-data" in part(archive, "META-INF/manifest.xml"):
            raise UnreadableError("it is encrypted with a password")
        root = parse_xml(part(archive, "content.xml"))
        meta = parse_xml(part(archive, "meta.xml")) if "meta.xml" in archive.namelist() else None
    body = next(root.iter(f"{_OFFICE}body"), None)
    content = next(iter(body), None) if body is not None else None
    if content is None:
        raise UnreadableError("it has no content")
    sort = str(content.tag).removeprefix(_OFFICE)
    writer = Writer({"spreadsheet": "cells", "presentation": "slide"}.get(sort))  # type: ignore[arg-type]
    if meta is not None:
        _take_meta(writer.document, meta)
    if sort == "spreadsheet":
        for table in content.iter(f"{_TABLE}table"):
            sheet = table.get(f"{_TABLE}name", "")
            writer.heading(1, sheet)
            write_rows(writer, iter(_rows(table)), sheet)
    elif sort == "presentation":
        for number, page in enumerate(content.iter(f"{_DRAW}page"), 1):
            writer.at(number)
            _write_blocks(writer, page, 0)
    else:
        _write_blocks(writer, content, 0)
    return writer.done()


def _write_blocks(writer: Writer, element: Any, depth: int) -> None:
    if depth > _MOST_DEPTH:
        raise UnreadableError(f"its elements are nested more than {_MOST_DEPTH} deep")
    for child in element:
        tag = child.tag
        if tag in _HIDDEN or not isinstance(tag, str):
            continue
        if tag == f"{_TEXT}h":
            level = child.get(f"{_TEXT}outline-level", "1")
            writer.heading(int(level) if level.isdigit() else 1, _words(child))
        elif tag == f"{_TEXT}p":
            writer.paragraph(_words(child))
        elif tag == f"{_TABLE}table":
            write_table(writer, _rows(child))
        else:
            _write_blocks(writer, child, depth + 1)


def _rows(table: Any) -> list[list[str]]:
    rows = []
    for row in table.iter(f"{_TABLE}table-row"):
        cells: list[str] = []
        for cell in row.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            text = " ".join(_words(line) for line in cell.iter(f"{_TEXT}p"))
            repeated = cell.get(f"{_TABLE}number-columns-repeated", "1")
            many = int(repeated) if repeated.isdigit() else 1
            cells += [text] * min(many, _MOST_REPEATED)
        while cells and not cells[-1]:
            cells.pop()
        # Rows that are repeated are empty ones to the end of the sheet; a few keep the numbers of the rows below right.
        repeated = row.get(f"{_TABLE}number-rows-repeated", "1")
        rows += [cells] * min(int(repeated) if repeated.isdigit() else 1, _MOST_REPEATED)
    return rows


def _words(element: Any) -> str:
    words = []

    def collect(one: Any) -> None:
        if one.tag not in _HIDDEN:
            if one.tag in {f"{_TEXT}s", f"{_TEXT}tab", f"{_TEXT}line-break"}:
                words.append(" ")
            words.append(one.text or "")
            for child in one:
                collect(child)
                words.append(child.tail or "")

    collect(element)
    return "".join(words)


def _take_meta(document: Document, meta: Any) -> None:
    for title in meta.iterfind(".//{*}title"):
        document.title = " ".join((title.text or "").split())[:300]
    for author in meta.iterfind(".//{*}initial-creator"):
        document.details["author"] = " ".join((author.text or "").split())[:300]
