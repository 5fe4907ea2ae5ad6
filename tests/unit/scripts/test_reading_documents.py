"""The comparison of readers with walks over the files finds what a reader gets wrong, and the documentation's table holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.reading_documents import BOUNDS, MADE, compare, documented, over
from made_documents.comparing import Compared, compared, out_of_order
from made_documents.walkers import Piece, pieces_of


def document(text: str, **more: Any) -> dict[str, Any]:
    empty = {"title": "", "aliases": [], "details": {}, "fields": {}, "sections": [], "places": []}
    return {**empty, "text": text, **more}


PIECES = [
    Piece("Boats"), Piece("The Heron sank in 1931.", "1", "Boats"), Piece("Birds"), Piece("A gull watched", "2", "Birds"),
]  # fmt: skip
RIGHT = document(
    "The Heron sank in 1931.\n\nA gull watched",
    sections=[[0, 1, "Boats"], [25, 1, "Birds"]], places=[[0, 1], [25, 2]],
)  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ({}, {}),
        ({"text": "The Heron sank in 1931.\n\nA watched"}, {"lost": 1}),
        ({"text": "The Heron sank in 1932.\n\nA gull watched"}, {"lost": 1, "numbers_lost": 1, "invented": 1, "numbers_invented": 1}),
        ({"text": "The sank Heron in 1931.\n\nA gull watched"}, {"disordered": 1}),
        ({"text": "The Heron sank in 1931.\n\nA gulls watched"}, {"lost": 1, "invented": 1}),
        ({"places": [[0, 1]]}, {"misplaced": 3}),
    ],
)  # fmt: skip
def test_what_a_reader_gets_wrong_is_counted(wrong: dict[str, Any], found: dict[str, int]) -> None:
    counted = compared("a.x", PIECES, [RIGHT | wrong])
    names = ("lost", "numbers_lost", "invented", "numbers_invented", "disordered", "misplaced")
    assert {name: getattr(counted, name) for name in names} == dict.fromkeys(names, 0) | found


def test_words_under_another_heading_are_misplaced() -> None:
    pieces = [Piece("Heron", heading="Boats"), Piece("Note", heading="Birds", aside=True)]
    assert compared("a.x", pieces, [document("Heron Note", sections=[[0, 1, "1.2 Boats"]])]).misplaced == 0
    assert compared("a.x", pieces, [document("Heron Note", sections=[[0, 1, "Birds"]])]).misplaced == 1


def test_the_fewest_numbers_are_out_of_order() -> None:
    assert out_of_order([0, 1, 5, 2, 3, 4]) == [2]
    assert out_of_order([]) == []


def test_bounds_are_kept_by_the_share() -> None:
    many = Compared(words=10_000, lost=200, numbers=100)
    assert over({"docx": many}, {what: bound for what, (_, _, bound) in BOUNDS.items()}) == [
        "docx: lost: 20.0 in 1,000, more than 15"
    ]
    assert over({"docx": Compared(words=10_000, lost=1)}, MADE)
    assert not over({"docx": Compared(words=100, lost=100)}, MADE)


def test_files_are_compared_by_their_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<!doctype html><h1>Boats</h1><p>The Heron sank in 1931.")
    (tmp_path / "b.csv").write_text("Boat,Year\nHeron,1931\nGull,1952\n")
    (tmp_path / "c.docx").write_bytes(b"PK\x03\x04" + bytes(50))
    (tmp_path / "d.unknown").write_text("x")
    found, unread = compare(sorted(tmp_path.iterdir()))
    assert {kind: (one.words, one.lost, one.invented, one.misplaced) for kind, one in found.items()} == {
        "html": (6, 0, 0, 0), "csv": (6, 0, 0, 0),
    }  # fmt: skip
    assert unread == []


def test_walks_pass_over_what_nobody_sees() -> None:
    page = b"<!doctype html><nav>Menu</nav><p>10<sup>6</sup> cells<script>x()</script><p hidden>Draft"
    assert [one.text.strip() for one in pieces_of(page, "html")] == ["10 6 cells"]
    assert [one.text for one in pieces_of(b"---\na: b\n---\n# Boats\n[Heron](x.md) <!-- no -->", "md")] == [
        "Boats",
        "Heron ",
    ]


def test_the_documentation_has_the_table_that_is_measured() -> None:
    for package in ("docx", "pptx", "openpyxl", "striprtf", "markdown_it"):
        pytest.importorskip(package)
    assert documented(write=False), "run scripts/bench/reading_documents.py --docs"
