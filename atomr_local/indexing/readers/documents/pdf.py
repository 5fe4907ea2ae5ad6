"""PDF, by PDFium: the text of each page, with headings from the outline or from the size of the letters."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, Writer

_MOST_PAGES = 20_000
_MOST_OUTLINE = 5_000
# What PDFium puts where a word is hyphenated at the end of a line.
_HYPHENS = re.compile("[\ufffe\u0002\xad]\\s*\n?|(?<=[a-z])-\n(?=[a-z])")
# TeX sets an accent as a letter of its own before the one below it: "Ren´e". A grave accent is also a quotation mark.
_ACCENTS = dict(
    zip("´¨ˆ˜ˇ˘˚˙˝¯¸`", "\u0301\u0308\u0302\u0303\u030c\u0306\u030a\u0307\u030b\u0304\u0327\u0300", strict=True)
)
_ACCENTED = re.compile(r"([´¨ˆ˜ˇ˘˚˙˝¯¸]|(?<=[^\W\d_])`)([^\W\d_])")
_DOTLESS = {"ı": "i", "ȷ": "j"}
_LONGEST_HEADING = 120
_LARGER = 1.12  # letters of a heading, to those of the text
_LEVELS = 3
# A line at the top or the foot of so many of the pages is no text of theirs.
_REPEATED = 0.5
_EDGE_LINES = 2
_FEW_WORDS = 5
_DIGITS = re.compile(r"\d+")
_SENTENCE_END = re.compile(r"[.!?:;。！？]['\")\]”’]*$")
_OWN_LINE = re.compile(r"\s*(?:[-*•–▪◦]|\(?\d{1,3}[.)]\s)")
_SHORT_LINE = 0.7
_FEW = 20  # letters; a page with fewer has no text worth the name


@dataclass(slots=True)
class _Line:
    text: str
    size: float


def parse_pdf(stream: BinaryIO) -> Document:
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(stream)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).casefold():
            raise UnreadableError("it is encrypted with a password") from error
        raise UnreadableError(f"its PDF is damaged: {' '.join(str(error).split())}") from error
    if len(pdf) > _MOST_PAGES:
        raise UnreadableError(f"it has {len(pdf)} pages, more than {_MOST_PAGES}")
    pages: list[list[_Line]] = []
    empty, broken, pictures = [], [], False
    for number in range(len(pdf)):
        try:
            page = pdf[number]
            lines = _lines(page)
        except pypdfium2.PdfiumError:
            broken.append(number + 1)
            pages.append([])
            continue
        if sum(len(line.text) for line in lines) < _FEW:
            empty.append(number + 1)
            pictures = pictures or _has_picture(page)
        pages.append(lines)
        page.close()
    if len(empty) + len(broken) == len(pages):
        many = "1 page has" if len(pages) == 1 else f"{len(pages)} pages have"
        if pictures:
            raise UnreadableError(f"its {many} pictures but no text: a scan? Run OCR over it first, such as ocrmypdf")
        raise UnreadableError("its pages cannot be read" if broken else f"its {many} no text")
    writer = Writer("page")
    outline = _outline(pdf)
    _write_pages(writer, pages, outline)
    document = writer.done()
    document.title = _title(pdf)
    if author := " ".join(str(pdf.get_metadata_value("Author") or "").split()):
        document.details["author"] = author[:300]
    if empty:
        document.notes.append(f"no text on {_pages_text(empty)}{': scanned?' if pictures else ''}")
    if broken:
        document.notes.append(f"{_pages_text(broken)} cannot be read")
    return document


def _lines(page: Any) -> list[_Line]:
    """The lines of the page in reading order, with the size of their first letters."""
    from pypdfium2 import raw

    text_page = page.get_textpage()
    try:
        text = text_page.get_text_range().replace("\r\n", "\n").replace("\r", "\n")
        lines, at = [], 0
        for line in text.split("\n"):
            size = raw.FPDFText_GetFontSize(text_page.raw, _index(at, line)) if line.strip() else 0.0
            lines.append(_Line(_with_accents(line), round(float(size), 1)))
            at += len(line) + 2  # PDFium ends a line with two characters
        return lines
    finally:
        text_page.close()


def _with_accents(text: str) -> str:
    """The text with accents on their letters, where there are such letters."""

    def joined(match: re.Match[str]) -> str:
        letter = unicodedata.normalize("NFC", _DOTLESS.get(match[2], match[2]) + _ACCENTS[match[1]])
        return letter if len(letter) == 1 else match[0]

    return _ACCENTED.sub(joined, text)


def _index(at: int, line: str) -> int:
    return at + len(line) - len(line.lstrip())


def _write_pages(writer: Writer, pages: list[list[_Line]], outline: dict[int, list[tuple[int, str]]]) -> None:
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page:
            sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    pages = _without_running_lines(pages, body)
    # The larger, the higher: of the sizes that stand above the text, few enough to be those of headings.
    total = sum(sizes.values())
    large = sorted((size for size, many in sizes.items() if size > body * _LARGER and many < total / 4), reverse=True)
    levels = {size: min(rank, _LEVELS) for rank, size in enumerate(large, 1)}
    paragraph = _Paragraph(writer)
    for number, page in enumerate(pages, 1):
        named = list(outline.get(number - 1, ()))
        usual = _usual_length(page)
        if outline and not _found_on(page, named):
            paragraph.close()
            for level, title in named:
                writer.heading(level, title)
            named = []
        for line in page:
            text = line.text.strip()
            heading = _outline_heading(text, named) if outline else None
            if not outline and text and line.size in levels and len(text) <= _LONGEST_HEADING:
                heading = levels[line.size], text
            if heading is not None or not text:
                paragraph.close()
                if heading is not None:
                    writer.heading(*heading)
                continue
            if paragraph.ends_before(text, usual):
                paragraph.close()
            paragraph.lines.append((number, text))
        # A sentence may go on overleaf.
        if paragraph.is_short(usual) or paragraph.ends_sentence():
            paragraph.close()
    paragraph.close()


class _Paragraph:
    """Lines that are put together: (page, text)."""

    def __init__(self, writer: Writer) -> None:
        self.lines: list[tuple[int, str]] = []
        self._writer = writer

    def close(self) -> None:
        """Write it, with the places where its pages begin."""
        if not self.lines:
            return
        whole = _joined(self.lines)
        starts = [i for i in range(1, len(self.lines)) if self.lines[i][0] != self.lines[i - 1][0]]
        places = [(len(whole) - len(_joined(self.lines[i:])), self.lines[i][0]) for i in starts]
        self._writer.at(self.lines[0][0])
        self._writer.paragraph(whole, places)
        self.lines = []

    def ends_before(self, line: str, usual: float) -> bool:
        """Whether the paragraph ends before this line."""
        return bool(self.lines) and (bool(_OWN_LINE.match(line)) or (self.is_short(usual) and self.ends_sentence()))

    def is_short(self, usual: float) -> bool:
        return bool(self.lines) and len(self.lines[-1][1]) < _SHORT_LINE * usual

    def ends_sentence(self) -> bool:
        return bool(self.lines) and bool(_SENTENCE_END.search(self.lines[-1][1]))


def _joined(lines: list[tuple[int, str]]) -> str:
    return _HYPHENS.sub("", "\n".join(text for _, text in lines)).replace("\n", " ")


def _usual_length(page: list[_Line]) -> float:
    lengths = sorted(len(line.text) for line in page if line.text.strip())
    return float(lengths[len(lengths) * 3 // 4]) if lengths else 0.0


def _outline(pdf: Any) -> dict[int, list[tuple[int, str]]]:
    """By page from 0: the level, from 1, and the title of what the outline has there."""
    found: dict[int, list[tuple[int, str]]] = {}
    try:
        for i, item in enumerate(pdf.get_toc(max_depth=6)):
            if i >= _MOST_OUTLINE:
                break
            destination = item.get_dest()
            index = destination.get_index() if destination is not None else None
            title = " ".join(item.get_title().split())
            if index is not None and title:
                found.setdefault(int(index), []).append((item.level + 1, title[:300]))
    except Exception:  # an outline that cannot be read, or that is a loop, names nothing
        return {}
    return found


def _found_on(page: list[_Line], named: list[tuple[int, str]]) -> bool:
    """Whether each of the titles is a line of the page."""
    texts = {_key(line.text) for line in page}
    return all(any(_key(title) and _key(title) in text for text in texts) for _, title in named)


def _outline_heading(line: str, named: list[tuple[int, str]]) -> tuple[int, str] | None:
    """The title of the outline that this line is; it is taken out of the list."""
    key = _key(line)
    for item in named:
        title = _key(item[1])
        if title and title in key and len(key) <= len(title) + 12:
            named.remove(item)
            return item
    return None


def _key(text: str) -> str:
    return "".join(text.casefold().split())


def _without_running_lines(pages: list[list[_Line]], body: float) -> list[list[_Line]]:
    """The pages without heads, feet and page numbers: small lines at the edge that most pages have."""
    if len(pages) < 3:
        return pages
    edges: Counter[str] = Counter()
    for page in pages:
        edges.update({_edge_key(page[i]) for i in _edge(page, body)})
    running = {key for key, many in edges.items() if many >= max(3, _REPEATED * len(pages))}
    kept = []
    for page in pages:
        gone = _outermost(page, _edge(page, body), running)
        kept.append([line for i, line in enumerate(page) if i not in gone])
    return kept


def _outermost(page: list[_Line], edge: set[int], running: set[str]) -> set[int]:
    """The running lines of a page: only such lines stand between them and the edge.

    Slides often begin with the same words below their headings.
    """
    filled = [i for i, line in enumerate(page) if line.text.strip()]
    gone: set[int] = set()
    for order in (filled, filled[::-1]):
        for i in order[:_EDGE_LINES]:
            if i not in edge or _edge_key(page[i]) not in running:
                break
            gone.add(i)
    return gone


def _edge(page: list[_Line], body: float) -> set[int]:
    """The lines at the top and the foot that may be a head or a foot: short, and in no larger letters than the text."""
    filled = [i for i, line in enumerate(page) if line.text.strip()]
    found = {*filled[:_EDGE_LINES], *filled[-_EDGE_LINES:]}
    return {i for i in found if len(page[i].text) <= _LONGEST_HEADING and page[i].size <= body * _LARGER}


def _edge_key(line: _Line) -> str:
    """What is the same on every page: all of it, but for the number in a few words such as "Page 3 of 9"."""
    few = len(line.text.split()) <= _FEW_WORDS
    return _DIGITS.sub("#", _key(line.text)) if few else _key(line.text)


def _has_picture(page: Any) -> bool:
    from pypdfium2 import raw

    try:
        return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))
    except Exception:  # a page whose objects cannot be listed
        return False


def _title(pdf: Any) -> str:
    title = " ".join(str(pdf.get_metadata_value("Title") or "").split())[:300]
    # Programs put the name of the source file there, or nothing that says anything.
    is_file = re.search(r"\.(?:docx?|tex|dvi|indd|pptx?|xlsx?|odt|pdf|qxd)$", title, re.I)
    return "" if is_file or title.casefold() in {"untitled", "unknown", "(anonymous)", "anonymous"} else title


def _pages_text(pages: list[int]) -> str:
    shown = ", ".join(map(str, pages[:5]))
    more = f" and {len(pages) - 5} more" if len(pages) > 5 else ""
    return f"{'page' if len(pages) == 1 else 'pages'} {shown}{more}"
