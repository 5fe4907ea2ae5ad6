"""Headings below which nothing stands: their words are text, at their own place."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.office_files import open_text
from support.read_documents import read_document
from support.read_files import saved

from atomr_local.indexing.readers.documents.document import Document, Writer
from atomr_local.indexing.text_index.chunking import passages
from atomr_local.indexing.text_index.documents import article_of


def written(*pieces: tuple[int, str] | str, places: bool = False) -> Document:
    """A document of headings, as (level, words), and paragraphs, each at the place of its number from 1."""
    writer = Writer("line" if places else None)
    for number, piece in enumerate(pieces, 1):
        if places:
            writer.at(number)
        if isinstance(piece, str):
            writer.paragraph(piece)
        else:
            writer.heading(*piece)
    return writer.done()


@pytest.mark.parametrize(
    ("pieces", "paragraphs"),
    [
        ([(1, "A"), "x"], ["x"]),
        ([(1, "A"), (2, "B"), "x"], ["x"]),
        ([(1, "A"), (2, "B")], ["A", "B"]),
        ([(1, "A")], ["A"]),
        ([(1, "A"), (1, "B"), "x", (1, "C")], ["A", "x", "C"]),
        ([(1, "A"), "x", (2, "B"), (2, "C"), "y", (2, "D"), (3, "E")], ["x", "B", "y", "D", "E"]),
        ([(1, "A"), (2, "B"), (1, "C"), (2, "D"), "x"], ["A", "B", "x"]),
    ],
)
def test_headings_with_nothing_below_are_text(pieces: list[tuple[int, str] | str], paragraphs: list[str]) -> None:
    document = written(*pieces)
    assert document.text.split("\n\n") == paragraphs
    assert [(level, title) for _, level, title in document.sections] == [one for one in pieces if one not in paragraphs]
    for start, _, title in document.sections:
        if title in paragraphs:
            assert document.text.startswith(title, start)


def test_each_stands_at_its_own_place() -> None:
    document = written((1, "A"), "x", (1, "B"), (1, "C"), "y", (1, "D"), places=True)
    found = {}
    for word in ("x", "B", "y", "D"):
        found[word] = [place for start, place in document.places if start <= document.text.index(word)][-1]
    assert found == {"x": 2, "B": 3, "y": 5, "D": 6}
    offsets = [start for start, _ in document.places]
    assert offsets == sorted(set(offsets))


def test_a_deck_of_titles_is_a_text(tmp_path: Path) -> None:
    presentation = pytest.importorskip("pptx").Presentation()
    for title in ("The mill burned down", "Ann moved"):
        presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = title
    document = read_document(saved(presentation, tmp_path / "a.pptx"), "a.pptx")
    assert document.text == "The mill burned down\n\nAnn moved"
    assert document.places == [(0, 1), (22, 2)]
    article = article_of("a", "a.pptx", document.as_json())
    assert (article.title, [section.heading for section in article.sections]) == (
        "The mill burned down",
        ["", "Ann moved"],
    )


def test_a_word_document_that_has_only_a_title(tmp_path: Path) -> None:
    document = pytest.importorskip("docx").Document()
    document.add_paragraph("Call the plumber", style="Title")
    found = read_document(saved(document, tmp_path / "a.docx"), "a.docx")
    assert (found.title, found.text) == ("Call the plumber", "Call the plumber")
    document.add_heading("On Tuesday", 1)
    found = read_document(saved(document, tmp_path / "a.docx"), "a.docx")
    assert (found.title, found.text) == ("Call the plumber", "On Tuesday")


def test_headings_alone_in_opendocument_and_names_of_empty_sheets() -> None:
    found = read_document(open_text("<text:h text:outline-level='1'>Burned down</text:h>"), "a.odt")
    assert found.text == "Burned down"
    sheets = "<table:table table:name='Empty'/>" + "<table:table table:name='S'><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>"  # fmt: skip
    found = read_document(open_text(sheets, "spreadsheet"), "a.ods")
    assert found.text == "x"


def test_such_a_heading_is_a_passage_of_its_own() -> None:
    document = written((1, "Diary"), "The cows are brown.", (2, "The mill burned down"), (2, "Barn"), "It is red.")
    article = article_of("a", "a.md", document.as_json())
    found = [(one.section, one.text) for one in passages(article.text, sections=article.sections, title=article.title)]
    assert found == [
        ("", "The cows are brown."),
        ("The mill burned down", "The mill burned down"),
        ("Barn", "It is red."),
    ]
