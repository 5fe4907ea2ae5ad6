from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atomr_local.errors import InputError
from atomr_local.indexing.readers.articles import plain_sections
from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.detect import open_articles
from atomr_local.indexing.readers.lines import Skipped

ROWS = [{"id": str(i), "url": f"https://w/{i}", "title": f"T{i}", "text": f"Text {i}."} for i in range(1, 21)]


def write(path: Path, rows: list[dict[str, Any]], group: int = 7, **options: Any) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=group, **options)
    return path


def read(path: Path, after: int = 0) -> tuple[list[Article], Skipped]:
    skipped = Skipped()
    found = list(open_articles(path).records(skipped, after=after))
    assert all(isinstance(record, Article) for record in found)
    return found, skipped  # type: ignore[return-value]


def test_rows_are_articles(tmp_path: Path) -> None:
    found, skipped = read(write(tmp_path / "p", ROWS, compression="zstd"))
    assert found[4] == Article("5", "T5", "Text 5.", None, {"url": "https://w/5"}, (), 5)
    assert (len(found), skipped.count) == (20, 0)


def test_reading_goes_on_after_any_row(tmp_path: Path) -> None:
    path = write(tmp_path / "p", ROWS)
    whole, _ = read(path)
    for after in range(22):
        assert read(path, after)[0] == whole[after:]


def test_position_moves_through_the_file(tmp_path: Path) -> None:
    rows = [{**row, "text": row["text"] * 1000} for row in ROWS * 20]
    path = write(tmp_path / "p", rows, group=200, compression="none")
    reader = open_articles(path)
    positions = [reader.position for _ in reader.records(Skipped())]
    assert positions == sorted(positions)
    assert 0 < positions[-1] <= reader.position <= path.stat().st_size
    assert len(set(positions)) > 4, "it moves within a row group too"


def test_ids_may_be_numbers_and_entities_may_be_given(tmp_path: Path) -> None:
    rows = [{"id": 7, "title": "A", "text": "b", "qid": "Q90"}, {"id": 8, "title": "B", "text": "c", "qid": "no"}]
    found, _ = read(write(tmp_path / "p", rows))
    assert [(article.id, article.qid, article.metadata) for article in found] == [("7", "Q90", {}), ("8", None, {})]


def test_unusable_rows_are_counted_with_their_number(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "1", "title": None, "text": "x"},
        {"id": "2", "title": "A", "text": " "},
        {"id": "3", "title": "B", "text": "x" * (9 << 20)},
        {"id": "4", "title": "C", "text": "d"},
    ]
    found, skipped = read(write(tmp_path / "p", rows))
    assert [article.title for article in found] == ["C"]
    assert [(row, reason) for _, row, reason in skipped.samples] == [
        (1, '"title" is missing or no text'),
        (2, '"text" is missing or no text'),
        (3, "longer than any page of a wiki"),
    ]


def test_other_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column id, text; it has title, body"):
        read(write(tmp_path / "p", [{"title": "A", "body": "b"}]))
    with pytest.raises(InputError, match="the column text holds int64, not text"):
        read(write(tmp_path / "q", [{"id": "1", "title": "A", "text": 3}]))


def test_damaged_files_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "p", ROWS * 50)
    data = path.read_bytes()
    for damaged in (data[:-10], data[: len(data) // 2], data[:200] + b"\xff" * 600 + data[800:], b"PAR1"):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=str(path)):
            read(path)


def test_lone_headings_make_sections() -> None:
    text = "April is a month.\n\nThe Month \n\nApril has 30 days.\n\nEvents\n\n1900 – A.\n1901 – B.\n\nReferences\n\nOther websites"
    assert [(s.heading, text[s.start :].partition("\n")[0]) for s in plain_sections(text)] == [
        ("The Month", "The Month "),
        ("Events", "Events"),
    ]
    assert plain_sections("Short title\n\nText.") == (), "what begins the article heads no section"
    assert plain_sections("") == ()
