"""RTF, by striprtf: text without headings."""

from __future__ import annotations

import re
from typing import BinaryIO

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, Writer
from atomr_local.indexing.readers.documents.text_file import read_bytes

_TITLE = re.compile(r"\{\\title ([^{}\\]{1,300})\}")


def parse_rtf(stream: BinaryIO) -> Document:
    from striprtf.striprtf import rtf_to_text

    source = read_bytes(stream).decode("latin-1")
    writer = Writer()
    try:
        text = rtf_to_text(source, errors="ignore")
    except (ValueError, LookupError, IndexError, TypeError) as error:
        raise UnreadableError(f"its RTF is damaged: {error}") from error
    if title := _TITLE.search(source):
        writer.document.title = title[1].strip()
    for paragraph in text.split("\n"):
        writer.paragraph(paragraph.replace("|", " ") if paragraph.count("|") > 1 else paragraph)
    return writer.done()
