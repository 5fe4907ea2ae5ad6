"""Splits articles into passages, here and in child processes: whole sentences up to a budget, with offsets into the
article.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from atomr_local.indexing.readers.base import Article, PageWork, Section, SectionKind
from atomr_local.language.sentences import WORD, sentences, unspaced, words

if TYPE_CHECKING:
    from atomr_local.indexing.readers.wikipedia.page_parser import Cutter
    from atomr_local.system.sandbox import Parent

# What a manifest says of how passages were cut; another number cuts some articles elsewhere.
CHUNKER = 2
# A "word" without spaces (a hostile or broken article) is cut at this many characters, and counts as several before.
_LONGEST_WORD = 200
_COUNTED_ONCE = 50
# A section of fewer words says too little for a passage of its own; it goes with the one before it.
_SHORT_WORDS = 20
_BLANKS = 4  # characters that may stand between two sections


@dataclass(frozen=True, slots=True)
class Passage:
    """`text` is the article's text[start:end]; `section` the heading that it begins under, "" for the lead.

    Attributes:
        kind, name: of its section, where that is no prose.
        lines: the first and last line of such a section that it has, from 1: the rows of a table.
    """

    text: str
    start: int
    end: int
    section: str = ""
    kind: SectionKind = ""
    name: str = ""
    lines: tuple[int, int] | None = None


class Tokens(Protocol):
    """The embedder's budget.

    Attributes:
        most: tokens of a text that it reads, those of a heading before the passage included.
    """

    @property
    def most(self) -> int: ...

    def of_words(self, words: Sequence[str]) -> int:
        """How many tokens the words are together, each as it stands alone."""
        ...


class _Piece(NamedTuple):
    start: int
    end: int
    words: int
    tokens: int


def passages(
    text: str, budget: int = 120, sections: Sequence[Section] = (), *, title: str = "", tokens: Tokens | None = None
) -> Iterator[Passage]:
    """Passages of at most `budget` words, split between sentences; a longer sentence is split between words.

    None reaches over the beginning of a section, but for sections of prose too short to stand alone. A heading below
    which nothing stands does, where the text has its words. Sections that are no prose are split between lines.

    Args:
        sections: where the sections of the text begin, in order.
        title: of the article; it is embedded with each passage.
        tokens: the budget of the embedder, kept beside that of words.
    """
    start: int | None = None
    end = count = used = room = 0
    section = Section(0, "")
    before_apart = False
    for section_end, stretch in _stretches(text, sections):
        apart = bool(stretch.kind) or _is_heading(text, stretch, section_end)
        most = _room(tokens, passage_heading(title, stretch.heading))
        pieces = _pieces(text, budget, stretch, section_end, tokens, most)
        for number, piece in enumerate(pieces):
            full = count + piece.words > budget or used + piece.tokens > room
            if start is not None and number == 0 and not full:
                full = apart or before_apart or not _is_short(text[piece.start : section_end], budget - count)
            if start is not None and full:
                yield _passage(text, start, end, section)
                start, count, used = None, 0, 0
            if start is None:
                start, section, room = piece.start, stretch, most
            before_apart = apart
            end = piece.end
            count += piece.words
            used += piece.tokens
    if start is not None:
        yield _passage(text, start, end, section)


def _passage(text: str, start: int, end: int, section: Section) -> Passage:
    if not section.kind:
        return Passage(text[start:end], start, end, section.heading)
    first = text.count("\n", section.start, start) + 1
    lines = (first, first + text.count("\n", start, end))
    return Passage(text[start:end], start, end, section.heading, section.kind, section.name, lines)


def passage_heading(title: str, section: str) -> str:
    """What stands before a passage where it is embedded and searched."""
    return f"{title}, {section}" if section else title


def _stretches(text: str, sections: Sequence[Section]) -> Iterator[tuple[int, Section]]:
    """The lead and the sections, each with its end before it."""
    before = Section(0, "")
    for section in sections:
        yield section.start, before
        before = section
    yield len(text), before


def _is_heading(text: str, section: Section, end: int) -> bool:
    """Whether the section says nothing but its heading."""
    if not section.heading or end - section.start > len(section.heading) + _BLANKS:
        return False
    words = text[section.start : end].strip()
    return section.heading == words or section.heading.endswith(f" > {words}")


def _is_short(text: str, room: int) -> bool:
    """Whether this is a few words, and they fit in the room."""
    # Many more characters than this are never a few words, and a few words are split off quickly.
    if len(text) >= _SHORT_WORDS * _LONGEST_WORD or len(text.split(maxsplit=_SHORT_WORDS)) > _SHORT_WORDS:
        return False
    return _size(text, _split(text)) <= min(_SHORT_WORDS - 1, room)


def _pieces(text: str, budget: int, section: Section, end: int, tokens: Tokens | None, most: int) -> Iterator[_Piece]:
    """Sentences of the section, or its lines if it is no prose; one over a budget comes in several pieces."""
    parts = _lines(text, section.start, end) if section.kind else sentences(text, section.start, end)
    split_at = str.split if not unspaced(text[section.start : end]) else _split
    for begin, finish in parts:
        sentence = text[begin:finish]
        split = split_at(sentence)
        if not split:
            continue
        size = _size(sentence, split)
        used = tokens.of_words(split) if tokens is not None else 0
        if size <= budget and used <= most:
            stripped = sentence.strip()
            first = begin if sentence.startswith(stripped) else begin + len(sentence) - len(sentence.lstrip())
            yield _Piece(first, first + len(stripped), size, used)
        else:
            yield from _cut(text, budget, begin, finish, tokens, most)


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        finish = text.find("\n", start, end)
        finish = end if finish < 0 else finish
        yield start, finish
        start = finish + 1


def _cut(text: str, budget: int, start: int, end: int, tokens: Tokens | None, most: int) -> Iterator[_Piece]:
    """A sentence that is too long, cut between its words."""
    begin = finish = start
    size = used = 0
    for first, last in _short_words(text, start, end):
        word = text[first:last]
        split = _split(word)
        more, longer = _size(word, split), tokens.of_words(split) if tokens is not None else 0
        if size and (size + more > budget or used + longer > most):
            yield _Piece(begin, finish, size, used)
            size = used = 0
        if not size:
            begin = first
        finish, size, used = last, size + more, used + longer
    if size:
        yield _Piece(begin, finish, size, used)


def _short_words(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for first, last in words(text, start, end):
        for at in range(first, last, _LONGEST_WORD):
            yield at, min(at + _LONGEST_WORD, last)


def _split(text: str) -> list[str]:
    return WORD.findall(text) if unspaced(text) else text.split()


def _size(text: str, split: Sequence[str]) -> int:
    """Words of the text, which is `split` into them; a very long one is counted as several."""
    if len(text) > _COUNTED_ONCE * len(split):
        return sum(1 + len(word) // _COUNTED_ONCE for word in split)
    return len(split)


def _room(tokens: Tokens | None, heading: str) -> int:
    """Tokens left beside a heading and the colon behind it. A heading never takes more than half."""
    return max(tokens.most - tokens.of_words(_split(heading)) - 1, tokens.most // 2) if tokens is not None else 0


# The child process that reads wikitext and cuts it into passages, beside others that do the same.
#
# The process of the build would take longer to cut the pages than several take to read them. Both import this module,
# and the child needs little: heavy imports stand in functions.

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

    if processes < 2 or not (tokens is None or isinstance(tokens, TokenCounts)):
        return PageWork(max(1, processes))
    directory = str(tokens.directory.absolute()) if tokens is not None else None
    return PageWork(processes, f"{__name__}:serve", {"passage_words": passage_words, "tokens": directory})


def given_passages(article: Article) -> list[Passage] | None:
    """The passages that such a process made of the article; None where none did."""
    if article.cut is None:
        return None
    return [
        Passage(article.text[start:end], start, end, section, kind, name, (lines[0], lines[1]) if lines else None)
        for start, end, section, kind, name, lines in article.cut
    ]


def _cutter(task: dict[str, Any]) -> Cutter:
    from atomr_local.indexing.embedding.embedder import TokenCounts

    tokens = TokenCounts(Path(task["tokens"])) if task["tokens"] else None
    budget = int(task["passage_words"])
    return lambda page, title: [
        (found.start, found.end, found.section, found.kind, found.name, found.lines)
        for found in passages(page.text, budget, page.sections, title=title, tokens=tokens)
    ]


def serve(task: dict[str, Any], parent: Parent) -> None:
    """In a child process: read pages and cut them."""
    from atomr_local.indexing.readers.wikipedia import page_parser

    page_parser.serve(task, parent, _cutter(task["work"]))
