"""E-mail: single messages and mailboxes, with sender, date and text; attachments are named, not read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import policy
from email.errors import MessageError
from email.message import EmailMessage
from email.parser import BytesParser
from typing import BinaryIO

from atomr_local.indexing.readers.documents.document import Document, Writer
from atomr_local.indexing.readers.documents.html import write_html
from atomr_local.indexing.readers.documents.text_file import joined_lines, read_bytes

_FROM = re.compile(rb"(?m)^From \S+.*\d{4}\r?\n")
_QUOTED = re.compile(rb"(?m)^>(>*From )")
_MOST_PARTS = 200
_FIELDS = ("From", "To", "Cc", "Date")


def parse_mail(stream: BinaryIO) -> Document:
    return _message(read_bytes(stream))


def parse_mbox(stream: BinaryIO) -> Iterator[Document]:
    """Its messages, one document each."""
    data = read_bytes(stream)
    matches = [match for match in _FROM.finditer(data) if match.start() == 0 or data[match.start() - 2] == 10]
    begins = [match.end() for match in matches]
    ends = [*(match.start() for match in matches[1:]), len(data)]
    for begin, end in zip(begins, ends, strict=True):
        yield _message(_QUOTED.sub(rb"\1", data[begin:end]))


def _message(data: bytes) -> Document:
    writer = Writer()
    message = BytesParser(policy=policy.default).parsebytes(data)
    assert isinstance(message, EmailMessage)
    writer.document.title = _field(message, "Subject")
    fields = [(name, _field(message, name)) for name in _FIELDS]
    writer.paragraph(". ".join(f"{name}: {value}" for name, value in fields if value))
    for name, value in fields:
        if value and name in {"From", "Date"}:
            writer.document.details["author" if name == "From" else "date"] = value
    attached = []
    written = False
    for i, part in enumerate(message.walk()):
        if i >= _MOST_PARTS:
            writer.document.notes.append(f"only the first {_MOST_PARTS} of its parts were read")
            break
        if part.is_multipart():
            continue
        if part.get_content_disposition() == "attachment" or part.get_content_maintype() != "text":
            attached.append(" ".join((part.get_filename() or part.get_content_type()).split())[:100])
        elif part.get_content_type() == "text/plain":
            _write_plain(writer, _content(part))
            written = True
        elif part.get_content_type() == "text/html" and not written:
            title = writer.document.title
            write_html(writer, _content(part))
            writer.document.title = title or writer.document.title
    if attached:
        writer.paragraph(f"Attachments: {', '.join(attached)}")
        many = "1 attachment was" if len(attached) == 1 else f"{len(attached)} attachments were"
        writer.document.notes.append(f"{many} not read")
    return writer.done()


def _field(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())[:500]
    except (MessageError, ValueError, IndexError, AttributeError, TypeError):  # headers that the library cannot parse
        return ""


def _content(part: EmailMessage) -> str:
    try:
        return str(part.get_content())
    except (LookupError, ValueError, MessageError):
        payload = part.get_payload(decode=True)
        return payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""


def _write_plain(writer: Writer, text: str) -> None:
    paragraph: list[str] = []
    for line in [*text.replace("\r\n", "\n").split("\n"), ""]:
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            for joined in joined_lines(paragraph):
                writer.paragraph(joined)
            paragraph = []
