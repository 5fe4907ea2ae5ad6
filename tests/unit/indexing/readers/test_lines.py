"""Lines of files in any packing and encoding: how far they are read, and what is said of a file that cannot be."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from support.fake_embedder import FakeEmbedder
from support.read_files import read_articles, written, zipped

from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing.builds.ledger import Ledger
from atomr_local.indexing.builds.publishing import resumable
from atomr_local.indexing.builds.space import something_done, write_error
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.readers.detect import detect_graph_format, detect_text_format, open_articles
from atomr_local.indexing.readers.documents.kinds import document_kind
from atomr_local.indexing.readers.facts.json_lines import read_entities
from atomr_local.indexing.readers.lines import LineReader, Skipped, as_utf8, encoding_of
from atomr_local.indexing.readers.wikipedia.plain_text import tidied
from atomr_local.indexing.text_index.index import build_text_index

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


@pytest.mark.parametrize("packing", PACKINGS)
def test_packed_files_are_read_as_they_are(tmp_path: Path, packing: str) -> None:
    found, _ = read_articles(written(tmp_path, PACKINGS[packing](LINES.encode())))
    assert [item.title for item in found] == [f"Köln {n}" for n in range(200)]
    assert detect_text_format(written(tmp_path, PACKINGS[packing](XML.format("utf-8").encode()))) == "mediawiki"


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("cut", [40, -20])
def test_a_packed_file_that_is_cut_short_is_told(tmp_path: Path, packing: str, cut: int) -> None:
    file = written(tmp_path, PACKINGS[packing](LINES.encode())[:cut])
    with pytest.raises(InputError, match=str(file)):
        read_articles(file)


def test_an_archive_of_several_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds 2 files"):
        read_articles(written(tmp_path, seven_zip(b"a", b"b")))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_any_encoding_of_json_lines(tmp_path: Path, encoding: str, pack: Callable[[bytes], bytes]) -> None:
    found, skipped = read_articles(written(tmp_path, pack(LINES.encode(encoding))))
    assert (len(found), found[7].text, skipped) == (200, ("東京 is a city. " * 9), [])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_a_dump_in_the_encoding_that_it_declares(tmp_path: Path, encoding: str) -> None:
    [found], _ = read_articles(written(tmp_path, XML.format(encoding), "dump.xml", encoding))
    assert (found.title, found.text) == ("Köln", "Köln ist groß.")


def test_facts_in_utf16(tmp_path: Path) -> None:
    for content, format in (
        ('{"s": "Paris", "p": "country", "o": "Françe"}\n', "facts-jsonl"),
        ("@prefix a: <https://example.org/> .\na:b a:c a:d .\n", "turtle"),
    ):
        assert detect_graph_format(written(tmp_path, content, encoding="utf-16")) == format


@pytest.mark.parametrize("name", ["hex", "zlib", "unknown", "utf-16", "idna", "utf-8"])
def test_a_declaration_that_cannot_be_is_not_followed(name: str) -> None:
    assert encoding_of(f'<?xml version="1.0" encoding="{name}"?>'.encode()) == ("utf-8", 0)


def test_half_a_character_at_the_end_is_replaced() -> None:
    stream, mark = as_utf8(io.BufferedReader(io.BytesIO("ab".encode("utf-16") + b"\x00")))
    assert (stream.read().decode(), mark) == ("ab\ufffd", 2)


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
    with pytest.raises(InputError, match=told):
        open_articles(written(tmp_path, zipped({first: content})))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_position_is_that_of_the_file_on_disk(tmp_path: Path, encoding: str) -> None:
    file = written(tmp_path, LINES, encoding=encoding)
    reader = LineReader(file)
    seen = [reader.position for _ in reader]
    assert seen == sorted(seen) and seen[-1] == file.stat().st_size


def test_the_position_is_that_of_the_line_not_of_the_block_read_ahead(tmp_path: Path) -> None:
    file = written(tmp_path, b"one\ntwo\nthree\n")
    lines = LineReader(file)
    assert [lines.position for _ in lines] == [4, 8, 14]
    lines = LineReader(file, after=1)
    assert [lines.position for _ in lines] == [8, 14]


@pytest.mark.parametrize("opened", [LineReader, detect_text_format, open_articles, detect_graph_format])
def test_a_directory_and_a_missing_file_are_told_without_a_line(tmp_path: Path, opened) -> None:
    absent = tmp_path / "absent"
    for path, told in (
        (tmp_path, f"{tmp_path} is a directory"),
        (absent, f"{absent} cannot be read: No such file or directory"),
    ):
        with pytest.raises(InputError) as caught:
            list(opened(path))
        assert caught.value.message == told


# Whoever builds from such files.


def test_who_can_go_on_is_told_so_and_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = written(tmp_path, '{"s": "a", "p": "b", "o": "c"}\n', "facts.jsonl")
    monkeypatch.setenv("ATOMR_HOME", str(facts))  # a file
    with pytest.raises(KnowledgeIndexError) as caught:
        build_graph_index([facts], "mine")
    assert "where it stopped" not in caught.value.hint
    assert "may write there" in caught.value.hint
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    with resumable("graph", "mine") as scratch:
        ledger = Ledger.open(scratch, "graph", [facts], {})
        assert not something_done(scratch)
        ledger.commit({"triples": 1})
        assert something_done(scratch)
    assert "where it stopped" in write_error("it", OSError(28, "full"), resumable=True).hint


def test_adding_to_an_index_that_is_not_there(tmp_path: Path) -> None:
    corpus = written(tmp_path, '{"id": "1", "title": "Como", "text": "A lake."}', "corpus.jsonl")
    with pytest.raises(KnowledgeIndexError, match="there is no text index named 'nosuch'") as caught:
        build_text_index([corpus], "nosuch", embedder=FakeEmbedder(), add=True)
    assert "indexes list" in caught.value.hint


# What is looked at before a file is read in a limited process must not take longer the more hostile it is.

_SECONDS = 5.0  # on a busy machine; the patterns took minutes to centuries


@pytest.fixture
def _within_seconds() -> Iterator[None]:
    begin = time.process_time()
    yield
    assert time.process_time() - begin < _SECONDS


@pytest.mark.usefixtures("_within_seconds")
class TestHostileBeginnings:
    @pytest.mark.parametrize("comment", [b"<!---->", b"<!-- -->\n"])
    def test_many_comments_before_no_page(self, comment: bytes, tmp_path: Path) -> None:
        assert document_kind(io.BytesIO(comment * 7_000), "a.txt") == "text"
        assert detect_text_format(written(tmp_path, comment * 100_000)) == "jsonl"
        assert detect_text_format(written(tmp_path, comment * 100 + b"<mediawiki>")) == "mediawiki"
        assert document_kind(io.BytesIO(comment * 100 + b"<html><p>x"), "a.txt") == "html"

    def test_a_line_that_begins_like_a_mailbox(self) -> None:
        assert document_kind(io.BytesIO(b"From " + b"x1 " * 20_000), "a.txt") == "text"

    @pytest.mark.parametrize("line", [b'<a> <b> "' + b" " * 1_000_000 + b"x", b"_:" + b"<" * 1_000_000 + b"x"])
    def test_a_long_line_that_begins_like_a_fact(self, line: bytes, tmp_path: Path) -> None:
        with contextlib.suppress(InputError):
            assert detect_graph_format(written(tmp_path, line)) == "turtle"

    @pytest.mark.parametrize("text", ["," * 200_000 + "x", ", ;" * 100_000 + "x", "(" * 200_000, "( ,;" * 50_000])
    def test_runs_of_punctuation(self, text: str) -> None:
        tidied(text)

    def test_an_indented_value_with_strings_that_do_not_end(self, tmp_path: Path) -> None:
        file = written(tmp_path, b'{\n"type": "item",\n' + b'"\\' * 200_000 + b"\n}")
        with pytest.raises(InputError):
            list(read_entities(LineReader(file), Skipped()))
