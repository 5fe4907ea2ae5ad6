"""Formats of articles that the content tells, and those of other packages: the documentation's worked example too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import plugins
from support.plugins import module, offer
from support.read_files import packed_or_not, read_articles, written, zipped

from atomr_local.cli.commands.text import build
from atomr_local.errors import InputError, SettingsError
from atomr_local.indexing.readers import detect as formats
from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.detect import FORMATS, detect_text_format, open_articles, record_kind
from atomr_local.indexing.readers.lines import Skipped

LINE = b'{"id": "1", "title": "Paris", "text": "Paris is a city."}\n'
DUMP = b'<?xml version="1.0" encoding="utf-8"?>\n<!-- <mediawiki> -->\n<mediawiki xmlns="x" version="0.11"></mediawiki>'


@packed_or_not
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
    # Parquet and ZIM pack their content themselves.
    expected = "jsonl" if format in {"parquet", "zim"} and pack is not bytes else format
    assert detect_text_format(written(tmp_path, pack(content))) == expected


def test_packings_that_no_reader_takes_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="packed with Zip") as caught:
        open_articles(written(tmp_path, zipped({"a": LINE})))
    assert "Unpack" in caught.value.hint


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_that_the_file_is_not_is_told(tmp_path: Path, format: str) -> None:
    if format == "zim":
        pytest.importorskip("libzim")
    file = written(tmp_path, b"neither this nor that\n" * 300)
    with pytest.raises(InputError, match=str(file)):
        read_articles(file, format=format)


def test_json_lines_go_on_after_a_line(tmp_path: Path) -> None:
    reader = open_articles(written(tmp_path, LINE + b"broken\n" + LINE.replace(b"Paris", b"Rome")))
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
    file = tmp_path / "absent" if content is None else written(tmp_path, content)
    assert record_kind(file) == kind
    assert record_kind(file, "parquet") == "row"


# Formats of other packages.

LISTED = "#articles\nid,title,text\n1,Paris,Paris is a city.\n2,,nothing\n3,Rome,Rome is a city.\n"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    module(tmp_path, monkeypatch, "listed_articles", plugins.example("reader"))
    offer(monkeypatch, formats.ENTRY_POINTS, {"listed": "listed_articles:listed_format"})
    return written(tmp_path, LISTED, "articles.list")


@pytest.mark.parametrize("format", ["auto", "listed"])
def test_the_worked_example_is_recognised_and_read(example: Path, format: str) -> None:
    articles, _ = read_articles(example, format=format)
    assert [(item.title, item.record) for item in articles] == [("Paris", 1), ("Rome", 3)]
    assert [item.record for item in read_articles(example, format=format, after=1)[0]] == [3]
    assert record_kind(example) == "row" and formats.format_names()[-1] == "listed"


def test_the_command_takes_a_format_of_a_package_and_refuses_others(example: Path) -> None:
    run = CliRunner().invoke(build, [str(example), "--name", "mine", "--format", "csw"])
    assert run.exit_code == 2 and "'csw' is not one of 'auto'" in run.output
    run = CliRunner().invoke(build, [str(example.with_name("absent.list")), "--name", "mine", "--format", "listed"])
    assert "is not one of" not in run.output and run.exit_code == 1


def test_files_of_our_formats_stay_ours(example: Path, tmp_path: Path) -> None:
    assert detect_text_format(written(tmp_path, b"PAR1 and so on")) == "parquet"
    assert detect_text_format(written(tmp_path, b'{"id": "1"}\n')) == "jsonl"


def test_a_package_that_fails_is_an_error_when_named_and_stops_no_detection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = "from atomr_local.indexing.readers.detect import ArticleFormat\n"
    failing += "def made():\n    return ArticleFormat('row', lambda head: 1 / 0, None)\n"
    module(tmp_path, monkeypatch, "failing_format", failing)
    values = {"absent": "no_such_module:made", "wrong": "builtins:dict", "failing": "failing_format:made"}
    offer(monkeypatch, formats.ENTRY_POINTS, values)
    file = written(tmp_path, b'{"id": "1"}\n')
    assert detect_text_format(file) == "jsonl"
    with pytest.raises(SettingsError, match="'absent' cannot be loaded: ModuleNotFoundError"):
        open_articles(file, "absent")
    with pytest.raises(SettingsError, match="'wrong' cannot be loaded: TypeError: dict, not ArticleFormat"):
        open_articles(file, "wrong")


def test_no_package_replaces_a_format_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, formats.ENTRY_POINTS, {"jsonl": "no_such_module:made"})
    assert formats.find_format("jsonl") is formats.FORMATS["jsonl"]
    with pytest.raises(InputError, match="no format named 'nothing'") as told:
        formats.find_format("nothing")
    assert "mediawiki" in told.value.hint
