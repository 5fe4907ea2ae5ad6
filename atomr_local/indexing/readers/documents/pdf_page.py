"""The lines of a page of a PDF with their places on it, and the rows of tables that are drawn column by column."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
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
EDGE = 0.15  # of the height of a page
_LIKE_WORD = re.compile(r"\W*(?:[A-Z]?[a-zß-ÿ]+(?:[-'’/][A-Za-zß-ÿ]+)*|[A-Z]{2,})\W*")
_OF_TEX = dict(zip("\x0b\x0c\r\x0e\x0f", "ﬀﬁﬂﬃﬄ", strict=True))
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl"})
_LEADERS = re.compile(r"(?:\s?\.){4,}$")
_MATHS = re.compile(rb"(?i)cmsy|cmmi|cmex|msam|msbm|symbol|dingbat|math")
_BOLD = re.compile(rb"(?i)bold|black|heavy|demi|cmbx|sfbx|-bd")
_GAP = 1.0  # letters' sizes between two cells of a line
# Cells are short, the lines of columns of prose are not.
_LONGEST_CELL = 30
_MOST_CELL_WORDS = 5
_NUMERIC = 0.6  # of the cells of a column of numbers
_MOST_COLUMNS = 50
_FEWEST_LOST = 3  # rows of a table that is told as lost
_FEWEST_ROWS = 3
_LIST_MARK = re.compile(r"[-*•–▪◦●○■□]|[(\[]?\w{1,3}[.)\]]|\d{1,2}")
_WORD = re.compile(r"\S*?(?:__+|\.{3,})(?=[^_.\s])|\S+")
# A number with its unit, an amount, a date, or the mark of an empty cell.
_VALUE = re.compile(
    r"(?:[A-Z]{1,4}\b)?\W*\d[\d\s.,:/%+()–-]*\w{0,4}\W*|(?:\d{1,2}\.? )?[A-Za-z]{3,9}\.? (?:\d{1,2},? )?\d{4}|n/a|[-–—]"
)


@dataclass(slots=True)
class Piece:
    """A word, or what stands between wide gaps of a line: line.text[start:end], from `left` to `right` on the page."""

    start: int
    end: int
    left: float
    right: float


@dataclass(slots=True)
class Line:
    """A line of a page.

    Attributes:
        size: of its first letters, in points.
        y: of its baseline, from the foot of the page; `left` and `right` of its letters; all 0 where unknown.
        upright: the letters stand upright on the page as it is stored, so that places on it can be compared.
        words: with their places, from the left; none where these are not known.
        is_at_edge: it stands near the top or the foot of the page.
        bold: its first and last letter are, and it has no wide gaps.
        own: it is no part of a paragraph, such as a row of a table.
        rows: a table that stands here instead of text.
    """

    text: str
    size: float = 0.0
    y: float = 0.0
    left: float = 0.0
    right: float = 0.0
    upright: bool = False
    words: list[Piece] = field(default_factory=list)
    is_at_edge: bool = False
    bold: bool = False
    own: bool = False
    rows: list[list[Cell]] = field(default_factory=list)

    @property
    def length(self) -> int:
        return len(self.text) + sum(len(cell.text) for row in self.rows for cell in row)

    def placed(self) -> list[Piece]:
        """The words, or the line as one where their places are not known."""
        return self.words or [Piece(0, len(self.text), self.left, self.right)]

    def pieces(self) -> list[Piece]:
        """The words between wide gaps put together, from the left."""
        found: list[Piece] = []
        for word in self.placed():
            is_near = bool(found) and found[-1].left <= word.left <= found[-1].right + _GAP * self.size
            if is_near and not self.text.endswith(("__", "..."), 0, found[-1].end):
                found[-1].end, found[-1].right = word.end, max(word.right, found[-1].right)
            else:
                found.append(replace(word))
        return found


class TextPage:
    """The text of a page. Use as a context: it is closed at the end.

    Attributes:
        lines: in reading order; letters that nobody can tell are left out.
        unmapped: letters whose fonts do not say what they show.
        lost_table: a table was left out because its rows are not sure.
    """

    def __init__(self, page: Any) -> None:
        from pypdfium2 import raw

        self._raw: Any = raw
        self._numbers = [ctypes.c_double() for _ in range(4)]
        self._text = page.get_textpage()
        self._height = page.get_height()
        self.unmapped = 0
        self.lost_table = False
        self._coded: list[int] = []  # characters of fonts that number their letters as ASCII or TeX does
        self.lines = self._lines()

    def __enter__(self) -> TextPage:
        return self

    def __exit__(self, *_: object) -> None:
        self._text.close()

    def read_tables(self) -> None:
        """Put the rows of tables in the place of their lines; what may be rows of one stays line by line."""
        for first, last, columns in reversed(list(_column_groups(self.lines))):
            is_table = _is_table(columns)
            if is_table and (rows := _rows(columns)):
                self.lines[first:last] = rows
            elif (
                any(map(_is_of_values, columns))
                and min(map(len, columns)) >= _FEWEST_LOST
                and is_table
                and all(map(_is_short, columns))
            ):
                self.lost_table = True
                self.lines[first:last] = [Line("")]
        _put_beside(self.lines)
        cut = [line.pieces() for line in self.lines]
        grids = list(_grids(self.lines, cut))
        for line, pieces in zip(self.lines, cut, strict=True):
            line.bold = line.bold and len(pieces) < 2
        for first, last, grid in reversed(grids):
            columns = [[cell for cell in column if cell] for column in zip(*grid, strict=True)]
            # The first of two columns may hold the marks or numbers of a list.
            is_list = len(columns) == 2 and all(_LIST_MARK.fullmatch(line.text) for line in columns[0])
            if is_list or not any(map(_is_short, columns)):
                continue
            if _is_table(columns):
                gaps = [above.y - below.y for above, below in pairwise(self.lines[first:last])]
                cells = [
                    [Cell(cell.text, emphasised=cell.bold) if cell else Cell("") for cell in row]
                    for row in _with_whole_cells(grid, gaps)
                ]
                self.lines[first:last] = [Line("", self.lines[first].size, rows=cells)]
            elif all(map(_is_short, columns)):
                for line in self.lines[first:last]:
                    line.own = True

    def _lines(self) -> list[Line]:
        # A character for each of UTF-16, as PDFium counts them.
        letters = list(map(chr, memoryview(self._text.get_text_range().encode("utf-16-le", "surrogatepass")).cast("H")))
        unmapped = self._unmapped()
        for i in self._coded:
            if i < len(letters):
                letters[i] = _OF_TEX.get(letters[i], letters[i])
        text = "".join(letters)
        lines, at = [], 0
        for end in [*_LINE_END.finditer(text), None]:
            line = text[at : end.start() if end else len(text)]
            lines += [self._line(line[i:j], at + i, unmapped) for i, j in self._baselines(line, at)]
            at = end.end() if end else at
        return lines

    def _baselines(self, line: str, at: int) -> list[tuple[int, int]]:
        """Where the line is to be cut: PDFium puts digits that stand below each other into one."""
        filled = [i for i, letter in enumerate(line) if not letter.isspace() and letter not in "\ufffe\u0002"]
        if len(filled) < 2:
            return [(0, len(line))]
        first = self._raw.FPDFText_GetCharIndexFromTextIndex(self._text.raw, at)
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
        letters = text.strip()
        if not letters:
            return Line("")
        first = self._raw.FPDFText_GetCharIndexFromTextIndex(self._text.raw, at + text.index(letters[0]))
        words = letters
        if unmapped and not unmapped.isdisjoint(range(first, first + len(letters))):
            words = "".join(_UNMAPPED if first + i in unmapped else letter for i, letter in enumerate(words))
        words = _NO_LETTERS.sub(lambda match: _UNMAPPED * len(match[0]), words)
        if _UNMAPPED in words:
            self.unmapped += words.count(_UNMAPPED)
            words = " ".join(word for word in words.split() if word.strip(_UNMAPPED) and word.count(_UNMAPPED) < 3)
        words = words.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        words = _with_accents(words.translate(_LIGATURES))
        size, is_upright = self._look(first)
        left, y = self._origin(first)
        last = first + len(letters.rstrip("\ufffe\u0002")) - 1
        right, bold = self._box(last)[1], self._is_bold(first) and self._is_bold(last)
        is_at_edge = not EDGE * self._height < y < (1 - EDGE) * self._height
        line = Line(words, size, y, left, right, is_upright, is_at_edge=is_at_edge, bold=bold)
        if is_upright and words == letters.translate(_LIGATURES):
            line.text = ""
            for start, end in self._spans(letters, first, size):
                ends = *self._box(first + start), *self._box(first + end - 1)
                word = letters[start:end].translate(_LIGATURES)
                line.text += f"{' ' * bool(line.text)}{word}"
                line.words.append(Piece(len(line.text) - len(word), len(line.text), min(ends), max(ends)))
        return line

    def _spans(self, text: str, first: int, size: float) -> Iterator[tuple[int, int]]:
        """Where the words of a line are. PDFium puts numbers of two cells into one where the gap is very wide."""
        for word in _WORD.finditer(text):
            start, end = word.span()
            if sum(map(str.isdigit, word[0])) > 2:
                boxes = [self._box(first + i) for i in range(start, end)]
                gaps = enumerate((right[0] - left[1] for left, right in pairwise(boxes)), start + 1)
                wide = [i for i, gap in gaps if gap > 0.6 * size]
                for i in wide if 3 * len(wide) < end - start else ():  # not a number in boxes, a digit each
                    yield start, i
                    start = i
            yield start, end

    def _box(self, index: int) -> tuple[float, float]:
        """Left and right of a character."""
        left, right, bottom, top = self._numbers
        self._raw.FPDFText_GetCharBox(self._text.raw, index, left, right, bottom, top)
        return left.value, right.value

    def _look(self, index: int) -> tuple[float, bool]:
        """How large a character is, in points, and whether it stands upright."""
        matrix = self._raw.FS_MATRIX()
        self._raw.FPDFText_GetMatrix(self._text.raw, index, matrix)
        size = self._raw.FPDFText_GetFontSize(self._text.raw, index) * (math.hypot(matrix.c, matrix.d) or 1.0)
        return round(size, 1), abs(matrix.b) < matrix.a / 10

    def _is_bold(self, index: int) -> bool:
        return _BOLD.search(self._font(index)) is not None

    def _font(self, index: int) -> bytes:
        """The name of a character's font."""
        name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
        self._raw.FPDFText_GetFontInfo(self._text.raw, index, name, len(name), flags)
        return name.value

    def _origin(self, index: int) -> tuple[float, float]:
        """Where a character begins, on its baseline."""
        x, y = ctypes.c_double(), ctypes.c_double()
        self._raw.FPDFText_GetCharOrigin(self._text.raw, index, x, y)
        return x.value, y.value

    def _unmapped(self) -> set[int]:
        """The characters whose font does not say which letters they are, but for fonts that are read as words all the
        same: PDFium gives the codes of their letters, and programs often number these as ASCII does."""
        raw = self._raw
        failed, letter, handle = raw.FPDFText_HasUnicodeMapError, raw.FPDFText_GetUnicode, self._text.raw
        by_font: dict[bytes, list[int]] = defaultdict(list)
        for i in range(self._text.count_chars()):
            if failed(handle, i) == 1:
                by_font[self._font(i)].append(i)
        found: set[int] = set()
        for font, indices in by_font.items():
            pairs = pairwise([-2, *indices])
            words = "".join(" " * (i > before + 1) + chr(letter(handle, i)) for before, i in pairs).split()
            if _MATHS.search(font) or not _is_language(words):
                found.update(indices)
            else:
                self._coded += indices
        return found


def _is_language(words: Sequence[str]) -> bool:
    """Whether they are words of a European language: by their look, and by the letters that all of these use most."""
    told = [word for word in words if sum(map(str.isalpha, word)) > 2 and "/" not in word]
    letters = "".join(told).casefold()
    usual = sum(letters.count(letter) for letter in "aeinorst")
    alike = sum(_LIKE_WORD.fullmatch(word) is not None for word in told)
    small = sum(map(str.islower, "".join(told)))
    return len(told) > 3 and alike > 0.75 * len(told) and min(small, usual) > 0.5 * len(letters)


def _with_accents(text: str) -> str:
    """The text with accents on their letters, where there are such letters."""

    def joined(match: re.Match[str]) -> str:
        letter = unicodedata.normalize("NFC", _DOTLESS.get(match[2], match[2]) + _ACCENTS[match[1]])
        return letter if len(letter) == 1 else match[0]

    return _ACCENTED.sub(joined, text)


# Tables whose rows are drawn one after the other: lines of several pieces that stand below each other.


def _put_beside(lines: list[Line]) -> None:
    """Put cells that are drawn after the second line of the cell on their left in the line that they stand in."""
    for j in range(len(lines) - 1, 1, -1):
        line = lines[j]
        for i in range(j - 2, max(-1, j - 5), -1):
            near = _tolerance(line)
            is_beside = abs(lines[i].y - line.y) <= near and lines[i].upright and len(line.pieces()) > 1
            if is_beside and all(other.right < line.left and other.y < line.y + near for other in lines[i:j]):
                lines[i] = _beside(lines[i], line)
                del lines[j]
                break


def _beside(left: Line, right: Line) -> Line:
    """Two lines as one."""
    shift = len(left.text) + 1
    moved = [replace(word, start=word.start + shift, end=word.end + shift) for word in right.placed()]
    text, bold = f"{left.text} {right.text}", left.bold and right.bold
    return replace(left, text=text, right=right.right, words=[*left.placed(), *moved], bold=bold)


def _grids(lines: Sequence[Line], cut: Sequence[Sequence[Piece]]) -> Iterator[tuple[int, int, list[list[Line | None]]]]:
    """Where the pieces of lines that follow each other stand in columns: lines[first:last], and the cells of each."""
    done = 0
    for seed, pieces in enumerate(cut):
        is_less = seed + 1 < len(cut) and len(pieces) < len(cut[seed + 1]) and _is_next(lines[seed], lines[seed + 1])
        if seed < done or len(pieces) < 2 or is_less:
            continue
        columns = [(piece.left, piece.right) for piece in pieces]
        rows = {seed: pieces}
        for way in (1, -1):
            at = seed + way
            while done <= at < len(lines) and _is_next(lines[min(at, at - way)], lines[max(at, at - way)]):
                row = next((row for row in (cut[at], _split(lines[at].words, columns)) if _widened(columns, row)), None)
                if row is None:
                    break
                rows[at], columns, at = row, _widened(columns, row), at + way
        steps = {at: lines[at - 1].y - lines[at].y for at in rows if at - 1 in rows}
        least = min((step for at, step in steps.items() if len(rows[at]) > 1), default=0.0)
        # A line of one piece may be part of the cells above it, but is no row at the end or the beginning.
        while len(rows[last := max(rows)]) < 2 and steps[last] >= 0.8 * least:
            del rows[last]
        while len(rows[min(rows)]) < 2:
            del rows[min(rows)]
        fewest = _FEWEST_ROWS - any(lines[at].own for at in rows)
        if sum(len(row) > 1 for row in rows.values()) >= max(fewest, 0.6 * len(rows)):
            done = max(rows) + 1
            yield min(rows), done, _below_names([_cells(lines[at], rows[at], columns) for at in sorted(rows)])


def _cells(line: Line, row: Sequence[Piece], columns: Sequence[tuple[float, float]]) -> list[Line | None]:
    """A cell for each of the columns."""
    rights = [right for _, right in columns]
    texts: dict[int, str] = {}
    for piece in row:
        i = bisect_left(rights, piece.right)
        texts[i] = f"{texts.get(i, '')} {_LEADERS.sub('', line.text[piece.start : piece.end])}".lstrip()
    return [replace(line, text=texts[i]) if i in texts else None for i in range(len(columns))]


def _below_names(rows: list[list[Line | None]]) -> list[list[Line | None]]:
    """The rows, each name of a column that stands beside its column in that one."""
    for i in range(len(rows[0]) - 1, -1, -1):
        if rows[0][i] is None or any(row[i] for row in rows[1:]):
            continue
        for other in (i + 1, i - 1):
            if 0 <= other < len(rows[0]) and rows[0][other] is None:
                rows[0][other] = rows[0][i]
                rows = [[*row[:i], *row[i + 1 :]] for row in rows]
                break
    return rows


def _split(words: Sequence[Piece], columns: Sequence[tuple[float, float]]) -> list[Piece]:
    """The pieces of a line whose cells stand close to each other; [] where its gaps do not tell them."""
    at = [[i for i, (left, right) in enumerate(columns) if word.left < right and left < word.right] for word in words]
    if not words or any(len(over) != 1 for over in at):
        return []
    found, inside, between = [words[0]], [0.0], [math.inf]
    for (before, word), (own, other) in zip(pairwise(words), pairwise(at), strict=True):
        (inside if own == other else between).append(word.left - before.right)
        if own == other:
            found[-1] = replace(found[-1], end=word.end, right=word.right)
        else:
            found.append(word)
    return found if min(between) > 1.05 * max(inside) else []


def _is_next(line: Line, following: Line) -> bool:
    small, large = sorted((line.size, following.size))
    is_below = line.upright and following.upright and 0 < line.y - following.y < 4 * line.size
    return is_below and large < 1.15 * small


def _widened(columns: Sequence[tuple[float, float]], pieces: Sequence[Piece]) -> list[tuple[float, float]]:
    """The columns, from the left, with the pieces of one more line; [] where these do not stand in them."""
    found = list(columns)
    taken: set[int] = set()
    for piece in pieces:
        over = [i for i, (left, right) in enumerate(found) if piece.left < right and left < piece.right]
        if len(over) > 1 or not taken.isdisjoint(over) or (not over and len(pieces) == 1):
            return []
        if over:
            [i] = over
            found[i] = min(found[i][0], piece.left), max(found[i][1], piece.right)
        else:
            i = len(found)
            found.append((piece.left, piece.right))
        taken.add(i)
    found.sort()
    return found if pieces and all(before[1] <= after[0] for before, after in pairwise(found)) else []


# Tables drawn column by column: runs of lines down the page, each of them beside the one before and as high up.


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
    for column in filter(_is_of_values, columns):
        texts = [line.text for line in column]
        are_lines = texts[0].isdecimal() and [str(int(texts[0]) + i) for i in range(len(texts))] == texts
        if are_short or not are_lines or len(texts[0]) > 2:
            return True
    return False


def _is_of_values(column: Sequence[Line]) -> bool:
    """Whether most of its cells are numbers, amounts or dates."""
    return sum(bool(_VALUE.fullmatch(line.text)) for line in column) >= _NUMERIC * len(column)


def _rows(columns: Sequence[Sequence[Line]]) -> list[Line] | None:
    """The rows as lines; None where cells stand neither beside each other nor as far apart as lines do."""
    rows: list[Line] = []
    for line in sorted((line for column in columns for line in column), key=lambda line: -line.y):
        apart = rows[-1].y - line.y if rows else math.inf
        if apart > _tolerance(line):
            rows.append(replace(line, own=True))
            continue
        left, right = sorted((rows[-1], line), key=lambda one: one.left)
        if left.right > right.left:
            return None
        rows[-1] = replace(_beside(left, right), own=True)
    return None if any(above.y - below.y < 0.9 * below.size for above, below in pairwise(rows)) else rows


def _with_whole_cells(rows: list[list[Line | None]], gaps: Sequence[float]) -> list[list[Line | None]]:
    """The rows, with what stands closer below a cell than rows do in that cell."""
    alone = [2 * sum(cell is not None for cell in row) <= max(2, len(row)) for row in rows]
    between = min((gap for gap, is_alone in zip(gaps, alone[1:], strict=True) if not is_alone), default=0.0)
    whole = rows[:1]
    for row, gap, is_alone in zip(rows[1:], gaps, alone[1:], strict=True):
        cells = [(above, below) for above, below in zip(whole[-1], row, strict=True) if below is not None]
        if is_alone and gap < 0.8 * between and all(above for above, _ in cells):
            whole[-1] = [
                replace(above, text=f"{above.text} {below.text}") if above and below else above
                for above, below in zip(whole[-1], row, strict=True)
            ]
        else:
            whole.append(row)
    return whole


def _tolerance(line: Line) -> float:
    return max(1.5, 0.3 * line.size)
