"""Which parser reads which kind of document, and what it needs."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from atomr_local.indexing.readers.documents.document import Document, UnreadableError
from atomr_local.indexing.readers.documents.kinds import document_kind
from atomr_local.system.installation import add_extra

_HERE = "atomr_local.indexing.readers.documents"


@dataclass(frozen=True, slots=True)
class Parser:
    """`module` and `function` read a kind of document that is called `kind`; it needs the package `needs`."""

    kind: str
    module: str
    function: str
    needs: str = ""


PARSERS = {
    "text": Parser("plain text", "text_file", "parse_text"),
    "code": Parser("source code and other text", "text_file", "parse_code"),
    "markdown": Parser("Markdown", "markdown", "parse_markdown", "yaml"),
    "html": Parser("HTML", "html", "parse_html"),
    "pdf": Parser("PDF", "pdf", "parse_pdf", "pypdfium2"),
    "epub": Parser("EPUB", "epub", "parse_epub"),
    "docx": Parser("DOCX", "office", "parse_docx", "docx"),
    "pptx": Parser("PPTX", "office", "parse_pptx", "pptx"),
    "xlsx": Parser("XLSX", "tables", "parse_xlsx", "openpyxl"),
    "csv": Parser("CSV", "tables", "parse_csv"),
    "opendocument": Parser("OpenDocument", "opendocument", "parse_opendocument"),
    "rtf": Parser("RTF", "rtf", "parse_rtf", "striprtf"),
    "mail": Parser("e-mail", "mail", "parse_mail"),
    "mbox": Parser("mailbox", "mail", "parse_mbox"),
    "notebook": Parser("Jupyter notebook", "notebook", "parse_notebook"),
}


def parse(stream: BinaryIO, name: str) -> Iterator[Document]:
    """The documents in a file: one, or the messages of a mailbox.

    Args:
        name: of the file, without its folder.

    Raises:
        UnreadableError: it cannot be read; the message says why, as a clause.
    """
    parser = PARSERS[document_kind(stream, name)]
    if parser.needs:
        try:
            importlib.import_module(parser.needs)
        except ImportError as error:
            raise UnreadableError(
                f"reading {parser.kind} needs the extra `documents`: {add_extra('documents')}"
            ) from error
    read = getattr(importlib.import_module(f"{_HERE}.{parser.module}"), parser.function)
    found = read(stream)
    empty = True
    for document in [found] if isinstance(found, Document) else found:
        if document.text.strip():
            empty = False
            yield document
    if empty:
        raise UnreadableError("it has no text")
