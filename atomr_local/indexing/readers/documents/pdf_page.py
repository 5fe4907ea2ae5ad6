"""The lines of a page of a PDF with their places on it, and the rows of tables that are drawn column by column."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from atomr_local.indexing.readers.tables import Cell

# PDFium puts U+FFFE or U+0002 where a line ends with a hyphen, and goes on with the next line at once.
_LINE_END = re.compile(r"\r\n|[\r\n]|(?<=[\ufffe\u0002])(?=[^\r\n])")
# TeX sets an accent as a letter of its own before the one below it: "Ren´e". A grave accent is also a quotation mark.
_ACCENTS = dict(
    zip("´¨ˆ˜ˇ˘˚˙˝¯¸`", "\u0301\u0308\u0302\u0303\u030c\u0306\u030a\u0307\u030b\u0304\u0327\u0300", strict=True)
)
_ACCENTED = re.compile(r"([´¨ˆ˜ˇ˘˚˙˝¯¸]|(?<=[^\W\d_])`)([^\W\d_])")
_DOTLESS = {"ı": "i", "ȷ": "j"}
_UNMAPPED = "\ufffd"
# What is given where a font has only numbers of its own for its letters.
_NO_LETTERS = re.compile(r"[\x01\x03-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|[\ue000-\uf8ff]{2,}")
_EDGE = 0.15  # of the height of a page
_GAP = 1.0  # letters' sizes between two cells of a line
# Cells are short, the lines of columns of prose are not.
_LONGEST_CELL = 30
_MOST_CELL_WORDS = 5
_NUMERIC = 0.6  # of the cells of a column of numbers
_MOST_COLUMNS = 50
_FEWEST_LOST = 3  # rows of a table that is told as lost
# A number with its unit, an amount, a date, or the mark of an empty cell.
_VALUE = re.compile(
    r"(?:[A-Z]{1,4}\b)?\W*\d[\d\s.,:/%+()–-]*\w{0,4}\W*|(?:\d{1,2}\.? )?[A-Za-z]{3,9}\.? (?:\d{1,2},? )?\d{4}|n/a|[-–—]"
)


@dataclass(slots=True)
class Line:
    """A line of a page.

    Attributes:
        size: of its first letters, in points.
        y: of its baseline, from the foot of the page; `left` and `right` of its letters; all 0 where unknown.
        upright: the letters stand upright on the page as it is stored, so that places on it can be compared.
        first: the number of its first character among those of the page; None if they are no longer one to one.
        is_at_edge: it stands near the top or the foot of the page.
        own: it is no part of a paragraph.
        rows: a table that stands here instead of text.
    """

    text: str
    size: float = 0.0
    y: float = 0.0
    left: float = 0.0
    right: float = 0.0
    upright: bool = False
    first: int | None = None
    is_at_edge: bool = False
    own: bool = False
    rows: list[list[Cell]] = field(default_factory=list)

    @property
    def length(self) -> int:
        return len(self.text) + sum(len(cell.text) for row in self.rows for cell in row)


@dataclass(slots=True)
class Piece:
    """What stands between wide gaps of a line: line.text[start:end], from `left` to `right` on the page."""

    start: int
    end: int
    left: float
    right: float


class TextPage:
    """The text of a page. Use as a context: it is closed at the end.

    Attributes:
        lines: in reading order; letters that nobody can tell are left out.
        unmapped: letters whose fonts do not say what they show.
        lost_table: a table was left out because its rows are not sure.
    """

    def __init__(self, page: Any) -> None:
        self._text = page.get_textpage()
        self._height = page.get_height()
        self.unmapped = 0
        self.lost_table = False
        self.lines = self._lines()

    def __enter__(self) -> TextPage:
        return self

    def __exit__(self, *_: object) -> None:
        self._text.close()

    def pieces(self, line: Line) -> list[Piece]:
        """The pieces of the line, from the left."""
        if line.first is None:
            return [Piece(0, len(line.text), line.left, line.right)]
        found: list[Piece] = []
        for i, letter in enumerate(line.text):
            if letter.isspace():
                continue
            left, right = self._box(line.first + i)
            is_new = letter not in "_." and bool(found) and line.text[: found[-1].end].endswith(("__", "..."))
            if found and not is_new and found[-1].left <= left <= found[-1].right + _GAP * line.size:
                found[-1].end, found[-1].right = i + 1, max(right, found[-1].right)
            else:
                found.append(Piece(i, i + 1, left, right))
        return found

    def read_tables(self) -> None:
        """Put the rows of tables that are drawn column by column in the place of their lines."""
        for first, last, columns in reversed(list(_column_groups(self.lines))):
            rows = _rows(columns)
            header = self._header(first, columns)
            if rows and (_is_table(columns) or (header and all(map(_is_short, columns)))):
                cells = [[Cell(line.text if line else "") for line in row] for row in rows]
                table = Line("", columns[0][0].size, rows=[header, *cells] if header else cells)
                self.lines[first - bool(header) : last] = [table]
            elif (
                not rows
                and min(map(len, columns)) >= _FEWEST_LOST
                and _is_table(columns)
                and all(map(_is_short, columns))
            ):
                self.lost_table = True
                self.lines[first:last] = [Line("")]

    def _header(self, first: int, columns: Sequence[Sequence[Line]]) -> list[Cell]:
        """The names of the columns, where the line above is cut in as many pieces as there are columns."""
        above = self.lines[first - 1] if first else Line("")
        if not above.upright or above.y - max(column[0].y for column in columns) > 3 * above.size:
            return []
        pieces = self.pieces(above)
        over = [
            piece.right >= min(line.left for line in column) and piece.left <= max(line.right for line in column)
            for piece, column in zip(pieces, columns, strict=False)
        ]
        if len(pieces) != len(columns) or not all(over):
            return []
        return [Cell(above.text[piece.start : piece.end], header=True) for piece in pieces]

    def _lines(self) -> list[Line]:
        text = self._text.get_text_range()
        unmapped = self._unmapped()
        lines, at = [], 0
        for end in [*_LINE_END.finditer(text), None]:
            line = text[at : end.start() if end else len(text)]
            lines += [self._line(line[i:j], at + i, unmapped) for i, j in self._baselines(line, at)]
            at = end.end() if end else at
        return lines

    def _baselines(self, line: str, at: int) -> list[tuple[int, int]]:
        """Where the line is to be cut: PDFium puts digits that stand below each other into one."""
        from pypdfium2 import raw

        filled = [i for i, letter in enumerate(line) if not letter.isspace() and letter not in "\ufffe\u0002"]
        if len(filled) < 2:
            return [(0, len(line))]
        first = raw.FPDFText_GetCharIndexFromTextIndex(self._text.raw, at)
        size, is_upright = self._look(first + filled[0])
        apart = 0.8 * size
        height = self._origin(first + filled[-1])[1] - self._origin(first + filled[0])[1]
        if not is_upright or abs(height) <= apart:
            return [(0, len(line))]
        heights = [self._origin(first + i)[1] for i in filled]
        pairs = zip(pairwise(heights), filled[1:], strict=True)
        cuts = [0, *(i for (above, below), i in pairs if abs(above - below) > apart), len(line)]
        return list(pairwise(cuts))

    def _line(self, text: str, at: int, unmapped: set[int]) -> Line:
        from pypdfium2 import raw

        letters = text.strip()
        if not letters:
            return Line("")
        first = raw.FPDFText_GetCharIndexFromTextIndex(self._text.raw, at + text.index(letters[0]))
        words = _NO_LETTERS.sub(lambda match: _UNMAPPED * len(match[0]), letters)
        if unmapped and not unmapped.isdisjoint(range(first, first + len(letters))):
            words = "".join(_UNMAPPED if first + i in unmapped else letter for i, letter in enumerate(words))
        if _UNMAPPED in words:
            self.unmapped += words.count(_UNMAPPED)
            words = " ".join(word for word in words.split() if word.strip(_UNMAPPED))
        words = _with_accents(words)
        size, is_upright = self._look(first)
        left, y = self._origin(first)
        right = self._box(first + len(letters.rstrip("\ufffe\u0002")) - 1)[1]
        is_at_edge = not _EDGE * self._height < y < (1 - _EDGE) * self._height
        return Line(words, size, y, left, right, is_upright, first if words == letters else None, is_at_edge)

    def _box(self, index: int) -> tuple[float, float]:
        """Left and right of a character."""
        from pypdfium2 import raw

        left, right, bottom, top = (ctypes.c_double() for _ in range(4))
        raw.FPDFText_GetCharBox(self._text.raw, index, left, right, bottom, top)
        return left.value, right.value

    def _look(self, index: int) -> tuple[float, bool]:
        """How large a character is, in points, and whether it stands upright."""
        from pypdfium2 import raw

        matrix = raw.FS_MATRIX()
        raw.FPDFText_GetMatrix(self._text.raw, index, matrix)
        size = raw.FPDFText_GetFontSize(self._text.raw, index) * (math.hypot(matrix.c, matrix.d) or 1.0)
        return round(size, 1), abs(matrix.b) < matrix.a / 10

    def _origin(self, index: int) -> tuple[float, float]:
        """Where a character begins, on its baseline."""
        from pypdfium2 import raw

        x, y = ctypes.c_double(), ctypes.c_double()
        raw.FPDFText_GetCharOrigin(self._text.raw, index, x, y)
        return x.value, y.value

    def _unmapped(self) -> set[int]:
        """The characters whose font does not say which letters they are."""
        from pypdfium2 import raw

        failed, handle = raw.FPDFText_HasUnicodeMapError, self._text.raw
        return {i for i in range(self._text.count_chars()) if failed(handle, i) == 1}


def _with_accents(text: str) -> str:
    """The text with accents on their letters, where there are such letters."""

    def joined(match: re.Match[str]) -> str:
        letter = unicodedata.normalize("NFC", _DOTLESS.get(match[2], match[2]) + _ACCENTS[match[1]])
        return letter if len(letter) == 1 else match[0]

    return _ACCENTED.sub(joined, text)


# Tables: runs of lines down the page, each of them beside the one before and as high up.


def _column_groups(lines: Sequence[Line]) -> Iterator[tuple[int, int, list[list[Line]]]]:
    """Where columns of short lines stand side by side: lines[first:last], and the columns."""
    runs = _runs(lines)
    at = 0
    while at < len(runs):
        until = at + 1
        while until < min(len(runs), at + _MOST_COLUMNS) and _is_beside(lines, runs[at:until], runs[until]):
            until += 1
        if until - at > 1:
            first, last, columns = _cut_out(lines, runs[at:until])
            yield first, last, sorted(columns, key=lambda column: column[0].left)
            # What the last run has below the table may begin another one.
            runs[until - 1] = range(last, runs[until - 1].stop)
            until -= bool(runs[until - 1])
        at = until


def _runs(lines: Sequence[Line]) -> list[range]:
    """Lines that follow each other down the page; empty and turned lines end a run."""
    found: list[range] = []
    start: int | None = None
    for i, line in enumerate([*lines, Line("")]):
        goes_on = start is not None and line.upright and line.y < lines[i - 1].y - 1
        if start is not None and not goes_on:
            found.append(range(start, i))
            start = None
        if line.upright and start is None:
            start = i
    return found


def _is_beside(lines: Sequence[Line], before: Sequence[range], run: range) -> bool:
    """Whether the run has lines beside those before, which it does not overlap."""
    if before[-1].stop != run.start:
        return False
    _, _, columns = _cut_out(lines, [*before, run])
    if min(map(len, columns)) < 2:
        return False
    *others, own = columns
    left, right = min(line.left for line in own), max(line.right for line in own)
    return all(
        right < min(line.left for line in column) or max(line.right for line in column) < left for column in others
    )


def _cut_out(lines: Sequence[Line], runs: Sequence[range]) -> tuple[int, int, list[list[Line]]]:
    """The lines of a table, of which the first run may begin above it, and the last may end below it."""
    top = max(lines[run.start].y for run in runs[1:])
    low = min(lines[run[-1]].y for run in runs[:-1])
    first = [line for line in lines[runs[0].start : runs[0].stop] if line.y <= top + _near(lines, runs[0])]
    last = [line for line in lines[runs[-1].start : runs[-1].stop] if line.y >= low - _near(lines, runs[-1])]
    columns = [first, *(list(lines[run.start : run.stop]) for run in runs[1:-1]), last]
    return runs[0].stop - len(first), runs[-1].start + len(last), columns


def _near(lines: Sequence[Line], run: range) -> float:
    """What is nearer than the next line of the run."""
    gaps = sorted(lines[i].y - lines[i + 1].y for i in run[:-1])
    return max(_tolerance(lines[run.start]), 0.6 * gaps[len(gaps) // 2] if gaps else 0.0)


def _is_short(column: Sequence[Line], words: int = _MOST_CELL_WORDS) -> bool:
    middle = len(column) // 2
    counts = sorted(len(line.text.split()) for line in column)
    return counts[middle] <= words and sorted(len(line.text) for line in column)[middle] <= _LONGEST_CELL


def _is_table(columns: Sequence[Sequence[Line]]) -> bool:
    """Whether they can be nothing but a table: not addresses, prose, or the numbers of lines beside their text."""
    if all(line.text.endswith(":") for line in columns[0]):
        return True
    if len(columns) > 2 and min(map(len, columns)) > _FEWEST_LOST and all(_is_short(column, 3) for column in columns):
        return True
    are_short = all(map(_is_short, columns))
    for column in columns:
        texts = [line.text for line in column]
        are_lines = texts[0].isdigit() and [str(int(texts[0]) + i) for i in range(len(texts))] == texts
        values = sum(bool(_VALUE.fullmatch(text)) for text in texts)
        if values >= _NUMERIC * len(texts) and (are_short or not are_lines or len(texts[0]) > 2):
            return True
    return False


def _rows(columns: Sequence[Sequence[Line]]) -> list[list[Line | None]] | None:
    """The rows; None where a cell stands beside none of the column that has the most cells."""
    base = max(columns, key=len)
    rows: list[list[Line | None]] = [[None] * len(columns) for _ in base]
    for number, column in enumerate(columns):
        for line in column:
            row = min(range(len(base)), key=lambda i: abs(base[i].y - line.y))
            if abs(base[row].y - line.y) > _tolerance(line) or rows[row][number] is not None:
                return None
            rows[row][number] = line
    return _with_whole_cells(rows, [above.y - below.y for above, below in pairwise(base)])


def _with_whole_cells(rows: list[list[Line | None]], gaps: Sequence[float]) -> list[list[Line | None]] | None:
    """The rows, each cell of several lines in one; None where it is not sure which lines belong to one cell."""
    alone = [sum(cell is not None for cell in row) == 1 for row in rows]
    between = [gap for gap, is_alone in zip(gaps, alone[1:], strict=True) if not is_alone]
    whole = rows[:1]
    for row, gap, is_alone in zip(rows[1:], gaps, alone[1:], strict=True):
        if not is_alone or (between and gap > 0.95 * max(between)):
            whole.append(row)
            continue
        if not between or gap > 0.8 * min(between):
            return None
        [number] = [i for i, cell in enumerate(row) if cell is not None]
        above, below = whole[-1][number], row[number]
        if above is None or below is None:
            return None
        whole[-1][number] = replace(above, text=f"{above.text} {below.text}")
    return whole


def _tolerance(line: Line) -> float:
    return max(1.5, 0.3 * line.size)
