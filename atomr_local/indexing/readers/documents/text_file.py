"""Plain text and source code, with the line of each piece."""

from __future__ import annotations

import re
from typing import BinaryIO

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, Writer
from atomr_local.indexing.readers.documents.encoding import decoded

MOST_BYTES = 32 << 20
# Lines at least so long are taken for wrapped ones: the next goes on with their sentence.
_WRAPPED = 45
_OWN_LINE = re.compile(r"\s*(?:[-*+•–#>|]|\(?\w{1,3}[.)]\s)|\s{4}|\t")


def read_bytes(stream: BinaryIO) -> bytes:
    """All of a file of text.

    Raises:
        UnreadableError: it is too long.
    """
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UnreadableError(f"it is text of more than {MOST_BYTES >> 20} MiB: split it into smaller files")
    return data


def parse_text(stream: BinaryIO) -> Document:
    """Paragraphs; lines that were wrapped are joined."""
    writer = Writer("line")
    paragraph: list[str] = []

    def close(first: int) -> None:
        if not paragraph:
            return
        places, offset = [], 0
        for place, line in enumerate(paragraph, first):
            places.append((offset, place))
            offset += len(line.strip()) + 1
        writer.at(first)
        for joined in joined_lines(paragraph):
            writer.line(joined, places)
        paragraph.clear()

    first = 0
    for number, line in enumerate(decoded(read_bytes(stream)).split("\n"), 1):
        if line.strip():
            first = first or number
            if paragraph and not _goes_on(paragraph[-1], line):
                close(first)
                first = number
            paragraph.append(line)
            continue
        close(first)
        first = 0
    close(first)
    return writer.done()


def parse_code(stream: BinaryIO) -> Document:
    """The lines as they are."""
    writer = Writer("line")
    for number, line in enumerate(decoded(read_bytes(stream)).split("\n"), 1):
        if line.strip():
            writer.at(number)
            writer.line(line)
    return writer.done()


def joined_lines(lines: list[str]) -> list[str]:
    """Wrapped lines put together to one."""
    return [" ".join(line.strip() for line in lines)] if lines else []


def _goes_on(line: str, following: str) -> bool:
    if _OWN_LINE.match(following):
        return False
    return len(line) >= _WRAPPED or (len(line) >= _WRAPPED // 2 and following[:1].islower())
