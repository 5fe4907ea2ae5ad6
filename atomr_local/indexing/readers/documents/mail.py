"""E-mail: messages, mailboxes and messages of Outlook, with sender, date and text; attachments are named, not read."""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email import policy
from email.errors import MessageError
from email.header import decode_header
from email.message import EmailMessage, Message
from email.parser import BytesParser
from email.utils import formataddr
from functools import cached_property
from itertools import islice
from struct import iter_unpack
from typing import Any, BinaryIO, cast

from atomr_local.indexing.readers.documents.calendars import parse_calendar
from atomr_local.indexing.readers.documents.document import (
    MOST_MAILBOX,
    Document,
    UnreadableError,
    Writer,
    short_line,
    told_error,
)
from atomr_local.indexing.readers.documents.html import PAGE_TYPES, page_text, write_html
from atomr_local.indexing.readers.documents.kinds import EMLX, MBOX_FROM, MBOX_HEADER
from atomr_local.indexing.readers.documents.text_file import joined
from atomr_local.indexing.readers.lines import as_utf8, decoded, text_encoding

MOST_MESSAGE = 32 << 20  # bytes of a message; attachments stand behind the text
_LONGEST_LINE = 1 << 20
_QUOTED = re.compile(rb"^>(>*From )")
_MOST_PARTS = 200
_FIELDS = ("From", "To", "Cc", "Date")
_FORWARDED = ("From", "Subject", "To", "Cc", "Date")
_AS_PLAIN = frozenset({"text/plain", "text/markdown", "text/x-markdown", "text/x-patch", "text/x-diff"})
_CALENDARS = frozenset({"text/calendar", "application/ics"})
_DESCRIPTION = re.compile(r"; Description: .*?(?=; [A-Z][\w -]+: |\n|$)")
_ENCODED = re.compile(r"=\?[^?\s]{1,60}\?[bBqQ]\?[^?]*\?=(?:\s*=\?[^?\s]{1,60}\?[bBqQ]\?[^?]*\?=)*")
# Words of a text; those of scripts without spaces are their characters.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
_SAME = 0.8  # of the words of one text that another must have to say the same
_STUB = re.compile(
    r"(?i)\b(?:html|browser|navigateur|navegador|mime|e?-?mail (?:program|client|reader)|rich text"
    r"|view (?:this|the) (?:message|e?-?mail))\b"
)
_LONGEST_STUB = 60  # words


def parse_mail(stream: BinaryIO) -> Document:
    """A message; of a file of Apple Mail, which counts its bytes, what stands behind it is left out."""
    data = _utf8(stream).read(MOST_MESSAGE + 1)
    cut = len(data) > MOST_MESSAGE
    if counted := EMLX.match(data[:100]):
        size = int(counted[1])
        cut = cut and size > MOST_MESSAGE
        data = data[counted.end() :][:size]
    return _message(data[:MOST_MESSAGE], cut=cut)


def parse_saved_page(stream: BinaryIO) -> Document:
    """The page of an MHTML file, with what is shown in its frames where it has no text of its own."""
    data = _utf8(stream).read(MOST_MESSAGE + 1)
    message = _parsed(data[:MOST_MESSAGE])
    writer = Writer()
    if len(data) > MOST_MESSAGE:
        writer.document.notes.append(_CUT)
    if date := _field(message, "Date"):
        writer.document.details["date"] = date
    for part in islice(message.walk(), _MOST_PARTS):
        if writer.empty and part.get_content_type() in PAGE_TYPES:
            write_html(writer, _text(part))
    writer.document.title = writer.document.title or _field(message, "Subject")
    return writer.done()


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


_CUT = f"it is longer than {MOST_MESSAGE >> 20} MiB: what stands behind that was not read"


def _parsed(data: bytes) -> EmailMessage:
    message = BytesParser(policy=policy.default).parsebytes(data)
    assert isinstance(message, EmailMessage)
    return message


def _message(data: bytes, *, cut: bool) -> Document:
    document = mail_document(_parsed(data))
    document.notes[:0] = [_CUT] * cut
    return document


def mail_document(message: EmailMessage) -> Document:
    """The document of a message: who sends it, its texts, what invites, and the names of what is attached."""
    writer = Writer()
    title = writer.document.title = _field(message, "Subject")
    writer.paragraph(_head(message, _FIELDS))
    for name, key in (("From", "author"), ("Date", "date")):
        if value := _field(message, name):
            writer.document.details[key] = value
    body = _Body()
    texts = body.texts(message)
    for text in texts:
        text.write(writer)
    for invitation in body.invitations:
        # What a text says is told again in the description.
        writer.paragraph(_DESCRIPTION.sub("", invitation) if any(text.words for text in texts) else invitation)
    writer.document.title = title or writer.document.title
    if body.full:
        writer.document.notes.append(f"only the first {_MOST_PARTS} of its parts were read")
    if body.attached:
        writer.paragraph(f"Attachments: {', '.join(body.attached)}")
    writer.document.notes += not_read(len(body.attached), "attachment")
    return writer.done()


def not_read(count: int, what: str) -> list[str]:
    """A note that so many things, such as attachments, were not read; none if there are none."""
    many = f"1 {what} was" if count == 1 else f"{count} {what}s were"
    return [f"{many} not read"] if count else []


@dataclass
class _Text:
    """A text of a message; of a page its HTML."""

    text: str
    is_page: bool = False

    def write(self, writer: Writer) -> None:
        (write_html if self.is_page else _write_plain)(writer, self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that a reader sees."""
        shown = Writer()
        self.write(shown)
        document = shown.done()
        told = (document.title, *(title for *_, title in document.sections), document.text)
        return frozenset(_WORD.findall(" ".join(told).casefold()))


def _fuller(plain: list[_Text], pages: list[_Text]) -> list[_Text]:
    """Of a text and the page that stands beside it as an alternative, what says more; both where they differ.

    The text is empty or a stub in many messages: it says that there is a page.
    """
    told = frozenset[str]().union(*(text.words for text in plain))
    shown = frozenset[str]().union(*(page.words for page in pages))
    common = len(told & shown)
    if common >= _SAME * len(shown):
        return plain
    is_stub = len(told) <= _LONGEST_STUB and any(_STUB.search(text.text) for text in plain)
    return pages if is_stub or common >= _SAME * len(told) else [*plain, *pages]


@dataclass
class _Body:
    """The texts of a message, its parts read in their order.

    Attributes:
        attached: names of what is not read.
        full: there are more parts than are read.
        invitations: what calendars in it say.
    """

    attached: list[str] = field(default_factory=list)
    invitations: dict[str, None] = field(default_factory=dict)
    full: bool = False
    _parts: int = 0

    def texts(self, part: Message[Any, Any]) -> list[_Text]:
        self.full = self.full or self._parts >= _MOST_PARTS
        if self.full:
            return []
        self._parts += 1
        kind = part.get_content_type()
        if part.is_multipart():
            inside = cast("list[Message[Any, Any]]", part.get_payload())
            found = [self.texts(one) for one in inside]
            if kind == "multipart/alternative":
                plain = [text for texts in found if not _has_page(texts) for text in texts]
                return _fuller(plain, next((texts for texts in reversed(found) if _has_page(texts)), []))
            head = [_Text(_head(inside[0], _FORWARDED))] if kind in {"message/rfc822", "message/global"} else []
            return [*head, *(text for texts in found for text in texts)]
        attached = part.get_content_disposition() == "attachment"
        if not attached and kind in _AS_PLAIN | PAGE_TYPES:
            return [_Text(_text(part), kind in PAGE_TYPES)]
        if kind in _CALENDARS:
            self.invitations[parse_calendar(io.BytesIO(_text(part).encode())).text] = None
        else:
            self.attached.append(" ".join((part.get_filename() or kind).split())[:100])
        return []


def _has_page(texts: Sequence[_Text]) -> bool:
    return any(text.is_page for text in texts)


def _head(message: Message[Any, Any], names: Sequence[str]) -> str:
    fields = [(name, _field(message, name)) for name in names]
    return ". ".join(f"{name}: {value}" for name, value in fields if value)


def _field(message: Message[Any, Any], name: str) -> str:
    """A field of the header; characters that it does not spell in ASCII are decoded as text is."""
    try:
        raw = next((str(value) for key, value in message.raw_items() if key.casefold() == name.casefold()), "")
        if not raw.isascii():
            raw = decoded(raw.encode("utf-8", "surrogateescape"), _charset(message))
        raw = _ENCODED.sub(_in_utf8, " ".join(raw.split()))
        # Names alone, without addresses, are no list of addresses, which leaves out what it does not understand.
        parsed = policy.default.header_factory(name if "@" in raw or name == "Date" else "Subject", raw)
        return " ".join(str(parsed).split())[:500]
    except (MessageError, ValueError, IndexError, AttributeError, TypeError):  # headers that the library cannot parse
        return ""


def _in_utf8(match: re.Match[str]) -> str:
    """Encoded words of a header as one word in UTF-8: a character may be cut between two of them."""
    try:
        pieces = decode_header(match[0])
    except (MessageError, ValueError):
        return match[0]
    text = "".join(
        decoded(piece, (charset or "").partition("*")[0]) if isinstance(piece, bytes) else piece
        for piece, charset in pieces
    )
    return f"=?utf-8?b?{b64encode(text.encode('utf-8', 'replace')).decode()}?="


def _charset(part: Message[Any, Any]) -> str:
    try:
        return str(part.get_content_charset("") or "")
    except (LookupError, ValueError, MessageError):
        return ""


def _text(part: Message[Any, Any]) -> str:
    """The text of a part, in the encoding that it or the page in it declares."""
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    charset = _charset(part)
    if part.get_content_type() in PAGE_TYPES:
        return page_text(payload, "" if text_encoding(charset) == "ascii" else charset)
    return decoded(payload, charset)


def _write_plain(writer: Writer, text: str) -> None:
    for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        writer.paragraph(joined(line for line in paragraph.split("\n") if line.strip()))


# Messages of Outlook (MSG), made into usual mail.

_MOST_ITEMS = 200  # messages and attachments of one file
# Numbers of properties, and kinds of their values: MS-OXPROPS and MS-OXCDATA.
_SUBJECT, _BODY, _HTML, _SENT, _RECEIVED, _TO, _CC = 0x37, 0x1000, 0x1013, 0x39, 0xE06, 0xE04, 0xE03
_NAMES, _ADDRESSES, _FILE_NAMES = (0x42, 0xC1A), (0x5D02, 0x5D01, 0x65, 0xC1F), (0x3707, 0x3704, 0x3001)
_CODE_PAGE, _PAGE_OF_HTML, _WIDE = 0x3FFD, 0x3FDE, 0x1F
_READ = frozenset({_SUBJECT, _BODY, _HTML, _TO, _CC, *_NAMES, *_ADDRESSES, *_FILE_NAMES})
_STREAM = re.compile(r"__substg1\.0_([0-9A-F]{4})([0-9A-F]{4})", re.I)  # number and kind
_QUOTES = re.compile(r"(?<!\w)['\"]|['\"](?!\w)")  # around addresses that stand for names
_OUTLOOK_FORWARDED = "__substg1.0_3701000D"
_PROPERTIES = "__properties_version1.0"  # behind its head, 16 bytes each


def parse_msg(stream: BinaryIO) -> Document:
    """A message, with those that it forwards; files that are attached are named.

    Raises:
        UnreadableError: it is damaged, or holds no message.
    """
    import olefile

    inside: dict[tuple[str, ...], list[str]] = defaultdict(list)
    try:
        with olefile.OleFileIO(stream) as ole:
            for path in ole.listdir(storages=True):
                inside[tuple(path[:-1])].append(path[-1])
            if not any(map(_STREAM.match, inside[()])):
                raise ValueError("it has none")
            mail = _mail(ole, inside, (), [_MOST_ITEMS])
    except Exception as error:  # the library raises whatever the damage leads to
        raise UnreadableError(f"it is damaged, or no Outlook message ({told_error(error)}): save it as EML") from error
    document = mail_document(mail)
    if not {f"__substg1.0_{number}" for number in ("1000001F", "1000001E", "10130102")} & {*inside[()]}:
        document.notes.append("it has no text, or formatted text (RTF) alone, which was not read: save it as EML")
    return document


def _mail(
    ole: Any, inside: Mapping[tuple[str, ...], list[str]], path: tuple[str, ...], left: list[int]
) -> EmailMessage:
    """The message in a storage; `left`: how many more messages and attachments are read."""
    texts = _texts(ole, inside, path)
    address = next((found for number in _ADDRESSES if "@" in (found := texts.get(number, ""))), "")
    sender = next((found for number in _NAMES if (found := texts.get(number, "")) not in {"", address}), "")
    mail = EmailMessage()
    for name, value in (
        ("Subject", texts.get(_SUBJECT)),
        ("From", formataddr((sender, address)).removesuffix(" <>")),
        ("To", _QUOTES.sub("", texts.get(_TO, "")).replace(";", ",")),
        ("Cc", _QUOTES.sub("", texts.get(_CC, "")).replace(";", ",")),
        ("Date", texts.get(_SENT) or texts.get(_RECEIVED)),
    ):
        mail.set_raw(name, short_line(value))
    mail.set_content(texts.get(_BODY, ""))
    if page := texts.get(_HTML):
        mail.add_alternative(page, subtype="html")
    for name in inside[path]:
        if name.startswith("__attach_") and left[0] > 0:
            left[0] -= 1
            attached = (*path, name)
            if _OUTLOOK_FORWARDED in inside[attached]:
                mail.add_attachment(_mail(ole, inside, (*attached, _OUTLOOK_FORWARDED), left))
            else:
                names = _texts(ole, inside, attached)
                file = short_line(next((names[number] for number in _FILE_NAMES if number in names), "without a name"))
                mail.add_attachment(b"", maintype="application", subtype="octet-stream", filename=file)
    return mail


def _texts(ole: Any, inside: Mapping[tuple[str, ...], list[str]], path: tuple[str, ...]) -> dict[int, str]:
    """The texts and times among the properties in a storage, by number."""
    texts: dict[int, str] = {}
    pages: dict[int, int] = {}
    if _PROPERTIES in inside[path]:
        fixed = ole.openstream([*path, _PROPERTIES]).read(MOST_MESSAGE)
        for number, value in iter_unpack("<2xH4xQ", fixed[len(fixed) % 16 :]):
            if number in {_SENT, _RECEIVED} and 0 < value < 1 << 61:
                texts[number] = f"{datetime(1601, 1, 1) + timedelta(microseconds=value // 10):%Y-%m-%d %H:%M} UTC"
            pages[number] = value & 0xFFFFFFFF
    for found in filter(None, map(_STREAM.fullmatch, inside[path])):
        number, page = int(found[1], 16), pages.get(_PAGE_OF_HTML if int(found[1], 16) == _HTML else _CODE_PAGE, 0)
        if number in _READ:
            codec = (
                "utf-16-le" if int(found[2], 16) == _WIDE else "utf-8" if page == 65001 else f"cp{page}" * bool(page)
            )
            text = decoded(ole.openstream([*path, found[0]]).read(MOST_MESSAGE), codec).strip("\0 ")
            texts |= {number: text} if text else {}
    return texts
