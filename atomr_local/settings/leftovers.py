"""Removes temporary copies of the settings file that a killed write left behind.

A copy is locked for as long as its writer lives, so that one without an owner can be told from one at work.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

_COPY = re.compile(r"\.(?P<file>.+)\.[0-9a-f]{16}\.part")
_EARLIER = re.compile(
    r"tmp[a-z0-9_]{8}"
)  # what earlier versions wrote; others write such names too, so these are read first
_OLD = 3600.0  # seconds
_LARGEST = 1 << 20


@contextlib.contextmanager
def copy_beside(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file beside `path`, for its owner alone to read. It is gone afterwards, unless it was renamed.

    Raises:
        OSError: it cannot be made.
    """
    name, handle = _made(path)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield name, stream
    finally:
        with contextlib.suppress(OSError):
            name.unlink(missing_ok=True)


def _made(path: Path) -> tuple[Path, int]:
    while True:
        name = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
        _lock(handle)
        if name.exists():
            return name, handle
        os.close(handle)  # another program's start took it for a leftover before it was locked


def clean(path: Path, is_settings: Callable[[dict[str, Any]], bool]) -> list[Path]:
    """Remove the copies of the settings file `path` that killed writes left beside it; says which.

    Only regular files of this user are removed: copies that nobody has locked, and files named as earlier versions
    named theirs, if they are old, private, and hold nothing but settings. Never raises: what cannot be removed stays.

    Args:
        is_settings: whether values read from a file are settings of ours.
    """
    removed = []
    with contextlib.suppress(OSError, RuntimeError):
        path = path.resolve()
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in entries if _COPY.fullmatch(entry.name) or _EARLIER.fullmatch(entry.name)]
        for name in names:
            copy = path.with_name(name)
            with contextlib.suppress(OSError):
                if _ownerless(copy, path, is_settings):
                    copy.unlink()
                    removed.append(copy)
    return removed


def _ownerless(copy: Path, path: Path, is_settings: Callable[[dict[str, Any]], bool]) -> bool:
    status = copy.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_uid != _user(status) or status.st_nlink > 1:
        return False
    match = _COPY.fullmatch(copy.name)
    if match is None:
        return _is_earlier(copy, status, is_settings)
    if match["file"] != path.name:
        return False
    handle = os.open(copy, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        locked = _lock(handle)
    finally:
        os.close(handle)
    return locked if locked is not None else time.time() - status.st_mtime > _OLD


def _user(status: os.stat_result) -> int:
    return os.getuid() if hasattr(os, "getuid") else status.st_uid


def _is_earlier(copy: Path, status: os.stat_result, is_settings: Callable[[dict[str, Any]], bool]) -> bool:
    if stat.S_IMODE(status.st_mode) & 0o077 or not 0 < status.st_size <= _LARGEST:
        return False
    if time.time() - status.st_mtime < _OLD:
        return False
    try:
        values = tomllib.loads(copy.read_bytes().decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    return bool(values) and is_settings(values)


def _lock(handle: int) -> bool | None:
    """Lock an open file; False: another program has it locked. None: this file system has no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
