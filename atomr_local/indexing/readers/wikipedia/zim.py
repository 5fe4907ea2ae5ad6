"""Reads Kiwix ZIM files (old and new namespace scheme) through libzim; a record is an entry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError, MissingPartError
from atomr_local.indexing.foreign_errors import standard_error_without
from atomr_local.indexing.readers.base import Article, Redirect
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.readers.wikipedia.infobox import titled
from atomr_local.indexing.readers.wikipedia.plain_text import is_disambiguation
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
        from atomr_local.indexing.readers.wikipedia.page_html import read_html

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
