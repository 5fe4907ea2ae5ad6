from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from made_documents.pdf_file import page as drawn
from made_documents.pdf_file import pdf

from atomr_local.indexing.readers.documents.document import Document, UnreadableError
from atomr_local.indexing.readers.documents.process import parse

pytest.importorskip("pypdfium2", reason="reading PDF needs pypdfium2")

_TEXT = "The level of the river was measured every day of the year"


def lines(*items: tuple[str, int]) -> bytes:
    """A content stream with a line of this size each."""
    placed, y = [], 750
    for text, size in items:
        placed.append((50, y, size, text))
        y -= 2 * size
    return drawn(placed)


def read(data: bytes) -> Document:
    (found,) = parse(BytesIO(data), "report.pdf")
    return found


def page(number: int) -> bytes:
    return lines(
        ("Yearly report", 9), (f"Part {number}", 18), (f"{_TEXT},", 10), (f"and in part {number} it rose.", 10),
        (f"Page {number}", 9),
    )  # fmt: skip


def place(document: Document, words: str) -> tuple[object, str]:
    offset = document.text.index(words)
    where = [place for start, place in document.places if start <= offset][-1]
    return where, [title for start, _, title in document.sections if start <= offset][-1]


def test_pages_headings_by_size_and_no_running_lines() -> None:
    document = read(pdf([page(1), page(2), page(3)], title="The river"))
    assert document.title == "The river"
    assert place(document, "in part 3 it rose") == (3, "Part 3")
    assert f"{_TEXT}, and in part 2 it rose." in document.text
    assert "Yearly report" not in document.text
    assert "Page 2" not in document.text


def test_headings_of_the_outline() -> None:
    body = [lines((f"{_TEXT}.", 10)), lines(("Methods", 10), (f"{_TEXT} again.", 10))]
    document = read(pdf(body, outline=True))
    assert place(document, "again") == (2, "Methods")


def test_a_paragraph_goes_on_overleaf_and_both_pages_are_known() -> None:
    pages = [lines((f"{_TEXT} except for Sunday, when", 10)), lines(("the keeper of the staff was in church.", 10))]
    document = read(pdf(pages))
    assert document.text == f"{_TEXT} except for Sunday, when the keeper of the staff was in church."
    assert document.places == [(0, 1), (document.text.index("the keeper"), 2)]


def test_a_word_hyphenated_at_the_end_of_a_page_is_put_together() -> None:
    document = read(
        pdf([lines((f"{_TEXT} by the mea-", 10)), lines(("surer of the town, who was very old then.", 10))])
    )
    assert "by the measurer of the town" in document.text
    assert document.places == [(0, 1), (document.text.index("surer of"), 2)]


def test_what_ends_with_a_page_does_not_go_on() -> None:
    document = read(pdf([lines((f"{_TEXT}.", 10)), lines((f"{_TEXT} again.", 10))]))
    assert document.text == f"{_TEXT}.\n\n{_TEXT} again."


def test_the_first_words_below_headings_are_no_running_head() -> None:
    document = read(
        pdf([lines((f"Slide {i}", 20), ("What was measured:", 10), (f"{_TEXT} {i}", 10)) for i in range(5)])
    )
    assert document.text.count("What was measured:") == 5


def test_accents_that_stand_before_their_letters() -> None:
    written = "´Emile went with Ren´e and J¨org to F´erburt; voil`a the `end' of x´."
    document = read(pdf([lines((written, 10), (_TEXT, 10))]))
    assert document.text.startswith("Émile went with René and Jörg to Férburt; voilà the `end' of x´.")


def test_a_scan_is_told_as_such() -> None:
    with pytest.raises(UnreadableError, match="its 2 pages have pictures but no text: a scan"):
        read(pdf([b""] * 2, picture=True))
    mixed = read(pdf([lines((_TEXT, 10)), b"q 600 0 0 800 0 0 cm /I Do Q"]))
    assert mixed.notes == ["no text on page 2: scanned?"]


def test_encrypted_files_are_read_if_they_ask_for_no_password() -> None:
    with pytest.raises(UnreadableError, match="encrypted with a password"):
        read(pdf([page(1)], password="secret"))
    assert "in part 1 it rose" in read(pdf([page(1)], password="")).text


@pytest.fixture
def whole() -> Iterator[bytes]:
    yield pdf([page(1)])


def test_damaged_files_are_told(whole: bytes, tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="its PDF is damaged"):
        read(whole[:200])
