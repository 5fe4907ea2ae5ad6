from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.detect import detect_graph_format, detect_text_format, open_articles
from atomr_local.indexing.readers.lines import LineReader, Skipped, as_utf8, encoding_of

LINES = "".join(
    json.dumps({"id": str(n), "title": f"Köln {n}", "text": "東京 is a city. " * 9}, ensure_ascii=False) + "\n"
    for n in range(200)
)
XML = (
    '<?xml version="1.0" encoding="{}"?>\n<mediawiki><page><title>Köln</title><ns>0</ns><id>1</id>'
    "<revision><text>Köln ist groß.</text></revision></page></mediawiki>"
)


def seven_zip(data: bytes, *more: bytes) -> bytes:
    py7zr = pytest.importorskip("py7zr")
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w") as archive:
        for number, item in enumerate((data, *more)):
            archive.writef(io.BytesIO(item), f"{number}.txt")
    return out.getvalue()


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
    "7z": seven_zip,
}


def articles(file: Path, skipped: Skipped | None = None) -> list[Article]:
    found = open_articles(file).records(skipped if skipped is not None else Skipped())
    return [item for item in found if isinstance(item, Article)]


@pytest.mark.parametrize("packing", PACKINGS)
def test_packed_files_are_read_as_they_are(tmp_path: Path, packing: str) -> None:
    file = tmp_path / "corpus"
    file.write_bytes(PACKINGS[packing](LINES.encode()))
    found = articles(file)
    assert [item.title for item in found] == [f"Köln {n}" for n in range(200)]
    file.write_bytes(PACKINGS[packing](XML.format("utf-8").encode()))
    assert detect_text_format(file) == "mediawiki"


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("cut", [40, -20])
def test_a_packed_file_that_is_cut_short_is_told(tmp_path: Path, packing: str, cut: int) -> None:
    file = tmp_path / "corpus"
    file.write_bytes(PACKINGS[packing](LINES.encode())[:cut])
    with pytest.raises(InputError, match=str(file)):
        articles(file)


def test_an_archive_of_several_files_is_told(tmp_path: Path) -> None:
    file = tmp_path / "two.7z"
    file.write_bytes(seven_zip(b"a", b"b"))
    with pytest.raises(InputError, match="holds 2 files"):
        articles(file)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("packing", ["", "gzip"])
def test_any_encoding_of_json_lines(tmp_path: Path, encoding: str, packing: str) -> None:
    file = tmp_path / "corpus"
    data = LINES.encode(encoding)
    file.write_bytes(PACKINGS[packing](data) if packing else data)
    skipped = Skipped()
    found = articles(file, skipped)
    assert (len(found), found[7].text, skipped.count) == (200, ("東京 is a city. " * 9), 0)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_a_dump_in_the_encoding_that_it_declares(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "dump.xml"
    file.write_bytes(XML.format(encoding).encode(encoding))
    (found,) = articles(file)
    assert (found.title, found.text) == ("Köln", "Köln ist groß.")


def test_facts_in_utf16(tmp_path: Path) -> None:
    file = tmp_path / "facts"
    file.write_text('{"s": "Paris", "p": "country", "o": "Françe"}\n', "utf-16")
    assert detect_graph_format(file) == "facts-jsonl"
    file.write_text("@prefix a: <https://example.org/> .\na:b a:c a:d .\n", "utf-16")
    assert detect_graph_format(file) == "turtle"


@pytest.mark.parametrize("name", ["hex", "zlib", "unknown", "utf-16", "idna", "utf-8"])
def test_a_declaration_that_cannot_be_is_not_followed(name: str) -> None:
    assert encoding_of(f'<?xml version="1.0" encoding="{name}"?>'.encode()) == ("utf-8", 0)


def test_half_a_character_at_the_end_is_replaced() -> None:
    stream, mark = as_utf8(io.BufferedReader(io.BytesIO("ab".encode("utf-16") + b"\x00")))  # type: ignore[arg-type]
    assert (stream.read().decode(), mark) == ("ab\ufffd", 2)


def test_the_position_is_that_of_the_file_on_disk(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        file = tmp_path / encoding
        file.write_bytes(LINES.encode(encoding))
        reader = LineReader(file)
        seen = [reader.position for _ in reader]
        assert seen == sorted(seen) and seen[-1] == file.stat().st_size


@pytest.mark.parametrize(
    ("first", "content", "told"),
    [
        ("mimetype", "application/epub+zip", "an EPUB book"),
        ("mimetype", "application/vnd.oasis.opendocument.text", "an OpenDocument file"),
        ("[Content_Types].xml", "<Types/>", "an Office document"),
        ("a.txt", "text", "packed with Zip"),
    ],
)
def test_what_is_in_a_zip_is_named(tmp_path: Path, first: str, content: str, told: str) -> None:
    file = tmp_path / "file"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(first, content)
    with pytest.raises(InputError, match=told):
        open_articles(file)
