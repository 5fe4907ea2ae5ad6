"""HTML of a wiki page (as in Kiwix files) → plain text with sections, infoboxes and tables behind the prose."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from lxml import etree  # type: ignore[import-untyped]

from atomr_local.indexing.readers.tables.cells import one_line
from atomr_local.indexing.readers.wikipedia.infobox import infobox_lines, pairs_of_rows
from atomr_local.indexing.readers.wikipedia.markup_names import PAGE_FURNITURE
from atomr_local.indexing.readers.wikipedia.plain_text import Block, Heading, Part, PlainText, assembled, tidied
from atomr_local.indexing.readers.wikipedia.table_rows import Table, table_lines

_DROPPED = frozenset(
    {"head", "script", "style", "nav", "footer", "figure", "noscript", "math", "svg", "form", "button", "h1"}
    | {"template", "iframe", "object", "audio", "video", "select", "textarea", "figcaption"}
)
_DROPPED_CLASSES = PAGE_FURNITURE | {
    "reference", "references", "reflist", "mw-references-wrap", "hatnote", "thumb", "shortdescription",
    "catlinks", "gallery", "mw-editsection", "printfooter", "mw-jump-link", "mwe-math-element", "zim-footer",
    "noexcerpt",
}  # fmt: skip
_DROPPED_IDS = frozenset({"toc", "siteSub", "contentSub", "coordinates", "catlinks", "footer"})
_BLOCK = re.compile(r"p|div|section|article|main|br|hr|blockquote|[uod]l|li|d[dt]|pre|center|details|summary")
_VOID = frozenset(
    {"br", "hr", "img", "input", "link", "meta", "wbr", "area", "base", "col", "embed", "source", "track"}
)
_HEADING = re.compile(r"h([2-6])")
_SPACE = re.compile(r"\s+")
_HIDDEN = re.compile(r"display\s*:\s*none", re.I)  # in a cell: what rows are sorted by
_DISAMBIGUATION = frozenset({"dmbox-disambig", "disambigbox"})
_QID = re.compile(r'"wgWikibaseItemId"\s*:\s*"(Q[1-9]\d{0,11})"')
# Kiwix puts its own words at the foot of a page between these comments.
_NOT_INDEXED, _INDEXED_AGAIN = "htdig_noindex", "/htdig_noindex"


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """`url` is the page's own address where it names one; `disambiguation`: it only lists what a name may mean."""

    prose: PlainText
    url: str
    qid: str | None
    disambiguation: bool


def read_html(source: str) -> HtmlPage:
    """The prose of a page; markup that is broken is read as a browser would, as far as it goes."""
    collector = _Collector()
    parser = etree.HTMLParser(target=collector, remove_pis=True, huge_tree=False, no_network=True)
    try:
        parser.feed(source.replace("\x00", ""))
        parser.close()
    except etree.LxmlError:
        pass  # what was read until then stands
    qid = _QID.search(source)
    collector.end_tables()
    prose = assembled(collector.parts, tidied, collector.lost)
    return HtmlPage(prose, collector.url, qid.group(1) if qid else None, collector.disambiguation)


@dataclass(slots=True)
class _OpenTable:
    """A table that is being read.

    Attributes:
        place: among the parts of the page, where it begins.
        words: of the cell or the caption that is open; None between them.
        cell: the tag of that cell with its attributes; None in the caption.
    """

    table: Table
    place: int
    words: list[str] | None = None
    cell: tuple[str, dict[str, str]] | None = None

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        """A cell or the caption begins, and what was open before ends."""
        self.finish()
        self.words = []
        self.cell = (tag, attributes) if tag != "caption" else None

    def finish(self) -> None:
        """The cell or the caption ends."""
        if self.words is None:
            return
        text, self.words = "".join(self.words), None
        if self.cell is None:
            self.table.caption = self.table.caption or text
            return
        tag, given = self.cell
        spans = {"rowspan": given.get("rowspan", ""), "colspan": given.get("colspan", "")}
        self.table.add(text, header=tag == "th", **spans)


class _Collector:
    """A parser target: elements come in as they open and end, so that no tree is held, however deep it would be."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.lost: Counter[str] = Counter()
        self.url = ""
        self.disambiguation = False
        self._dropped = 0  # open elements, counted from the outermost dropped one
        self._unindexed = False
        self._heading: tuple[int, list[str]] | None = None
        self._pre = 0
        self._tables: list[_OpenTable] = []  # the innermost last

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        classes = set(attributes.get("class", "").split())
        identifier = attributes.get("id", "")
        if identifier in _DISAMBIGUATION or classes & _DISAMBIGUATION:
            self.disambiguation = True
        if tag == "link" and attributes.get("rel") == "canonical":
            address = attributes.get("href", "")
            self.url = address if address.startswith(("https://", "http://")) else self.url
        if tag in _VOID:
            if tag in {"br", "hr"}:
                self._put("\n")
            return
        if self._dropped:
            self._dropped += 1
            return
        if tag in _DROPPED or classes & _DROPPED_CLASSES or identifier in _DROPPED_IDS:
            self._dropped = 1
            return
        if tag == "table":
            self._begin_table(attributes)
        elif self._tables:
            self._in_table(tag, attributes)
        elif heading := _HEADING.fullmatch(tag):
            self._heading = (int(heading.group(1)), [])
        elif _BLOCK.fullmatch(tag):
            self._put("\n")
        self._pre += tag == "pre"

    def end(self, tag: str) -> None:
        if tag in _VOID:
            return
        if self._dropped:
            self._dropped -= 1
            return
        if tag == "table":
            self._end_table()
        elif self._tables:
            if tag in {"td", "th", "caption"}:
                self._tables[-1].finish()
            elif _BLOCK.fullmatch(tag):
                self._put("\n")
        elif self._heading is not None and _HEADING.fullmatch(tag):
            level, words = self._heading
            self._heading = None
            if not self._unindexed:
                self.parts.append(Heading(level, "".join(words)))
        elif _BLOCK.fullmatch(tag):
            self._put("\n")
            # A paragraph stays one: a blank line after it.
            if tag == "p":
                self._put("\n")
        self._pre -= tag == "pre"

    def data(self, data: str) -> None:
        self._put(data if self._pre else _SPACE.sub(" ", data))

    def comment(self, text: str) -> None:
        if text.strip() in {_NOT_INDEXED, _INDEXED_AGAIN}:
            self._unindexed = text.strip() == _NOT_INDEXED

    def close(self) -> None:
        """Called by the parser at the end."""

    def end_tables(self) -> None:
        """End the tables that the page leaves open."""
        while self._tables:
            self._end_table()

    def _begin_table(self, attributes: dict[str, str]) -> None:
        if self._tables:
            self._tables[-1].table.nest()
        self._tables.append(_OpenTable(Table(attributes), len(self.parts)))

    def _in_table(self, tag: str, attributes: dict[str, str]) -> None:
        """What begins within a table and is none itself."""
        within = self._tables[-1]
        if _HIDDEN.search(attributes.get("style", "")):
            self._dropped = 1
        elif tag == "tr":
            within.finish()
            if within.table.full:
                within.table.lost["table rows"] += 1
                self._dropped = 1
            else:
                within.table.rows.append([])
        elif tag in {"td", "th", "caption"}:
            within.begin(tag, attributes)
        elif _BLOCK.fullmatch(tag):
            self._put("\n")

    def _end_table(self) -> None:
        """The table becomes a block where it begins, before the tables within it."""
        if not self._tables:
            return
        ended = self._tables.pop()
        ended.finish()
        table, caption = ended.table, one_line(ended.table.caption, " ")
        if any(css.startswith("infobox") for css in table.classes):
            lines = infobox_lines(pairs_of_rows([cell.text for cell in row] for row in table.rows), table.lost)
            block = Block("infobox", "\n".join(lines), name=caption)
        else:
            lines = table_lines(table)
            block = Block("table", "\n".join(lines), caption)
        self.lost.update(table.lost)
        if lines:
            self.parts.insert(ended.place, block)

    def _put(self, text: str) -> None:
        if self._dropped or self._unindexed:
            return
        if self._tables:
            if (words := self._tables[-1].words) is not None:
                words.append(text)
            return
        if self._heading is not None:
            self._heading[1].append(text)
        else:
            self.parts.append(text)
