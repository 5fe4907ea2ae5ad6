"""The user's files: read with bounds, told apart by their first bytes, and written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import stat
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, Generic, TypeVar

from atomr_local.errors import InputError

# Atomic writes: a file has its old or its new content, never a part of it.
#
# A regular file is written beside its place and renamed over it. A symbolic link stays, and its target is replaced.
# Character devices and pipes are written to. Nothing that is not a regular file is ever replaced.

STANDARD_OUTPUT = "-"
_PARTIAL = re.compile(r"\.atomr-(?P<digest>[0-9a-f]{16})-(?P<pid>\d+)-[0-9a-f]{8}\.partial")
# Errors of fsync, and of an exchange of two names, on file systems that do not support it.
_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)
_AT_FDCWD = -100  # of Linux: paths are relative to the current directory
_RENAME_EXCHANGE = 2  # linux/fs.h


def write_output(path: Path, text: str) -> None:
    """Write a file that the user named; `-` is standard output.

    The text is encoded as UTF-8, with line feeds as they are.

    Raises:
        InputError: it cannot be written. The message says why, and the old content of a regular file is whole.
    """
    data = text.encode("utf-8", "replace")
    try:
        if str(path) == STANDARD_OUTPUT:
            _to_standard_output(data, text)
        else:
            put(path, data)
    except (OSError, ValueError) as error:
        raise not_written(path, error) from error


def not_written(path: Path, error: OSError | ValueError) -> InputError:
    """The error to show when writing `path` failed with `error`."""
    number = getattr(error, "errno", None)
    reason = getattr(error, "strerror", None) or str(error)
    hint = ""
    if number in (errno.ENOSPC, errno.EDQUOT):
        hint = "Free some space, or name a file on another disk."
    elif number == errno.ENOENT:
        reason, hint = f"there is no directory {path.parent}", "Make the directory first, or name another file."
    elif number in (errno.EACCES, errno.EPERM, errno.EROFS):
        hint = "Name a file in a directory that this user may write to."
    elif number == errno.EIO:
        hint = "Check the disk."
    return InputError(f"{path} cannot be written: {reason}", hint=hint)


def put(path: Path, data: bytes, *, private: bool = False) -> None:
    """Make `data` the content of the file at `path`.

    The content is on the disk when this returns. An existing regular file keeps its permissions and, where this process
    may set it, its owner. What a killed call for the same path left behind is removed.

    Args:
        private: only the owner may read the file, even if others could before. By default a new file has the
            permissions that the umask leaves.

    Raises:
        OSError: it cannot be written; a regular file keeps its old content.
        ValueError: the path holds a null character.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        _replace(Path(os.path.realpath(path)), data, None, private)
        return
    kind = stat.S_IFMT(found.st_mode)
    if kind == stat.S_IFREG:
        target = Path(os.path.realpath(path))
        if _is(target, found):
            _replace(target, data, found, private)
        else:  # an open file that has no name any more, such as /dev/stdout into a deleted file
            _write_into(path, data, os.O_TRUNC)
    elif kind in (stat.S_IFCHR, stat.S_IFIFO):
        _write_into(path, data)
    elif kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, "it is a directory", str(path))
    else:
        raise OSError(errno.EINVAL, "it is neither a file nor a pipe nor a character device", str(path))


def _replace(target: Path, data: bytes, found: os.stat_result | None, private: bool) -> None:
    if found is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only", str(target))
    clear_leftovers(target)
    partial = target.with_name(f".atomr-{_digest(target)}-{os.getpid()}-{uuid.uuid4().hex[:8]}.partial")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    try:
        try:
            if found is not None:
                _keep_owner_and_mode(handle, found, private)
            _write_all(handle, data)
            sync(handle)
        finally:
            os.close(handle)
        partial.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    sync_directory(target.parent)


def sync(handle: int) -> None:
    """Bring an open file to the disk, where its file system can.

    Raises:
        OSError: the disk failed.
    """
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


def sync_directory(directory: Path) -> None:
    """Bring the names in `directory` to the disk, so that a rename survives a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        sync(handle)
    finally:
        os.close(handle)


def exchange(one: Path, other: Path) -> bool:
    """Let two paths change places in one step, so that whoever opens either finds the one or the other there.

    Returns:
        Whether it was done. It is not where the system or the file system has no such step: use two renames there.

    Raises:
        OSError: one of them is missing, or may not be moved.
    """
    import ctypes  # 5 ms, which few commands need

    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if renameat2 is None:
        return False
    places = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other))
    if renameat2(*places, ctypes.c_uint(_RENAME_EXCHANGE)) == 0:
        return True
    number = ctypes.get_errno()
    if number in (*_UNSUPPORTED, errno.EXDEV):
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Let no other process or thread that asks for the same change `path` between a read and a write.

    It waits for its holder; the system unlocks it when that process ends. The lock is on the directory, so that
    no file is left behind. On file systems without locks nothing is held.

    Raises:
        OSError: there is no such directory.
    """
    handle = os.open(Path(os.path.realpath(path)).parent, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def locked(file: Path, path: Path, who: str) -> Iterator[None]:
    """Lock what is at `path` for this process by the lock `file`; the system unlocks it when the process ends, however
    it ends.

    Raises:
        InputError: another process holds the lock.
    """
    with file.open("ab") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"{who} is writing into {path}", hint="Wait for it to end.") from error
        yield


def json_line(fields: Mapping[str, Any]) -> str:
    """The fields as a line of JSON that can be encoded."""
    # A lone surrogate in model output cannot be written as UTF-8; ASCII JSON holds it.
    text = json.dumps(fields, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(fields)
    return text


def process_alive(pid: int) -> bool:
    """Whether a process of this number runs; True if that is unknown."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True


def clear_leftovers(path: Path) -> None:
    """Remove what killed calls of :func:`put` left of `path`. Never raises: what cannot be removed stays."""
    with contextlib.suppress(OSError):
        target = Path(os.path.realpath(path))
        for left in target.parent.iterdir():
            match = _PARTIAL.fullmatch(left.name)
            if match is not None and match["digest"] == _digest(target) and not process_alive(int(match["pid"])):
                with contextlib.suppress(OSError):
                    left.unlink()


def _digest(target: Path) -> str:
    """Stands for the name in the partial file's name, because names may be as long as the system allows."""
    return hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]


def _keep_owner_and_mode(handle: int, found: os.stat_result, private: bool) -> None:
    own = os.fstat(handle)
    if (own.st_uid, own.st_gid) != (found.st_uid, found.st_gid):
        with contextlib.suppress(OSError):  # only root may give files away
            os.fchown(handle, found.st_uid, found.st_gid)
    os.fchmod(handle, stat.S_IMODE(found.st_mode) & (0o600 if private else 0o777))


def _write_into(path: Path, data: bytes, flags: int = 0) -> None:
    """Write to what is there. A pipe that no program reads is an error, so that nobody waits for ever."""
    try:
        handle = os.open(path, os.O_WRONLY | flags | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "no program reads from this pipe", str(path)) from error
        raise
    try:
        os.set_blocking(handle, True)
        _write_all(handle, data)
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def _is(target: Path, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(target.stat(), found)
    except OSError:
        return False


def _to_standard_output(data: bytes, text: str) -> None:
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:  # a test or another program has put its own stream there
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        stream.write(data)
    sys.stdout.flush()


# Reads files named by the user: regular files only, up to a size limit.
#
# A FIFO is not waited for, a device is not read, and nothing of either kind is opened for longer than it takes to see
# what it is. Every refusal is an OSError with a `strerror` in plain words, so that code
# that reports unreadable files reports these too.

_KINDS = (
    (stat.S_ISDIR, errno.EISDIR, "it is a directory"),
    (stat.S_ISFIFO, errno.EINVAL, "it is a FIFO, not a regular file"),
    (stat.S_ISSOCK, errno.EINVAL, "it is a socket, not a regular file"),
    (stat.S_ISCHR, errno.EINVAL, "it is a device, not a regular file"),
    (stat.S_ISBLK, errno.EINVAL, "it is a device, not a regular file"),
)


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading; links are followed. Never waits for a writer.

    Raises:
        OSError: there is no such file, it may not be read, or it is no regular file.
    """
    _refuse_others(path.stat(), path)  # opening alone may act on a device
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        _refuse_others(os.fstat(handle), path)  # it may have been exchanged meanwhile
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file.

    Args:
        most: bytes; a longer file is refused, and not read to its end.

    Raises:
        OSError: as :func:`open_regular`, or the file is longer.
    """
    with open_regular(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        bound = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most} bytes"
        raise OSError(errno.EFBIG, f"it is longer than {bound}", str(path))
    return data


def read_text(path: Path, most: int) -> str:
    """The UTF-8 text of a regular file, without a byte order mark, lines ending in a line feed.

    Raises:
        OSError: as :func:`read_regular`.
        UnicodeDecodeError: the file is not UTF-8.
    """
    return read_regular(path, most).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def _refuse_others(status: os.stat_result, path: Path) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    for is_kind, code, reason in _KINDS:
        if is_kind(status.st_mode):
            raise OSError(code, reason, str(path))
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


# What a file is by its first bytes, whatever its name says.

HEAD = 512  # bytes that are enough to tell
_UNPACK = "Unpack it first; gzip, bzip2, xz, Zstandard and 7-Zip are read as they are."
_ARTICLES = "Articles are read from Parquet as it is (--format auto); for anything else, convert it to JSON lines."
_CONVERT = "Convert it to JSON lines, one object a line, in UTF-8."
_SAVE = "Save it as UTF-8."


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file that is no text in UTF-8.

    Attributes:
        name: with its article, such as "a Parquet file".
        advice: what to do, so that it can be read.
        packed: the name of the program or format that unpacks it; "" where it is not packed.
    """

    name: str
    advice: str
    packed: str = ""


def _packed(name: str) -> FileKind:
    return FileKind(f"packed with {name}", _UNPACK, name)


# The longest beginning first where one begins like another.
_BEGINNINGS: tuple[tuple[bytes, FileKind], ...] = (
    (b"PAR1", FileKind("a Parquet file", _ARTICLES)),
    (b"ARROW1", FileKind("an Arrow or Feather file", _CONVERT)),
    (b"ORC", FileKind("an ORC file", _CONVERT)),
    (b"Obj\x01", FileKind("an Avro file", _CONVERT)),
    (b"SQLite format 3\x00", FileKind("an SQLite database", _CONVERT)),
    (b"\x89HDF\r\n\x1a\n", FileKind("an HDF5 file", _CONVERT)),
    (b"ZIM\x04", FileKind("a ZIM file", "Build a text index of it: `atomr text build` reads ZIM as it is.")),
    (b"GGUF", FileKind("a GGUF model", "Models belong into the setting `model` or into `atomr models`.")),
    (b"%PDF-", FileKind("a PDF document", "`atomr text build` reads it as a document: --format documents.")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileKind("an old Office document", _CONVERT)),
    (b"\x89PNG\r\n\x1a\n", FileKind("a PNG image", "Give a file of text.")),
    (b"\xff\xd8\xff", FileKind("a JPEG image", "Give a file of text.")),
    (b"7z\xbc\xaf\x27\x1c", _packed("7-Zip")),
    (b"PK\x03\x04", _packed("Zip")),
    (b"Rar!\x1a\x07", _packed("RAR")),
    (b"\xfd7zXZ\x00", _packed("xz")),
    (b"\x28\xb5\x2f\xfd", _packed("Zstandard")),
    (b"\x1f\x8b", _packed("gzip")),
    (b"BZh", _packed("bzip2")),
    (b"\xff\xfe\x00\x00", FileKind("text in UTF-32", _SAVE)),
    (b"\x00\x00\xfe\xff", FileKind("text in UTF-32", _SAVE)),
    (b"\xff\xfe", FileKind("text in UTF-16", _SAVE)),
    (b"\xfe\xff", FileKind("text in UTF-16", _SAVE)),
)
_TAR_AT, _TAR = 257, b"ustar"
# Documents that are Zip archives, by the names of their first files.
_IN_ZIP: tuple[tuple[bytes, FileKind], ...] = (
    (b"mimetypeapplication/epub+zip", FileKind("an EPUB book", _CONVERT)),
    (b"mimetypeapplication/vnd.oasis.opendocument", FileKind("an OpenDocument file", _CONVERT)),
    (b"[Content_Types].xml", FileKind("an Office document", _CONVERT)),
)
_ZIP_NAME_AT = 30


def kind_of(head: bytes) -> FileKind | None:
    """The kind of file that begins with these bytes, :data:`HEAD` or more; None for text and for unknown kinds."""
    if head.startswith(b"PK\x03\x04"):
        for beginning, kind in _IN_ZIP:
            if head[_ZIP_NAME_AT:].startswith(beginning):
                return kind
    for beginning, kind in _BEGINNINGS:
        if head.startswith(beginning) and (len(beginning) > 3 or b"\x00" in head or not _is_text(head)):
            return kind
    return _packed("tar") if head[_TAR_AT:].startswith(_TAR) else None


def _is_text(head: bytes) -> bool:
    """Whether it can be UTF-8, but for a character that is cut off at the end."""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.end == len(head) and error.reason == "unexpected end of data"
    return True


# A file of the user's own in which each line holds one item, such as an example plan or a solution process.

Item = TypeVar("Item")


@dataclass(frozen=True)
class KeptLines(Generic[Item]):
    """The lines of one file. A line that holds no item is reported and stays; a blank one just stays.

    Attributes:
        read: the item on a line; raises InputError if the line holds none.
        most_bytes: a longer file is refused.
    """

    path: Path
    read: Callable[[str], Item]
    most_bytes: int

    def items(self) -> tuple[list[Item], list[str]]:
        """The items, and the problems of the lines that hold none; both are empty if there is no file.

        Raises:
            InputError: the file cannot be read.
        """
        found, problems = list[Item](), list[str]()
        for number, line in enumerate(self._lines(), 1):
            if not line.strip():
                continue
            try:
                found.append(self.read(line))
            except InputError as error:
                problems.append(f"{self.path}, line {number}: {error.message}")
        return found, problems

    def change(self, is_meant: Callable[[Item], bool], then: Callable[[list[str]], Sequence[str]] = list) -> None:
        """Write the file anew without the items that are meant, under a lock against other processes.

        Args:
            then: makes the new lines of those that stay.

        Raises:
            InputError: the file cannot be read or written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with exclusive(self.path):
                put(self.path, "".join(f"{line}\n" for line in then(self._without(is_meant))).encode())
        except OSError as error:
            raise not_written(self.path, error) from error

    def _without(self, is_meant: Callable[[Item], bool]) -> list[str]:
        """The raw lines that stay."""

        def stays(line: str) -> bool:
            try:
                return not is_meant(self.read(line))
            except InputError:
                return True

        return [line for line in self._lines() if not line.strip() or stays(line)]

    def _lines(self) -> list[str]:
        try:
            text = read_text(self.path, self.most_bytes)
        except FileNotFoundError:
            text = ""
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path} cannot be read: {error}", hint="Correct or move the file.") from error
        # Not splitlines: it also breaks at characters that may stand inside JSON text.
        return text.removesuffix("\n").split("\n") if text else []
