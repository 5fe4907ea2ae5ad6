"""The errors of atomr-local.

Every failure that a user can cause or meet is an :class:`AtomrError`: a short title, a message that
names the file, key or value at fault, and a hint that says what to do about it. Exceptions of other
libraries are wrapped at the wall where they enter.
"""

from __future__ import annotations

import errno
import os
import resource
import sys
from collections.abc import Iterator


class AtomrError(Exception):
    """A failure shown to the user as title, message and hint.

    Attributes:
        title: a few words naming the kind of failure.
        message: what is wrong, naming the file, key or value at fault.
        hint: what the user can do about it; may be empty. Where the error being handled shows that the system has run
            out of files, threads, memory or room on the disk, it says what to do about that instead.
    """

    title = "Something went wrong"

    def __init__(self, message: str, *, hint: str = "", title: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        scarce = scarcity_hint(sys.exception())
        # A hint about a full disk says more already, such as whether the command can be resumed.
        self.hint = hint if not scarce or "space" in hint else scarce
        if title is not None:
            self.title = title

    def __str__(self) -> str:
        return f"{self.title}: {self.message}"

    def in_full(self) -> str:
        """Title and message, and the hint on a second line."""
        return f"{self}\n→ {self.hint}" if self.hint else str(self)


class SettingsError(AtomrError):
    """A setting is unknown, or its value cannot be used."""

    title = "Settings not usable"


class InputError(AtomrError):
    """A file or value given by the user is not what it should be."""

    title = "Input not usable"


class PlanError(AtomrError):
    """A plan given by the user is not a valid reasoning tree."""

    title = "Plan not valid"


class ModelError(AtomrError):
    """A model file or model endpoint cannot be used."""

    title = "Model not usable"


class KnowledgeIndexError(AtomrError):
    """A text or graph index is missing, damaged or does not fit the request."""

    title = "Index not usable"


class SourceError(AtomrError):
    """A knowledge source failed while retrieving."""

    title = "Source failed"


class WebDisabledError(SourceError):
    """Web search was asked for while it is off."""

    title = "Web access is off"


class QueryError(AtomrError):
    """A SPARQL query was refused or failed."""

    title = "Query refused"


class CallLimitError(AtomrError):
    """A question has used up its model calls."""

    title = "Call limit reached"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the question has used all of its {limit} model calls",
            hint="Raise limits.calls in the settings, or ask a simpler question.",
        )


class MissingPartError(AtomrError):
    """An optional package or file that this operation needs is not installed."""

    title = "Part missing"


class Cancelled(AtomrError):
    """The user cancelled the operation; not a failure."""

    title = "Cancelled"

    def __init__(self, message: str = "the operation was cancelled") -> None:
        super().__init__(message)


# Advice when files, threads, memory or disk space run out.
#
# Such an error surfaces anywhere, wrapped by whatever library met it, and the advice that fits other failures there
# ("build the index again") does not fit it. So the chain of causes is searched for it.

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
