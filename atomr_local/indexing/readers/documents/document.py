"""What a document's parser gives: text with headings and places, and what the document says about itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

# What a document's places count: pages of a PDF, slides, lines of a text, cells of a notebook (numbers from 1), or
# cells of a table ("Sheet!A5:F5").
PlaceKind = Literal["page", "slide", "line", "cell", "cells"]
MOST_TEXT = 48 << 20  # characters of one document
_MOST_NAMES = 50


class UnreadableError(ValueError):
    """The document cannot be read; the message says why, as a clause: "it is encrypted with a password"."""


@dataclass(slots=True)
class Document:
    """One document, or one message of a mailbox.

    Attributes:
        text: paragraphs, with a blank line between them; rows of tables a line each.
        sections: where headings stand, as (offset, level, heading); the words of the heading are not in the text.
        places: (offset, place) in order; a place holds until the next one.
        place_kind: what the places are; None where there are none.
        title: as the document gives it; "" if it gives none.
        aliases: other names that it gives itself.
        details: author, date, tags and the like; texts only.
        fields: what front matter says beside title, aliases and tags: values by label.
        notes: what was lost, in words, such as "pages 2 and 3 have no text".
    """

    text: str = ""
    sections: list[tuple[int, int, str]] = field(default_factory=list)
    places: list[tuple[int, int | str]] = field(default_factory=list)
    place_kind: PlaceKind | None = None
    title: str = ""
    aliases: list[str] = field(default_factory=list)
    details: dict[str, str] = field(default_factory=dict)
    fields: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Writer:
    """Puts a document together, piece by piece.

    Args:
        place_kind: what the places are that :meth:`at` gets.
    """

    def __init__(self, place_kind: PlaceKind | None = None) -> None:
        self.document = Document(place_kind=place_kind)
        self._pieces: list[str] = []
        self._length = 0
        self._place: int | str | None = None

    @property
    def empty(self) -> bool:
        return not self._pieces

    def at(self, place: int | str) -> None:
        """What follows stands at this place."""
        self._place = place

    def heading(self, level: int, title: str) -> None:
        """A heading, 1 the highest; what follows stands below it."""
        if title := " ".join(title.split()):
            self.document.sections.append((self._length, level, title[:300]))

    def paragraph(self, text: str, places: Iterable[tuple[int, int | str]] = ()) -> None:
        """A paragraph, a blank line before it.

        Args:
            places: (offset, place) of the places that begin inside it, in order; what follows stands at the last.
        """
        self._put(text, "\n\n", places)

    def line(self, text: str, places: Iterable[tuple[int, int | str]] = ()) -> None:
        """A line of its own: a row, an item of a list, a line of code. `places` as of :meth:`paragraph`."""
        self._put(text, "\n", places)

    def done(self) -> Document:
        """The document as it was put together.

        Raises:
            UnreadableError: there is too much text.
        """
        self.document.text = "".join(self._pieces)
        # A heading with nothing before the next one of the same offset stays: its words are part of the path.
        return self.document

    def _put(self, text: str, before: str, inside: Iterable[tuple[int, int | str]]) -> None:
        # A line keeps its indentation, a paragraph has none.
        stripped = (text.rstrip() if before == "\n" else text.strip()).replace("\x00", "")
        if not stripped:
            return
        cut = 0 if before == "\n" else len(text) - len(text.lstrip())
        inside = [(offset - cut - text.count("\x00", 0, offset), place) for offset, place in inside]
        text = stripped.encode("utf-8", "replace").decode("utf-8")
        # A heading begins after the blank line: its section starts with its own words.
        gap = before if self._pieces else ""
        if gap:
            self._shift_headings(len(gap))
            self._pieces.append(gap)
            self._length += len(gap)
        places = self.document.places
        if self._place is not None and (not places or places[-1][1] != self._place):
            places.append((self._length, self._place))
        for offset, place in inside:
            if 0 <= offset < len(text) and place != self._place:
                places.append((self._length + offset, place))
                self._place = place
        self._pieces.append(text)
        self._length += len(text)
        if self._length > MOST_TEXT:
            raise UnreadableError(f"it has more than {MOST_TEXT >> 20} million characters of text")

    def _shift_headings(self, gap: int) -> None:
        """Let headings that were given since the last words begin behind the gap."""
        sections = self.document.sections
        for i in range(len(sections) - 1, -1, -1):
            offset, level, title = sections[i]
            if offset != self._length:
                break
            sections[i] = (offset + gap, level, title)


def names_of(value: Any) -> list[str]:
    """The names that a field of metadata holds: a text, or a list of texts; others are passed over."""
    items = value if isinstance(value, list) else [value]
    found = (" ".join(str(item).split())[:300] for item in items[:_MOST_NAMES] if isinstance(item, str | int | float))
    return list(dict.fromkeys(name for name in found if name))
