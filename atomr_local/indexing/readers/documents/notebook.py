"""Jupyter notebooks: Markdown, code and the text that code printed, by the number of the cell."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, Writer
from atomr_local.indexing.readers.documents.markdown import write_markdown
from atomr_local.indexing.readers.documents.text_file import read_bytes

_MOST_OUTPUT = 2_000  # characters of a cell's output


def parse_notebook(stream: BinaryIO) -> Document:
    try:
        notebook = json.loads(read_bytes(stream))
        cells = notebook["cells"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableError("it is no notebook: its JSON has no cells") from error
    writer = Writer("cell")
    metadata = notebook.get("metadata")
    if isinstance(metadata, dict) and isinstance(title := metadata.get("title"), str):
        writer.document.title = " ".join(title.split())[:300]
    for number, cell in enumerate(cells if isinstance(cells, list) else (), 1):
        if not isinstance(cell, dict):
            continue
        writer.at(number)
        source = _joined(cell.get("source"))
        if cell.get("cell_type") == "markdown":
            write_markdown(writer, source, None)
            continue
        for line in source.split("\n"):
            writer.line(line)
        for line in _printed(cell)[:_MOST_OUTPUT].split("\n"):
            writer.line(line)
    return writer.done()


def _printed(cell: dict[str, Any]) -> str:
    found = []
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        found.append(_joined(output.get("text") or (data.get("text/plain") if isinstance(data, dict) else "")))
    return "\n".join(found)


def _joined(source: object) -> str:
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""
