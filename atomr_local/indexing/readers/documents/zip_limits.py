"""ZIP files of documents, opened only if what they unpack to is bounded."""

from __future__ import annotations

import zipfile
import zlib
from typing import BinaryIO

from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.xml import declares_entities

MOST_UNPACKED = 512 << 20  # bytes of all parts together
MOST_PARTS = 20_000
MOST_XML = 128 << 20  # bytes of one part that is parsed


_HEAD = 64 << 10  # bytes of a part in which its entities would be declared
_XML = (".xml", ".rels")
# A part may unpack to more than it declares, and `zipfile` keeps only what is declared, but unpacks two gigabytes at
# once to know: with this it unpacks piece by piece, for the libraries too.
zipfile.ZipExtFile.MAX_N = 1 << 20


def open_zip(stream: BinaryIO) -> zipfile.ZipFile:
    """The archive. A part never gives more bytes than it declares, so that what is declared bounds what is unpacked.

    Raises:
        UnreadableError: it is damaged, encrypted, or unpacks to too much.
    """
    try:
        archive = zipfile.ZipFile(stream)
        parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableError(f"it is a damaged ZIP file: {error}") from error
    size = sum(part.file_size for part in parts)
    if len(parts) > MOST_PARTS or size > MOST_UNPACKED:
        raise UnreadableError(
            f"it unpacks to {size >> 20} MiB in {len(parts)} parts, more than {MOST_UNPACKED >> 20} MiB "
            f"or {MOST_PARTS} parts: a ZIP bomb?"
        )
    if any(part.flag_bits & 1 for part in parts):
        raise UnreadableError("it is encrypted with a password")
    return archive


def refuse_entities(archive: zipfile.ZipFile) -> None:
    """Look at the parts that a library is going to parse.

    Raises:
        UnreadableError: one declares entities, or is damaged.
    """
    for info in archive.infolist():
        if info.filename.endswith(_XML):
            try:
                with archive.open(info) as stream:
                    head = stream.read(_HEAD)
            except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, zlib.error) as error:
                raise UnreadableError(f"its part {info.filename} is damaged: {error}") from error
            if declares_entities(head):
                raise UnreadableError("its XML declares entities, which no such document needs")


def part(archive: zipfile.ZipFile, name: str) -> bytes:
    """The bytes of one part.

    Raises:
        UnreadableError: it is not there, damaged or too large.
    """
    try:
        info = archive.getinfo(name)
        if info.file_size > MOST_XML:
            raise UnreadableError(f"its part {name} unpacks to {info.file_size >> 20} MiB: a ZIP bomb?")
        return archive.read(info)
    except KeyError as error:
        raise UnreadableError(f"its part {name} is missing") from error
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise UnreadableError(f"its part {name} is damaged: {error}") from error
