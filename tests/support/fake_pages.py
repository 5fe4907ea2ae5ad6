"""A source whose pages a test gives sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.sources.protocol import Page, Sentence
from support.fake_parts import FakeSource


class FakePages(FakeSource):
    """Pages by title; two sentences a passage."""

    def __init__(self, pages: dict[str, Sequence[str]], redirects: dict[str, str] | None = None, missing: str = ""):
        super().__init__("text")
        self.pages, self.redirects, self.pages_missing = pages, redirects or {}, missing
        self.opened: list[str] = []
        self.error: Exception | None = None

    def page(self, title: str) -> Page | None:
        self.opened.append(title)
        if self.error is not None:
            raise self.error
        title = self.redirects.get(title, title)
        if title not in self.pages:
            return None
        place, found = 0, []
        for number, text in enumerate(self.pages[title]):
            found.append(Sentence(text, f"{title}#{number // 2}", place, place + len(text)))
            place += len(text) + 1
        return Page(title, tuple(found), "Q7186")

    def similar_titles(self, name: str, number: int) -> tuple[str, ...]:
        if self.error is not None:
            raise self.error
        return tuple(title for title in self.pages if title != name)[:number]
