"""The protocol of article readers: articles with their sections, and redirects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from atomr_local.indexing.readers.lines import LineReader, Skipped

SectionKind = Literal["", "table", "infobox", "code"]
# A passage as a reader's process gives it: its start and end in the text, and the fields that describe it.
Cut = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A section begins at `start` (offset into the article's text) and lasts to the next one.

    Attributes:
        heading: the whole path, as in "History > Early years"; the lead before the first heading has no section.
        kind: of what is no prose. Its lines belong together, and never share a passage with other sections.
        name: what it is called within its kind: of a table its number and caption.
    """

    start: int
    heading: str
    kind: SectionKind = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Article:
    """One article; `qid` is its Wikidata entity where the source gives it.

    Attributes:
        record: the ordinal, from 1, of the raw record (line, page, row or entry) that it came from.
        lost: how much of it the reader's limits left out, by its name in the plural ("table rows").
        cut: its passages, where the reader's processes made them (:class:`PageWork`).
    """

    id: str
    title: str
    text: str
    qid: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    record: int = 0
    lost: Mapping[str, int] = field(default_factory=dict)
    cut: tuple[Cut, ...] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Redirect:
    """Another title of the article `target` (a title, without a section)."""

    title: str
    target: str
    record: int = 0


@dataclass(frozen=True, slots=True)
class PageWork:
    """How many processes read the pages of a file at the same time, and what they do with a page when it is read.

    Attributes:
        processes: at least 1.
        function: what they run in the place of the reader's own; it gives each page cut into passages too.
        task: what that function is told about the cutting.
    """

    processes: int = 1
    function: str | None = None
    task: Mapping[str, Any] = field(default_factory=dict)


class LineArticles:
    """What readers of files of lines share: the file, and how far it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = LineReader(path)

    @property
    def position(self) -> int:
        return self._lines.position


class ArticleReader(Protocol):
    """One file of articles.

    Attributes:
        path: the file.
        position: bytes of the file read so far on disk (compressed bytes of a compressed file).
    """

    path: Path

    @property
    def position(self) -> int: ...

    def records(self, skipped: Skipped, *, after: int = 0) -> Iterator[Article | Redirect]:
        """Articles and redirects in the order of the file, the same at every reading.

        Records that cannot be used are counted in `skipped`; what is no article by its nature (talk pages,
        disambiguation pages, pictures) is left out without being counted.

        Args:
            after: records up to this ordinal are skipped, neither parsed nor counted (resuming).

        Raises:
            InputError: the file is missing, damaged or not what it claims; names the file and the place.
            MissingPartError: reading this format needs a package that is not installed.
        """
        ...


def article_texts(
    identifier: Any, title: Any, text: Any, names: tuple[str, str, str] = ("id", "title", "text")
) -> tuple[str, str, str]:
    """The three as texts, the identifier of a whole number too.

    Args:
        names: what they are called in the message.

    Raises:
        ValueError: one is missing or no text; the message says which.
    """
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        identifier = str(identifier)
    for key, value in zip(names, (identifier, title, text), strict=True):
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f'"{key}" is missing or no text')
    return identifier, title, text


def encodable(text: str) -> str:
    """The text with lone surrogates replaced: escapes can spell them, and no UTF-8 store takes them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def storable(text: str) -> str:
    """The text without what no UTF-8 file can hold: lone surrogates, and NUL."""
    return encodable(text.replace("\x00", ""))
