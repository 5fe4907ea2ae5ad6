from __future__ import annotations

import bz2
import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.detect import FORMATS, detect_text_format, open_articles, record_kind
from atomr_local.indexing.readers.lines import Skipped

LINE = b'{"id": "1", "title": "Paris", "text": "Paris is a city."}\n'
DUMP = b'<?xml version="1.0" encoding="utf-8"?>\n<!-- <mediawiki> -->\n<mediawiki xmlns="x" version="0.11"></mediawiki>'


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize(
    ("content", "format"),
    [
        (LINE, "jsonl"),
        (DUMP, "mediawiki"),
        (b"\xef\xbb\xbf  <mediawiki>", "mediawiki"),
        (b"<mediawikis>", "jsonl"),
        (b"PAR1 and so on", "parquet"),
        (b"ZIM\x04 and so on", "zim"),
        (b"", "jsonl"),
    ],
)
def test_the_content_tells_the_format(
    tmp_path: Path, pack: Callable[[bytes], bytes], content: bytes, format: str
) -> None:
    file = tmp_path / "any.name"
    file.write_bytes(pack(content))
    # Parquet and ZIM pack their content themselves.
    expected = "jsonl" if format in {"parquet", "zim"} and pack is not bytes else format
    assert detect_text_format(file) == expected


def test_packings_that_no_reader_takes_are_named(tmp_path: Path) -> None:
    packed = tmp_path / "corpus"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a", LINE)
    with pytest.raises(InputError, match="packed with Zip") as caught:
        open_articles(packed)
    assert "Unpack" in caught.value.hint


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for file, told in ((tmp_path / "absent", "cannot be read"), (tmp_path, "is a directory")):
        with pytest.raises(InputError, match=f"{file} {told}"):
            open_articles(file)


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_that_the_file_is_not_is_told(tmp_path: Path, format: str) -> None:
    if format == "zim":
        pytest.importorskip("libzim")
    file = tmp_path / "file"
    file.write_bytes(b"neither this nor that\n" * 300)
    with pytest.raises(InputError, match=str(file)):
        list(open_articles(file, format).records(Skipped()))


@pytest.mark.parametrize("cut", [3, 40, 100])
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_a_damaged_archive_is_told_by_the_reader(tmp_path: Path, pack: Callable[[bytes], bytes], cut: int) -> None:
    file = tmp_path / "file"
    file.write_bytes(pack(LINE * 1000)[:cut])
    with pytest.raises(InputError, match=str(file)):
        list(open_articles(file).records(Skipped()))


def test_json_lines_go_on_after_a_line(tmp_path: Path) -> None:
    file = tmp_path / "corpus"
    file.write_bytes(LINE + b"broken\n" + LINE.replace(b"Paris", b"Rome"))
    reader = open_articles(file)
    skipped = Skipped()
    (rome,) = reader.records(skipped, after=2)
    assert isinstance(rome, Article)
    assert (rome.title, rome.record, skipped.count) == ("Rome", 3, 0)
    assert list(reader.records(skipped, after=3)) == [], "nothing is left, and that is no fault"


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"PAR1", "row"), (b"ZIM\x04", "entry"), (b"<mediawiki>", "page"), (b'{"id": 1}', "line"), (None, "record")],
)
def test_what_a_reader_counts(content: bytes | None, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
    assert record_kind(file) == kind
    assert record_kind(file, "parquet") == "row"
