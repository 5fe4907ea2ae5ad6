"""The child process that reads wikitext and cuts it into passages, beside others that do the same.

The process of the build would take longer to cut the pages than several take to read them. Both import this module,
and the child needs little: imports stand in functions.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atomr_local.indexing.readers.base import Article, PageWork
    from atomr_local.indexing.readers.wikipedia.page_parser import Cutter
    from atomr_local.indexing.text_index.chunking import Passage, Tokens
    from atomr_local.system.sandbox import Parent

# More would wait for the one process that writes what they made.
_MOST_PROCESSES = 4


def default_processes() -> int:
    """How many processes read the pages where nobody says: as many as there are processor cores, up to four."""
    affinity = getattr(os, "sched_getaffinity", None)
    return min(_MOST_PROCESSES, len(affinity(0)) if affinity else os.cpu_count() or 1)


def page_work(processes: int, passage_words: int, tokens: Tokens | None) -> PageWork:
    """The work of so many processes; one reads the pages alone, and passages are cut beside it.

    Args:
        tokens: the budget of the embedder. Its counts are made anew in each process, from the embedder's directory.
    """
    from atomr_local.indexing.embedding.embedder import TokenCounts
    from atomr_local.indexing.readers.base import PageWork

    if processes < 2 or not (tokens is None or isinstance(tokens, TokenCounts)):
        return PageWork(max(1, processes))
    directory = str(tokens.directory.absolute()) if tokens is not None else None
    return PageWork(processes, f"{__name__}:serve", {"passage_words": passage_words, "tokens": directory})


def given_passages(article: Article) -> list[Passage] | None:
    """The passages that such a process made of the article; None where none did."""
    from atomr_local.indexing.text_index.chunking import Passage

    if article.cut is None:
        return None
    return [
        Passage(article.text[start:end], start, end, section, kind, name, (lines[0], lines[1]) if lines else None)
        for start, end, section, kind, name, lines in article.cut
    ]


def _cutter(task: dict[str, Any]) -> Cutter:
    from atomr_local.indexing.embedding.embedder import TokenCounts
    from atomr_local.indexing.text_index.chunking import passages

    tokens = TokenCounts(Path(task["tokens"])) if task["tokens"] else None
    words = int(task["passage_words"])
    return lambda page, title: [
        (found.start, found.end, found.section, found.kind, found.name, found.lines)
        for found in passages(page.text, words, page.sections, title=title, tokens=tokens)
    ]


def serve(task: dict[str, Any], parent: Parent) -> None:
    """In a child process: read pages and cut them."""
    from atomr_local.indexing.readers.wikipedia import page_parser

    page_parser.serve(task, parent, _cutter(task["work"]))
