"""PDF files written by hand: pages of content streams, an outline, a picture, and encryption with 40 bits."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence

WIDTH, HEIGHT = 600, 800
_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
_PERMISSIONS = -44  # printing and copying


def pdf(
    pages: Sequence[bytes],
    *,
    title: str = "",
    outline: bool = False,
    picture: bool = False,
    password: str | None = None,
    labels: bytes = b"",
) -> bytes:
    """A file of pages with these content streams; F1 is Helvetica, I a picture of one grey point.

    Args:
        outline: it has an outline with one entry, "Methods", at the second page.
        picture: every page is filled by the picture alone, as a scan is; the streams are not used.
        labels: what is printed on the pages, as the file says it (PDF 1.7, 12.4.2): `0<</S/r>>` is i, ii, iii.
        password: encrypts the file (PDF 1.7, 7.6: RC4, revision 2); "" asks no reader for a password.
    """
    if picture:
        pages = [b"q %d 0 0 %d 0 0 cm /I Do Q" % (WIDTH, HEIGHT)] * len(pages)
    key, encryption = _encryption(password) if password is not None else (b"", b"")
    objects: dict[int, bytes] = {
        1: b"<</Type/Catalog/Pages 2 0 R/PageLabels<</Nums[%s]>>%s>>" % (labels, b"/Outlines 5 0 R" * outline),
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        4: b"<</Title(" + (b"" if key else _escaped(title)) + b")>>",
    }
    streams: dict[int, tuple[bytes, bytes]] = {
        6: (b"/Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8", b"x")
    }
    first = 10
    kids = b" ".join(b"%d 0 R" % (first + 2 * i) for i in range(len(pages)))
    objects[2] = b"<</Type/Pages/Kids[" + kids + b"]/Count %d>>" % len(pages)
    for i, stream in enumerate(pages):
        objects[first + 2 * i] = (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 %d %d]/Contents %d 0 R"
            b"/Resources<</Font<</F1 3 0 R>>/XObject<</I 6 0 R>>>>>>" % (WIDTH, HEIGHT, first + 2 * i + 1)
        )
        streams[first + 2 * i + 1] = (b"/Filter/FlateDecode", zlib.compress(stream))
    if outline:
        objects[5] = b"<</Type/Outlines/First 7 0 R/Last 7 0 R/Count 1>>"
        objects[7] = b"<</Title(Methods)/Parent 5 0 R/Dest[%d 0 R/Fit]>>" % (first + 2)
    for number, (described, data) in streams.items():
        packed = _rc4(_object_key(key, number), data) if key else data
        objects[number] = b"<<%s/Length %d>>stream\n%s\nendstream" % (described, len(packed), packed)
    if key:
        objects[8] = encryption
    return _file(objects, b"/Encrypt 8 0 R/ID[<00><00>]" if key else b"")


def page(lines: Sequence[tuple[int, int, int, str]]) -> bytes:
    """A content stream of lines: (x, y, size, text)."""
    drawn = b"".join(
        b"/F1 %d Tf 1 0 0 1 %d %d Tm (%s) Tj " % (size, x, y, _escaped(text)) for x, y, size, text in lines
    )
    return b"BT " + drawn + b"ET"


def _file(objects: dict[int, bytes], more: bytes) -> bytes:
    out, places = b"%PDF-1.4\n", {}
    for number in sorted(objects):
        places[number] = len(out)
        out += b"%d 0 obj" % number + objects[number] + b"endobj\n"
    xref = len(out)
    size = max(objects) + 1
    out += b"xref\n0 %d\n" % size
    for number in range(size):
        out += b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 65535 f \n"
    return out + b"trailer<</Root 1 0 R/Info 4 0 R/Size %d%s>>\nstartxref\n%d\n%%%%EOF" % (size, more, xref)


def _escaped(text: str) -> bytes:
    return text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _encryption(password: str) -> tuple[bytes, bytes]:
    """The file's key, and the dictionary of its encryption; PDF 1.7, algorithms 2 to 4."""
    padded = (password.encode("latin-1") + _PADDING)[:32]
    owner = _rc4(hashlib.md5(padded).digest()[:5], padded)
    permissions = _PERMISSIONS.to_bytes(4, "little", signed=True)
    key = hashlib.md5(padded + owner + permissions + b"\x00").digest()[:5]
    user = _rc4(key, _PADDING)
    dictionary = b"<</Filter/Standard/V 1/R 2/O<%s>/U<%s>/P %d>>"
    return key, dictionary % (owner.hex().encode(), user.hex().encode(), _PERMISSIONS)


def _object_key(key: bytes, number: int) -> bytes:
    return hashlib.md5(key + number.to_bytes(3, "little") + b"\x00\x00").digest()[:10]


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
