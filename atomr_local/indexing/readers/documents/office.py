"""Word documents and PowerPoint presentations, by python-docx and python-pptx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, Writer
from atomr_local.indexing.readers.documents.office_tables import WORD, children, slide_rows, word_rows
from atomr_local.indexing.readers.documents.table_writing import write_table
from atomr_local.indexing.readers.documents.zip_limits import open_zip, refuse_entities

_MOST_DEPTH = 20
_MOST_FOOTNOTES = 5_000
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
# What programs of different ages show instead of each other: shapes with formulas are written so.
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_SPACES = frozenset({f"{WORD}tab", f"{WORD}br", f"{WORD}cr"})
_LETTERS = frozenset({f"{WORD}t", f"{_MATH}t"})
_TEXT_BOX = f"{WORD}txbxContent"
# What is shown elsewhere, or not at all: what was moved away, and the second of two ways to show a shape.
_PASSED_OVER = frozenset(
    {f"{WORD}moveFrom", _TEXT_BOX, "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
)


def parse_docx(stream: BinaryIO) -> Document:
    import docx

    _check(stream)
    writer = Writer()
    try:
        document = docx.Document(stream)
        _take_properties(writer.document, document.core_properties)
        footnotes = _footnotes(document)
        for element in children(document.element.body, "p", "tbl"):
            _write_block(writer, element, document, footnotes)
    except UnreadableError:
        raise
    except Exception as error:  # python-docx raises whatever the damaged XML leads to
        raise _damaged("Word document", error) from error
    return writer.done()


def _write_block(writer: Writer, element: Any, document: Any, footnotes: dict[tuple[str, str], str]) -> None:
    """A paragraph or a table of the body, with the notes and the text boxes in it behind it."""
    from docx.table import Table
    from docx.text.paragraph import Paragraph

    if element.tag == f"{WORD}tbl":
        waiting = [element]
        while waiting:  # no recursion: tables stand in tables as deep as the file says
            rows, inner = word_rows(Table(waiting.pop(), document._body), _words)
            write_table(writer, rows)
            waiting += reversed(inner)
    else:
        style = str(getattr(Paragraph(element, document._body).style, "name", "") or "")
        level = style.removeprefix("Heading ")
        text = _words(element)
        if style == "Title" and not writer.document.title:
            writer.document.title = " ".join(text.split())[:300]
        elif style.startswith("Heading ") and level.isdigit():
            writer.heading(int(level), text)
        else:
            writer.paragraph(text)
    for reference in element.iter(f"{WORD}footnoteReference", f"{WORD}endnoteReference"):
        kind = reference.tag.removeprefix(WORD).removesuffix("Reference")
        writer.paragraph(footnotes.pop((kind, reference.get(f"{WORD}id", "")), ""))
    for box in _inside(element, _TEXT_BOX):
        for paragraph in box.iter(f"{WORD}p"):
            writer.paragraph(_words(paragraph))


def _words(paragraph: Any) -> str:
    """The words of a paragraph as it stands now, insertions, links, fields and the letters of formulas among them."""
    words: list[str] = []
    for element in _inside(paragraph):
        if element.tag in _LETTERS:
            words.append(element.text or "")
        elif element.tag in _SPACES:
            words.append("\n" if element.tag != f"{WORD}tab" else " ")
    return "".join(words)


def _inside(element: Any, *names: str) -> Iterator[Any]:
    """What is in an element, in order, without what is passed over; of names only what they name."""
    waiting = list(reversed(list(element)))
    while waiting:
        child = waiting.pop()
        if not names or child.tag in names:
            yield child
        if child.tag not in _PASSED_OVER:
            waiting += reversed(list(child))


def _footnotes(document: Any) -> dict[tuple[str, str], str]:
    """The texts of footnotes and endnotes by kind and id."""
    from docx.oxml import parse_xml

    found: dict[tuple[str, str], str] = {}
    for relation in document.part.rels.values():
        kind = str(relation.reltype).rpartition("/")[2].removesuffix("s")
        if kind not in {"footnote", "endnote"} or relation.is_external:
            continue
        for note in parse_xml(relation.target_part.blob).iterchildren(f"{WORD}{kind}"):
            if len(found) >= _MOST_FOOTNOTES:
                return found
            lines = ("".join(text.text or "" for text in line.iter(f"{WORD}t")) for line in note.iter(f"{WORD}p"))
            found[kind, note.get(f"{WORD}id", "")] = " ".join(" ".join(lines).split())
    return found


def parse_pptx(stream: BinaryIO) -> Document:
    import pptx

    _check(stream)
    writer = Writer("slide")
    try:
        presentation = pptx.Presentation(stream)
        _take_properties(writer.document, presentation.core_properties)
        for number, slide in enumerate(presentation.slides, 1):
            writer.at(number)
            title = slide.shapes.title
            if title is not None:
                writer.heading(1, title.text_frame.text)
            for shape in slide.shapes:
                if title is None or shape.shape_id != title.shape_id:
                    _write_shape(writer, shape, 0)
            for alternatives in slide.shapes._spTree.iterchildren(_ALTERNATIVES):
                _write_first(writer, alternatives)
            if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
                writer.paragraph(notes.text)
    except UnreadableError:
        raise
    except Exception as error:  # python-pptx raises whatever the damaged XML leads to
        raise _damaged("presentation", error) from error
    return writer.done()


def _write_shape(writer: Writer, shape: Any, depth: int) -> None:
    if depth > _MOST_DEPTH:
        raise UnreadableError(f"its shapes are nested more than {_MOST_DEPTH} deep")
    if hasattr(shape, "shapes"):
        for inner in shape.shapes:
            _write_shape(writer, inner, depth + 1)
    elif getattr(shape, "has_table", False):
        write_table(writer, slide_rows(shape.table))
    elif shape.has_text_frame:
        for paragraph in shape.text_frame.paragraphs:
            writer.line("".join(run.text for run in paragraph.runs))


def _write_first(writer: Writer, alternatives: Any) -> None:
    """The paragraphs of the first of several ways to show one shape, with the letters of its formulas."""
    for paragraph in alternatives[0].iter(f"{_DRAWING}p") if len(alternatives) else ():
        texts = paragraph.iter(f"{_DRAWING}t", f"{_MATH}t")
        writer.line("".join(text.text or "" for text in texts))


def _take_properties(document: Document, properties: Any) -> None:
    title = " ".join(str(properties.title or "").split())[:300]
    # What the templates of the two libraries and of the programs say names no document.
    if title.casefold() not in {"word document", "powerpoint presentation", "presentation"}:
        document.title = title
    if properties.author and properties.author != "python-docx":
        document.details["author"] = " ".join(str(properties.author).split())[:300]


def _check(stream: BinaryIO) -> None:
    with open_zip(stream) as archive:
        refuse_entities(archive)
        stream.seek(0)


def _damaged(what: str, error: Exception) -> UnreadableError:
    return UnreadableError(f"its {what} is damaged: {type(error).__name__}: {' '.join(str(error).split())[:150]}")
