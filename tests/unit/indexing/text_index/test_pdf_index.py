"""An index of PDFs tells pages by what is printed on them, and reads scans by OCR where that is wanted."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path

import pytest
from made_documents.pdf_file import page as drawn
from made_documents.pdf_file import pdf
from support.fake_embedder import FakeEmbedder

from atomr_local.errors import InputError
from atomr_local.indexing import store
from atomr_local.indexing.text_index.documents import build_documents_index, sync_documents_index
from atomr_local.sources.document_places import DocumentPlaces, page_at, place_words
from atomr_local.sources.protocol import Evidence

pytest.importorskip("pypdfium2", reason="reading PDF needs pypdfium2")

_TEXT = "The level of the river was measured every day of the year"


def place(start: int, end: int, **more: object) -> tuple[str, int | None]:
    """The place of the text of report.pdf in words, and the page that is opened."""
    directory = store.index_path("text", "mine")
    with closing(DocumentPlaces(directory, store.read_manifest(directory))) as places:
        locator = {"passage": "report.pdf#0", "span": [start, end]}
        found = places.placed(Evidence("text", "T", "text", 1.0, "q", locator)).locator
    return place_words(found), page_at(found)


def test_a_page_is_told_by_what_is_printed_on_it_and_opened_by_its_number(tmp_path: Path) -> None:
    pages = [drawn([(50, 700, 10, f"{_TEXT} in part {part}.")]) for part in "abc"]
    (tmp_path / "report.pdf").write_bytes(pdf(pages, labels=b"0<</S/r>>2<</S/D/St 3>>"))
    build_documents_index([tmp_path], "mine", embedder=FakeEmbedder())
    each = len(_TEXT) + 13
    assert place(0, 5) == ("report.pdf, p. i (1)", 1)
    assert place(0, each + 5) == ("report.pdf, pp. i–ii (1–2)", 1)
    assert place(each, 3 * each - 2) == ("report.pdf, pp. ii–3 (2–3)", 2)
    assert place(2 * each, 3 * each - 2) == ("report.pdf, p. 3", 3)


def test_scans_are_read_by_ocr_again_when_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "tesseract"
    program.parent.mkdir()
    rows = "level\tleft\ttop\twidth\theight\tblock_num\tpar_num\tline_num\tconf\ttext"
    rows += "".join(f"\n5\t{100 * i}\t100\t90\t40\t1\t1\t1\t95\t{word}" for i, word in enumerate(_TEXT.split()))
    program.write_text(
        f"#!{sys.executable}\nimport sys\nprint('list\\neng' if '--list-langs' in sys.argv else {rows!r})\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    folder = tmp_path / "scans"
    folder.mkdir()
    (folder / "report.pdf").write_bytes(pdf([b""], picture=True))
    with pytest.raises(InputError, match=r"a scan\? Build the index with --ocr"):
        build_documents_index([folder], "mine", embedder=FakeEmbedder())
    with pytest.raises(InputError, match="language 'xyz'"):
        build_documents_index([folder], "mine", embedder=FakeEmbedder(), ocr="xyz")
    build_documents_index([folder], "mine", embedder=FakeEmbedder(), ocr="eng")
    assert place(0, 20) == ("report.pdf, p. 1 (read by OCR)", 1)
    assert sync_documents_index("mine", embedder=FakeEmbedder()).quiet
    (folder / "other.pdf").write_bytes(pdf([b""] * 2, picture=True))
    assert sync_documents_index("mine", embedder=FakeEmbedder()).added == ("other.pdf",)
