"""Tables of web pages while they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from atomr_local.indexing.readers.documents.document import Writer
from atomr_local.indexing.readers.documents.table_writing import write_table
from atomr_local.indexing.readers.tables.cells import MOST_SPAN, Cell, markup_span, one_line

MOST_CELLS = 1_000_000  # of one table
_LONGEST_VALUE = 1_000  # characters; a longer cell of a table without headings holds a part of the page
_ROW_PARTS = frozenset({"tr", "thead", "tbody", "tfoot"})
TABLE_TAGS = _ROW_PARTS | {"td", "th", "caption"}


@dataclass(slots=True)
class OpenTable:
    """A table that is being read.

    Attributes:
        layout: it arranges the page; its cells are blocks like others.
        rows: the cells as they are written, with the ends of their lines.
        words: of the cell or the caption that is open; None between them.
        plain: some of these words are not bold.
        inner: tables that stood in its cells; they are written behind it.
        left_out: cells beyond the limit.
    """

    attributes: Mapping[str, str]
    layout: bool = False
    caption: str = ""
    rows: list[list[Cell]] = field(default_factory=list)
    words: list[str] | None = None
    plain: bool = False
    inner: list[OpenTable] = field(default_factory=list)
    left_out: int = 0
    _cell: tuple[str, Mapping[str, str]] | None = None  # the tag that is open; None in the caption
    _cells: int = 0
    _headers: int = 0
    _in_head: bool = False

    @property
    def is_data(self) -> bool:
        """Whether its markup says that it holds data: headings, a caption or a border."""
        border = self.attributes.get("border", "0") not in {"0", ""}
        in_cell = self._cell is not None and self._cell[0] == "th"
        return bool(self._headers or self.caption or border or in_cell)

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        """A part of it begins, and the cell that was open ends."""
        self.finish()
        if tag in _ROW_PARTS:
            self._in_head = tag == "thead" or (self._in_head and tag == "tr")
            if tag == "tr":
                self.rows.append([])
            return
        self.words, self.plain = [], False
        self._cell = (tag, attributes) if tag != "caption" else None

    def finish(self) -> None:
        """The cell or the caption that is open ends."""
        if self.words is None:
            return
        text, self.words = "".join(self.words), None
        cell, self._cell = self._cell, None
        if cell is None:
            self.caption = self.caption or " ".join(text.split())
            return
        if self._cells >= MOST_CELLS:
            self.left_out += 1
            return
        if not self.rows:
            self.rows.append([])
        tag, given = cell
        header = tag == "th" or self._in_head
        # A rowspan of 0 reaches to the end of the table.
        spans = markup_span(given.get("rowspan", "")) or MOST_SPAN, markup_span(given.get("colspan", "")) or 1
        self.rows[-1].append(Cell(text, header, *spans, emphasised=bool(text.strip()) and not self.plain))
        self._cells += 1
        self._headers += header

    def write(self, writer: Writer) -> None:
        """Write it, and behind it the tables that stood in its cells."""
        rows = [row for row in self.rows if row]
        if not self.is_data and (
            all(len(row) == 1 for row in rows) or any(len(cell.text) > _LONGEST_VALUE for row in rows for cell in row)
        ):
            for cell in (cell for row in rows for cell in row):
                for line in cell.text.split("\n"):
                    writer.paragraph(line)
        else:
            write_table(writer, [[_one_line(cell) for cell in row] for row in rows], caption=self.caption)
        if self.left_out:
            writer.document.notes.append(
                f"{self.left_out} cells of a table are left out: it has more than {MOST_CELLS}"
            )
        waiting = list(reversed(self.inner))
        while waiting:  # no recursion, however deep they stand in each other
            inner = waiting.pop()
            waiting += reversed(inner.inner)
            inner.inner = []
            inner.write(writer)


def _one_line(cell: Cell) -> Cell:
    return replace(cell, text=one_line(cell.text, " " if cell.header else ", ", sentences=True))
