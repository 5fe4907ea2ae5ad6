"""What is looked at before a file is read in a limited process must not take longer the more hostile it is."""

from __future__ import annotations

import contextlib
import time
from io import BytesIO
from pathlib import Path

import pytest

from atomr_local.errors import InputError
from atomr_local.indexing.readers.detect import detect_graph_format, detect_text_format
from atomr_local.indexing.readers.documents.kinds import document_kind
from atomr_local.indexing.readers.facts.json_lines import read_entities
from atomr_local.indexing.readers.lines import LineReader, Skipped
from atomr_local.indexing.readers.wikipedia.plain_text import tidied

_SECONDS = 5.0  # on a busy machine; the patterns took minutes to centuries


@pytest.fixture(autouse=True)
def within_seconds() -> object:
    begin = time.process_time()
    yield
    assert time.process_time() - begin < _SECONDS


@pytest.mark.parametrize("comment", [b"<!---->", b"<!-- -->\n"])
def test_many_comments_before_no_page(comment: bytes, tmp_path: Path) -> None:
    assert document_kind(BytesIO(comment * 7_000), "a.txt") == "text"
    (tmp_path / "a.xml").write_bytes(comment * 100_000)
    assert detect_text_format(tmp_path / "a.xml") == "jsonl"
    (tmp_path / "b.xml").write_bytes(comment * 100 + b"<mediawiki>")
    assert detect_text_format(tmp_path / "b.xml") == "mediawiki"
    assert document_kind(BytesIO(comment * 100 + b"<html><p>x"), "a.txt") == "html"


def test_a_line_that_begins_like_a_mailbox() -> None:
    assert document_kind(BytesIO(b"From " + b"x1 " * 20_000), "a.txt") == "text"


@pytest.mark.parametrize("line", [b'<a> <b> "' + b" " * 1_000_000 + b"x", b"_:" + b"<" * 1_000_000 + b"x"])
def test_a_long_line_that_begins_like_a_fact(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_bytes(line)
    with contextlib.suppress(InputError):
        assert detect_graph_format(tmp_path / "a.nt") == "turtle"


@pytest.mark.parametrize("text", ["," * 200_000 + "x", ", ;" * 100_000 + "x", "(" * 200_000, "( ,;" * 50_000])
def test_runs_of_punctuation(text: str) -> None:
    tidied(text)


def test_an_indented_value_with_strings_that_do_not_end(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{\n"type": "item",\n' + b'"\\' * 200_000 + b"\n}")
    with pytest.raises(InputError):
        list(read_entities(LineReader(tmp_path / "a.json"), Skipped()))
