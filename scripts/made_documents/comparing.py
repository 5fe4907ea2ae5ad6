"""Compares, word for word, what a reader gives with what a walk over the same file finds."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from made_documents.walkers import Piece

# Letters and digits apart: how the two stand together is not compared, only what they are.
_WORD = re.compile(r"[^\W\d_]+|\d+(?:[.,:]\d+)*")
_CELLS = re.compile(r"(?:(.*)!)?[A-Z]+(\d+)(?::[A-Z]+\d+)?", re.S)
# What readers say themselves, and the number of an item at the beginning of its line.
_OWN = frozenset({"comment", "by", "headers", "and", "footers", "slide", "chart", "attachments"})
_MARK = re.compile(
    r"(?m)^\s*(?:slide \d+$|(?:[^\W\d_]+ )?\(?(?:(?:\d+|[a-z]{1,2}|[ivxlc]+)[.)])*(?:\d+|[a-z]{1,2}|[ivxlc]+)?[.):]? )",
    re.I,
)
_LONGEST_HEADING = 200
_MOST_EXAMPLES = 8


@dataclass(slots=True)
class Compared:
    """What was found in files of one format.

    Attributes:
        files: that both could read.
        words: in the files. `lost`: those of them that the reader does not give.
        numbers, numbers_lost: the same of words that are numbers.
        invented: different words that the reader gives and the file does not hold. `numbers_invented`: those that are
            numbers; a number that a reader changes is lost and invented.
        ordered, disordered: words that stand once in both, and those of them that stand in another order.
        placed, misplaced: the same of words at another place or under another heading.
        examples: of each of these, by its name.
    """

    files: int = 0
    words: int = 0
    lost: int = 0
    numbers: int = 0
    numbers_lost: int = 0
    invented: int = 0
    numbers_invented: int = 0
    ordered: int = 0
    disordered: int = 0
    placed: int = 0
    misplaced: int = 0
    examples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, what: str, examples: Sequence[str]) -> None:
        found = self.examples.setdefault(what, [])
        found += examples[: _MOST_EXAMPLES - len(found)]

    def add(self, other: Compared) -> None:
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for what, examples in other.examples.items():
            self.note(what, examples)

    def share(self, bad: str, of: str) -> float:
        """Per 1,000."""
        return float(1000 * getattr(self, bad) / max(1, getattr(self, of)))


COUNTS = tuple(name for name in Compared.__dataclass_fields__ if name != "examples")


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    place: str = ""
    heading: str = ""
    aside: bool = False


def compared(name: str, pieces: Sequence[Piece], documents: Sequence[dict[str, Any]]) -> Compared:
    """One file.

    Args:
        name: of the file, for the examples.
        documents: what the reader gives, as :class:`Document` in JSON.
    """
    wanted = [
        _Word(word, piece.place, plain_heading(piece.heading), piece.aside)
        for piece in pieces
        for word in words_of(piece.text)
    ]
    given = [word for document in documents for word in _read(document)]
    counts, found = Counter(one.text for one in wanted), Counter(one.text for one in given)
    lost = counts - found
    invented = sorted({one.text for one in given if not one.aside} - counts.keys() - _OWN)
    result = Compared(
        1, counts.total(), lost.total(), _numbers(counts), _numbers(lost), len(invented), _numbers(Counter(invented))
    )  # fmt: skip
    result.note("lost", [f"{name}: {context(pieces, word)}" for word in list(lost)[:_MOST_EXAMPLES]])
    result.note("invented", [f"{name}: {word}" for word in invented])
    once = [one for one in wanted if counts[one.text] == found[one.text] == 1]
    at = {one.text: (i, one) for i, one in enumerate(given) if found[one.text] == 1}
    order = [(at[one.text][0], one.text) for one in once if not one.aside]
    result.ordered = len(order)
    stray = out_of_order([i for i, _ in order])
    result.disordered = len(stray)
    result.note("disordered", [f"{name}: {order[i][1]}" for i in stray])
    for one in once:
        other = at[one.text][1]
        if not (one.place or one.heading) or (one.aside and not one.place) or (one.place and not other.place):
            continue
        result.placed += 1
        if one.place != other.place if one.place else not other.heading.endswith(one.heading):
            result.misplaced += 1
            wrong = f"{one.place or one.heading} → {other.place or other.heading}"
            result.note("misplaced", [f"{name}: {one.text}: {wrong}"])
    return result


def words_of(text: str) -> list[str]:
    text = unicodedata.normalize("NFKC", text.replace("\xad", "")).casefold()
    return _WORD.findall(text)


def plain_heading(heading: str) -> str:
    """Its words, but for the number that a list gives it."""
    return " ".join(words_of(heading))[:_LONGEST_HEADING]


def context(pieces: Sequence[Piece], word: str) -> str:
    """The first piece that holds the word, shortened around it."""
    for piece in pieces:
        if word in words_of(piece.text):
            text = " ".join(piece.text.split())
            at = max(0, text.casefold().find(word) - 30)
            return f"{word!r} in {text[at : at + 80]!r}{' (aside)' if piece.aside else ''}"
    return word


def out_of_order(numbers: Sequence[int]) -> list[int]:
    """The places of the fewest numbers without which the others rise: all but a longest rising part of them."""
    tails: list[int] = []  # the smallest last number of a rising part of each length
    length_at: list[int] = []
    for number in numbers:
        length = bisect_left(tails, number)
        tails[length : length + 1] = [number]
        length_at.append(length)
    wanted, stray, above = len(tails) - 1, [], float("inf")
    for i in range(len(numbers) - 1, -1, -1):
        if length_at[i] == wanted and numbers[i] < above:
            wanted, above = wanted - 1, numbers[i]
        else:
            stray.append(i)
    return stray[::-1]


def _numbers(words: Counter[str]) -> int:
    return sum(many for word, many in words.items() if word[0].isdigit())


def _read(document: dict[str, Any]) -> Iterator[_Word]:
    """The words of a document with their places and headings; those of its title and its headings come in between."""
    about = [document["title"], *document["aliases"], *document["details"].values()]
    about += [value for values in document["fields"].values() for value in values]
    yield from (_Word(word, aside=True) for text in about for word in words_of(str(text)))
    text, begin, heading = document["text"], 0, ""
    places = [(offset, _place(place)) for offset, place in document["places"]]
    edges = sorted({0, len(text), *(offset for offset, _ in places), *(start for start, _, _ in document["sections"])})
    sections = sorted(document["sections"], key=lambda one: one[0])
    place = ""
    for begin, end in zip(edges, [*edges[1:], len(text)], strict=True):
        place = next((where for offset, where in reversed(places) if offset == begin), place)
        for start, _, title in sections:
            if start == begin:
                heading = plain_heading(title)
                yield from _marked(title, "", heading)
        yield from _marked(text[begin:end], place, heading)


def _marked(text: str, place: str, heading: str) -> Iterator[_Word]:
    """The words of a stretch of text; those that may be numbers of items invent nothing."""
    at = 0
    for mark in _MARK.finditer(text):
        yield from (_Word(word, place, heading) for word in words_of(text[at : mark.start()]))
        yield from (_Word(word, place, heading, aside=True) for word in words_of(mark[0]))
        at = mark.end()
    yield from (_Word(word, place, heading) for word in words_of(text[at:]))


def _place(place: Any) -> str:
    found = _CELLS.fullmatch(str(place)) if isinstance(place, str) else None
    return f"{found[1] or ''}!{found[2]}" if found else str(place)
