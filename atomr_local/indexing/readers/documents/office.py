"""Word documents and PowerPoint presentations, by python-docx and python-pptx."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import (
    Document,
    UnreadableError,
    Writer,
    elements_in,
    office_file,
    write_table,
)
from atomr_local.indexing.readers.tables import MOST_SPAN, Cell, cell_of_lines

# Tables of Word documents and presentations: their cells with what they reach over, and what marks headings.

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_OFF = frozenset({"0", "false", "off"})
_FIRST_ROW, _FIRST_COLUMN = 0x0020, 0x0080  # of the bits that say which parts of its style a table shows


def word_rows(table: Any, text: Callable[[Any], str]) -> tuple[list[list[Cell]], list[Any]]:
    """The rows of a table of python-docx, and the tables that stand in its cells, as elements.

    Args:
        text: gives the words of a paragraph.
    """
    element = table._tbl
    rows: list[list[Cell]] = []
    inner: list[Any] = []
    bold_row, bold_column = _styled(table)
    open_above: dict[int, tuple[int, int]] = {}  # column → row and index of the cell that may go on below
    for number, row in enumerate(children(element, "tr")):
        properties = row.find(f"{WORD}trPr")
        header = properties is not None and _is_on(properties.find(f"{WORD}tblHeader"))
        cells: list[Cell] = []
        column = _before(properties)
        cells += [Cell("")] * column
        for cell in children(row, "tc"):
            span = _number(cell.find(f"{WORD}tcPr/{WORD}gridSpan"))
            merge = cell.find(f"{WORD}tcPr/{WORD}vMerge")
            if merge is not None and merge.get(f"{WORD}val", "continue") == "continue" and column in open_above:
                above, index = open_above[column]
                rows[above][index] = replace(rows[above][index], rowspan=number - above + 1)
                column += span
                continue
            paragraphs = list(children(cell, "p"))
            inner += children(cell, "tbl")
            words = "\n".join(text(one) for one in paragraphs)
            bold = (bold_row and number == 0) or (bold_column and column == 0) or _is_bold(paragraphs)
            if merge is not None:
                open_above[column] = (number, len(cells))
            else:
                open_above.pop(column, None)
            cells.append(cell_of_lines(words, header, 1, span, bold=bold))
            column += span
        rows.append(cells)
    return rows, inner


def slide_rows(table: Any) -> list[list[Cell]]:
    """The rows of a table of python-pptx."""
    rows = []
    for number, row in enumerate(table.rows):
        cells = []
        for column, cell in enumerate(row.cells):
            if cell.is_spanned:
                continue
            high, wide = (cell.span_height, cell.span_width) if cell.is_merge_origin else (1, 1)
            runs = [run for paragraph in cell.text_frame.paragraphs for run in paragraph.runs if run.text.strip()]
            bold = bool(runs) and all(run.font.bold for run in runs)
            bold = bold or (number == 0 and table.first_row) or (column == 0 and table.first_col)
            cells.append(cell_of_lines(cell.text.replace("\v", "\n"), False, high, wide, bold=bold))
        rows.append(cells)
    return rows


def children(element: Any, *names: str) -> Iterator[Any]:
    """The children of these names, and those within content controls and insertions, in order."""
    wanted = {f"{WORD}{name}" for name in names}
    return (child for child in elements_in(element, lambda one: one.tag in _WRAPPERS) if child.tag in wanted)


_WRAPPERS = frozenset(f"{WORD}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"))


def _styled(table: Any) -> tuple[bool, bool]:
    """Whether the table's style sets its first row, and its first column, off from the others, and it shows that."""
    look = table._tbl.find(f"{WORD}tblPr/{WORD}tblLook")
    style = getattr(table.style, "element", None)
    if look is None or style is None:
        return False, False
    parts = {part.get(f"{WORD}type") for part in style.iterchildren(f"{WORD}tblStylePr")}
    bits = look.get(f"{WORD}val", "0")
    mask = int(bits, 16) if all(digit in "0123456789abcdefABCDEF" for digit in bits) and bits else 0
    row = look.get(f"{WORD}firstRow")
    column = look.get(f"{WORD}firstColumn")
    shows_row = row not in _OFF if row is not None else bool(mask & _FIRST_ROW)
    shows_column = column not in _OFF if column is not None else bool(mask & _FIRST_COLUMN)
    return shows_row and "firstRow" in parts, shows_column and "firstCol" in parts


def _before(properties: Any) -> int:
    """The columns that a row leaves empty before its first cell."""
    return min(_number(properties.find(f"{WORD}gridBefore"), 0), MOST_SPAN) if properties is not None else 0


def _is_bold(paragraphs: list[Any]) -> bool:
    runs = [
        run for one in paragraphs for run in one.iter(f"{WORD}r") if any(part.text for part in run.iter(f"{WORD}t"))
    ]
    return bool(runs) and all(_is_on(run.find(f"{WORD}rPr/{WORD}b")) for run in runs)


def _is_on(element: Any) -> bool:
    return element is not None and element.get(f"{WORD}val", "1") not in _OFF


def _number(element: Any, otherwise: int = 1) -> int:
    value = element.get(f"{WORD}val", "") if element is not None else ""
    return min(max(int(value), otherwise), MOST_SPAN) if value.isdecimal() and len(value) < 6 else otherwise


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

    writer = Writer()
    with office_file(stream, "Word document"):
        document = docx.Document(stream)
        _take_properties(writer.document, document.core_properties)
        footnotes = _footnotes(document)
        for element in children(document.element.body, "p", "tbl"):
            _write_block(writer, element, document, footnotes)
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
    found = elements_in(element, lambda one: one.tag not in _PASSED_OVER)
    return (child for child in found if not names or child.tag in names)


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

    writer = Writer("slide")
    with office_file(stream, "presentation"):
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
