"""Tables of Word documents and presentations: their cells with what they reach over, and what marks headings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from atomr_local.indexing.readers.tables.cells import MOST_SPAN, Cell, one_line

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
            words = one_line("\n".join(text(one) for one in paragraphs), " " if header else ", ", sentences=True)
            bold = (bold_row and number == 0) or (bold_column and column == 0) or _is_bold(paragraphs)
            if merge is not None:
                open_above[column] = (number, len(cells))
            else:
                open_above.pop(column, None)
            cells.append(Cell(words, header, 1, span, bold and bool(words)))
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
            words = one_line(cell.text.replace("\v", "\n"), ", ", sentences=True)
            runs = [run for paragraph in cell.text_frame.paragraphs for run in paragraph.runs if run.text.strip()]
            bold = bool(runs) and all(run.font.bold for run in runs)
            bold = bold or (number == 0 and table.first_row) or (column == 0 and table.first_col)
            cells.append(Cell(words, False, high, wide, bold and bool(words)))
        rows.append(cells)
    return rows


def children(element: Any, *names: str) -> Iterator[Any]:
    """The children of these names, and those within content controls and insertions, in order."""
    wanted = {f"{WORD}{name}" for name in names}
    waiting = list(reversed(list(element)))
    while waiting:
        child = waiting.pop()
        if child.tag in wanted:
            yield child
        elif child.tag in _WRAPPERS:
            waiting += reversed(list(child))


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
