"""Text files of any encoding as UTF-8: by byte order mark, by XML declaration, or by the zeros of UTF-16."""

from __future__ import annotations

import codecs
import io
import re
from typing import Any, BinaryIO, cast

# The longer first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARATION = re.compile(rb"""<\?xml\s[^>]{0,80}?\bencoding\s*=\s*["']([A-Za-z][\w.:-]{0,39})["']""")
# Without a mark, text that begins with two ASCII characters shows its encoding by where the zeros are.
_ZEROS = re.compile(rb"(?P<le>[\t\n\r -~]\x00[\t\n\r -~]\x00)|(?P<be>\x00[\t\n\r -~]\x00[\t\n\r -~])")
# Encodings of text alone: the codecs of Python hold others, such as one that unpacks.
_TEXT = re.compile(
    r"utf-(?:8|16|32).*|ascii|iso8859-\d+|iso2022_\w+|cp\d+|koi8-\w|mac-\w+|gb\w+|hz|big5\w*|shift_\w+|euc_\w+|tis-620|johab"
)
_LOOKED_AT = 256
_BLOCK = 1 << 16


def encoding_of(head: bytes) -> tuple[str, int]:
    """The encoding of a text that begins so, UTF-8 where nothing says other, and the length of its mark in bytes."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name, len(mark)
    if zeros := _ZEROS.match(head):
        return ("utf-16-le" if zeros["le"] else "utf-16-be"), 0
    if declared := _DECLARATION.match(head.lstrip()[:_LOOKED_AT]):
        return text_encoding(declared[1]) or "utf-8", 0
    return "utf-8", 0


def text_encoding(declared: bytes) -> str:
    """The codec of an encoding that a text in ASCII characters declares; "" if there is none."""
    try:
        name = codecs.lookup(declared.decode("ascii", "replace")).name
    except LookupError:
        return ""
    # UTF-16 that can be read as ASCII is none, whatever is declared.
    return name if _TEXT.fullmatch(name) and not name.startswith(("utf-16", "utf-32")) else ""


def as_utf8(stream: BinaryIO) -> tuple[BinaryIO, int]:
    """The stream from its beginning in UTF-8, without a byte order mark, and the bytes of a mark that were read.

    What is no character of its encoding becomes U+FFFD. A stream in UTF-8 is given back as it is.
    """
    head = cast(Any, stream).peek(_LOOKED_AT)[:_LOOKED_AT]
    name, mark = encoding_of(head)
    stream.read(mark)
    if name in {"utf-8", "ascii"}:
        return stream, mark
    return cast(BinaryIO, io.BufferedReader(_Transcoded(stream, name), _BLOCK)), mark


def head_as_utf8(head: bytes) -> bytes:
    """The beginning of a text in UTF-8."""
    name, mark = encoding_of(head)
    if name == "utf-8":
        return head[mark:]
    return codecs.getincrementaldecoder(name)("replace").decode(head[mark:]).encode("utf-8", "replace")


class _Transcoded(io.RawIOBase):
    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._left = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left and not self._ended:
            block = self._stream.read(_BLOCK)
            self._ended = not block
            self._left = self._decoder.decode(block, self._ended).encode("utf-8", "replace")
        found, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()
