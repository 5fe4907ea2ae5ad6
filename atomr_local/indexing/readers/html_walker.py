"""Walks over the elements of a page of HTML as they open and end, for web pages and for pages of wikis."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from atomr_local.indexing.readers.tables import Cell

VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr", "area", "base", "col", "embed", "source", "track"})
PASSED_OVER = frozenset(
    {"script", "style", "nav", "noscript", "svg", "form", "button", "template", "iframe", "object", "audio", "video"}
    | {"select", "textarea", "math", "rp"}
)
BLOCKS = frozenset(
    {"p", "div", "section", "article", "main", "blockquote", "ul", "ol", "dl", "li", "dd", "dt", "pre", "center"}
    | {"details", "summary"}
)
_CELLS = frozenset({"td", "th", "caption"})
TABLE_PARTS = _CELLS | {"tr", "thead", "tbody", "tfoot"}
_HEADING = re.compile(r"h([1-6])")
_SPACE = re.compile(r"\s+")


@dataclass(slots=True)
class OpenTable:
    """A table that is being read.

    Attributes:
        attributes: of its element.
        layout: it arranges other things on the page, such as tables.
        words: of the cell or the caption that is open; None between them.
        cell: the tag of that cell with its attributes; None in the caption.
    """

    attributes: Mapping[str, str] = field(default_factory=dict)
    layout: bool = False
    caption: str = ""
    rows: list[list[Cell]] = field(default_factory=list)
    words: list[str] | None = None
    cell: tuple[str, Mapping[str, str]] | None = None

    @property
    def row(self) -> list[Cell]:
        """The last row; cells may stand before the first."""
        if not self.rows:
            self.rows.append([])
        return self.rows[-1]

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        """A part of it begins, and the cell or caption that was open ends."""
        self.finish()
        if tag == "tr":
            self.rows.append([])
        elif tag in _CELLS:
            self.words = []
            self.cell = (tag, attributes) if tag != "caption" else None

    def finish(self) -> None:
        """The cell or the caption that is open ends."""
        if self.words is None:
            return
        text, self.words = "".join(self.words), None
        cell, self.cell = self.cell, None
        if cell is None:
            self.caption = self.caption or text.strip()
        else:
            self.add(text, header=cell[0] == "th", given=cell[1])

    def add(self, text: str, *, header: bool, given: Mapping[str, str]) -> None:
        """A cell of the last row, with the attributes of its element."""
        raise NotImplementedError


Table = TypeVar("Table", bound=OpenTable)


class HtmlWalker(Generic[Table]):
    """A parser target: elements come in as they open and end, so that no tree is held, however deep it would be.

    Attributes:
        passed_over: elements whose content says nothing.
        blocks: elements whose words stand apart from those around them.
        rule: what a horizontal rule stands for.
        dropped: open elements, counted from the outermost dropped one.
        pre: open elements whose white space is kept.
        tables: that are open, the innermost last.
    """

    passed_over = PASSED_OVER
    blocks = BLOCKS
    rule = "\n"

    def __init__(self) -> None:
        self.dropped = 0
        self.pre = 0
        self.tables: list[Table] = []
        self._bracket = ""  # the next one around the reading of characters, while it is open

    def read(self, source: str, *, huge: bool) -> bool:
        """Walk over a page; broken markup is read as a browser would. False if the parser gave up on the way.

        Args:
            huge: its depth and the length of its words have no limit.
        """
        from lxml import etree  # type: ignore[import-untyped]

        parser = etree.HTMLParser(target=self, remove_pis=True, huge_tree=huge, no_network=True)
        try:
            parser.feed(source)
            parser.close()
        except etree.LxmlError:
            return False
        return True

    def end_tables(self) -> None:
        """End the tables that the page leaves open."""
        while self.tables:
            self.end_table()

    def put(self, text: str) -> None:
        """Take words, unless an element around them is dropped."""
        if not self.dropped:
            self.take(text)

    # What the parser calls.

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in VOID:
            if tag in {"br", "hr"}:
                self.put("\n" if self.pre or tag == "br" else self.rule)
            return
        if self.dropped or self.is_dropped(tag, attributes):
            self.dropped += 1
            return
        if tag == "table":
            self.begin_table(attributes)
        elif self.tables and self.begin_in_table(tag, attributes):
            pass
        elif heading := _HEADING.fullmatch(tag):
            self.begin_heading(int(heading[1]))
        elif tag in self.blocks:
            self.break_words()
        elif tag == "rt":
            self._end_reading()
            self._bracket = "("
        self.pre += tag == "pre" and not self.dropped  # a table may drop what begins in it

    def end(self, tag: str) -> None:
        if tag in VOID:
            return
        if self.dropped:
            self.dropped -= 1
            return
        if tag == "table":
            if self.tables:
                self.end_table()
        elif self.tables and self.end_in_table(tag):
            pass
        elif _HEADING.fullmatch(tag):
            self.end_heading()
        elif tag in self.blocks:
            self.break_words(tag)
        elif tag == "rt":
            self._end_reading()
        self.pre -= tag == "pre"

    def data(self, data: str) -> None:
        if self._bracket == "(" and data.strip() and not self.dropped:
            self._bracket, data = ")", f"({data.strip()}"
        self.put(data if self.pre else _SPACE.sub(" ", data))

    def _end_reading(self) -> None:
        if self._bracket == ")":
            self.put(")")
        self._bracket = ""

    def comment(self, text: str) -> None:
        """Comments say nothing."""

    def close(self) -> None:
        """Called at the end."""

    # What a kind of page does with what is found.

    def is_dropped(self, tag: str, attributes: Mapping[str, str]) -> bool:
        return tag in self.passed_over

    def break_words(self, ended: str = "") -> None:
        """A block begins, or one of this tag has ended."""
        self.put("\n")

    def end_in_table(self, tag: str) -> bool:
        """What ends within a table and is none itself; False if it is no part of the table."""
        if tag in _CELLS:
            self.tables[-1].finish()
        return tag in TABLE_PARTS

    def take(self, text: str) -> None:
        raise NotImplementedError

    def begin_heading(self, level: int) -> None:
        raise NotImplementedError

    def end_heading(self) -> None:
        raise NotImplementedError

    def begin_table(self, attributes: Mapping[str, str]) -> None:
        raise NotImplementedError

    def begin_in_table(self, tag: str, attributes: Mapping[str, str]) -> bool:
        """As :meth:`end_in_table`."""
        raise NotImplementedError

    def end_table(self) -> None:
        raise NotImplementedError
