"""Errors and advice when files, threads, memory or disk space run out.

Such an error surfaces anywhere, wrapped by whatever library met it, and the advice that fits other failures there
("build the index again") does not fit it. So the chain of causes is searched for it.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator

_BY_NUMBER = {
    errno.EMFILE: "files", errno.ENFILE: "system files", errno.ENOMEM: "memory", errno.ENOSPC: "disk",
    errno.EDQUOT: "disk",
}  # fmt: skip
# SQLite's own numbers (https://sqlite.org/rescode.html): SQLITE_NOMEM, SQLITE_FULL.
_BY_SQLITE = {7: "memory", 13: "disk"}
# SQLITE_IOERR, SQLITE_CANTOPEN: the system's number is missing.
_UNCLEAR = {10, 14}
# What Rust, C++ and Python write where they give no number.
_BY_WORDS = {
    "too many open files": "files", "(os error 24)": "files",
    "cannot allocate memory": "memory", "(os error 12)": "memory", "bad_alloc": "memory", "out of memory": "memory",
    "no space left": "disk", "(os error 28)": "disk", "quota exceeded": "disk",
    "can't start new thread": "threads",
}  # fmt: skip
_LONGEST_CHAIN = 20


def scarcity_hint(error: BaseException | None) -> str:
    """What to do about the shortage behind the error; "" where none is."""
    for cause in _chain(error):
        if kind := _kind(cause):
            return _advice(kind)
    return ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_LONGEST_CHAIN):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _kind(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, OSError):
        return _BY_NUMBER.get(error.errno or 0, "")
    if (extended := getattr(error, "sqlite_errorcode", None)) is not None:
        code = extended & 0xFF
        return _BY_SQLITE.get(code) or ("files" if code in _UNCLEAR and _no_descriptor_left() else "")
    if isinstance(error, RuntimeError | ValueError):
        text = str(error).casefold()
        return next((kind for words, kind in _BY_WORDS.items() if words in text), "")
    return ""


def _no_descriptor_left() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in {errno.EMFILE, errno.ENFILE}
    return False


def _advice(kind: str) -> str:
    if kind == "files":
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return (
            f"This process has as many files open as it may ({limit}). Start it again, or with a higher "
            "limit: `ulimit -n 4096`."
        )
    return {
        "system files": "The system has too many files open. Close other programs, and try again.",
        "threads": "The system allows no more threads. Close other programs, or raise the limit (`ulimit -u`).",
        "memory": "Memory has run out. Close other programs, or choose a smaller model or llm.context_tokens.",
        "disk": "The disk is full. Free some space, and try again.",
    }[kind]
