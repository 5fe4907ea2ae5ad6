"""E-books in EPUB: the chapters in reading order."""

from __future__ import annotations

import posixpath
import zipfile
from typing import Any, BinaryIO
from urllib.parse import unquote

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, Writer
from atomr_local.indexing.readers.documents.html import write_html
from atomr_local.indexing.readers.documents.xml import parse_xml
from atomr_local.indexing.readers.documents.zip_limits import open_zip, part

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = frozenset({"application/xhtml+xml", "text/html"})


def parse_epub(stream: BinaryIO) -> Document:
    writer = Writer()
    with open_zip(stream) as archive:
        package = _package(archive)
        root = parse_xml(part(archive, package))
        for title in root.iterfind(".//{*}metadata/{*}title"):
            writer.document.title = writer.document.title or _words(title)
        authors = [_words(item) for item in root.iterfind(".//{*}metadata/{*}creator")]
        if authors:
            writer.document.details["author"] = ", ".join(authors[:20])
        folder = posixpath.dirname(package)
        items = {item.get("id"): item for item in root.iterfind(".//{*}manifest/{*}item")}
        locked = _encrypted(archive)
        chapters = [
            items[ref.get("idref")] for ref in root.iterfind(".//{*}spine/{*}itemref") if ref.get("idref") in items
        ]
        title = writer.document.title
        for chapter in chapters:
            if chapter.get("media-type") not in _PAGES:
                continue
            path = posixpath.normpath(posixpath.join(folder, unquote(chapter.get("href", ""))))
            if path in locked:
                raise UnreadableError("its chapters are encrypted (DRM)")
            writer.document.title = ""
            try:
                write_html(writer, part(archive, path))
            except UnreadableError as error:
                writer.document.notes.append(str(error))
        writer.document.title = title
    if writer.empty and writer.document.notes:
        raise UnreadableError(writer.document.notes[0])
    return writer.done()


def _package(archive: zipfile.ZipFile) -> str:
    for rootfile in parse_xml(part(archive, _CONTAINER)).iterfind(".//{*}rootfile"):
        if path := rootfile.get("full-path"):
            return str(path)
    raise UnreadableError("it names no package: it is no EPUB")


def _encrypted(archive: zipfile.ZipFile) -> set[str]:
    """Parts that are encrypted; fonts often are, chapters only with DRM."""
    if _ENCRYPTION not in archive.namelist():
        return set()
    root = parse_xml(part(archive, _ENCRYPTION))
    return {unquote(item.get("URI", "")) for item in root.iterfind(".//{*}CipherReference")}


def _words(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())[:300]
