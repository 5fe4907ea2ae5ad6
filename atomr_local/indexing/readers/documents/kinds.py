"""Tells by its content what a document is; the name decides only among kinds of plain text."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from atomr_local.file_kinds import kind_of
from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.encoding import is_text
from atomr_local.indexing.readers.documents.html_detection import is_fragment, is_page
from atomr_local.indexing.readers.encodings import head_as_utf8
from atomr_local.input_files import open_regular

HEAD = 1 << 16
_DATA_HEAD = 1024
MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx"})
_TABLES = frozenset({".csv", ".tsv", ".tab"})
_PROSE = frozenset({"", ".txt", ".text", ".rst", ".org", ".log"})
# The line before each message of a mailbox, and how a line of its header begins.
MBOX_FROM = re.compile(rb"From (?=\S)[^\n]{1,500}?\d{4}(?: [-+]\d{4})?(?: remote from [^\n]{1,100})?[ \t]*+\r?\n")
MBOX_HEADER = re.compile(rb">?[!-9;-~]++:|>?From ")
_MAIL_FIELD = re.compile(rb"(?m)^(?:From|To|Subject|Date|Message-ID|Received|MIME-Version|Return-Path):", re.I)
_MAIL = re.compile(rb"[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n|[!-9;-~]+:[^\n]*\n)+\r?\n")
_NOTEBOOK = re.compile(rb'"cells"\s*:\s*\[|"nbformat"\s*:')
_ZIP_KINDS = (
    ("word/document.xml", "docx"),
    ("ppt/presentation.xml", "pptx"),
    ("xl/workbook.xml", "xlsx"),
    ("META-INF/container.xml", "epub"),
)
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
_READ_OPEN_DOCUMENT = ("text", "spreadsheet", "presentation")

_TOLD_BY_CONTENT = frozenset(
    {"pdf", "docx", "pptx", "xlsx", "epub", "opendocument", "rtf", "html", "mail", "mbox", "notebook", "markdown"}
)


def are_documents(inputs: Sequence[Path]) -> bool:
    """Whether a folder is among the inputs, or all of them are documents; files of articles are none."""
    return any(path.is_dir() for path in inputs) or all(map(_is_document, inputs))


def _is_document(path: Path) -> bool:
    try:
        with open_regular(path) as stream:
            kind = document_kind(stream, path.name)
            # JSON lines and XML under any name.
            data = head_as_utf8(stream.read(_DATA_HEAD)).lstrip()[:1] in (b"{", b"[", b"<")
    except (OSError, UnreadableError):
        return False
    return kind in _TOLD_BY_CONTENT or (kind == "text" and not data and path.suffix.casefold() in _PROSE - {"", ".log"})


def document_kind(stream: BinaryIO, name: str) -> str:
    """The kind of the document, as in :data:`parsing.PARSERS`; the stream stands at its beginning afterwards.

    Args:
        name: of the file.

    Raises:
        UnreadableError: it is of no kind that is read; the message says what it is.
    """
    head = stream.read(HEAD)
    stream.seek(0)
    if not head:
        raise UnreadableError("it is empty")
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return _kind_of_zip(stream)
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise UnreadableError(
            "it is an Office document of before 2007, or one that is encrypted: save it as DOCX, PPTX or XLSX"
        )
    known = kind_of(head)
    if known is not None and "text" not in known.name:
        raise UnreadableError(f"it is {known.name}" if not known.packed else f"it is {known.name}; unpack it first")
    if not is_text(head):
        raise UnreadableError("it is neither text nor of a kind that is read")
    return _kind_of_text(head_as_utf8(head), PurePosixPath(name.casefold()).suffix)


def _kind_of_text(head: bytes, suffix: str) -> str:
    """The kind of a text that begins so, in UTF-8."""
    marked = (
        ("html", is_page(head)),
        ("mbox", (line := MBOX_FROM.match(head)) and MBOX_HEADER.match(head, line.end())),
        ("mail", _MAIL.match(head) and len(set(_MAIL_FIELD.findall(head[: 1 << 14]))) >= 2),
        ("notebook", suffix == ".ipynb" and _NOTEBOOK.search(head)),
        ("markdown", suffix in MARKDOWN or (not suffix and head.startswith((b"---\n", b"---\r\n")))),
        ("csv", suffix in _TABLES),
        ("html", is_fragment(head, suffix)),
        ("text", suffix in _PROSE),
    )
    return next((kind for kind, found in marked if found), "code")


def _kind_of_zip(stream: BinaryIO) -> str:
    try:
        with zipfile.ZipFile(stream) as archive:
            names = set(archive.namelist())
            for name, kind in _ZIP_KINDS:
                if name in names:
                    return kind
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 200:
                mimetype = archive.read("mimetype").decode("ascii", "replace").strip()
                if mimetype == "application/epub+zip":
                    return "epub"
                if mimetype.startswith(_OPEN_DOCUMENT):
                    sort = mimetype.removeprefix(_OPEN_DOCUMENT).removesuffix("-template")
                    if sort in _READ_OPEN_DOCUMENT:
                        return "opendocument"
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise UnreadableError(f"it is a damaged ZIP file: {error}") from error
    finally:
        stream.seek(0)
    raise UnreadableError("it is packed with Zip; unpack it first")
