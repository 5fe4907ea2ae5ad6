"""HTML of a wiki page (as in Kiwix files) → plain text with sections."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree  # type: ignore[import-untyped]

from atomr_local.indexing.readers.wikipedia.markup_names import PAGE_FURNITURE
from atomr_local.indexing.readers.wikipedia.plain_text import Heading, PlainText, assembled, tidied

_DROPPED = frozenset(
    {"head", "script", "style", "table", "nav", "footer", "figure", "noscript", "math", "svg", "form", "button", "h1"}
    | {"template", "iframe", "object", "audio", "video", "select", "textarea", "figcaption"}
)
_DROPPED_CLASSES = PAGE_FURNITURE | {
    "reference", "references", "reflist", "mw-references-wrap", "infobox", "hatnote", "thumb", "shortdescription",
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
    return HtmlPage(
        assembled(collector.parts, tidied), collector.url, qid.group(1) if qid else None, collector.disambiguation
    )


class _Collector:
    """A parser target: elements come in as they open and end, so that no tree is held, however deep it would be."""

    def __init__(self) -> None:
        self.parts: list[str | Heading] = []
        self.url = ""
        self.disambiguation = False
        self._dropped = 0  # open elements, counted from the outermost dropped one
        self._unindexed = False
        self._heading: tuple[int, list[str]] | None = None
        self._pre = 0

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
        if heading := _HEADING.fullmatch(tag):
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
        if self._heading is not None and _HEADING.fullmatch(tag):
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

    def _put(self, text: str) -> None:
        if self._dropped or self._unindexed:
            return
        if self._heading is not None:
            self._heading[1].append(text)
        else:
            self.parts.append(text)
