"""The file in which an index is handed on: a tar archive compressed with zstd, whose first member lists all others.

Members: `digests.json` (files with sizes and checksums, and the manifest, as in every index), `provenance.json`, and
the files in the order of their names. Only plain files with short, plain names are written and read, so that nothing in
an archive made elsewhere can lead out of the directory that it is unpacked into, or take more room than its list says.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from atomr_local import __version__
from atomr_local.errors import InputError
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.files import kind_of, open_regular

_BLOCK = 512
_CHUNK = 1 << 20
_MAGIC = b"\x28\xb5\x2f\xfd"
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_DEEPEST = 8
Progress = Callable[[str, int, int], None]  # the stage, the bytes that are done, and all of them
_MADE_BY = "It is made by `atomr indexes export`."


def plain_name(name: str) -> bool:
    """Whether a file of an archive may be called so: relative, a few parts deep, letters, digits, '.', '_' and '-'."""
    parts = name.split("/")
    return len(parts) <= _DEEPEST and all(_PART.fullmatch(part) for part in parts)


class ArchiveWriter:
    """Writes the members of one archive in their order.

    Args:
        write: takes the bytes of the archive.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write

    def add(self, name: str, size: int, pieces: Iterable[bytes]) -> None:
        """Write a member of so many bytes.

        Raises:
            ValueError: it cannot be called so.
        """
        if not plain_name(name):
            raise ValueError(f"{name!r} is no plain file name")
        member = tarfile.TarInfo(name)
        member.size = size
        self._write(member.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict"))
        for piece in pieces:
            self._write(piece)
        self._write(bytes(-size % _BLOCK))

    def end(self) -> None:
        self._write(bytes(2 * _BLOCK))


class ArchiveReader:
    """Reads the members of one archive in their order, each in full before the next."""

    def __init__(self, path: Path, read: Callable[[int], bytes]) -> None:
        self._path = path
        self._read = read

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
        self._exactly(-size % _BLOCK)

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
            data = self._read(size)
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
def reading(path: Path) -> Iterator[ArchiveReader]:
    """An archive opened for reading.

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
            yield ArchiveReader(path, stream.read)


@contextmanager
def writing(raw: BinaryIO) -> Iterator[tuple[ArchiveWriter, Any]]:
    """An archive that is written into `raw`, which stays open, and the SHA-256 of what is written."""
    import pyarrow as pa

    sink = _Hashed(raw)
    with pa.CompressedOutputStream(pa.PythonFile(sink, "w"), "zstd") as stream:
        writer = ArchiveWriter(stream.write)
        yield writer, sink.digest
        writer.end()


class _Hashed:
    """A file that is hashed while it is written, and that the library may close without closing ours."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.digest = hashlib.sha256()
        self.closed = False

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._raw.write(data)

    def flush(self) -> None:
        self._raw.flush()

    def tell(self) -> int:
        return self._raw.tell()

    def close(self) -> None:
        self.closed = True


@dataclass
class Work:
    """Work on the content of an index's files, of `total` bytes together."""

    stage: str
    total: int
    progress: Progress
    cancellation: Cancellation
    done: int = 0

    def followed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The pieces of a file; the progress is told, and a cancellation ends it.

        Raises:
            Cancelled: the cancellation was thrown.
        """
        for piece in pieces:
            self.cancellation.check()
            self.done += len(piece)
            self.progress(self.stage, self.done, self.total)
            yield piece


# Checks the databases of an index that was made elsewhere, before anything queries them.

_HEAD = b"SQLite format 3\0"
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL\s+TABLE\b", re.IGNORECASE)
_FULL_TEXT = re.compile(r"\s*CREATE\s+VIRTUAL\s+TABLE\s+\"?\w+\"?\s+USING\s+fts5\s*\(", re.IGNORECASE)
_PARTIAL = re.compile(r"\bWHERE\b", re.IGNORECASE)
_GENERATED = (2, 3)  # of table_xinfo: a column that an expression computes
_EXPRESSION = -2  # of index_xinfo: what is indexed is no column
_MOST = 500


def is_database(file: Path) -> bool:
    """Whether SQLite would open the file.

    Raises:
        OSError: it cannot be read.
    """
    with file.open("rb") as stream:
        return stream.read(len(_HEAD)) == _HEAD


def schema_problem(file: Path) -> str:
    """What a database holds beside tables of stored columns, plain indexes and full-text indexes; "" for nothing.

    A trigger, a view, a column or an index that is computed, or another module's table would run what its maker wrote.
    """
    uri = file.absolute().as_uri() + "?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as db:
            db.execute("PRAGMA trusted_schema=OFF")
            rows = db.execute("SELECT type, name, sql FROM sqlite_master LIMIT ?", (_MOST + 1,)).fetchall()
            if len(rows) > _MOST:
                return f"it has more than {_MOST} tables and indexes"
            for kind, name, sql in rows:
                if problem := _problem(db, str(kind), str(name), str(sql or "")):
                    return problem
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return f"it cannot be read: {error}"
    return ""


def _problem(db: sqlite3.Connection, kind: str, name: str, sql: str) -> str:
    if kind not in ("table", "index"):
        return f"it has a {kind}"
    if kind == "index":
        computed = any(row[1] == _EXPRESSION for row in db.execute("SELECT * FROM pragma_index_xinfo(?)", (name,)))
        return "it has an index over an expression" if computed or _PARTIAL.search(sql) else ""
    if _VIRTUAL.match(sql):
        return "" if _FULL_TEXT.match(sql) else "it has a table of a module that no index uses"
    computed = any(row[-1] in _GENERATED for row in db.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)))
    return "it has a computed column" if computed else ""


# Where the content of an index that is handed on comes from, and under which licence, as its maker says.

PROVENANCE = "provenance.json"
MOST_PROVENANCE = 64 << 10  # bytes
_SCHEMA = 1
_LONGEST = 2_000


@dataclass(frozen=True)
class Provenance:
    """What the maker of an index says of its content; "" where nothing is said.

    Attributes:
        licence: of the content, such as "CC BY-SA 4.0".
        source: where the content comes from, such as the address of a dump.
        program: what wrote the file.
    """

    licence: str = ""
    source: str = ""
    exported_at: str = ""
    program: str = ""

    @classmethod
    def now(cls, licence: str, source: str) -> Provenance:
        """What is said of an index that is exported now."""
        stamp = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(licence[:_LONGEST], source[:_LONGEST], stamp, f"atomr-local {__version__}")

    def data(self) -> bytes:
        return json.dumps({"schema": _SCHEMA} | asdict(self)).encode()


def read_provenance(data: bytes) -> Provenance:
    """What :meth:`Provenance.data` wrote.

    Raises:
        ValueError: it is none.
    """
    try:
        found = json.loads(data)
        if not isinstance(found, dict) or found.get("schema") != _SCHEMA:
            raise ValueError("of another version")
        texts = {field.name: found.get(field.name, "") for field in fields(Provenance)}
        if not all(isinstance(text, str) and len(text) <= _LONGEST for text in texts.values()):
            raise ValueError("a field is no short text")
        return Provenance(**texts)
    except RecursionError as error:
        raise ValueError("not JSON") from error
