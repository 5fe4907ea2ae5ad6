"""Readers of articles that are lines or rows: JSON lines, CSV, Parquet and the text of WikiExtractor."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.read_files import packed_or_not, read_articles, written

from atomr_local.errors import InputError
from atomr_local.indexing.readers.articles import plain_sections, read_corpus
from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.detect import detect_text_format, open_articles
from atomr_local.indexing.readers.lines import LineReader, Skipped

# JSON lines.

LINE = b'{"id": "1", "title": "Paris", "text": "Paris is a city.", "qid": "Q90", "lang": "en"}'


def read_lines(file: Path) -> tuple[list[Article], Skipped]:
    skipped = Skipped()
    return list(read_corpus(LineReader(file), skipped)), skipped


def article_on(line: bytes, folder: Path) -> Article:
    """The article of a file of this line.

    Raises:
        InputError: it is none.
    """
    return read_lines(written(folder, line))[0][0]


@pytest.mark.parametrize(
    ("line", "article"),
    [
        (LINE, Article("1", "Paris", "Paris is a city.", "Q90", {"lang": "en"}, record=1)),
        (b'{"id": 7, "title": "A", "text": "b"}', Article("7", "A", "b", record=1)),
        # lone surrogates are replaced everywhere
        (
            rb'{"id": "\ud800", "title": "A\ud800", "text": "b\udfff", "qid": "Q\ud800"}',
            Article("?", "A?", "b?", "Q?", record=1),
        ),
    ],
)
def test_an_article_keeps_other_keys_as_metadata(tmp_path: Path, line: bytes, article: Article) -> None:
    assert article_on(line, tmp_path) == article


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
    lines = [LINE, b"", *[b"{broken"] * 7, b'{"id": "2", "title": "caf\xe9", "text": "b"}', LINE]
    file = written(tmp_path, b"\n".join(lines))
    articles, skipped = read_lines(file)
    assert [article.title for article in articles] == ["Paris", "Paris"]
    assert skipped.count == 8
    assert [(path, line) for path, line, _ in skipped.samples] == [(str(file), line) for line in range(3, 8)]


@packed_or_not
def test_compression_is_seen_whatever_the_name(tmp_path: Path, pack) -> None:
    for name in ("corpus.gz", "corpus.bz2", "corpus.txt"):
        assert len(read_lines(written(tmp_path, pack(LINE + b"\r\n" + LINE), name))[0]) == 2


def test_what_is_no_corpus_is_refused_with_file_and_line(tmp_path: Path) -> None:
    file = written(tmp_path, "\nOnce upon a time\n" * 300)
    with pytest.raises(InputError, match=rf"{file}, line 2: ") as caught:
        read_lines(file)
    assert "no JSON" in caught.value.hint


def test_a_corpus_may_begin_late_but_not_after_200_bad_lines(tmp_path: Path) -> None:
    assert len(read_lines(written(tmp_path, b"#\n" * 199 + LINE))[0]) == 1
    with pytest.raises(InputError):
        read_lines(written(tmp_path, b"#\n" * 200 + LINE))


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
    file = written(tmp_path, content)
    with pytest.raises(InputError, match=message) as caught:
        read_lines(file)
    assert str(file) in caught.value.message


def test_a_line_over_the_bound_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, LINE.decode() + "\n" + json.dumps({"id": "2", "title": "A", "text": "x" * (17 << 20)}))
    with pytest.raises(InputError, match="line 2: longer than 16 MiB"):
        read_lines(file)


def test_json_keys_that_the_user_names(tmp_path: Path) -> None:
    file = written(tmp_path, '{"n": 5, "head": "Paris", "page": {"body": "A city."}}\n{"n": 6, "page": 3}\n', "f.jsonl")
    found, skipped = read_articles(file, "n", "head", "page.body")
    assert [(item.id, item.title, item.text) for item in found] == [("5", "Paris", "A city.")]
    assert skipped == [(2, '"head" is missing or no text')]
    (alone,), _ = read_articles(file, "", "", "page.body")
    assert (alone.id, alone.title) == ("f.jsonl:1", "A city.")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('[{"id": 1}]', "an array"),
        ('{\n"id": 1}', "stands on one line"),
        ('{"key": 1, "body": 2}', "There are: key, body"),
        ("prose", "no JSON"),
        ("", "Lines should be such as"),
    ],
)
def test_the_hint_fits_what_the_file_is(tmp_path: Path, content: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        read_articles(written(tmp_path, content))
    assert told in caught.value.hint


# Rows of CSV.

TABLE = 'id,title,text,lang\n1,Paris,"A ""big"" city\non the Seine",fr\n2,Rome,,it\n3,a,b,c,too many\n\n4,Bonn,x,de\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_table_with_headings(tmp_path: Path, encoding: str) -> None:
    file = written(tmp_path, TABLE, "any.name", encoding)
    found, skipped = read_articles(file)
    assert [(item.id, item.title, item.record) for item in found] == [("1", "Paris", 1), ("4", "Bonn", 4)]
    assert found[0].text == 'A "big" city\non the Seine' and found[0].metadata == {"lang": "fr"}
    assert skipped == [(2, '"text" is missing or no text'), (3, "5 values where there are 4 columns")]
    assert [item.id for item in read_articles(file, after=1)[0]] == ["4"]


@pytest.mark.parametrize("delimiter", "\t;|")
def test_columns_that_the_user_names(tmp_path: Path, delimiter: str) -> None:
    rows = [("key", "name", "body"), ("7", "Paris", "A city, large"), ("8", "Rome", "Old")]
    file = written(tmp_path, "\n".join(delimiter.join(row) for row in rows), "t")
    found, _ = read_articles(file, "key", "name", "body")
    assert [(item.id, item.title, item.text) for item in found] == rows[1:]
    alone, _ = read_articles(file, "", "", "body")
    assert [(item.id, item.title) for item in alone] == [("t:1", "A city, large"), ("t:2", "Old")]


def test_a_missing_column_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    file = written(tmp_path, "name,body\nParis,A city\n", "t.csv")
    with pytest.raises(InputError, match=r"no column text; its first line names name, body") as caught:
        read_articles(file)
    assert "--text" in caught.value.hint
    with pytest.raises(InputError, match=r"no column absent"):
        read_articles(file, "absent", "", "body")


def test_columns_are_refused_where_a_format_has_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mediawiki has no columns"):
        read_articles(written(tmp_path, "<mediawiki></mediawiki>"), "", "", "body")


@pytest.mark.parametrize(
    "text",
    [
        "Some prose, with commas\nand more, of them\n",
        '{"id": 1, "text": 2}\n{}',
        "id,id\n1,2\n",
        "id,text\n",
        "a,b\n1,2\n",
    ],
)
def test_what_is_no_table_of_texts(tmp_path: Path, text: str) -> None:
    assert detect_text_format(written(tmp_path, text)) == "jsonl"


# Rows of Parquet.

ROWS = [{"id": str(i), "url": f"https://w/{i}", "title": f"T{i}", "text": f"Text {i}."} for i in range(1, 21)]


def parquet(folder: Path, rows: list[dict[str, Any]], group: int = 7, **options: Any) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), folder / "p", row_group_size=group, **options)
    return folder / "p"


def test_rows_are_articles(tmp_path: Path) -> None:
    found, skipped = read_articles(parquet(tmp_path, ROWS, compression="zstd"))
    assert found[4] == Article("5", "T5", "Text 5.", None, {"url": "https://w/5"}, (), 5)
    assert (len(found), skipped) == (20, [])


def test_reading_goes_on_after_any_row(tmp_path: Path) -> None:
    path = parquet(tmp_path, ROWS)
    whole, _ = read_articles(path)
    for after in range(22):
        assert read_articles(path, after=after)[0] == whole[after:]


def test_position_moves_through_the_rows(tmp_path: Path) -> None:
    rows = [{**row, "text": row["text"] * 1000} for row in ROWS * 20]
    path = parquet(tmp_path, rows, group=200, compression="none")
    reader = open_articles(path)
    positions = [reader.position for _ in reader.records(Skipped())]
    assert positions == sorted(positions)
    assert 0 < positions[-1] <= reader.position <= path.stat().st_size
    assert len(set(positions)) > 4, "it moves within a row group too"


def test_ids_may_be_numbers_and_entities_may_be_given(tmp_path: Path) -> None:
    rows = [{"id": 7, "title": "A", "text": "b", "qid": "Q90"}, {"id": 8, "title": "B", "text": "c", "qid": "no"}]
    found, _ = read_articles(parquet(tmp_path, rows))
    assert [(article.id, article.qid, article.metadata) for article in found] == [("7", "Q90", {}), ("8", None, {})]


def test_unusable_rows_are_counted_with_their_number(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "1", "title": None, "text": "x"},
        {"id": "2", "title": "A", "text": " "},
        {"id": "3", "title": "B", "text": "x" * (9 << 20)},
        {"id": "4", "title": "C", "text": "d"},
    ]
    found, skipped = read_articles(parquet(tmp_path, rows))
    assert [article.title for article in found] == ["C"]
    assert skipped == [
        (1, '"title" is missing or no text'),
        (2, '"text" is missing or no text'),
        (3, "longer than any page of a wiki"),
    ]


def test_parquet_columns_that_the_user_names_and_others(tmp_path: Path) -> None:
    named = [{"key": 1, "name": "Paris", "body": "A city."}, {"key": 2, "name": "Rome", "body": "Old."}]
    file = parquet(tmp_path, named)
    found, _ = read_articles(file, "key", "name", "body")
    assert [(item.id, item.title, item.text) for item in found] == [("1", "Paris", "A city."), ("2", "Rome", "Old.")]
    with pytest.raises(InputError, match="no column id, title, text; it has key, name, body"):
        read_articles(file)
    with pytest.raises(InputError, match="no column id, text; it has title, body"):
        read_articles(parquet(tmp_path, [{"title": "A", "body": "b"}]))
    with pytest.raises(InputError, match="the column text holds int64, not text"):
        read_articles(parquet(tmp_path, [{"id": "1", "title": "A", "text": 3}]))


def test_damaged_parquet_is_told(tmp_path: Path) -> None:
    path = parquet(tmp_path, ROWS * 50)
    data = path.read_bytes()
    for damaged in (data[:-10], data[: len(data) // 2], data[:200] + b"\xff" * 600 + data[800:], b"PAR1"):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=str(path)):
            read_articles(path)


def test_lone_headings_make_sections() -> None:
    text = "April is a month.\n\nThe Month \n\nApril has 30 days.\n\nEvents\n\n1900 – A.\n1901 – B.\n\nReferences\n\nOther websites"
    assert [(s.heading, text[s.start :].partition("\n")[0]) for s in plain_sections(text)] == [
        ("The Month", "The Month "),
        ("Events", "Events"),
    ]
    assert plain_sections("Short title\n\nText.") == (), "what begins the article heads no section"
    assert plain_sections("") == ()


# What WikiExtractor writes.

DOCS = """<doc id="5" url="https://x.org/wiki?curid=5" title="A &amp; B">
A &amp; B

The <a href="C">letters</a> are two.

</doc>

<doc id="6" url="" title="Empty">
Empty

</doc>
<doc id="7" url="u" title="C">
C

1 &lt; 2.
</doc>
"""


def test_articles_between_doc_marks(tmp_path: Path) -> None:
    file = written(tmp_path, DOCS)
    assert detect_text_format(file) == "wikiextractor"
    found, skipped = read_articles(file)
    assert found[0] == Article(
        "5", "A & B", "The letters are two.", None, {"url": "https://x.org/wiki?curid=5"}, record=1
    )
    assert (found[1].text, found[1].record, skipped) == ("1 < 2.", 3, [(2, "Empty: no text")])
    assert [item.id for item in read_articles(file, after=1)[0]] == ["7"]


def test_a_file_that_is_cut_short_gives_what_is_whole(tmp_path: Path) -> None:
    records = open_articles(written(tmp_path, DOCS[:-8])).records(Skipped())
    assert next(iter(records)).record == 1
    with pytest.raises(InputError, match=r"after article 2: the file is cut short"):
        list(records)


def test_what_stands_between_articles_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 12: not <doc"):
        read_articles(written(tmp_path, DOCS.replace('<doc id="7"', 'stray <doc id="7"')))
