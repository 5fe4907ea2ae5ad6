"""A file whose name says otherwise than its first bytes: it is told what it is and what to do."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from atomr_lab.evaluation.datasets import read_records

from atomr_local.assistant.history.trace_import import read_traces
from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import Skipped
from atomr_local.indexing.readers.detect import detect_graph_format, open_articles
from atomr_local.system.files import kind_of

LINE = '{"id": "1", "title": "Zoë", "text": "Zoë is a name."}\n'
PARQUET = b"PAR1\x15\x04\x15\xc0\xff" + bytes(600)


def _sqlite(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE a (b)")
    connection.close()


FALSE: dict[str, tuple[Callable[[Path], object], str]] = {
    "parquet": (lambda path: path.write_bytes(PARQUET), "a Parquet file"),
    "sqlite": (_sqlite, "an SQLite database"),
    "pdf": (lambda path: path.write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), "a PDF document"),
    "rar": (lambda path: path.write_bytes(b"Rar!\x1a\x07\x01\x00" + bytes(99)), "packed with RAR"),
    "parquet in xz": (lambda path: path.write_bytes(lzma.compress(PARQUET)), "a Parquet file"),
    "parquet in gzip": (lambda path: path.write_bytes(gzip.compress(PARQUET)), "a Parquet file"),
    "tar in bzip2": (lambda path: path.write_bytes(bz2.compress(b"a".ljust(257, b"\x00") + b"ustar\x0000")), "tar"),
}
READERS: dict[str, Callable[[Path], object]] = {
    "articles": lambda path: list(open_articles(path, "jsonl").records(Skipped())),
    "facts": detect_graph_format,
    "questions": lambda path: list(read_records(path)),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", FALSE)
def test_a_false_ending_is_told_with_what_the_file_is(tmp_path: Path, kind: str, reader: str) -> None:
    file = tmp_path / "mine.jsonl"
    make, told = FALSE[kind]
    make(file)
    with pytest.raises(InputError) as caught:
        READERS[reader](file)
    assert str(file) in caught.value.message and told in caught.value.message
    assert caught.value.hint


def test_articles_in_a_false_file_are_told_before_they_are_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
    with pytest.raises(InputError, match="an EPUB book"):
        open_articles(file)


def test_a_trace_that_is_packed(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_bytes(gzip.compress(b"{}"))
    with pytest.raises(InputError, match="packed with gzip, no trace"):
        read_traces(file)


@pytest.mark.parametrize(
    "text", [LINE, "", "ORCHID and BZhang", "PARIS", "é" * 300, "\ufeff{}", "Obj: a", "{}\n" * 200]
)
def test_text_is_of_no_kind(text: str) -> None:
    assert kind_of(text.encode()[:511]) is None
