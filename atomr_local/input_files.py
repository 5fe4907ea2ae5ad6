"""Reads files named by the user: regular files only, up to a size limit.

A FIFO is not waited for, a device is not read, and nothing of either kind is opened for longer than it takes to see
what it is. Every refusal is an OSError with a `strerror` in plain words, so that code
that reports unreadable files reports these too.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

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
