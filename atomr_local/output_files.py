"""Atomic writes: a file has its old or its new content, never a part of it.

A regular file is written beside its place and renamed over it. A symbolic link stays, and its target is replaced.
Character devices and pipes are written to. Nothing that is not a regular file is ever replaced.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import re
import stat
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

from atomr_local.errors import InputError

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
