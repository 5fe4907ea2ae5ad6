"""Documents as the readers give them, and where in them words stand."""

from __future__ import annotations

from io import BytesIO

from atomr_local.indexing.readers.documents.document import Document
from atomr_local.indexing.readers.documents.process import parse


def read_documents(data: bytes | str, name: str = "file", ocr: str = "") -> list[Document]:
    """The documents in a file of this content."""
    return list(parse(BytesIO(data.encode() if isinstance(data, str) else data), name, ocr))


def read_document(data: bytes | str, name: str = "file", ocr: str = "") -> Document:
    """The only document in a file of this content."""
    (document,) = read_documents(data, name, ocr)
    return document


def place_of(document: Document, words: str) -> object:
    """The place of the words."""
    offset = document.text.index(words)
    return [where for start, where in document.places if start <= offset][-1]


def titles_before(document: Document, words: str) -> list[str]:
    """All headings before the words."""
    offset = document.text.index(words)
    return [title for start, _, title in document.sections if start <= offset]


def headings_above(document: Document, words: str) -> list[str]:
    """The path of headings above the words."""
    offset, path = document.text.index(words), dict[int, str]()
    for start, level, title in document.sections:
        if start <= offset:
            path = {above: told for above, told in path.items() if above < level} | {level: title}
    return list(path.values())


def titles(document: Document) -> list[str]:
    """The titles of all sections."""
    return [title for _, _, title in document.sections]


def lines_of(document: Document) -> list[str]:
    """The lines of the text that are not empty."""
    return [line for line in document.text.split("\n") if line]


def placed_lines(document: Document) -> list[tuple[object, str]]:
    """The lines of the text with the places at which they begin."""
    begin, found = 0, []
    for line in document.text.split("\n"):
        if line:
            found.append(([place for start, place in document.places if start <= begin][-1], line))
        begin += len(line) + 1
    return found
