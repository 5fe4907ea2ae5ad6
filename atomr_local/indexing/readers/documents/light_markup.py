"""Org, AsciiDoc, Textile and MediaWiki text, line by line, as `markup.toml` says.

No library reads them with their tables, their numbers and their lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import BinaryIO

from atomr_local.indexing.readers.documents.document import Document, Writer, short_line, write_table
from atomr_local.indexing.readers.documents.text_file import read_text, titled_by_heading, write_lines
from atomr_local.indexing.readers.known import known
from atomr_local.indexing.readers.tables import Cell, Names, cell_of_lines, markup_spans

MARKUP = known("documents/markup.toml")
Line = tuple[int, str]  # with its number


def parse_light(stream: BinaryIO, name: str) -> Document:
    """Text without marks, comments and options; nothing is included. The name of the file tells its language."""
    suffix = PurePosixPath(name.casefold()).suffix
    language = next(language for language, known in MARKUP.items() if suffix in known.get("suffixes", ()))
    return titled_by_heading((_AsciiDoc if language == "asciidoc" else _Light)(stream, language).document())


class Lines:
    """Reads line by line; what a line begins is written when it ends."""

    def __init__(self, stream: BinaryIO) -> None:
        source = read_text(stream).expandtabs(8).split("\n")
        self._waiting = list(reversed([*enumerate(source, 1)]))
        self._writer = Writer("line")
        self._paragraph: list[Line] = []
        self._own = False

    def document(self) -> Document:
        while self._waiting:
            number, text = self._waiting.pop()
            if text.strip():
                self._line(number, text.rstrip())
            else:
                self._close()
        self._close()
        return self._writer.done()

    def _line(self, number: int, text: str) -> None:
        raise NotImplementedError

    def _inline(self, text: str) -> str:
        raise NotImplementedError

    def _close(self, number: int = 0, text: str = "") -> None:
        """End the paragraph or item, and begin a line of its own with this text."""
        if self._paragraph:
            lines = self._inline("\n".join(text for _, text in self._paragraph)).split("\n")
            if len(lines) != len(self._paragraph):  # marks over the end of a line
                lines = [" ".join(lines)]
            numbered = zip((number for number, _ in self._paragraph), lines, strict=False)
            write_lines(self._writer, [(number, line) for number, line in numbered if line.strip()], own=self._own)
        self._paragraph, self._own = [(number, text)] if text else [], bool(text)

    def _headed(self, number: int, level: int, title: str) -> None:
        self._close()
        self._writer.at(number)
        self._writer.heading(level, self._inline(title))

    def _coded(self, lines: Iterable[Line]) -> None:
        self._close()
        for number, text in lines:
            self._writer.at(number)
            self._writer.line(text)


class _Light(Lines):
    """Reads as `markup.toml` says of a language."""

    def __init__(self, stream: BinaryIO, language: str) -> None:
        super().__init__(stream)
        known = MARKUP[language]
        self._rules = [(done, re.compile(line), told) for done, line, told in known["lines"]]
        self._words = [(re.compile(found), told) for found, told in known["words"]]
        self._marks: re.Pattern[str] = re.compile(known["marks"])
        self._code: str = known["code"]
        self._listed, self._letters = known.get("listed", ""), known.get("letters", "")
        self._item_is_line = known.get("item_is_line", False)
        self._counted: list[int] = []  # items of the open lists, by depth
        self._given = ""  # options of the block that begins
        self._attached = False

    def _line(self, number: int, text: str) -> None:
        if text[0] not in self._listed and (self._item_is_line or not (self._paragraph or self._attached)):
            self._counted.clear()
        self._attached = False
        for done, line, told in self._rules:
            if found := line.fullmatch(text):
                if done in {"code", "drop"}:
                    lines = self._until(found.expand(told))
                    self._coded(lines if done == "code" else list(lines)[:0])
                elif done == "said":
                    self._close(number, found.expand(told))
                elif done == "heading":
                    self._headed(number, int(found[1]) if found[1].isdecimal() else len(found[1]), found[2])
                elif done == "title":
                    self._writer.document.title = short_line(self._inline(found[1]))
                else:
                    getattr(self, f"_{done}")(number, found)
                return
        if self._own and self._item_is_line:
            self._close()
        self._paragraph.append((number, text))

    def _until(self, end: str) -> Iterator[Line]:
        while self._waiting:
            number, text = self._waiting.pop()
            if text.strip().casefold() == end.casefold():
                return
            yield number, re.sub(r"^(\s*),(?=[*,]|#\+)", r"\1", text)

    def _count(self, number: int, found: re.Match[str]) -> None:
        depth = len(found[1])
        del self._counted[depth:]
        self._counted += [0] * (depth - len(self._counted))
        if start := re.search(r'start="?(\d{1,9})', self._given):
            self._counted[-1] = int(start[1]) - 1
        self._given = ""
        self._counted[-1] += 1
        count = self._counted[-1]
        self._close(number, f"{chr(96 + count) if str(depth) in self._letters and count < 27 else count}. {found[2]}")

    def _table(self, number: int, found: re.Match[str]) -> None:
        lines = [(number, found[0])]
        while self._waiting and self._waiting[-1][1].lstrip().startswith("|"):
            lines.append(self._waiting.pop())
        is_named = [text.lstrip()[:2] == "|-" for _, text in lines][1:2] == [True]
        lines = [(number, text) for number, text in lines if text.lstrip()[:2] != "|-"]
        rows = [[Cell(self._inline(cell).strip()) for cell in text.strip().strip("|").split("|")] for _, text in lines]
        self._close()
        if rows:
            names = Names.EXPECTED if is_named else Names.UNLIKELY
            write_table(self._writer, rows, places=[number for number, _ in lines], names=names)

    def _inline(self, text: str) -> str:
        for found, told in self._words:
            text = found.sub(told, text)
        return self._unmarked(text)

    def _unmarked(self, text: str) -> str:
        return self._marks.sub(lambda found: found[2] if found[1] in self._code else self._unmarked(found[2]), text)


_UNDERLINE = re.compile(r"={2,}|-{2,}|~{2,}|\^{2,}|\+{2,}")
_CELL = re.compile(r"(?:^|(?<=[ |]))(?:(\d{1,4})?(?:\.(\d{1,4}))?[+*])?(?:[<^>.]*[adehlmsv]?)\|(?!=)")


class _AsciiDoc(_Light):
    def __init__(self, stream: BinaryIO, language: str) -> None:
        super().__init__(stream, language)
        self._meanings: dict[str, str] = {}

    def _line(self, number: int, text: str) -> None:
        below = self._waiting[-1][1].rstrip() if self._waiting else ""
        could_head = not self._paragraph and text[0].isalnum() and abs(len(below) - len(text)) < 3
        if could_head and _UNDERLINE.fullmatch(below):  # in the older way
            text = f"{'=' * ('=-~^+'.index(self._waiting.pop()[1][0]) + 1)} {text}"
        if text[0] == "=":
            self._close()
        if text[0] not in "[.|":
            self._given = ""
        super()._line(number, text)

    def _attach(self, number: int, found: re.Match[str]) -> None:
        self._close()
        self._attached = True

    def _meaning(self, number: int, found: re.Match[str]) -> None:
        self._meanings[found[1]] = (found[2] or "")[:300]

    def _options(self, number: int, found: re.Match[str]) -> None:
        self._close()
        self._given = f"{self._given},{found[1]}"[-1000:]

    def _table(self, number: int, found: re.Match[str]) -> None:
        self._close()
        options, self._given = self._given, ""
        lines = list(self._until(found[0]))
        cells: list[tuple[int, re.Match[str], str]] = []
        width = 0
        for at, text in lines:
            marks = [*_CELL.finditer(text)]
            ends = [mark.start() for mark in marks] + [len(text)]
            if cells:
                cells[-1] = (*cells[-1][:2], f"{cells[-1][2]}\n{text[: ends[0]]}")
            cells += [(at, mark, text[mark.end() : end]) for mark, end in zip(marks, ends[1:], strict=True)]
            width = width or sum(int(mark[1] or 1) for mark in marks)
        if given := re.search(r'cols="?(?:(\d{1,4})\*|([^"]*,[^"]*))', options):
            width = int(given[1]) if given[1] else given[2].count(",") + 1
        is_named = "header" in options or [bool(text.strip()) for _, text in lines[:2]] == [True, False]
        rows: list[list[Cell]] = []
        places: list[int | str] = []
        taken: list[int] = []  # columns of each row, by its cells and by those that reach down into it
        for at, mark, words in cells:
            while not rows or taken[len(rows) - 1] >= max(1, width):
                rows.append([])
                places.append(at)
                taken += [0] * (len(rows) - len(taken))
            down, across = markup_spans({"rowspan": mark[2] or "1", "colspan": mark[1] or "1"})
            taken += [0] * (len(rows) - 1 + down - len(taken))
            for row in range(len(rows) - 1, len(rows) - 1 + down):
                taken[row] += across
            rows[-1].append(cell_of_lines(self._inline(words).strip(), is_named and len(rows) == 1, down, across))
        if rows:
            write_table(self._writer, rows, places=places)

    def _inline(self, text: str) -> str:
        text = re.sub(r"(?<!\\)\{([\w-]+)\}", lambda found: self._meanings.get(found[1], found[0]), text)
        return super()._inline(text)
