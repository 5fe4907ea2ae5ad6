"""Bytes of a text file → text, by byte order mark or declaration, UTF-8, or the likeliest of the older encodings."""

from __future__ import annotations

import re

from atomr_local.indexing.readers.encodings import encoding_of, text_encoding

_LOOKED_AT = 1 << 16
# As editors and Python take it from a comment in the first lines.
_CODING = re.compile(rb"(?:[^\n]*\n)?[^\n]{0,200}?\bcoding[:=][ \t]*([-\w.]{1,40})")


def decoded(data: bytes) -> str:
    """The text, lines ending in a line feed; what cannot be decoded becomes the replacement character."""
    name, mark = _encoding(data)
    text = data[mark:].decode(name, "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_text(head: bytes) -> bool:
    """Whether a file that begins so is text."""
    name, mark = encoding_of(head)
    if mark:
        return True
    if name.startswith(("utf-16", "utf-32")):
        head = head[: len(head) & ~3].decode(name, "replace").encode("utf-8", "replace")
    if b"\x00" in head:
        return False
    odd = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head)
    return odd * 50 <= len(head)


def _encoding(data: bytes) -> tuple[str, int]:
    """The encoding and the length of its mark."""
    name, mark = encoding_of(data[:_LOOKED_AT])
    if mark or name != "utf-8":
        return name, mark
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8", 0
    if (declared := _CODING.match(data[:_LOOKED_AT])) and (name := text_encoding(declared[1])):
        return name, 0
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return "cp1252", 0
    best = from_bytes(data[:_LOOKED_AT]).best()
    return (best.encoding if best is not None else "cp1252"), 0
