"""OpenDocument: text, spreadsheets and presentations of LibreOffice and others."""

from __future__ import annotations

from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, Writer
from atomr_local.indexing.readers.documents.opendocument_tables import (
    HIDDEN,
    OFFICE,
    TABLE,
    TEXT,
    heading_styles,
    numbered_rows,
    words_of,
)
from atomr_local.indexing.readers.documents.table_writing import write_sheet, write_table
from atomr_local.indexing.readers.documents.xml import parse_xml
from atomr_local.indexing.readers.documents.zip_limits import open_zip, part
from atomr_local.indexing.readers.tables.headings import Names

_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_MOST_DEPTH = 100


def parse_opendocument(stream: BinaryIO) -> Document:
    with open_zip(stream) as archive:
        if b"encryption-data" in part(archive, "META-INF/manifest.xml"):
            raise UnreadableError("it is encrypted with a password")
        root = parse_xml(part(archive, "content.xml"))
        meta = parse_xml(part(archive, "meta.xml")) if "meta.xml" in archive.namelist() else None
    body = next(root.iter(f"{OFFICE}body"), None)
    content = next(iter(body), None) if body is not None else None
    if content is None:
        raise UnreadableError("it has no content")
    sort = str(content.tag).removeprefix(OFFICE)
    writer = Writer({"spreadsheet": "cells", "presentation": "slide"}.get(sort))  # type: ignore[arg-type]
    if meta is not None:
        _take_meta(writer.document, meta)
    headings = heading_styles(root)
    if sort == "spreadsheet":
        for table in content.iterchildren(f"{TABLE}table"):
            sheet = table.get(f"{TABLE}name", "")
            writer.heading(1, sheet)
            write_sheet(writer, numbered_rows(table, headings, []), sheet, Names.POSSIBLE)
    elif sort == "presentation":
        for number, page in enumerate(content.iter(f"{_DRAW}page"), 1):
            writer.at(number)
            _write_blocks(writer, page, headings, 0)
    else:
        _write_blocks(writer, content, headings, 0)
    return writer.done()


def _write_blocks(writer: Writer, element: Any, headings: frozenset[str], depth: int) -> None:
    if depth > _MOST_DEPTH:
        raise UnreadableError(f"its elements are nested more than {_MOST_DEPTH} deep")
    for child in element:
        tag = child.tag
        if tag in HIDDEN or not isinstance(tag, str):
            continue
        if tag == f"{TEXT}h":
            level = child.get(f"{TEXT}outline-level", "1")
            writer.heading(int(level) if level.isdigit() else 1, words_of(child))
        elif tag == f"{TEXT}p":
            writer.paragraph(words_of(child))
        elif tag == f"{TABLE}table":
            waiting = [child]
            while waiting:  # no recursion: tables stand in tables as deep as the file says
                inner: list[Any] = []
                write_table(writer, [row for _, row in numbered_rows(waiting.pop(), headings, inner)])
                waiting += reversed(inner)
        else:
            _write_blocks(writer, child, headings, depth + 1)


def _take_meta(document: Document, meta: Any) -> None:
    for title in meta.iterfind(".//{*}title"):
        document.title = " ".join((title.text or "").split())[:300]
    for author in meta.iterfind(".//{*}initial-creator"):
        document.details["author"] = " ".join((author.text or "").split())[:300]
