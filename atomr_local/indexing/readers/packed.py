"""Unpacks files: gzip, bzip2, xz, Zstandard and 7-Zip, each by its first bytes, one block at a time."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from atomr_local.errors import InputError, MissingPartError
from atomr_local.system.installation import add_extra

if TYPE_CHECKING:
    from collections.abc import Callable

READ_PACKED = ("gzip", "bzip2", "xz", "Zstandard", "7-Zip")  # by their names in file_kinds
_BEGINNINGS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c")
_BUFFER = 1 << 20
_PIPE = 1 << 16


def is_packed(head: bytes) -> bool:
    """Whether a file that begins so is packed in a way that :func:`decompressed` takes."""
    return head.startswith(_BEGINNINGS)


def decompressed(raw: BinaryIO) -> BinaryIO:
    """The content of a file that stands at its beginning, unpacked where it is packed.

    Raises (here or while it is read):
        EOFError: the packed file is cut short.
        OSError, zlib.error, lzma.LZMAError: it is damaged.
        InputError: an archive that does not hold one file alone.
        MissingPartError: reading this kind needs a package that is not installed.
    """
    head = raw.read(6)
    raw.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return _buffered(gzip.GzipFile(fileobj=raw))
    if head.startswith(b"BZh"):
        return _buffered(bz2.BZ2File(raw))
    if head.startswith(b"\xfd7zXZ\x00"):
        return _buffered(lzma.LZMAFile(raw))
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return cast(BinaryIO, io.BufferedReader(_Zstandard(raw), _BUFFER))
    if head.startswith(b"7z\xbc\xaf\x27\x1c"):
        return cast(BinaryIO, io.BufferedReader(_SevenZip(raw), _BUFFER))
    return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, raw), _BUFFER))


def _buffered(stream: gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile) -> BinaryIO:
    """The stream with lines that are found in C: its own `readline` takes longer than what is done with a line."""
    return cast(BinaryIO, io.BufferedReader(_Unpacked(stream), _PIPE))


class _Unpacked(io.RawIOBase):
    def __init__(self, stream: gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._stream.read1(len(buffer))  # what stands before damage is given before the error
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


class _Zstandard(io.RawIOBase):
    def __init__(self, raw: BinaryIO) -> None:
        import pyarrow as pa

        self._stream = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            found = self._stream.read(len(buffer))
        except OSError as error:
            if "Truncated" in str(error):
                raise EOFError from error
            raise
        buffer[: len(found)] = found
        return len(found)


class _SevenZip(io.RawIOBase):
    """The one file of an archive. The library gives what it unpacks to a writer, so it runs in a thread of its own."""

    def __init__(self, raw: BinaryIO) -> None:
        try:
            import py7zr
        except ImportError as error:
            raise MissingPartError(
                "reading 7-Zip files needs the package py7zr",
                hint=f"Unpack the file first, or install the package: {add_extra('7z')}",
            ) from error
        try:
            self._archive: Any = py7zr.SevenZipFile(raw)
            names = [item.filename for item in self._archive.list() if not item.is_directory]
            locked = self._archive.needs_password()
        except Exception as error:  # of many kinds, without a common base
            raise OSError(f"a damaged 7-Zip file: {error}") from error
        if locked or len(names) != 1:
            what = "is locked with a password" if locked else f"holds {len(names)} files"
            raise InputError(
                f"{getattr(raw, 'name', 'the file')}: the 7-Zip archive {what}",
                hint="Unpack it first, and give the files in it.",
            )
        self._failure: Exception | None = None
        read, write = os.pipe()
        self._from = os.fdopen(read, "rb", buffering=0)
        self._into = os.fdopen(write, "wb", buffering=0)
        self._thread = threading.Thread(target=self._unpack, daemon=True)
        self._thread.start()

    def _unpack(self) -> None:
        from py7zr.io import WriterFactory

        class One(WriterFactory):  # type: ignore[misc]
            def create(_self, filename: str) -> Any:
                return _writer(self._into.write)

        try:
            self._archive.extract(factory=One())
        except BrokenPipeError:
            pass  # whoever reads has closed it
        except Exception as error:
            self._failure = error
        finally:
            with suppress(OSError):
                self._into.close()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._from.read(min(len(buffer), _PIPE)) or b""
        if not found and self._failure is not None:
            raise OSError(f"a damaged 7-Zip file: {self._failure}") from self._failure
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        if not self.closed:
            self._from.close()
            self._thread.join()
        super().close()


def _writer(put: Callable[[bytes], int | None]) -> Any:
    from py7zr.io import Py7zIO

    class Writer(Py7zIO):  # type: ignore[misc]
        written = 0

        def write(self, data: bytes | bytearray) -> int:
            rest = memoryview(bytes(data))
            while rest:
                rest = rest[put(bytes(rest[:_PIPE])) or 0 :]
            self.written += len(data)
            return len(data)

        def read(self, size: int | None = None) -> bytes:
            return b""

        def seek(self, offset: int, whence: int = 0) -> int:
            return offset

        def flush(self) -> None:
            """Nothing is kept."""

        def size(self) -> int:
            return self.written

    return Writer()
