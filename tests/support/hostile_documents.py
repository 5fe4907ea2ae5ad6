"""Documents made to do harm: ZIP bombs, entities without end, PDFs that stall, markup of any depth."""

from __future__ import annotations

import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

_BLOCK = 1 << 20
_ENTITIES = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "lol"}">' for i in range(12))


def laughs(root: str = "r") -> str:
    """XML whose one word is a billion times as long when its entities are expanded."""
    return f'<?xml version="1.0"?><!DOCTYPE x [{_ENTITIES}]><{root}>&l11;</{root}>'


def deflated(content: bytes, times: int) -> bytes:
    """A DEFLATE stream that inflates to the content so many times, made without inflating it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    # A full flush ends on a byte, and what follows does not look back beyond it: the block can be repeated.
    block = packer.compress(content) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * times + packer.flush(zlib.Z_FINISH)


def zlib_stream(content: bytes, times: int) -> bytes:
    """As :func:`deflated`, in the wrapping of zlib; its checksum is wrong, and stands behind all content."""
    return b"\x78\x9c" + deflated(content, times) + b"\0\0\0\0"


def bomb(whole: Path, part: str, file: Path, *, gigabytes: int, declared: int | None = None) -> None:
    """A copy of the ZIP file `whole` whose `part` inflates to gigabytes.

    Args:
        declared: bytes that it says it has; the truth by default.
    """
    packed = deflated(bytes(_BLOCK), gigabytes << 10)
    size = (gigabytes << 30) if declared is None else declared
    with zipfile.ZipFile(whole) as archive:
        parts = {name: archive.read(name) for name in archive.namelist() if name != part}
    rest = BytesIO()
    with zipfile.ZipFile(rest, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
        name = part.encode()
        # The entry by hand: `zipfile` would inflate it to know its size.
        offset = archive.start_dir
        crc = zlib.crc32(b"")
        rest.seek(offset)
        rest.write(struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 33, crc, len(packed), size, len(name), 0) + name)
        rest.write(packed)
        archive.start_dir = rest.tell()
        entry = zipfile.ZipInfo(part)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.header_offset, entry.CRC = offset, crc
        entry.compress_size, entry.file_size = len(packed), size
        archive.filelist.append(entry)
        archive.NameToInfo[part] = entry
        archive._didModify = True  # type: ignore[attr-defined]
    file.write_bytes(rest.getvalue())


def with_part(whole: Path, part: str, content: str | bytes, file: Path) -> None:
    """A copy of the ZIP file `whole` with another part."""
    with zipfile.ZipFile(whole) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (parts | {part: content}).items():
            archive.writestr(name, data)


def pdf(objects: list[bytes]) -> bytes:
    """A PDF file of these objects, numbered from 1; the first is its catalogue."""
    data = b"%PDF-1.7\n"
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return data + b"trailer\n<</Size %d /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)


def stream(content: bytes, more: bytes = b"") -> bytes:
    """A stream object."""
    return b"<</Length %d %s>>\nstream\n%s\nendstream" % (len(content), more, content)


_FONT = b"<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>"
_CATALOGUE = b"<</Type /Catalog /Pages 2 0 R>>"
_PAGE = b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources <</Font <</F 5 0 R>> %s>> /Contents 4 0 R>>"


def pdf_with_content(content: bytes, resources: bytes = b"", more: list[bytes] | None = None) -> bytes:
    """A PDF of one page; `content` is its stream object, number 4, and `more` objects begin with number 6."""
    pages = b"<</Type /Pages /Kids [3 0 R] /Count 1>>"
    return pdf([_CATALOGUE, pages, _PAGE % resources, content, _FONT, *(more or [])])


def pdf_of_looping_pages() -> bytes:
    """The tree of pages has itself below it, and says that it has a billion of them."""
    pages = b"<</Type /Pages /Kids [6 0 R 2 0 R 3 0 R] /Count 1000000000>>"
    again = b"<</Type /Pages /Parent 2 0 R /Kids [2 0 R 6 0 R] /Count 500000000>>"
    words = stream(b"BT /F 20 Tf 50 700 Td (Words of a page.) Tj ET")
    return pdf([_CATALOGUE, pages, _PAGE % b"", words, _FONT, again])


def pdf_that_unpacks(gigabytes: int) -> bytes:
    """The content of its page inflates to gigabytes of orders that draw words."""
    order = b"BT /F 9 Tf 50 700 Td (word) Tj ET q Q\n"
    block = order * (_BLOCK // len(order))
    return pdf_with_content(stream(zlib_stream(block, gigabytes << 10), b"/Filter /FlateDecode"))


def pdf_of_forms_in_themselves() -> bytes:
    """Each form draws the others ten times, itself among them."""
    names = [b"/X%d %d 0 R" % (i, 6 + i) for i in range(6)]
    resources = b"/XObject <<%s>>" % b" ".join(names)
    draws = b" ".join(b"/X%d Do" % (i % 6) for i in range(60))
    form = stream(b"BT /F 9 Tf 50 700 Td (words) Tj ET " + draws,
                  b"/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources <<%s>>" % resources)  # fmt: skip
    return pdf_with_content(stream(b"BT /F 20 Tf 50 700 Td (Words of a page.) Tj ET " + draws), resources, [form] * 6)


def deep_html(levels: int) -> str:
    return (
        "<!doctype html><body>" + "<div><table><tr><td>" * levels + "deep words" + "</div>" * levels + "<p>last words"
    )
