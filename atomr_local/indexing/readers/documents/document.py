"""What a document's parser gives: text with headings and places, and what the document says about itself."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from io import BytesIO
from typing import Any, BinaryIO, Literal

from atomr_local.indexing.readers.base import storable
from atomr_local.indexing.readers.tables import MOST_COLUMNS, Cell, Names, TableLines, column_name

# What a document's places count: pages of a PDF, slides, lines of a text, cells of a notebook (numbers from 1),
# cells of a table ("Sheet!A5:F5"), times of a film or talk ("00:01:30"), messages of a chat ("2026-03-12 18:04, Ann").
PlaceKind = Literal["page", "slide", "line", "cell", "cells", "time", "message"]
Placed = tuple[int, int | str]  # the offset from which on a place holds, and the place
HEAD = 1 << 16  # bytes of a file that tell what it is, and in which its entities would be declared
MOST_TEXT = 48 << 20  # characters of one document
MOST_MAILBOX = 128 << 20  # characters of all messages, notes or chats of one file
_MOST_NAMES = 50
# Their headings are names of sheets, or bookmarks of pages whose words stand in the text.
_NAMED_PLACES = frozenset({"cells", "page"})


class UnreadableError(ValueError):
    """The document cannot be read; the message says why, as a clause: "it is encrypted with a password"."""


@dataclass(slots=True)
class Document:
    """One document, or one message of a mailbox.

    Attributes:
        text: paragraphs, with a blank line between them; rows of tables a line each.
        sections: where headings stand, as (offset, level, heading). The words of a heading are in the text only if
            there are no others below it.
        places: (offset, place) in order; a place holds until the next one. Of a page may follow what is printed on it,
            and how it was read.
        place_kind: what the places are; None where there are none.
        title: as the document gives it; "" if it gives none.
        aliases: other names that it gives itself.
        details: author, date, tags and the like; texts only.
        fields: what front matter says beside title, aliases and tags: values by label.
        notes: what was lost, in words, such as "pages 2 and 3 have no text".
    """

    text: str = ""
    sections: list[tuple[int, int, str]] = field(default_factory=list)
    places: list[tuple[Any, ...]] = field(default_factory=list)
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
        self.document = Document(place_kind=place_kind)  # until it is done, sections begin behind so many texts
        self._texts: list[tuple[str, str, list[Placed]]] = []  # what stands before it, a text, its places
        self._length = 0
        self._place: int | str | None = None
        self._told: int | str | None = None  # the last place of the texts
        self._heading_places: list[int | str | None] = []

    @property
    def empty(self) -> bool:
        return not self._texts

    def at(self, place: int | str) -> None:
        """What follows stands at this place."""
        self._place = place

    def heading(self, level: int, title: str) -> None:
        """A heading, 1 the highest; what follows stands below it."""
        if short := short_line(title):
            self.document.sections.append((len(self._texts), level, short))
            self._heading_places.append(self._place)
        if len(short) < len(title) and len(short) < len(whole := " ".join(title.split())):
            self.paragraph(whole)

    def paragraph(self, text: str, places: Iterable[Placed] = ()) -> None:
        """A paragraph, a blank line before it.

        Args:
            places: (offset, place) of the places that begin inside it, in order; what follows stands at the last.
        """
        self._put(text, "\n\n", places)

    def line(self, text: str, places: Iterable[Placed] = ()) -> None:
        """A line of its own: a row, an item of a list, a line of code. `places` as of :meth:`paragraph`."""
        self._put(text, "\n", places)

    def insert(self, other: Document) -> None:
        """The text of another document, with its headings and without its places."""
        begin = 0
        for start, level, title in other.sections:
            self.paragraph(other.text[begin:start])
            self.heading(level, title)
            begin = start
        self.paragraph(other.text[begin:])

    def done(self) -> Document:
        """The document as it was put together.

        Raises:
            UnreadableError: there is too much text.
        """
        document = self.document
        bare = self._bare_headings() if document.place_kind not in _NAMED_PLACES else frozenset()
        headings: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
        for i, (before, level, title) in enumerate(document.sections):
            headings[before].append((i, level, title))
        pieces: list[str] = []
        sections: list[tuple[int, int, str]] = []
        places: list[Placed] = []
        length = 0

        def put(words: str) -> None:
            nonlocal length
            pieces.append(words)
            length += len(words)

        for number, (gap, text, inside) in enumerate([*self._texts, ("\n\n", "", [])]):
            # A heading begins after the blank line: its section starts with its own words.
            if length and (text or (bare and headings[number])):
                put(gap)
            for i, level, title in headings[number]:
                sections.append((length, level, title))
                if i not in bare:
                    continue
                around, own = places[-1][1] if places else None, self._heading_places[i]
                if own is not None and own != around:
                    places.append((length, own))
                put(storable(title))
                put("\n\n" if text or i + 1 < len(document.sections) else "")
                if around is not None and text:  # what follows stands where it stood
                    places.append((length, around))
            places += ((length + offset, place) for offset, place in inside)
            put(text)
        document.text, document.sections = "".join(pieces), sections
        document.places = list(dict(places).items())  # of one offset the last
        return document

    def _bare_headings(self) -> frozenset[int]:
        """The headings, by number, below which no words stand, even below the headings that are under them.

        Their words are written into the text, each as a paragraph at the heading's place.
        """
        bare: set[int] = set()
        below: list[tuple[int, int]] = []  # (level, texts before it) of headings further down that may end those above
        for i in range(len(self.document.sections) - 1, -1, -1):
            start, level, _ = self.document.sections[i]
            while below and below[-1][0] > level:
                below.pop()
            if start == (below[-1][1] if below else len(self._texts)):
                bare.add(i)
            below.append((level, start))
        return frozenset(bare)

    def _put(self, text: str, gap: str, inside: Iterable[Placed]) -> None:
        # A line keeps its indentation, a paragraph has none.
        shown = storable(text.rstrip() if gap == "\n" else text.strip())
        if not shown or is_rule(shown):
            return
        cut = 0 if gap == "\n" else len(text) - len(text.lstrip())
        places = [(0, self._place)] if self._place is not None and self._place != self._told else []
        for given, place in inside:
            offset = given - cut - text.count("\x00", 0, given)
            if 0 <= offset < len(shown) and place != self._place:
                places.append((offset, place))
                self._place = place
        self._told = self._place
        self._length += len(shown) + (len(gap) if self._texts else 0)
        self._texts.append((gap, shown, places))
        if self._length > MOST_TEXT:
            raise UnreadableError(f"it has more than {MOST_TEXT >> 20} million characters of text")


# Lines that are drawn: between parts of a text, below its headings, around its tables.
_RULE = re.compile(r"[\s\-=_*~#+|^\u2010-\u2015\u2022\u2500-\u259f\u00b7]{3,}")


def is_rule(text: str) -> bool:
    """Whether these are mere marks, such as a line of dashes."""
    return _RULE.fullmatch(text.strip()) is not None


def short_line(text: object, most: int = 300) -> str:
    """A title or a name on one line, none where it is None; the beginning of a long one."""
    return " ".join(str("" if text is None else text).split())[:most]


def whole(text: str | None, otherwise: int = 0, *, digits: int = 5) -> int:
    """The number that a text is; `otherwise` if it is none, or has more digits."""
    return int(text) if text and text.isdecimal() and len(text) <= digits else otherwise


def names_of(value: Any) -> list[str]:
    """The names that a field of metadata holds: a text, or a list of texts; others are passed over."""
    items = value if isinstance(value, list) else [value]
    found = (short_line(item) for item in items[:_MOST_NAMES] if isinstance(item, str | int | float))
    return list(dict.fromkeys(name for name in found if name))


# XML of a document's parts, without entities of its own, networks or other files.


def refuse_entities(data: bytes) -> None:
    """Raise UnreadableError if it declares entities: those of an attack grow without bound.

    They are seen in any encoding that an XML parser knows without being told.
    """
    if any("<!ENTITY".encode(encoding) in data for encoding in ("ascii", "utf-16-le", "utf-16-be")):
        raise UnreadableError("its XML declares entities, which no such document needs")


def parse_xml(data: bytes) -> Any:
    """The root element.

    Raises:
        UnreadableError: it is no well-formed XML, or declares entities.
    """
    from lxml import etree  # type: ignore[import-untyped]

    refuse_entities(data)
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


_XML = (".xml", ".rels")
# A part may unpack to more than it declares, and `zipfile` keeps only what is declared, but unpacks two gigabytes at
# once to know: with this it unpacks piece by piece, for the libraries too.
zipfile.ZipExtFile.MAX_N = 1 << 20


def open_zip(stream: BinaryIO) -> zipfile.ZipFile:
    """The archive. A part never gives more bytes than it declares, so that what is declared bounds what is unpacked.

    Raises:
        UnreadableError: it is damaged, encrypted, or unpacks to too much.
    """
    with unpacking():
        archive = zipfile.ZipFile(stream)
    parts = archive.infolist()
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
def office_file(stream: BinaryIO, what: str) -> Iterator[BinaryIO]:
    """Look at the parts of a file, and give a stream that a library can then parse, at its beginning.

    The libraries know only the usual content type of each kind and the namespaces of transitional Open XML. Templates,
    shows, files with macros and strict files are rewritten so.

    Args:
        what: it is, such as "presentation".

    Raises:
        UnreadableError: as of :func:`open_zip`; a part declares entities; or the library fails.
    """
    with open_zip(stream) as archive:
        unusual = False
        for info in archive.infolist():
            if not info.filename.endswith(_XML):
                continue
            with unpacking(info.filename), archive.open(info) as opened:
                head = opened.read(HEAD)
            refuse_entities(head)
            unusual = unusual or _as_usual(info.filename, head) != head
        stream.seek(0)
        usual = _rewritten(archive) if unusual else stream
    try:
        yield usual
    except UnreadableError:
        raise
    except Exception as error:  # the libraries raise whatever the damaged XML leads to
        raise UnreadableError(f"its {what} is damaged: {type(error).__name__}: {told_error(error)}") from error


_OBJECT = re.compile(r"'?<[\w.]+ [^<>]*>'?")


def told_error(error: Exception) -> str:
    """What an error says, without objects of the program, up to 150 characters on one line."""
    said = _OBJECT.sub("the file", _OBJECT.sub("the file", str(error)))  # one may stand in another
    return " ".join(said.split())[:150]


_CONTENT_TYPES = "[Content_Types].xml"
_MAIN_TYPE = re.compile(
    rb"application/vnd\.(?:(?P<word>ms-word|openxmlformats-officedocument\.wordprocessingml)"
    rb"|ms-powerpoint|openxmlformats-officedocument\.presentationml)\.\w+(?:\.macroEnabled\w*)?\.main\+xml"
)
_ENTRY = re.compile(rb"<(?:\w+:)?(?:Default|Override)\s[^>]*>")
_OF_XML = re.compile(rb"""(?i)\b(?:Extension|PartName)\s*=\s*["'](?:[^"']*\.)?xml["']""")
# What some programs leave of a picture or a link that was taken out; Word passes it over.
_TO_NOTHING = re.compile(rb"""<(?:\w+:)?Relationship\s[^>]*Target=["'][./\w]*\bNULL["'][^>]*/>""")
# Looks of cells in two ways; the library for spreadsheets knows only one.
_ALTERNATIVE = re.compile(rb"(?s)<mc:AlternateContent\b.*?<mc:Fallback>(.*?)</mc:Fallback>\s*</mc:AlternateContent>")
_STRICT = re.compile(rb"(=\s*[\"'])http://purl\.oclc\.org/ooxml/(\w+)/")


def _usual_type(match: re.Match[bytes]) -> bytes:
    """The type that a library knows of a part; a whole file that stands in another is none."""
    if not _OF_XML.search(match.string):
        return b"application/octet-stream"
    kind = b"wordprocessingml.document" if match["word"] else b"presentationml.presentation"
    return b"application/vnd.openxmlformats-officedocument.%s.main+xml" % kind


def _as_usual(name: str, xml: bytes) -> bytes:
    """A part with the usual content types in place of those of templates, shows and macros, and no strict names."""
    if name == _CONTENT_TYPES:
        xml = _ENTRY.sub(lambda entry: _MAIN_TYPE.sub(_usual_type, entry[0]), xml)
    if name.endswith(".rels"):
        xml = _TO_NOTHING.sub(b"", xml)
    if name.endswith("/styles.xml"):
        xml = _ALTERNATIVE.sub(rb"\1", xml)
    return _STRICT.sub(rb"\1http://schemas.openxmlformats.org/\2/2006/", xml)


def _rewritten(archive: zipfile.ZipFile) -> BinaryIO:
    """The archive with its XML :func:`as usual <_as_usual>`, without pictures and films."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as again:
        for name in dict.fromkeys(archive.namelist()):
            data = b"" if "/media/" in name else part(archive, name)
            again.writestr(name, _as_usual(name, data) if name.endswith(_XML) else data)
    packed.seek(0)
    return packed


def part(archive: zipfile.ZipFile, name: str) -> bytes:
    """The bytes of one part.

    Raises:
        UnreadableError: it is not there, damaged or too large.
    """
    with unpacking(name):
        info = archive.getinfo(name)
        if info.file_size <= MOST_XML:
            return archive.read(info)
    raise UnreadableError(f"its part {name} unpacks to {info.file_size >> 20} MiB: a ZIP bomb?")


@contextmanager
def unpacking(name: str = "") -> Iterator[None]:
    """Raise UnreadableError where the part that is called so, or the archive, is damaged, or there is no such part."""
    try:
        yield
    except KeyError as error:
        raise UnreadableError(f"its part {name} is missing") from error
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        what = f"its part {name} is damaged" if name else "it is a damaged ZIP file"
        raise UnreadableError(f"{what}: {error}") from error


_FEWEST_BESIDE_PAGES = 3  # words of a header or footer: "Page of" says nothing without its numbers


def comment(author: str, text: str) -> str:
    """A remark beside the text as it is read."""
    said = f"Comment by {short_line(author)}" if author.strip() else "Comment"
    return f"{said}: {text}" if text.strip() else ""


def write_margins(writer: Writer, paragraphs: Iterable[tuple[str, bool]]) -> None:
    """The words of headers and footers, each once, behind the text; a heading says what they are.

    Args:
        paragraphs: of them, without the numbers of pages, and whether each has such.
    """
    told = (text.split() for text, counts in paragraphs if not counts or len(text.split()) >= _FEWEST_BESIDE_PAGES)
    if found := [line for line in dict.fromkeys(map(" ".join, told)) if line]:
        writer.heading(1, "Headers and footers")
        for line in found:
            writer.line(line)


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
    if count := lines.grid.left_out:
        cells, are = ("1 cell", "is") if count == 1 else (f"{count} cells", "are")
        writer.document.notes.append(f"{cells} beyond column {MOST_COLUMNS} of a table {are} left out")
