"""What a document's parser gives: text with headings and places, and what the document says about itself."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO, Literal

from atomr_local.indexing.readers.tables import MOST_COLUMNS, Cell, Names, TableLines, column_name

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


# XML of a document's parts, without entities of its own, networks or other files.


def declares_entities(data: bytes) -> bool:
    """Whether it declares entities, in any encoding that an XML parser knows without being told."""
    return any("<!ENTITY".encode(encoding) in data for encoding in ("ascii", "utf-16-le", "utf-16-be"))


def parse_xml(data: bytes) -> Any:
    """The root element.

    Raises:
        UnreadableError: it is no well-formed XML, or declares entities.
    """
    from lxml import etree  # type: ignore[import-untyped]

    # A part of a document needs no entities; those of an attack grow without bound.
    if declares_entities(data):
        raise UnreadableError("its XML declares entities, which no such document needs")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(data, parser)
    except etree.LxmlError as error:
        raise UnreadableError(f"its XML is damaged: {error}") from error


def elements_in(element: Any, opened: Callable[[Any], bool]) -> Iterator[Any]:
    """The elements in one, in order, with what is in those of them that are `opened`; no recursion."""
    waiting = list(reversed(element))
    while waiting:
        child = waiting.pop()
        yield child
        if opened(child):
            waiting += reversed(child)


# ZIP files of documents, opened only if what they unpack to is bounded.

MOST_UNPACKED = 512 << 20  # bytes of all parts together
MOST_PARTS = 20_000
MOST_XML = 128 << 20  # bytes of one part that is parsed


_HEAD = 64 << 10  # bytes of a part in which its entities would be declared
_XML = (".xml", ".rels")
# A part may unpack to more than it declares, and `zipfile` keeps only what is declared, but unpacks two gigabytes at
# once to know: with this it unpacks piece by piece, for the libraries too.
zipfile.ZipExtFile.MAX_N = 1 << 20


def open_zip(stream: BinaryIO) -> zipfile.ZipFile:
    """The archive. A part never gives more bytes than it declares, so that what is declared bounds what is unpacked.

    Raises:
        UnreadableError: it is damaged, encrypted, or unpacks to too much.
    """
    try:
        archive = zipfile.ZipFile(stream)
        parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableError(f"it is a damaged ZIP file: {error}") from error
    size = sum(part.file_size for part in parts)
    if len(parts) > MOST_PARTS or size > MOST_UNPACKED:
        raise UnreadableError(
            f"it unpacks to {size >> 20} MiB in {len(parts)} parts, more than {MOST_UNPACKED >> 20} MiB "
            f"or {MOST_PARTS} parts: a ZIP bomb?"
        )
    if any(part.flag_bits & 1 for part in parts):
        raise UnreadableError("it is encrypted with a password")
    return archive


@contextmanager
def office_file(stream: BinaryIO, what: str, *, most: int | None = 150) -> Iterator[None]:
    """Look at the parts of a file, which a library then parses inside; the stream stands at its beginning again.

    Args:
        what: it is, such as "presentation".
        most: characters of what the library says of damage, on one line; None for all of it as it is.

    Raises:
        UnreadableError: as of :func:`open_zip`; a part declares entities; or the library fails.
    """
    with open_zip(stream) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(_XML):
                continue
            with _reading(info.filename), archive.open(info) as opened:
                head = opened.read(_HEAD)
            if declares_entities(head):
                raise UnreadableError("its XML declares entities, which no such document needs")
        stream.seek(0)
    try:
        yield
    except UnreadableError:
        raise
    except Exception as error:  # the libraries raise whatever the damaged XML leads to
        told = " ".join(str(error).split())[:most] if most else str(error)
        raise UnreadableError(f"its {what} is damaged: {type(error).__name__}: {told}") from error


def part(archive: zipfile.ZipFile, name: str) -> bytes:
    """The bytes of one part.

    Raises:
        UnreadableError: it is not there, damaged or too large.
    """
    with _reading(name):
        info = archive.getinfo(name)
        if info.file_size > MOST_XML:
            raise UnreadableError(f"its part {name} unpacks to {info.file_size >> 20} MiB: a ZIP bomb?")
        return archive.read(info)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        raise UnreadableError(f"its part {name} is missing") from error
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise UnreadableError(f"its part {name} is damaged: {error}") from error


# Tables of documents as lines of their text, and sheets of spreadsheets with the cells of each row.


def write_table(
    writer: Writer,
    rows: Sequence[Sequence[Cell]],
    *,
    places: Sequence[int | str] = (),
    names: Names = Names.POSSIBLE,
    caption: str = "",
) -> None:
    """The rows of a table in running text, with the names of its columns where it has them.

    Args:
        places: where each row stands; without them all stand at the place that the writer is at.
        names: whether the first row holds the names where nothing else tells.
        caption: stands before the rows.
    """
    writer.paragraph(" ".join(caption.split()))
    if all(len(row) < 2 for row in rows):  # for layout, or a frame
        for number, row in enumerate(rows):
            if places:
                writer.at(places[number])
            for cell in row:
                writer.paragraph(" ".join(cell.text.split()))
        return
    lines = TableLines(names)
    for line in lines.lines(enumerate(rows)):
        if places:
            writer.at(places[line.number])
        writer.line(line.text)
    _tell_left_out(writer, lines)


def write_sheet(writer: Writer, rows: Iterable[tuple[int, Sequence[Cell]]], sheet: str, names: Names) -> None:
    """A sheet: each row as a line at its cells, each table's title as a heading below the sheet's.

    Args:
        rows: with their numbers, from 1, in order; rows that are left out are empty.
        sheet: its name; "" of a file of rows alone.
    """
    lines = TableLines(names)
    table = 1
    for line in lines.lines(rows):
        if line.table != table:
            table = line.table
            writer.heading(1, sheet)  # ends the heading of the table before
        first, last = (f"{column_name(column)}{line.number}" for column in (line.first, line.last))
        cells = first if first == last else f"{first}:{last}"
        writer.at(f"{sheet}!{cells}" if sheet else cells)
        if line.kind == "title" and sheet:
            writer.heading(2, line.text)
        else:
            writer.line(line.text)
    _tell_left_out(writer, lines)


def _tell_left_out(writer: Writer, lines: TableLines) -> None:
    if lines.left_out:
        cells = "1 cell" if lines.left_out == 1 else f"{lines.left_out} cells"
        writer.document.notes.append(
            f"{cells} beyond column {MOST_COLUMNS} of a table {'is' if lines.left_out == 1 else 'are'} left out"
        )
