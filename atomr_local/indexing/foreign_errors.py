"""Shortens error messages of the libraries under the indexes."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

_LONGEST = 300
# Lance puts the place in its own sources behind each message, and the names of its error types before it.
_RUST_PLACE = re.compile(r",? \S+\.rs:\d+(?::\d+)?")
_WRAPPING = re.compile(r"(?:lance error|LanceError\(\w+\)|Wrapped error|Generic \S+ error): ")
_TWICE = re.compile(r"\b(\w[\w ]*: )\1+")
# What Rust itself writes of a panic, before anybody can handle it.
PANIC_MESSAGE = re.compile(
    rb"^\n?thread '[^\n]* panicked at [^\n]*\n"
    rb"(?:(?:(?!note: |thread ')[^\n]*\n){0,60}?note: [^\n]*(?:\n|\Z)|[^\n]*(?:\n|\Z))",
    re.M,
)


class LibraryPanicError(RuntimeError):
    """A library written in Rust has given up on what it met; its own exception for that is no `Exception`."""


@contextlib.contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a panic of a Rust library as LibraryPanicError, so that `except Exception` and `RuntimeError` catch it."""
    try:
        yield
    except BaseException as error:
        if is_panic(error):
            raise LibraryPanicError(library_line(error)) from error
        raise


def is_panic(error: BaseException) -> bool:
    """Whether a Rust library has panicked: PyO3 raises a BaseException for it, which cannot be imported."""
    return type(error).__name__ == "PanicException" and not isinstance(error, Exception)


def library_line(error: BaseException, directory: Path | None = None) -> str:
    """The first line of the error's text, without places in a library's sources; its type's name where it has no text.

    Args:
        directory: of the index; files below it are named relative to it.
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    line = _TWICE.sub(r"\1", _WRAPPING.sub("", _RUST_PLACE.sub("", lines[0])))
    if directory is not None:
        for form in (f"{directory}/", f"{str(directory).lstrip('/')}/"):  # Lance leaves the first slash out at times
            line = line.replace(form, "")
    return line.strip(" ,")[:_LONGEST] or type(error).__name__


@contextlib.contextmanager
def standard_error_without(pattern: re.Pattern[bytes]) -> Iterator[None]:
    """Keep what matches off the standard error stream, also where a library in C or Rust writes it.

    What else is written meanwhile, by whatever thread, is written when the block ends. Not for use while a terminal UI
    is on the screen: it draws through that stream.
    """
    try:
        kept = os.dup(2)
    except OSError:  # there is no such stream
        yield
        return
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            caught.seek(0)
            rest = pattern.sub(b"", caught.read())
            with contextlib.suppress(OSError):
                while rest:
                    rest = rest[os.write(2, rest) :]
