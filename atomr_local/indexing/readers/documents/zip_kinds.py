"""Tells by its parts what a file is that is packed with Zip."""

from __future__ import annotations

import re
import zipfile
from pathlib import PurePosixPath
from typing import BinaryIO

from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.notion import is_of_notion

_PARTS = (
    ("word/document.xml", "docx"),
    ("ppt/presentation.xml", "pptx"),
    ("xl/workbook.xml", "xlsx"),
    ("META-INF/container.xml", "epub"),
)
_BUNDLED = re.compile(r"(?:(?:.*/)?([^/]+)\.textbundle/)?text\.(?:md|markdown|txt)")
_CONTENT_TYPES = "[Content_Types].xml"
_MOST_READ = 1 << 20  # bytes of a part
# Some programs give the main part another name; its type tells what it is.
_MAIN_TYPE = re.compile(rb"\.(?:ms-)?(word|powerpoint|presentation|excel|spreadsheet)\w*\.[\w.]+\.main\+xml")
_LANGUAGES = {b"word": "docx", b"powerpoint": "pptx", b"presentation": "pptx", b"excel": "xlsx", b"spreadsheet": "xlsx"}
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
_READ_OPEN_DOCUMENT = frozenset({"text", "spreadsheet", "presentation"})
_TYPES_NOT_READ = {
    "application/vnd.oasis.opendocument.graphics": "an OpenDocument drawing: save it as PDF",
    "application/vnd.oasis.opendocument.": "an OpenDocument file of a kind that is not read: save it as ODT or PDF",
    "application/vnd.sun.xml.": "a file of OpenOffice.org 1: save it as ODT, ODS or ODP",
    "application/hwp+zip": "a Hangul document: save it as DOCX or PDF",
}
_IWORK = {
    ".pages": "a Pages document: export it as DOCX or PDF",
    ".numbers": "a Numbers spreadsheet: export it as XLSX or CSV",
    ".key": "a Keynote presentation: export it as PPTX or PDF",
}
_CHATS = re.compile(r"(?:.*/)?(?:_chat|[^/]*WhatsApp[^/]*)\.txt|(?i:(?:.*/)?messages/c?\d{15,20}/messages\.json)")
_SLACK_DAY = re.compile(r"[^/]+/\d{4}-\d\d-\d\d\.json")
_NOT_READ = (
    (re.compile(r"xl/workbook\.bin"), "an Excel workbook in the binary format (XLSB): save it as XLSX"),
    (re.compile(r"(?:.*/)?\w*\.fdseq", re.I), "an XPS document: save it as PDF"),
    (re.compile(r"visio/document\.xml"), "a Visio drawing: save it as PDF"),
    (re.compile(r"(?:.*/)?Index/(?:Slide|Presentation)[^/]*\.iwa|(?:.*/)?index\.apxl(?:\.gz)?"), _IWORK[".key"]),
    (
        re.compile(r"(?:.*/)?Index(?:\.zip|/[^/]+\.iwa)|(?:.*/)?buildVersionHistory\.plist"),
        "a document of Pages, Numbers or Keynote: export it as DOCX, XLSX, PPTX or PDF",
    ),
)


def kind_of_zip(stream: BinaryIO, name: str) -> str:
    """The kind of a document that is packed with Zip; the stream stands at its beginning afterwards.

    Args:
        name: of the file; it decides only which program of several has written it.

    Raises:
        UnreadableError: it is of no kind that is read; the message says what it is, and what to save it as.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
            found = next((kind for part, kind in _PARTS if part in names), "")
            if not found and (types := _MAIN_TYPE.search(_start_of(archive, _CONTENT_TYPES, names))):
                found = _LANGUAGES[types[1]]
            sort = _start_of(archive, "mimetype", names).decode("ascii", "replace").strip()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise UnreadableError(f"it is a damaged ZIP file: {error}") from error
    finally:
        stream.seek(0)
    if found or sort == "application/epub+zip":
        return found or "epub"
    if sort.startswith(_OPEN_DOCUMENT) and sort.removeprefix(_OPEN_DOCUMENT).partition("-")[0] in _READ_OPEN_DOCUMENT:
        return "opendocument"
    said = next((what for beginning, what in _TYPES_NOT_READ.items() if sort.startswith(beginning)), "")
    said = said or next((what for sign, what in _NOT_READ if any(map(sign.fullmatch, names))), "")
    if said in {what for _, what in _NOT_READ[-2:]}:
        said = _IWORK.get(PurePosixPath(name.casefold()).suffix, said)
    if not said and any(bundled_title(name) is not None for name in names):
        return "bundles"
    if not said and any(map(is_of_notion, names)):
        return "notion"
    is_of_slack = "users.json" in names and any(map(_SLACK_DAY.fullmatch, names))
    if not said and (is_of_slack or any(map(_CHATS.fullmatch, names))):
        return "chat archive"
    raise UnreadableError(f"it is {said}" if said else "it is packed with Zip; unpack it first")


def bundled_title(name: str) -> str | None:
    """The name of the TextBundle whose text this part of an archive is, "" where it has none; None if it is no text."""
    found = _BUNDLED.fullmatch(name)
    return found and (found[1] or "")


def _start_of(archive: zipfile.ZipFile, part: str, names: list[str]) -> bytes:
    """The first bytes of a part; none where there is no such part."""
    if part not in names:
        return b""
    with archive.open(part) as opened:
        return opened.read(_MOST_READ)
