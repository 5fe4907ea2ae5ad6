from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atomr_local.errors import InputError
from atomr_local.indexing.readers.articles import Columns
from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.detect import ReadOptions, detect_text_format, open_articles
from atomr_local.indexing.readers.lines import Skipped

TABLE = 'id,title,text,lang\n1,Paris,"A ""big"" city\non the Seine",fr\n2,Rome,,it\n3,a,b,c,too many\n\n4,Bonn,x,de\n'


def read(file: Path, *columns: str, format: str = "auto", after: int = 0) -> tuple[list[Article], Skipped]:
    skipped = Skipped()
    reader = open_articles(file, format, ReadOptions(Columns(*columns)))
    return [item for item in reader.records(skipped, after=after) if isinstance(item, Article)], skipped


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_table_with_headings(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "any.name"
    file.write_text(TABLE, encoding)
    found, skipped = read(file)
    assert [(item.id, item.title, item.record) for item in found] == [("1", "Paris", 1), ("4", "Bonn", 4)]
    assert found[0].text == 'A "big" city\non the Seine' and found[0].metadata == {"lang": "fr"}
    assert [reason for _, _, reason in skipped.samples] == [
        '"text" is missing or no text', "5 values where there are 4 columns",
    ]  # fmt: skip
    assert [item.id for item in read(file, after=1)[0]] == ["4"]


@pytest.mark.parametrize("delimiter", "\t;|")
def test_columns_that_the_user_names(tmp_path: Path, delimiter: str) -> None:
    file = tmp_path / "t"
    rows = [("key", "name", "body"), ("7", "Paris", "A city, large"), ("8", "Rome", "Old")]
    file.write_text("\n".join(delimiter.join(row) for row in rows), "utf-8")
    found, _ = read(file, "key", "name", "body")
    assert [(item.id, item.title, item.text) for item in found] == [
        ("7", "Paris", "A city, large"), ("8", "Rome", "Old"),
    ]  # fmt: skip
    alone, _ = read(file, "", "", "body")
    assert [(item.id, item.title) for item in alone] == [("t:1", "A city, large"), ("t:2", "Old")]


def test_a_missing_column_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("name,body\nParis,A city\n", "utf-8")
    with pytest.raises(InputError, match=r"no column text; its first line names name, body") as caught:
        read(file)
    assert "--text" in caught.value.hint
    with pytest.raises(InputError, match=r"no column absent"):
        read(file, "absent", "", "body")


def test_json_keys_that_the_user_names(tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    file.write_text('{"n": 5, "head": "Paris", "page": {"body": "A city."}}\n{"n": 6, "page": 3}\n', "utf-8")
    found, skipped = read(file, "n", "head", "page.body")
    assert [(item.id, item.title, item.text) for item in found] == [("5", "Paris", "A city.")]
    assert skipped.samples[0][2] == '"head" is missing or no text'
    (alone,), _ = read(file, "", "", "page.body")
    assert (alone.id, alone.title) == ("f.jsonl:1", "A city.")


def test_parquet_columns_that_the_user_names(tmp_path: Path) -> None:
    file = tmp_path / "p"
    pq.write_table(pa.table({"key": [1, 2], "name": ["Paris", "Rome"], "body": ["A city.", "Old."]}), file)
    found, _ = read(file, "key", "name", "body")
    assert [(item.id, item.title, item.text) for item in found] == [("1", "Paris", "A city."), ("2", "Rome", "Old.")]
    with pytest.raises(InputError, match="no column id, title, text; it has key, name, body"):
        read(file)


def test_columns_are_refused_where_a_format_has_none(tmp_path: Path) -> None:
    file = tmp_path / "dump"
    file.write_text("<mediawiki></mediawiki>", "utf-8")
    with pytest.raises(InputError, match="mediawiki has no columns"):
        read(file, "", "", "body")


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
    file = tmp_path / "f"
    file.write_text(text, "utf-8")
    assert detect_text_format(file) == "jsonl"


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
    file = tmp_path / "f"
    file.write_text(content, "utf-8")
    with pytest.raises(InputError) as caught:
        read(file)
    assert told in caught.value.hint
