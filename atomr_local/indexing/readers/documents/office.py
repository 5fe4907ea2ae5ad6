"""Word documents and PowerPoint presentations, by python-docx and python-pptx."""

from __future__ import annotations

from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, Writer, write_table
from atomr_local.indexing.readers.documents.zip_limits import open_zip

_MOST_DEPTH = 20
_MOST_FOOTNOTES = 5_000
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
# What programs of different ages show instead of each other: shapes with formulas are written so.
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_SPACES = frozenset({f"{_WORD}tab", f"{_WORD}br", f"{_WORD}cr"})


def parse_docx(stream: BinaryIO) -> Document:
    import docx

    _check(stream)
    writer = Writer()
    try:
        document = docx.Document(stream)
        _take_properties(writer.document, document.core_properties)
        footnotes = _footnotes(document)
        for block in document.iter_inner_content():
            if hasattr(block, "rows"):
                write_table(writer, _rows(block))
                continue
            style = str(getattr(block.style, "name", "") or "")
            level = style.removeprefix("Heading ")
            if style == "Title" and not writer.document.title:
                writer.document.title = " ".join(block.text.split())[:300]
            elif style.startswith("Heading ") and level.isdigit():
                writer.heading(int(level), block.text)
            else:
                writer.paragraph(_with_formulas(block))
            for reference in block._p.iter(f"{_WORD}footnoteReference", f"{_WORD}endnoteReference"):
                kind = reference.tag.removeprefix(_WORD).removesuffix("Reference")
                writer.paragraph(footnotes.pop((kind, reference.get(f"{_WORD}id", "")), ""))
    except UnreadableError:
        raise
    except Exception as error:  # python-docx raises whatever the damaged XML leads to
        raise _damaged("Word document", error) from error
    return writer.done()


def _with_formulas(paragraph: Any) -> str:
    """The paragraph's text; python-docx leaves the letters of formulas out."""
    if next(paragraph._p.iter(f"{_MATH}t"), None) is None:
        return str(paragraph.text)
    words = []
    for element in paragraph._p.iter():
        if element.tag in {f"{_WORD}t", f"{_MATH}t"}:
            words.append(element.text or "")
        elif element.tag in _SPACES:
            words.append(" ")
    return "".join(words)


def _footnotes(document: Any) -> dict[tuple[str, str], str]:
    """The texts of footnotes and endnotes by kind and id."""
    from docx.oxml import parse_xml

    found: dict[tuple[str, str], str] = {}
    for relation in document.part.rels.values():
        kind = str(relation.reltype).rpartition("/")[2].removesuffix("s")
        if kind not in {"footnote", "endnote"} or relation.is_external:
            continue
        for note in parse_xml(relation.target_part.blob).iterchildren(f"{_WORD}{kind}"):
            if len(found) >= _MOST_FOOTNOTES:
                return found
            lines = ("".join(text.text or "" for text in line.iter(f"{_WORD}t")) for line in note.iter(f"{_WORD}p"))
            found[kind, note.get(f"{_WORD}id", "")] = " ".join(" ".join(lines).split())
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
        write_table(writer, _rows(shape.table))
    elif shape.has_text_frame:
        for paragraph in shape.text_frame.paragraphs:
            writer.line("".join(run.text for run in paragraph.runs))


def _write_first(writer: Writer, alternatives: Any) -> None:
    """The paragraphs of the first of several ways to show one shape, with the letters of its formulas."""
    for paragraph in alternatives[0].iter(f"{_DRAWING}p") if len(alternatives) else ():
        texts = paragraph.iter(f"{_DRAWING}t", f"{_MATH}t")
        writer.line("".join(text.text or "" for text in texts))


def _rows(table: Any) -> list[list[str]]:
    """The cells' texts; a cell that reaches over several columns stands once."""
    rows = []
    for row in table.rows:
        cells = list(row.cells)
        seen: list[Any] = []
        texts = []
        for cell in cells:
            element = getattr(cell, "_tc", cell)
            if not any(element is one for one in seen):
                texts.append(cell.text)
            seen.append(element)
        rows.append(texts)
    return rows


def _take_properties(document: Document, properties: Any) -> None:
    title = " ".join(str(properties.title or "").split())[:300]
    # What the templates of the two libraries and of the programs say names no document.
    if title.casefold() not in {"word document", "powerpoint presentation", "presentation"}:
        document.title = title
    if properties.author and properties.author != "python-docx":
        document.details["author"] = " ".join(str(properties.author).split())[:300]


def _check(stream: BinaryIO) -> None:
    with open_zip(stream):
        stream.seek(0)


def _damaged(what: str, error: Exception) -> UnreadableError:
    return UnreadableError(f"its {what} is damaged: {type(error).__name__}: {' '.join(str(error).split())[:150]}")
