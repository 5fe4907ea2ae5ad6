"""Files for the readers of articles, facts and documents, and what the readers give."""

from __future__ import annotations

import bz2
import gzip
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from atomr_local.indexing.readers.articles import Columns
from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.detect import ReadOptions, open_articles
from atomr_local.indexing.readers.lines import Skipped

packed_or_not = pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])


def written(folder: Path, content: bytes | str, name: str = "file", encoding: str = "utf-8") -> Path:
    """The path of a file of this content."""
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return file


def read_articles(
    file: Path, *columns: str, format: str = "auto", after: int = 0
) -> tuple[list[Article], list[tuple[int, str]]]:
    """The articles, and of what was skipped the numbers and the reasons.

    Args:
        columns: of id, title and text.
    """
    skipped = Skipped()
    found = open_articles(file, format, ReadOptions(Columns(*columns))).records(skipped, after=after)
    articles = [item for item in found if isinstance(item, Article)]
    return articles, [(number, reason) for _, number, reason in skipped.samples]


def zipped(parts: Mapping[str, bytes | str]) -> bytes:
    """A ZIP file of these parts; one that tells the type is not compressed."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data, zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def unzipped(data: bytes) -> dict[str, bytes]:
    """The parts of a ZIP file."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def fill(table: Any, rows: Sequence[Sequence[str]]) -> None:
    """Write the words into the cells of a table of python-docx or python-pptx."""
    for i, row in enumerate(rows):
        for j, words in enumerate(row):
            table.cell(i, j).text = words


def saved(made: Any, file: Path) -> bytes:
    """The bytes of a workbook, a Word document or a presentation, which is saved there."""
    made.save(file)
    return file.read_bytes()
