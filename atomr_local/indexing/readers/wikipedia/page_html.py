"""HTML of a wiki page (as in Kiwix files) → plain text with sections, infoboxes and tables behind the prose."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from atomr_local.indexing.readers.html_walker import PASSED_OVER, HtmlWalker
from atomr_local.indexing.readers.wikipedia.plain_text import (
    PAGE_FURNITURE,
    Heading,
    Part,
    PlainText,
    assembled,
    tidied,
)
from atomr_local.indexing.readers.wikipedia.table_rows import Table, table_block

_DROPPED_CLASSES = PAGE_FURNITURE | {
    "reference", "references", "reflist", "mw-references-wrap", "hatnote", "thumb", "shortdescription",
    "catlinks", "gallery", "mw-editsection", "printfooter", "mw-jump-link", "mwe-math-element", "zim-footer",
    "noexcerpt",
}  # fmt: skip
_DROPPED_IDS = frozenset({"toc", "siteSub", "contentSub", "coordinates", "catlinks", "footer"})
_HIDDEN = re.compile(r"display\s*:\s*none", re.I)  # such as what rows are sorted by
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
    page = _Page()
    page.read(source.replace("\x00", ""), huge=False)  # what was read until it is broken stands
    page.end_tables()
    qid = _QID.search(source)
    prose = assembled(page.parts, tidied, page.lost)
    return HtmlPage(prose, page.url, qid.group(1) if qid else None, page.disambiguation)


class _Page(HtmlWalker[Table]):
    passed_over = PASSED_OVER | {"head", "footer", "figure", "figcaption", "h1"}

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[Part] = []
        self.lost: Counter[str] = Counter()
        self.url = ""
        self.disambiguation = False
        self._unindexed = False
        self._heading: tuple[int, list[str]] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if attributes.get("id", "") in _DISAMBIGUATION or _classes(attributes) & _DISAMBIGUATION:
            self.disambiguation = True
        if tag == "link" and attributes.get("rel") == "canonical":
            address = attributes.get("href", "")
            self.url = address if address.startswith(("https://", "http://")) else self.url
        super().start(tag, attributes)

    def comment(self, text: str) -> None:
        if text.strip() in {_NOT_INDEXED, _INDEXED_AGAIN}:
            self._unindexed = text.strip() == _NOT_INDEXED

    def is_dropped(self, tag: str, attributes: Mapping[str, str]) -> bool:
        unwanted = _classes(attributes) & _DROPPED_CLASSES or attributes.get("id", "") in _DROPPED_IDS
        # A hidden block of prose may be a section that unfolds.
        hidden = (self.tables or tag not in self.blocks) and _HIDDEN.search(attributes.get("style", "")) is not None
        return bool(unwanted) or hidden or super().is_dropped(tag, attributes)

    def take(self, text: str) -> None:
        if self._unindexed:
            return
        if self.tables:
            if (words := self.tables[-1].words) is not None:
                words.append(text)
        elif self._heading is not None:
            self._heading[1].append(text)
        else:
            self.parts.append(text)

    def begin_heading(self, level: int) -> None:
        if not self.tables:
            self._heading = (level, [])

    def end_heading(self) -> None:
        if self._heading is None or self.tables:
            return
        level, words = self._heading
        self._heading = None
        if not self._unindexed:
            self.parts.append(Heading(level, "".join(words)))

    def break_words(self, ended: str = "") -> None:
        super().break_words(ended)
        # A paragraph stays one: a blank line after it.
        if ended == "p" and not self.tables:
            self.put("\n")

    def begin_table(self, attributes: Mapping[str, str]) -> None:
        if self.tables:
            self.tables[-1].nest()
        self.tables.append(Table(attributes, place=len(self.parts)))

    def begin_in_table(self, tag: str, attributes: Mapping[str, str]) -> bool:
        table = self.tables[-1]
        if tag == "tr" and table.full:
            table.finish()
            table.lost["table rows"] += 1
            self.dropped = 1
        elif tag in {"tr", "td", "th", "caption"}:
            table.begin(tag, attributes)
        else:
            return False
        return True

    def end_table(self) -> None:
        """The table becomes a block where it begins, before the tables within it."""
        table = self.tables.pop()
        table.finish()
        block = table_block(table, table.lost)
        self.lost.update(table.lost)
        if block is not None:
            self.parts.insert(table.place, block)


def _classes(attributes: Mapping[str, str]) -> set[str]:
    return set(attributes.get("class", "").split())
