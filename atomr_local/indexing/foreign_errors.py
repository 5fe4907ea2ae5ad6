"""What the libraries under the indexes say of a failure, cut down to what a reader can use."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

_LONGEST = 300
# Lance puts the place in its own sources behind each message, and the names of its error types before it.
_RUST_PLACE = re.compile(r",? \S+\.rs:\d+(?::\d+)?")
_WRAPPING = re.compile(r"(?:lance error|LanceError\(\w+\)|Wrapped error|Generic \S+ error): ")
_TWICE = re.compile(r"\b(\w[\w ]*: )\1+")


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
