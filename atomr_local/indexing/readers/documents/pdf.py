"""PDF, by PDFium: the text of each page, with headings from the outline or from the size of the letters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any, BinaryIO

from rapidfuzz import fuzz

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, Writer, short_line, write_table
from atomr_local.indexing.readers.documents.kinds import KNOWN
from atomr_local.indexing.readers.documents.pdf_form import write_fields
from atomr_local.indexing.readers.documents.pdf_ocr import PageReader
from atomr_local.indexing.readers.documents.pdf_page import Line, TextPage
from atomr_local.indexing.readers.tables import Names

_MOST_PAGES = 20_000
_MOST_OUTLINE = 5_000
_LONGEST_HEADING = 120
_MOST_HEADING_LINES = 4
_LARGER = 1.12  # letters of a heading, to those of the text
_LEVELS = 3
_SMALL = 0.92  # letters of a footnote
_NO_NAME = re.compile(r"[.,:]\d*\W*$")  # a sentence, a label or an amount
_NOTE = re.compile(r"(?:\d{1,3}(?![\d.,])|[*†‡§¶]+)\s?[^\W\d]")
# A line at the top or the foot of so many of the pages, or of those on the left or the right, is no text of theirs.
_REPEATED = 0.5
_REPEATED_ON_SIDE = 0.75
_EDGE_LINES = 4
_APART = 1.25  # from the text, to the distance between its lines
_FEW_WORDS = 5
_DIGITS = re.compile(r"\d+")
_PAGE_IN_LINE = re.compile(r"(?<=page)\d+(?:(?:of|/)\d+)?|^\d+(?=[|·•–-])|(?<=[|·•–-])\d+$")
_PAGE_NUMBER = re.compile(r"\W*(?:page|p\.|seite|folio)?\W*(?:[ivxlc]{1,7}|\d+)(?:\W*(?:of|von|de|/)?\W*\d+)?\W*", re.I)
_SENTENCE_END = re.compile(r"[.!?:;。！？]['\")\]”’]*$")
_OWN_LINE = re.compile(r"\s*(?:[-*•–▪◦]|\(?\d{1,3}[.)]\s)")
_SHORT_LINE = 0.7
_FEW = 20  # letters; a page with fewer has no text worth the name
_LONGEST_LABEL = 20
# A section of InDesign, and what a citation says itself.
_BEFORE_LABEL = re.compile(r"^(?:Sec\w{1,3}:|p(?:age|\.)\s*(?=[\divxlc]))", re.I)
_ADVICE = "Build the index with --ocr eng, or run ocrmypdf over it first"
_BY_OCR = "read by OCR"


def parse_pdf(stream: BinaryIO, ocr: str = "") -> Document:
    """The text of a PDF.

    Args:
        ocr: languages of Tesseract, for pages whose letters are pictures or cannot be told; "" leaves them out.

    Raises:
        UnreadableError: it is damaged, encrypted or has too many pages; or no page has text.
    """
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(stream)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).casefold():
            raise UnreadableError("it is encrypted with a password") from error
        raise UnreadableError(f"its PDF is damaged: {' '.join(str(error).split())}") from error
    with suppress(pypdfium2.PdfiumError):  # without its form the pages can be read
        pdf.init_forms()
    if len(pdf) > _MOST_PAGES:
        raise UnreadableError(f"it has {len(pdf)} pages, more than {_MOST_PAGES}")
    labels = _labels(pdf)
    missing = _Missing(labels)
    reader = PageReader(ocr) if ocr else None
    pages = [_read_page(pdf, number, missing, reader) for number in range(len(pdf))]
    missing.check(len(pages), ocr)
    writer = Writer("page")
    body = _sizes(pages).most_common(1)[0][0]
    pages = _without_running_lines(pages, body)
    _write_pages(writer, pages, body, _outline(pdf))
    if writer.empty:  # its lines are all headings
        for number, page in enumerate(pages, 1):
            writer.at(number)
            writer.paragraph(_shown([line for line in page if line.text] or [Line("")]))
    document = writer.done()
    told = {number: [label] for number, label in labels.items()}
    told |= {number: [labels.get(number, str(number)), _BY_OCR] for number in missing.by_ocr}
    document.places = [(*place, *told.get(place[1], ())) for place in document.places]
    document.title = _title(pdf) or _largest(pages[0], body)
    if author := short_line(pdf.get_metadata_value("Author")):
        document.details["author"] = author
    document.notes += missing.notes()
    return document


# Level, title, and how many lines of the page are its words.
_Heading = tuple[int, str, int]


@dataclass(slots=True)
class _Missing:
    """What the pages lack: their numbers, from 1. `labels` is what is printed on them where that differs."""

    labels: dict[int, str]
    empty: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    unmapped: list[int] = field(default_factory=list)
    tables: list[int] = field(default_factory=list)
    by_ocr: list[int] = field(default_factory=list)
    pictures: bool = False

    def check(self, pages: int, ocr: str) -> None:
        """Raise an error if no page has text."""
        if len(self.empty) + len(self.broken) < pages:
            return
        many = "1 page has" if pages == 1 else f"{pages} pages have"
        advice = "OCR found no sure text" if ocr else _ADVICE
        if self.unmapped:
            raise UnreadableError(f"its fonts do not say which letters they show. {advice}")
        if self.pictures:
            raise UnreadableError(f"its {many} pictures but no text: a scan? {advice}")
        raise UnreadableError("its pages cannot be read" if self.broken else f"its {many} no text")

    def notes(self) -> list[str]:
        told = (
            (self.empty, "no text on {}" + ": scanned?" * self.pictures),
            (self.broken, "{} cannot be read"),
            (self.unmapped, "letters on {} are left out: their font does not say what they show"),
            (self.by_ocr, "{} read by OCR: letters and figures may be wrong"),
            (self.tables, "a table on {} is left out: it is not sure what belongs to which row"),
        )
        return [words.format(self._named(pages)) for pages, words in told if pages]

    def _named(self, pages: list[int]) -> str:
        shown = ", ".join(f"{self.labels[one]} ({one})" if one in self.labels else str(one) for one in pages[:5])
        more = f" and {len(pages) - 5} more" if len(pages) > 5 else ""
        return f"{'page' if len(pages) == 1 else 'pages'} {shown}{more}"


def _labels(pdf: Any) -> dict[int, str]:
    """By page from 1: what is printed on it, where the file gives that and it is not the page's number."""
    found = {}
    for number in range(1, len(pdf) + 1):
        label = ""
        with suppress(UnicodeDecodeError):
            label = _BEFORE_LABEL.sub("", short_line(pdf.get_page_label(number - 1)))
        if label not in {"", str(number)} and label.isprintable() and len(label) <= _LONGEST_LABEL:
            found[number] = label
    return found


def _read_page(pdf: Any, number: int, missing: _Missing, reader: PageReader | None) -> list[Line]:
    import pypdfium2

    try:
        page = pdf[number]
        with TextPage(page) as text:
            lacking = text.unmapped >= _FEW or sum(line.length for line in text.lines) < _FEW
            if lacking and reader is not None and (lines := reader.lines(page)):
                text.lines, text.unmapped = lines, 0
                missing.by_ocr.append(number + 1)
            text.read_tables()
            write_fields(text, page)
    except pypdfium2.PdfiumError:
        missing.broken.append(number + 1)
        return []
    if text.unmapped >= _FEW:
        missing.unmapped.append(number + 1)
    if text.lost_table:
        missing.tables.append(number + 1)
    letters = sum(line.length for line in text.lines)
    if letters < _FEW and ((pictures := _has_picture(page)) or not letters):
        missing.empty.append(number + 1)
        missing.pictures = missing.pictures or pictures
    page.close()
    return text.lines


def _sizes(pages: Iterable[list[Line]]) -> Counter[float]:
    """How many letters there are of each size."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page:
            sizes[line.size] += line.length
    return sizes


def _write_pages(writer: Writer, pages: list[list[Line]], body: float, outline: dict[int, list[_Entry]]) -> None:
    placed = [_placed(page, outline.get(number, ()), body) for number, page in enumerate(pages)]
    if not any(placed):
        placed = _headings_by_size(pages, body)
    compounds = {word.casefold() for page in pages for line in page for word in _COMPOUND.findall(line.text)}
    paragraph = _Paragraph(writer, compounds)
    for number, (page, headings) in enumerate(zip(pages, placed, strict=True), 1):
        lengths = sorted(len(line.text) for line in page if line.text)
        usual = float(lengths[len(lengths) * 3 // 4]) if lengths else 0.0
        until = 0
        before: Line | None = None
        notes = _footnotes(page, body)
        for i, line in enumerate([*page, Line("")]):
            for level, title, count in headings.get(i, ()):
                paragraph.close()
                writer.heading(level, title)
                until = max(until, i + count)
            if i in notes:  # before the paragraph that goes on behind it
                writer.at(number)
                writer.paragraph(_shown(page[i : notes[i]]))
                until = max(until, notes[i])
            if i < until:
                continue
            text = line.text
            if line.rows:
                paragraph.close()
                writer.at(number)
                write_table(writer, line.rows, names=Names.UNLIKELY)
            if not text and i < len(page):
                paragraph.close()
            if not text:
                continue
            apart = before is not None and (line.own or before.own or _is_other_size(before, line, body))
            if apart or paragraph.ends_before(text, usual):
                paragraph.close()
            paragraph.lines.append((number, text))
            before = line
        # A sentence may go on overleaf.
        if paragraph.is_short(usual) or paragraph.ends_sentence() or (before is not None and before.own):
            paragraph.close()
    paragraph.close()


def _footnotes(page: Sequence[Line], body: float) -> dict[int, int]:
    """Where lines in small letters stand at the foot of the page or of a column: from one with a mark to the end."""
    found: dict[int, int] = {}
    stop = 0
    for i, line in enumerate(page):
        if i < stop or not 0 < line.size < _SMALL * body or not _NOTE.match(line.text):
            continue
        last = (j for j in range(i, len(page)) if page[j].size >= _SMALL * body or page[j].y > line.y or page[j].rows)
        stop = next(last, len(page))
        if stop == len(page) or page[stop].y > line.y:
            found[i] = stop
    return found


def _is_other_size(line: Line, following: Line, body: float) -> bool:
    """Whether one of the lines is a heading to the other by its size."""
    large, small = max(line.size, following.size), min(line.size, following.size)
    return large > body * _LARGER and large > small * _LARGER


def _headings_by_size(pages: Sequence[list[Line]], body: float) -> list[dict[int, list[_Heading]]]:
    """The headings at the lines of each page: the larger, the higher."""
    sizes = _sizes(pages)
    # Of the sizes that stand above the text, few enough to be those of headings.
    total = sum(sizes.values())
    large = sorted((size for size, many in sizes.items() if size > body * _LARGER and many < total / 4), reverse=True)
    levels = {size: min(rank, _LEVELS) for rank, size in enumerate(large, 1)}
    few_bold = sum(line.length for page in pages for line in page if line.bold) < total / 4
    found: list[dict[int, list[_Heading]]] = []
    for page in pages:
        headings: dict[int, list[_Heading]] = {}
        until = 0
        for i, line in enumerate(page):
            if i < until or not line.text or len(line.text) > _LONGEST_HEADING:
                continue
            count = _lines_together(page, i)
            level = levels.get(line.size, 0)
            if not level and few_bold and _is_bold_heading(page, i, i + count, body):
                level = min(len(large) + 1, _LEVELS)
            if level:
                headings[i] = [(level, _shown(page[i : i + count]), count)]
                until = i + count
        found.append(headings)
    return found


def _is_bold_heading(page: Sequence[Line], start: int, stop: int, body: float) -> bool:
    """Whether bold lines as large as the text are a heading: short, no sentence, and text below them."""
    words = " ".join(line.text for line in page[start:stop])
    below = next((line for line in page[stop:] if line.text or line.rows), Line("", bold=True))
    is_name = sum(map(str.isalpha, words)) > 3 and len(words) <= _LONGEST_HEADING and not _NO_NAME.search(words)
    return page[start].bold and not page[start].own and is_name and page[start].size >= 0.97 * body and not below.bold


def _lines_together(page: Sequence[Line], start: int) -> int:
    """How many lines from this one are set as one heading: of one size, close below each other."""
    count = 1
    for line, following in pairwise(page[start : start + _MOST_HEADING_LINES]):
        close = line.upright and following.upright and 0 < line.y - following.y < 1.6 * line.size
        alike = (following.size, following.bold) == (line.size, line.bold)
        if not close or not alike or not following.text or _OWN_LINE.match(following.text):
            break
        count += 1
    return count


class _Paragraph:
    """Lines that are put together: (page, text).

    Args:
        compounds: words with a hyphen that the document has within its lines.
    """

    def __init__(self, writer: Writer, compounds: set[str]) -> None:
        self.lines: list[tuple[int, str]] = []
        self._writer = writer
        self._compounds = compounds

    def close(self) -> None:
        """Write it, with the places where its pages begin."""
        if not self.lines:
            return
        pieces, places, length = [self.lines[0][1]], [], 0
        for (before, _), (page, text) in pairwise(self.lines):
            end, joint = _seam(pieces[-1], text, self._compounds)
            pieces[-1] = end + joint
            length += len(pieces[-1])
            if page != before:
                places.append((length, page))
            pieces.append(text)
        pieces[-1] = _LAST_HYPHEN.sub("-", pieces[-1])
        self._writer.at(self.lines[0][0])
        self._writer.paragraph("".join(pieces), places)
        self.lines = []

    def ends_before(self, line: str, usual: float) -> bool:
        """Whether the paragraph ends before this line."""
        return bool(self.lines) and (bool(_OWN_LINE.match(line)) or (self.is_short(usual) and self.ends_sentence()))

    def is_short(self, usual: float) -> bool:
        return bool(self.lines) and len(self.lines[-1][1]) < _SHORT_LINE * usual

    def ends_sentence(self) -> bool:
        return bool(self.lines) and bool(_SENTENCE_END.search(self.lines[-1][1]))


# Lines put together: a word, a number or an address that goes on in the next line.

_HYPHENS = "-\u2010\xad\ufffe\u0002"
_LAST_HYPHEN = re.compile(f"[{_HYPHENS}]$")
_COMPOUND = re.compile(r"[^\W\d_]+-[^\W\d_]+")
_WORD_AT_END = re.compile(r"[^\W\d_]+$")
_WORD_AT_START = re.compile(r"[^\W\d_]+")
_AND = re.compile(r"(?:and|or|to|und|oder|bis|et|ou)\b(?!-)")  # "pre- and postwar"
_ADDRESS = re.compile(r"(?:(?:https?|ftp)://|www\.)\S*$|[\w.+-]+@[\w.-]*$", re.I)
# What an address goes on with: a path, a query, a domain, or one word of small letters behind a slash.
_ADDRESS_PART = re.compile(r"[^\s/]*/\S|\S*[=&?_#%~]|[a-z0-9-]+\.[a-z]{2,5}\b|[^\W_]*\d[^\W_]*[a-z-]|[-.]\w")
_AFTER_ADDRESS = re.compile(
    r"(?:an?|and|are|as|at|but|by|for|from|has|have|in|is|its?|of|on|or|that|the|there|then|this|to|was|we|were|when|"
    r"where|which|while|who|will|with|you|und|oder|der|die|das|ist|and/or)\b(?![/.=&?_-]\w)", re.I
)  # fmt: skip


def _seam(line: str, following: str, compounds: AbstractSet[str]) -> tuple[str, str]:
    """The line as it stands before what follows, and what stands between them: a blank or nothing.

    Args:
        compounds: words with a hyphen that the document has within its lines, in small letters.
    """
    hyphened = _LAST_HYPHEN.sub("-", line)
    last, first = line[-2:-1], following[:1]
    if _ADDRESS.search(hyphened):
        return hyphened, "" if _goes_on(hyphened, following) else " "
    if line[-1:] in {"–", "/"} and last.isdigit() and first.isdigit():
        return line, ""
    if not _LAST_HYPHEN.search(line) or not last.strip() or _AND.match(following):
        return hyphened, " "
    word, rest = _WORD_AT_END.search(line, 0, len(line) - 1), _WORD_AT_START.match(following)
    if word is None or rest is None:
        return hyphened, "" if last.isalnum() and first.isalnum() else " "
    is_capital = len(word[0]) > 1 and len(rest[0]) > 1 and f"{word[0]}{rest[0]}".isupper()
    is_compound = f"{word[0]}-{rest[0]}".casefold() in compounds or word[0].isupper() or first.isupper()
    return (hyphened if is_compound and not is_capital else line[:-1]), ""


def _goes_on(address: str, following: str) -> bool:
    """Whether the address at the end of a line goes on in the next one."""
    if _AFTER_ADDRESS.match(following) or _ADDRESS.match(following.partition(" ")[0]):
        return False
    if address[-1] in "-_=&?%#~+:@":
        return following[:1].isalnum()
    if address[-1] == ".":
        return bool(re.match(r"[a-z]{2,10}(?:\W|$)", following))
    if address[-1] == "/":
        return following[:1].islower() or following[:1].isdigit() or bool(_ADDRESS_PART.match(following))
    return address[-1].isalnum() and not following[:1].isupper() and bool(_ADDRESS_PART.match(following))


def _shown(lines: Sequence[Line]) -> str:
    """The words of a heading of several lines."""
    whole = lines[0].text.strip()
    for line in lines[1:]:
        end, joint = _seam(whole, line.text, set())
        whole = end + joint + line.text
    return " ".join(_LAST_HYPHEN.sub("-", whole).split())


# The outline: its titles at the lines that say the same, if in other words, or at the place that they lead to.

_NUMBERING = re.compile(
    r"the|der|die|das|chapter|section|part|appendix|annex|kapitel|abschnitt|teil|anhang|[ivxlc]+|[a-z]|\d+"
)
_NO_HEADING = re.compile(r"_\w+|(?:page|slide|seite|folie|blank page|p\.?|bookmark|untitled|\W)[\s\W\d]*", re.I)
_ALIKE = 88.0  # of 100


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the outline: its level from 1, and how high on the page it leads to; None where it does not say."""

    level: int
    title: str
    y: float | None


def _outline(pdf: Any) -> dict[int, list[_Entry]]:
    """By page from 0: what the outline has there."""
    found: dict[int, list[_Entry]] = {}
    try:
        for i, item in enumerate(pdf.get_toc(max_depth=6)):
            if i >= _MOST_OUTLINE:
                break
            destination = item.get_dest()
            index = destination.get_index() if destination is not None else None
            title = " ".join(item.get_title().split())
            if index is not None and title and not _NO_HEADING.fullmatch(title) and not _FILE_NAME.search(title):
                found.setdefault(int(index), []).append(_Entry(item.level + 1, title[:300], _height(destination)))
    except Exception:  # an outline that cannot be read, or that is a loop, names nothing
        return {}
    return found


def _height(destination: Any) -> float | None:
    from pypdfium2 import raw

    mode, at = destination.get_view()
    where = {raw.PDFDEST_VIEW_XYZ: 1, raw.PDFDEST_VIEW_FITH: 0, raw.PDFDEST_VIEW_FITBH: 0, raw.PDFDEST_VIEW_FITR: 3}
    place = where.get(mode)
    return float(at[place]) if place is not None and len(at) > place and at[place] else None


def _placed(page: Sequence[Line], entries: Sequence[_Entry], body: float) -> dict[int, list[_Heading]]:
    """The entries that have a sure place on the page, by the line that they stand at."""
    found: dict[int, list[_Heading]] = {}
    keys = [_key(line.text) if len(line.text) <= _LONGEST_HEADING else "" for line in page]
    taken: set[int] = set()
    others: dict[int, list[_Entry]] = {}
    for entry in entries:
        lines = _lines_like(entry, page, keys, taken)
        if lines:
            taken.update(lines)
            found[lines.start] = [(entry.level, entry.title, len(lines))]
            continue
        at = _cut(page, entry.y) if entry.y is not None else (0 if not found else None)
        if at == 0:  # the top of the page may stand for the page
            at = next((i for i, line in enumerate(page) if line.size > body * _LARGER and i not in taken), 0)
        if at is not None:
            others.setdefault(at, []).append(entry)
    for at, several in others.items():
        # A chapter and its first section may begin together; of two chapters one is elsewhere.
        if all(above.level < below.level for above, below in pairwise(several)):
            found[at] = [*((entry.level, entry.title, 0) for entry in several), *found.get(at, ())]
    return found


def _lines_like(entry: _Entry, page: Sequence[Line], keys: Sequence[str], taken: set[int]) -> range:
    """The lines that are the heading; the nearest to where it leads, of several. Empty if there are none."""
    title, height = _key(entry.title), entry.y
    found: list[range] = []
    for i, key in enumerate(keys):
        most = _MOST_HEADING_LINES if key and title.startswith(key) else 1
        for lines in (range(i, i + count) for count in range(1, most + 1)):
            if key and i not in taken and _is_like(title, _key(" ".join(line.text for line in page[i : lines.stop]))):
                found.append(range(i, min(lines.stop, len(page))))
                break
    if height is not None and found:
        return min(found, key=lambda lines: abs(page[lines.start].y - height))
    return found[0] if found else range(0)


def _is_like(title: str, key: str) -> bool:
    if title == key or (title and title in key and len(key) <= len(title) + 12):
        return True
    same_numbers = _DIGITS.findall(title) == _DIGITS.findall(key)
    return same_numbers and len(title) > 5 and abs(len(title) - len(key)) < 12 and fuzz.ratio(title, key) >= _ALIKE


def _cut(page: Sequence[Line], y: float) -> int | None:
    """The line that is the first one below `y`; None where the lines do not all go down the page there."""
    upright = [i for i, line in enumerate(page) if line.upright]
    below = [i for i in upright if page[i].y <= y]
    if not below or any(page[i].y > y for i in upright if i > below[0]):
        return None
    return below[0]


def _key(text: str) -> str:
    """The words without case, blanks, marks and the number that they begin with."""
    words = re.findall(r"\w+", text.casefold())
    start = 0
    while start < len(words) and _NUMBERING.fullmatch(words[start]):
        start += 1
    return "".join(words[start:] or words)


# Running heads and feet.


def _without_running_lines(pages: list[list[Line]], body: float) -> list[list[Line]]:
    """The pages without heads, feet and page numbers: lines at the edge that most pages have, apart from the text."""
    if len(pages) < 3:
        return pages
    edges = [_edge(page, body) for page in pages]
    keys_of = [{_edge_key(page[i]) for i in edge} for page, edge in zip(pages, edges, strict=True)]
    running: set[str] = set()
    for side, part in ((keys_of, _REPEATED), (keys_of[::2], _REPEATED_ON_SIDE), (keys_of[1::2], _REPEATED_ON_SIDE)):
        many = Counter(key for keys in side for key in keys)
        running |= {key for key, times in many.items() if times >= max(3, part * len(side))}
    both = [pair for page in pages for pair in pairwise(page) if pair[0].upright and pair[1].upright]
    gaps = [above.y - below.y for above, below in both if above.y > below.y]
    usual = median(gaps) if gaps else 0.0
    gone = [_outermost(page, edge, running, usual) for page, edge in zip(pages, edges, strict=True)]
    left = [[line for i, line in enumerate(page) if i not in out] for page, out in zip(pages, gone, strict=True)]
    return left if any(line.length for page in left for line in page) else pages


def _outermost(page: list[Line], edge: set[int], running: set[str], usual: float) -> set[int]:
    """The running lines of a page: only such lines stand between them and the edge, and the text is apart.

    Slides often begin with the same words below their headings, and letters end with the same sentence.
    """
    filled = [i for i, line in enumerate(page) if line.text or line.rows]
    gone: set[int] = set()
    for order in (filled, filled[::-1]):
        block: list[int] = []
        for i, inner in zip(order[:_EDGE_LINES], [*order[1:], None], strict=False):
            if i not in edge or _edge_key(page[i]) not in running:
                break
            block.append(i)
            if inner is None or _is_apart(page[i], page[inner], usual, is_head=order is filled):
                gone.update(block)
    return gone


def _is_apart(line: Line, inner: Line, usual: float, *, is_head: bool) -> bool:
    """Whether the line is no part of the text that it stands beside."""
    if _PAGE_NUMBER.fullmatch(line.text) or line.size < 0.97 * inner.size or not (line.upright and inner.upright):
        return True
    is_far = abs(line.y - inner.y) >= _APART * usual
    return (is_far and line.is_at_edge) or (is_head and not _SENTENCE_END.search(line.text))


def _edge(page: list[Line], body: float) -> set[int]:
    """The lines at the top and the foot that may be a head or a foot: short, and in no larger letters than the text."""
    filled = [i for i, line in enumerate(page) if line.text or line.rows]
    found = [i for i in {*filled[:_EDGE_LINES], *filled[-_EDGE_LINES:]} if not page[i].rows]
    return {i for i in found if len(page[i].text) <= _LONGEST_HEADING and page[i].size <= body * _LARGER}


def _edge_key(line: Line) -> str:
    """What is the same on every page: all of it, but for the number in a few words such as "Page 3 of 9"."""
    text = line.text
    key = "".join(text.casefold().split())
    if _PAGE_NUMBER.fullmatch(text):
        key = re.sub(r"[ivxlc]+$", "#", key)
    return (_DIGITS if len(text.split()) <= _FEW_WORDS else _PAGE_IN_LINE).sub("#", key)


def _has_picture(page: Any) -> bool:
    from pypdfium2 import raw

    try:
        return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))
    except Exception:  # a page whose objects cannot be listed
        return False


# The title.

_FILE_NAME = re.compile(KNOWN["titles"]["of_files"], re.I | re.X)
_MACHINE_TITLE = re.compile(KNOWN["titles"]["of_programs"], re.I | re.X)
_LONGEST_TITLE = 200


def _title(pdf: Any) -> str:
    title = short_line(pdf.get_metadata_value("Title"))
    is_torn = any(not letter.isprintable() or letter == "\ufffd" for letter in title) or title.startswith("þÿ")
    return "" if is_torn or _FILE_NAME.search(title) or _MACHINE_TITLE.fullmatch(title) else title


def _largest(page: Sequence[Line], body: float) -> str:
    """The words in the largest letters of the first page, if those of the text are smaller."""
    sizes = sorted({line.size for line in page if line.size > body * _LARGER and line.text}, reverse=True)
    for size in sizes:
        start = next(i for i, line in enumerate(page) if line.size == size and line.text)
        words = _shown(page[start : start + _lines_together(page, start)])
        if len(words) <= _LONGEST_TITLE and sum(letter.isalpha() for letter in words) >= 4:
            return words
    return ""
