"""Messages of Outlook (MSG), made into usual mail."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.utils import formataddr
from struct import iter_unpack
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, short_line, told_error
from atomr_local.indexing.readers.documents.mail import MOST_MESSAGE, mail_document
from atomr_local.indexing.readers.lines import decoded

_MOST_ITEMS = 200  # messages and attachments of one file
# Numbers of properties, and kinds of their values: MS-OXPROPS and MS-OXCDATA.
_SUBJECT, _BODY, _HTML, _SENT, _RECEIVED, _TO, _CC = 0x37, 0x1000, 0x1013, 0x39, 0xE06, 0xE04, 0xE03
_NAMES, _ADDRESSES, _FILE_NAMES = (0x42, 0xC1A), (0x5D02, 0x5D01, 0x65, 0xC1F), (0x3707, 0x3704, 0x3001)
_CODE_PAGE, _PAGE_OF_HTML, _WIDE = 0x3FFD, 0x3FDE, 0x1F
_READ = frozenset({_SUBJECT, _BODY, _HTML, _TO, _CC, *_NAMES, *_ADDRESSES, *_FILE_NAMES})
_STREAM = re.compile(r"__substg1\.0_([0-9A-F]{4})([0-9A-F]{4})", re.I)  # number and kind
_QUOTES = re.compile(r"(?<!\w)['\"]|['\"](?!\w)")  # around addresses that stand for names
_FORWARDED = "__substg1.0_3701000D"
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
            if _FORWARDED in inside[attached]:
                mail.add_attachment(_mail(ole, inside, (*attached, _FORWARDED), left))
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
