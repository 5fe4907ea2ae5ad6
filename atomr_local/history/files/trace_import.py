"""Files of traces from elsewhere: `atomr.trace/1`, as one JSON object or as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.history.files.trace_parsing import parse_trace
from atomr_local.input_files import open_regular
from atomr_local.reasoning.trace.schema import Trace

LARGEST_FILE = 256 << 20


def read_traces(path: Path) -> list[Trace]:
    """The traces of a file: one JSON object, or JSON lines of them.

    Raises:
        InputError: naming the file, the line and the field of what is wrong; nothing of the file is to be used then.
    """
    try:
        with open_regular(path) as stream:
            data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > LARGEST_FILE:
        raise InputError(f"{path} is larger than {LARGEST_FILE >> 20} MiB", hint="Export fewer questions at a time.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error}") from error
    try:
        documents = list(_documents(text, path))
    except RecursionError as error:
        raise InputError(f"{path} is too deeply nested") from error
    if not documents:
        raise InputError(
            f"{path} contains no trace", hint="Such a file is made by `atomr history export --format json`."
        )
    traces = []
    for place, document in documents:
        try:
            traces.append(parse_trace(document))
        except InputError as error:
            raise InputError(
                f"{place}: {error.message}",
                hint=error.hint or "The file is not a trace of atomr-local, or it was changed.",
            ) from error
    return traces


def _documents(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    try:
        yield str(path), json.loads(text, parse_constant=_no_number)
        return
    except ValueError as error:
        if "\n" not in text.strip():
            raise InputError(f"{path} is not valid JSON: {error}") from error
        whole = error
    several = False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            document = json.loads(line, parse_constant=_no_number)
        except ValueError as error:
            # A broken object on many lines is better told by what is wrong with it as a whole.
            raise InputError(f"{path}:{number}: {error}" if several else f"{path}: {whole}") from error
        several = True
        yield f"{path}:{number}", document


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")
