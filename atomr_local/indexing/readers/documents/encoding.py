"""Bytes of a text file → text, by byte order mark, UTF-8, or the likeliest of the older encodings."""

from __future__ import annotations

import codecs

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LOOKED_AT = 1 << 16


def decoded(data: bytes) -> str:
    """The text, lines ending in a line feed; what cannot be decoded becomes the replacement character."""
    text = data.decode(_encoding(data), "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_text(head: bytes) -> bool:
    """Whether a file that begins so is text."""
    if any(head.startswith(mark) for mark, _ in _MARKS):
        return True
    if b"\x00" in head:
        return False
    odd = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head)
    return odd * 50 <= len(head)


def _encoding(data: bytes) -> str:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return "cp1252"
    best = from_bytes(data[:_LOOKED_AT]).best()
    return best.encoding if best is not None else "cp1252"
