"""The file in which an index is handed on: a tar archive compressed with zstd, whose first member lists all others.

Members: `digests.json` (files with sizes and checksums, and the manifest, as in every index), `provenance.json`, and
the files in the order of their names. Only plain files with short, plain names are written and read, so that nothing in
an archive made elsewhere can lead out of the directory that it is unpacked into, or take more room than its list says.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from atomr_local.errors import InputError
from atomr_local.file_kinds import kind_of
from atomr_local.input_files import open_regular

SUFFIX = ".tar.zst"
_BLOCK = 512
_CHUNK = 1 << 20
_MAGIC = b"\x28\xb5\x2f\xfd"
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_DEEPEST = 8
_MADE_BY = "It is made by `atomr indexes export`."


class _Stream(Protocol):
    def read(self, size: int) -> bytes: ...


def plain_name(name: str) -> bool:
    """Whether a file of an archive may be called so: relative, a few parts deep, letters, digits, '.', '_' and '-'."""
    parts = name.split("/")
    return len(parts) <= _DEEPEST and all(_PART.fullmatch(part) for part in parts)


def header(name: str, size: int) -> bytes:
    """What stands before a member of so many bytes.

    Raises:
        ValueError: it cannot be called so.
    """
    if not plain_name(name):
        raise ValueError(f"{name!r} is no plain file name")
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")


def padding(size: int) -> bytes:
    """What stands behind a member of so many bytes."""
    return bytes(-size % _BLOCK)


END = bytes(2 * _BLOCK)


class ArchiveReader:
    """Reads the members of one archive in their order, each in full before the next."""

    def __init__(self, path: Path, stream: _Stream) -> None:
        self._path = path
        self._stream = stream

    def member(self) -> tuple[str, int] | None:
        """Name and size of the next member; None at the end.

        Raises:
            InputError: it is no plain file, its name is none that is written, or the archive is damaged.
        """
        block = self._exactly(_BLOCK)
        if not block.strip(b"\0"):
            return None
        try:
            member = tarfile.TarInfo.frombuf(block, "ascii", "strict")
        except (tarfile.HeaderError, ValueError) as error:
            raise damaged(self._path, f"a member has no valid header ({error})") from error
        if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.size < 0:
            raise damaged(self._path, "it holds something else than plain files, such as links or devices")
        if not plain_name(member.name):
            raise damaged(self._path, f"{member.name[:80]!r} is not a name that an index has")
        return member.name, member.size

    def pieces(self, size: int) -> Iterator[bytes]:
        """The content of the member that was announced.

        Raises:
            InputError: the archive is damaged or cut short.
        """
        left = size
        while left:
            piece = self._exactly(min(left, _CHUNK))
            left -= len(piece)
            yield piece
        self._exactly(len(padding(size)))

    def small(self, name: str, most: int) -> bytes:
        """The content of the next member, which must be called `name` and have at most `most` bytes.

        Raises:
            InputError: it is not, or the archive is damaged.
        """
        found = self.member()
        if found is None or found[0] != name or found[1] > most:
            raise damaged(self._path, f"{name} is not where it has to be, or too long")
        return b"".join(self.pieces(found[1]))

    def _exactly(self, size: int) -> bytes:
        try:
            data = self._stream.read(size)
        except OSError as error:
            raise damaged(self._path, "it cannot be unpacked") from error
        if len(data) != size:
            raise damaged(
                self._path, "it is cut short",
                "Nothing of it was taken in. Get the rest of the file, or the whole file again (`atomr indexes pull` "
                "resumes a download), and import it anew.",
            )  # fmt: skip
        return data


def damaged(path: Path, why: str, hint: str = "") -> InputError:
    """The error to raise about an archive."""
    return InputError(f"{path} is no index that can be imported: {why}", hint=hint or f"Get the file again. {_MADE_BY}")


@contextmanager
def reading(path: Path) -> Iterator[tuple[ArchiveReader, Callable[[], int]]]:
    """An archive opened for reading, and how many bytes of the file have been read.

    Raises:
        InputError: the file cannot be read, or is none that zstd has packed.
    """
    import pyarrow as pa

    try:
        raw = open_regular(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    with raw:
        head = raw.read(_BLOCK)
        if not head.startswith(_MAGIC):
            kind = kind_of(head)
            raise damaged(path, kind.name if kind else "it is not compressed with zstd")
        raw.seek(0)
        with pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd") as stream:
            yield ArchiveReader(path, stream), raw.tell


@contextmanager
def packing(raw: BinaryIO) -> Iterator[Callable[[bytes], None]]:
    """What takes the bytes of an archive and writes them packed into `raw`, which stays open."""
    import pyarrow as pa

    sink = pa.PythonFile(_Open(raw), "w")
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        yield stream.write


class _Open:
    """A file that the library may close without closing ours."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.closed = False

    def write(self, data: bytes) -> int:
        return self._raw.write(data)

    def flush(self) -> None:
        self._raw.flush()

    def tell(self) -> int:
        return self._raw.tell()

    def close(self) -> None:
        self.closed = True
