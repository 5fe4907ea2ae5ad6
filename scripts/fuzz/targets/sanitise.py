"""The sanitiser: nothing that drives or deceives a terminal is left, and clean text stays as it is."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from atomr_local.system.sanitize import sanitize, sanitize_line
from fuzz.properties import as_text, expect

INSTRUMENTED = ("atomr_local.system.sanitize",)
DICTIONARY = (
    b"\x1b", b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b\\", b"\x07", b"\xc2\x9b", b"\xc2\x9d", b"\xc2\x9c", b"\xc2\x90",
    b"31m", b"0;title", b"8;;http://x", b"52;c;", b"\r", b"\n", b"\t", b"\x7f", b"\x08", b"\xe2\x80\xae",
    b"\xe2\x81\xa6", b"\xe2\x80\x8d", b"\xe2\x80\x8b", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\xf3\xa0\x81\x81",
    b"\xed\xa0\x80", b"\xef\xbf\xbf", b"\xee\x80\x80", b"\x1b[?1049h", b"\x1b(0", b"\x1b#8", b"\x1bc", b"\x18",
    b"\x1a",
)  # fmt: skip
_FORBIDDEN = {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}


def seeds() -> Iterator[bytes]:
    yield b"plain \x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1bP1$r\x1b\\ end\r\n\ttab"
    yield "a\u202eb\u2066c\u200d\u200be\u2028f\x9b1mg\x9d0;t\x9ch".encode()


def check(data: bytes) -> None:
    text = as_text(data)
    clean = sanitize(text)
    for character in clean:
        harmless = character in "\n\t\u200c\u200d" or unicodedata.category(character) not in _FORBIDDEN
        expect(harmless, "nothing that drives a terminal is left", hex(ord(character)))
    expect(sanitize(clean) == clean, "clean text stays", (text, clean))
    expect(len(clean) <= len(text), "nothing is added", text)
    clean.encode("utf-8")
    line = sanitize_line(text)
    expect("\n" not in line and "\t" not in line and line == line.strip(), "one line", line)
    expect(sanitize_line(line) == line, "a clean line stays", line)
    if not any(unicodedata.category(character) in _FORBIDDEN for character in text):
        expect(clean == text, "what is harmless is kept", text)
