"""Reads the facts of a whole text index into a file, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from atomr_local.cancellation import Cancellation
from atomr_local.page_facts.extraction import ModelReading, PassageFact, facts_of_page
from atomr_local.page_facts.fact_file import FactFile
from atomr_local.page_facts.passages import PagePassage

Page = tuple[str, str, list[PagePassage]]


@dataclass(frozen=True, slots=True)
class PageRead:
    """A page whose facts were read just now; `pages` counts those of earlier runs too."""

    title: str
    facts: tuple[PassageFact, ...]
    pages: int


def read_pages(
    pages: Iterable[Page],
    file: FactFile,
    model: ModelReading | None,
    *,
    most: int | None = None,
    on_page: Callable[[PageRead], None],
    cancellation: Cancellation,
) -> None:
    """Write the facts of the pages to the file, from the page on that an earlier run came to.

    Args:
        pages: id, title and passages, in the order of the index.
        model: None for set phrases alone.
        most: pages that are read at most, those of earlier runs included.

    Raises:
        Cancelled: what was read is kept.
        ModelError: the model cannot be used; what was read is kept.
        InputError: the file cannot be written.
    """
    seen = not file.last
    for identifier, title, passages in pages:
        if most is not None and file.pages >= most:
            return
        if not seen:
            seen = identifier == file.last
            continue
        cancellation.check()
        facts = tuple(facts_of_page(title, passages, model, check=cancellation.check, left_out=file.left_out))
        file.add(identifier, facts, commit=model is not None)
        on_page(PageRead(title, facts, file.pages))
