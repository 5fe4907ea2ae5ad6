"""E-mail: single messages and mailboxes, with sender, date and text; attachments are named, not read."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from email import policy
from email.errors import MessageError
from email.message import EmailMessage
from email.parser import BytesParser
from typing import BinaryIO, cast

from atomr_local.indexing.readers.documents.document import Document, Writer
from atomr_local.indexing.readers.documents.html import write_html
from atomr_local.indexing.readers.documents.kinds import MBOX_FROM, MBOX_HEADER
from atomr_local.indexing.readers.documents.text_file import joined
from atomr_local.indexing.readers.lines import as_utf8

MOST_MESSAGE = 32 << 20  # bytes of a message; attachments stand behind the text
MOST_MAILBOX = 128 << 20  # characters of all messages
_LONGEST_LINE = 1 << 20
_QUOTED = re.compile(rb"^>(>*From )")
_MOST_PARTS = 200
_FIELDS = ("From", "To", "Cc", "Date")


def parse_mail(stream: BinaryIO) -> Document:
    data = _utf8(stream).read(MOST_MESSAGE + 1)
    return _message(data[:MOST_MESSAGE], cut=len(data) > MOST_MESSAGE)


def parse_mbox(stream: BinaryIO) -> Iterator[Document]:
    """Its messages, one document each; no more than one is held."""
    size = 0
    for data, cut in _messages(_utf8(stream)):
        document = _message(data, cut=cut)
        size += len(document.text)
        if size > MOST_MAILBOX:
            document.notes.append(
                f"the messages after this one were not read: together they have more than {MOST_MAILBOX >> 20} million "
                "characters of text"
            )
        yield document
        if size > MOST_MAILBOX:
            return


def _messages(stream: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """The messages of a mailbox, and of each whether it was longer than what is kept of it.

    One begins at a line "From … 2024" at the beginning or behind an empty line, where a header follows.
    """
    lines: list[bytes] = []
    size = 0
    before = held = b""  # `held`: a line that begins a message if the next one is of a header
    for line in iter(lambda: stream.readline(_LONGEST_LINE), b""):
        if held:
            if MBOX_HEADER.match(line):
                if lines:
                    yield b"".join(lines), size > MOST_MESSAGE
                lines, size = [], 0
            else:
                lines.append(held)
            held = b""
        if (not before or not before.strip(b"\r\n")) and MBOX_FROM.fullmatch(line):
            held = line
        else:
            size += len(line)
            if size <= MOST_MESSAGE:
                lines.append(_QUOTED.sub(rb"\1", line) if before.endswith(b"\n") else line)
        before = line
    if held:
        lines.append(held)
    if lines:
        yield b"".join(lines), size > MOST_MESSAGE


def _utf8(stream: BinaryIO) -> BinaryIO:
    """The stream in UTF-8, without a byte order mark."""
    peeking = stream if hasattr(stream, "peek") else io.BufferedReader(cast(io.RawIOBase, stream))
    return as_utf8(peeking)[0]


def _message(data: bytes, *, cut: bool) -> Document:
    writer = Writer()
    if cut:
        writer.document.notes.append(
            f"it is longer than {MOST_MESSAGE >> 20} MiB: what stands behind that was not read"
        )
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
            writer.paragraph(joined(paragraph))
            paragraph = []
