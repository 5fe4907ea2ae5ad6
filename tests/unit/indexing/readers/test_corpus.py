from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import pytest

from atomr_local.errors import InputError
from atomr_local.indexing.readers.articles import Article, read_corpus
from atomr_local.indexing.readers.lines import LineReader, Skipped

LINE = b'{"id": "1", "title": "Paris", "text": "Paris is a city.", "qid": "Q90", "lang": "en"}'


def read(file: Path) -> tuple[list[Article], Skipped]:
    skipped = Skipped()
    return list(read_corpus(LineReader(file), skipped)), skipped


def article_on(line: bytes, folder: Path) -> Article:
    """The article of a file of this line.

    Raises:
        InputError: it is none.
    """
    file = folder / "one.jsonl"
    file.write_bytes(line)
    return read(file)[0][0]


def test_an_article_keeps_other_keys_as_metadata(tmp_path: Path) -> None:
    article = article_on(LINE, tmp_path)
    assert article == Article("1", "Paris", "Paris is a city.", "Q90", {"lang": "en"}, record=1)


def test_a_number_is_an_id_too(tmp_path: Path) -> None:
    assert article_on(b'{"id": 7, "title": "A", "text": "b"}', tmp_path).id == "7"


def test_lone_surrogates_are_replaced_everywhere(tmp_path: Path) -> None:
    article = article_on(rb'{"id": "\ud800", "title": "A\ud800", "text": "b\udfff", "qid": "Q\ud800"}', tmp_path)
    assert (article.id, article.title, article.text, article.qid) == ("?", "A?", "b?", "Q?")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"Paris is a city.", "not JSON"),
        (b'["id", "title"]', "not a JSON object"),
        (b'{"title": "A", "text": "b"}', '"id" is missing'),
        (b'{"id": true, "title": "A", "text": "b"}', '"id" is missing or no text'),
        (b'{"id": "1", "title": " ", "text": "b"}', '"title" is missing'),
        (b'{"id": "1", "title": "A", "text": ["b"]}', '"text" is missing or no text'),
        (b'{"id": "1", "title": "caf\xe9", "text": "b"}', "not UTF-8"),
        pytest.param(b"[" * 100_000, "nested too deeply", id="deep"),
        pytest.param(b'{"id": ' + b"9" * 5000 + b"}", "digits", id="long number"),
    ],
)
def test_lines_that_are_no_article(line: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=reason):
        article_on(line, tmp_path)


def test_unusable_lines_are_counted_and_sampled(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_bytes(b"\n".join([LINE, b"", *[b"{broken"] * 7, b'{"id": "2", "title": "caf\xe9", "text": "b"}', LINE]))
    articles, skipped = read(file)
    assert [article.title for article in articles] == ["Paris", "Paris"]
    assert skipped.count == 8
    assert [(path, line) for path, line, _ in skipped.samples] == [(str(file), line) for line in range(3, 8)]


@pytest.mark.parametrize(("suffix", "packed"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".txt", bytes)])
def test_compression_is_seen_whatever_the_name(tmp_path: Path, suffix: str, packed) -> None:
    file = tmp_path / f"corpus{suffix}"
    file.write_bytes(packed(LINE + b"\r\n" + LINE))
    assert len(read(file)[0]) == 2


def test_what_is_no_corpus_is_refused_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "story.txt"
    file.write_text("\nOnce upon a time\n" * 300, encoding="utf-8")
    with pytest.raises(InputError, match=rf"{file}, line 2: ") as caught:
        read(file)
    assert "no JSON" in caught.value.hint


def test_a_corpus_may_begin_late_but_not_after_200_bad_lines(tmp_path: Path) -> None:
    late, too_late = tmp_path / "late", tmp_path / "too_late"
    late.write_bytes(b"#\n" * 199 + LINE)
    too_late.write_bytes(b"#\n" * 200 + LINE)
    assert len(read(late)[0]) == 1
    with pytest.raises(InputError):
        read(too_late)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (bytes(range(256)) * 40, "line 1"),
        (gzip.compress(LINE * 1000)[:60], "cut short"),
        (gzip.compress(LINE)[:12] + b"\xff" * 80, "damaged"),
        (b"BZh9" + b"\0" * 60, "cannot be read"),
    ],
    ids=["empty", "blank", "binary", "cut gzip", "damaged gzip", "damaged bzip2"],
)
def test_hopeless_files(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "corpus"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read(file)
    assert str(file) in caught.value.message


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for file in (tmp_path / "absent.jsonl", tmp_path):
        with pytest.raises(InputError, match=str(file)):
            read(file)


def test_a_line_over_the_bound_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(LINE.decode() + "\n" + json.dumps({"id": "2", "title": "A", "text": "x" * (17 << 20)}))
    with pytest.raises(InputError, match="line 2: longer than 16 MiB"):
        read(file)
