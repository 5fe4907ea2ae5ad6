"""Reads the input files of a text build: what is wanted of them, and what is done where one cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import Article, Redirect
from atomr_local.indexing.readers.detect import ReadOptions, open_articles
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.language.names import name_key

WHOLE_FILE = 0  # in the place of a record


@dataclass(frozen=True)
class ArticleSelection:
    """Which articles are wanted: at most `limit`, and only those whose title has one of these keys."""

    format: str = "auto"
    limit: int | None = None
    titles: frozenset[str] | None = None
    options: ReadOptions = field(default_factory=ReadOptions)

    def wants(self, article: Article) -> bool:
        """Whether the article has one of the titles."""
        return self.titles is None or name_key(article.title) in self.titles


def read_articles(
    path: Path, selection: ArticleSelection, skipped: Skipped, *, after: int, alone: bool
) -> Iterator[tuple[Article | Redirect, int]]:
    """What a file holds after the record `after`, each with the bytes read so far.

    Of several files, one that holds nothing that can be read is noted in `skipped`, and so is the damage of one that
    is salvaged; the others are read.

    Args:
        alone: there is no other file.

    Raises:
        InputError: the file cannot be read.
    """
    begun = after > 0
    try:
        reader = open_articles(path, selection.format, selection.options)
        for item in reader.records(skipped, after=after):
            begun = True
            yield item, reader.position
    except InputError as error:
        reason = error.message.removeprefix(str(path)).lstrip(":, ")
        if begun and selection.options.salvage:
            skipped.add(path, WHOLE_FILE, f"damaged, and read up to there: {reason}")
        elif not begun and not alone:
            skipped.add(path, WHOLE_FILE, f"not read: {reason}")
        else:
            raise


def require_one_readable(files: Sequence[Path], selection: ArticleSelection) -> None:
    """Look at the beginning of every file.

    Raises:
        InputError: the first that cannot be read, where none can.
    """
    problems = []
    for file in files:
        try:
            open_articles(file, selection.format, selection.options)
        except InputError as error:
            problems.append(error)
    if len(problems) == len(files):
        raise problems[0]
