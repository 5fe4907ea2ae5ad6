"""Reads Kiwix ZIM files (old and new namespace scheme) through libzim; a record is an entry."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError, MissingPartError
from atomr_local.indexing.foreign_errors import standard_error_without
from atomr_local.indexing.readers.base import Article, Redirect
from atomr_local.indexing.readers.html_walker import PASSED_OVER, HtmlWalker
from atomr_local.indexing.readers.known import known
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.readers.wikipedia.infobox import titled
from atomr_local.indexing.readers.wikipedia.plain_text import (
    PAGE_FURNITURE,
    Heading,
    Part,
    PlainText,
    assembled,
    is_disambiguation,
    tidied,
)
from atomr_local.indexing.readers.wikipedia.table_rows import Table, table_block
from atomr_local.system.files import open_regular
from atomr_local.system.installation import add_extra

_MAX_PAGE = 8 << 20
_MAX_HOPS = 8
# libzim writes to the standard error stream that it knows no stemming of a language, which is of no use here.
_NOTE = re.compile(rb"^No stemming for language .*\n?", re.M)


class ZimReader:
    """The HTML pages of a ZIM file as articles, and its redirects to them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0

    def records(self, skipped: Skipped, *, after: int = 0) -> Iterator[Article | Redirect]:
        archive = self._open()
        # The new scheme numbers the pages first, then what describes the file.
        new = archive.has_new_namespace_scheme
        count = archive.entry_count if new else archive.all_entry_count
        size = self.path.stat().st_size
        for number in range(after, count):
            self.position = size * number // max(1, count)
            try:
                found = self._record(archive._get_entry_by_id(number), number + 1, not new)
            except ValueError as error:
                skipped.add(self.path, number + 1, str(error))
            except (RuntimeError, KeyError, IndexError) as error:
                raise InputError(f"{self.path}, entry {number + 1}: the ZIM file is damaged: {error}") from error
            else:
                if found is not None:
                    yield found
        self.position = size

    def _open(self) -> Any:
        try:
            from libzim.reader import Archive
        except ImportError as error:
            raise MissingPartError(
                f"{self.path}: reading ZIM files needs the package libzim",
                hint=f"Install it with: {add_extra('zim')}",
            ) from error
        try:
            with open_regular(self.path), standard_error_without(_NOTE):
                return Archive(self.path)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        except RuntimeError as error:
            raise InputError(f"{self.path}: no ZIM file, or damaged or cut short: {error}") from error

    def _record(self, entry: Any, record: int, old_scheme: bool) -> Article | Redirect | None:
        """The entry as an article or redirect; None if it is neither.

        Raises:
            ValueError: it should be one and cannot be read.
        """
        path = entry.path
        if old_scheme:
            if not path.startswith("A/"):
                return None
            path = path[2:]
        title = entry.title or path
        if entry.is_redirect:
            target = _target(entry)
            if target is None or not _is_html(target.get_item()) or target.title in {"", title}:
                return None
            return Redirect(title, target.title, record)
        item = entry.get_item()
        if not _is_html(item):
            return None
        if item.size > _MAX_PAGE:
            raise ValueError(f"{title}: longer than any page of a wiki")

        page = read_html(bytes(item.content).decode("utf-8", "replace"))
        if page.disambiguation or is_disambiguation(title, ""):
            return None
        if not page.prose.text:
            raise ValueError(f"{title}: a page without prose")
        prose = titled(page.prose, title)
        metadata = {"url": page.url} if page.url else {}
        return Article(path, title, prose.text, page.qid, metadata, prose.sections, record, prose.lost)


def _target(entry: Any) -> Any | None:
    for _ in range(_MAX_HOPS):
        entry = entry.get_redirect_entry()
        if not entry.is_redirect:
            return entry
    return None


def _is_html(item: Any) -> bool:
    return str(item.mimetype).partition(";")[0].strip() == "text/html"


# HTML of a wiki page (as in Kiwix files) → plain text with sections, infoboxes and tables behind the prose.

_NAMES = known("wikipedia/wiki_names.toml")
_DROPPED_CLASSES, _DROPPED_IDS = PAGE_FURNITURE.union(_NAMES["dropped_classes"]), frozenset(_NAMES["dropped_ids"])
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
