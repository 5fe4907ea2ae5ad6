"""Files that survive being killed: JSON lines that are added one by one, and the lock of whoever adds them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError

_MISSING = "(not there)"


def differences(old: Any, new: Any, key: str = "") -> Iterator[tuple[str, str, str]]:
    """Where two descriptions differ: the dotted key, what it was and what it is, as JSON."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from differences(old.get(name, _MISSING), new.get(name, _MISSING), f"{key}.{name}" if key else name)
    elif old != new:
        yield key, _shown(old), _shown(new)


def _shown(value: Any) -> str:
    return _MISSING if value is _MISSING else json.dumps(value, ensure_ascii=False)


def json_line(fields: Mapping[str, Any]) -> str:
    """The fields as a line of JSON that can be encoded."""
    # A lone surrogate in model output cannot be written as UTF-8; ASCII JSON holds it.
    text = json.dumps(fields, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(fields)
    return text


def append_line(stream: FileIO, fields: Mapping[str, Any]) -> None:
    """Add a line that is on the disk on return; on an error it is removed again, if the disk allows."""
    end = os.fstat(stream.fileno()).st_size
    left = memoryview(f"{json_line(fields)}\n".encode())
    try:
        while left:
            left = left[stream.write(left) :]
        os.fsync(stream.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(stream.fileno(), end)
        raise


def cut_torn_line(path: Path) -> None:
    """Cut off what follows the last line feed."""
    if not path.exists():
        return
    with path.open("rb+") as stream:
        end = whole = stream.seek(0, os.SEEK_END)
        while whole:
            start = max(0, whole - 65536)
            stream.seek(start)
            found = stream.read(whole - start).rfind(b"\n")
            if found >= 0:
                whole = start + found + 1
                break
            whole = start
        if whole < end:
            stream.truncate(whole)


@contextlib.contextmanager
def locked(file: Path, path: Path, who: str = "another evaluation") -> Iterator[None]:
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
