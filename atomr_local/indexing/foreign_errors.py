"""What the libraries under the indexes say of a failure, cut down to what a reader can use."""

from __future__ import annotations

import re
from pathlib import Path

_LONGEST = 300
# Lance puts the place in its own sources behind each message, and the names of its error types before it.
_RUST_PLACE = re.compile(r",? \S+\.rs:\d+(?::\d+)?")
_WRAPPING = re.compile(r"(?:lance error|LanceError\(\w+\)|Wrapped error|Generic \S+ error): ")
_TWICE = re.compile(r"\b(\w[\w ]*: )\1+")


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
