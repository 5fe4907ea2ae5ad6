"""Wikidata ids of the pages of a dump, from the `page_props` table published with it."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from pathlib import Path

from atomr_local.indexing.readers.lines import LineReader

_DUMP_NAME = re.compile(r"(?P<wiki>[a-z0-9_-]+-(?:\d{8}|latest))-pages-(?:articles|meta)")
# Within a quoted value quotes are escaped, so that this stands for a row of the table and nothing else.
_ROW = re.compile(rb"\((\d{1,12}),'wikibase_item','Q([1-9]\d{0,11})'")


class PageProps:
    """Page id → Wikidata id, in 16 bytes a page."""

    def __init__(self, path: Path) -> None:
        """Read the table.

        Raises:
            InputError: the file is damaged or cut short.
        """
        self._pages = array("Q")
        self._items = array("Q")
        for _, line in LineReader(path):
            for match in _ROW.finditer(line) if line.startswith(b"INSERT INTO") else ():
                self._pages.append(int(match[1]))
                self._items.append(int(match[2]))
        if any(later < page for page, later in zip(self._pages, self._pages[1:], strict=False)):
            order = sorted(range(len(self._pages)), key=self._pages.__getitem__)
            self._pages = array("Q", (self._pages[i] for i in order))
            self._items = array("Q", (self._items[i] for i in order))

    def item(self, page: str) -> str | None:
        """The Wikidata id of the page with this id."""
        if not page.isdecimal() or len(page) > 12:
            return None
        at = bisect_left(self._pages, int(page))
        found = at < len(self._pages) and self._pages[at] == int(page)
        return f"Q{self._items[at]}" if found else None


def page_props_beside(dump: Path) -> Path | None:
    """The `…-page_props.sql.gz` of the same wiki and day in the dump's folder, packed or not."""
    match = _DUMP_NAME.match(dump.name)
    if match is None:
        return None
    names = (f"{match['wiki']}-page_props.sql{ending}" for ending in (".gz", ""))
    return next((path for name in names if (path := dump.with_name(name)).is_file()), None)
