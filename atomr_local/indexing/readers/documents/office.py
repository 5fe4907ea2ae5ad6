"""Word documents and PowerPoint presentations, by python-docx and python-pptx."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from io import BytesIO
from itertools import islice
from operator import itemgetter
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import (
    Document,
    UnreadableError,
    Writer,
    comment,
    elements_in,
    office_file,
    parse_xml,
    short_line,
    whole,
    write_margins,
    write_table,
)
from atomr_local.indexing.readers.documents.kinds import document_kind
from atomr_local.indexing.readers.documents.symbols import (
    FRACTION,
    LEVEL,
    in_font,
    joined,
    mark_of,
    numeral,
    shown_number,
    symbol,
    with_reading,
)
from atomr_local.indexing.readers.tables import MOST_SPAN, Cell, cell_of_lines, row_text

# Tables of Word documents and presentations: their cells with what they reach over, and what marks headings.

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]+")
_OFF = frozenset({"0", "false", "off"})
_FIRST_ROW, _FIRST_COLUMN = 0x0020, 0x0080  # of the bits that say which parts of its style a table shows


def word_rows(table: Any, text: Callable[[Any], str]) -> tuple[list[list[Cell]], list[Any]]:
    """The rows of a table of python-docx, and the tables and files that stand in its cells, as elements.

    Args:
        text: gives the words of a paragraph.
    """
    element = table._tbl
    rows: list[list[Cell]] = []
    inner: list[Any] = []
    bold_row, bold_column = _styled(table)
    open_above: dict[int, tuple[int, int]] = {}  # column → row and index of the cell that may go on below
    kept = (row for row in children(element, "tr") if row.find(f"{WORD}trPr/{WORD}del") is None)
    for number, row in enumerate(kept):
        header = _is_on(row.find(f"{WORD}trPr/{WORD}tblHeader"))
        column = min(whole(_value(row, "trPr", "gridBefore")), MOST_SPAN)  # those before it stay empty
        cells = [Cell("")] * column
        for cell in children(row, "tc"):
            span = min(whole(_value(cell, "tcPr", "gridSpan")) or 1, MOST_SPAN)
            merge = cell.find(f"{WORD}tcPr/{WORD}vMerge")
            if merge is not None and merge.get(f"{WORD}val", "continue") == "continue" and column in open_above:
                above, index = open_above[column]
                rows[above][index] = replace(rows[above][index], rowspan=number - above + 1)
                column += span
                continue
            paragraphs = list(children(cell, "p"))
            inner += children(cell, "tbl", "altChunk")
            words = "\n".join(text(one) for one in paragraphs)
            bold = (bold_row and number == 0) or (bold_column and column == 0) or _is_bold(paragraphs)
            if merge is not None:
                open_above[column] = (number, len(cells))
            else:
                open_above.pop(column, None)
            cells.append(cell_of_lines(words, header, 1, span, bold=bold))
            column += span
        rows.append(cells)
    return rows, inner


def slide_rows(table: Any) -> list[list[Cell]]:
    """The rows of a table of python-pptx."""
    rows = []
    for number, row in enumerate(table.rows):
        cells = []
        for column, cell in enumerate(row.cells):
            if cell.is_spanned:
                continue
            high, wide = (cell.span_height, cell.span_width) if cell.is_merge_origin else (1, 1)
            runs = [run for paragraph in cell.text_frame.paragraphs for run in paragraph.runs if run.text.strip()]
            bold = bool(runs) and all(run.font.bold for run in runs)
            bold = bold or (number == 0 and table.first_row) or (column == 0 and table.first_col)
            cells.append(cell_of_lines(_drawn_text(cell.text_frame), False, high, wide, bold=bold))
        rows.append(cells)
    return rows


def children(element: Any, *names: str) -> Iterator[Any]:
    """The children of these names, and those within content controls and insertions, in order."""
    wanted = {f"{WORD}{name}" for name in names}
    return (child for child in elements_in(element, lambda one: one.tag in _WRAPPERS) if child.tag in wanted)


_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_ALTERNATIVES = f"{_COMPATIBILITY}AlternateContent"  # what programs of different ages show instead of each other
_WRAPPERS = frozenset(f"{WORD}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag")) | {
    _ALTERNATIVES,
    f"{_COMPATIBILITY}Choice",
}


def _styled(table: Any) -> tuple[bool, bool]:
    """Whether the table's style sets its first row, and its first column, off from the others, and it shows that."""
    look = table._tbl.find(f"{WORD}tblPr/{WORD}tblLook")
    # A table without properties is an error for the library.
    if look is None or (style := getattr(table.style, "element", None)) is None:
        return False, False
    parts = {part.get(f"{WORD}type") for part in style.iterchildren(f"{WORD}tblStylePr")}
    bits = look.get(f"{WORD}val", "0")
    mask = int(bits, 16) if _HEXADECIMAL.fullmatch(bits) else 0
    row = look.get(f"{WORD}firstRow")
    column = look.get(f"{WORD}firstColumn")
    shows_row = row not in _OFF if row is not None else bool(mask & _FIRST_ROW)
    shows_column = column not in _OFF if column is not None else bool(mask & _FIRST_COLUMN)
    return shows_row and "firstRow" in parts, shows_column and "firstCol" in parts


def _is_bold(paragraphs: list[Any]) -> bool:
    runs = [
        run for one in paragraphs for run in one.iter(f"{WORD}r") if any(part.text for part in run.iter(f"{WORD}t"))
    ]
    return bool(runs) and all(_is_on(run.find(f"{WORD}rPr/{WORD}b")) for run in runs)


def _is_on(element: Any) -> bool:
    return element is not None and element.get(f"{WORD}val", "1") not in _OFF


_MOST_DEPTH = 20
_MOST_NOTES = 5_000
_MOST_FILES, _MOST_FILES_DEEP = 200, 3  # files that stand in a document, and how deep in each other
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_MOST_POINTS = 10_000  # of a series of a chart
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_TEXT_BOX = f"{WORD}txbxContent"
_RUBY = f"{WORD}ruby"
# What is shown elsewhere, or not at all: what was moved away or deleted, and the second of two ways to show a shape.
_PASSED_OVER = frozenset(
    {f"{WORD}{name}" for name in ("moveFrom", "del", "pPr", "rPr", "sdtPr")}
    | {_TEXT_BOX, _RUBY, f"{_COMPATIBILITY}Fallback"}
    | {f"{_MATH}{name}" for name in ("f", "sSup", "sSub", "sSubSup", "rad", "nary", "d")}
)


def parse_docx(stream: BinaryIO, depth: int = 0) -> Document:
    """A Word document.

    Args:
        depth: how many documents this one stands in.
    """
    import docx

    writer = Writer()
    with office_file(stream, "Word document") as usual:
        document = docx.Document(usual)
        _take_properties(writer.document, document.core_properties)
        body = _Body(writer, document, depth)
        for element in children(document.element.body, "p", "tbl", "altChunk"):
            body.write(element)
        write_margins(writer, _margins(document))
    if writer.empty and not writer.document.sections:  # it says nothing but its title
        writer.paragraph(body.title)
    return writer.done()


class _Body:
    """Writes what stands in the body of a document of python-docx."""

    def __init__(self, writer: Writer, document: Any, depth: int) -> None:
        self.title = ""  # in the style of titles
        self._writer = writer
        self._document = document
        self._depth = depth
        self._notes = _notes(document)
        self._lists = _Lists(document)
        self._files = 0

    def write(self, element: Any) -> None:
        """A paragraph, a table or a file, with the notes, the text boxes and the diagrams in it behind it."""
        from docx.table import Table

        waiting = [element]
        while waiting:  # no recursion: tables stand in tables as deep as the file says
            one = waiting.pop()
            if one.tag == f"{WORD}altChunk":
                self._write_file(one)
            elif one.tag == f"{WORD}tbl":
                rows, inner = word_rows(Table(one, self._document._body), self._marked)
                write_table(self._writer, rows)
                waiting += reversed(inner)
            else:
                self._write_paragraph(one)
        for reference in _inside(element, *(f"{WORD}{kind}Reference" for kind in _NOTES)):
            kind = reference.tag.removeprefix(WORD).removesuffix("Reference")
            self._writer.paragraph(self._notes.pop((kind, reference.get(f"{WORD}id", "")), ""))
        for box in _inside(element, _TEXT_BOX):
            for paragraph in box.iter(f"{WORD}p"):
                self._writer.paragraph(self._marked(paragraph))
        _write_drawings(self._writer, _inside(element, _DIAGRAM, f"{_CHART}chart"), self._document.part)

    def _marked(self, element: Any) -> str:
        """The words of a paragraph with the number that its list gives it."""
        text = _words(element)
        mark = self._lists.mark(element) if text.strip() else ""
        return f"{mark} {text}" if mark else text

    def _write_paragraph(self, element: Any) -> None:
        from docx.text.paragraph import Paragraph

        style = str(getattr(Paragraph(element, self._document._body).style, "name", "") or "")
        level = style.removeprefix("Heading ")
        text = self._marked(element)
        document = self._writer.document
        if style == "Title" and not document.title:
            document.title = self.title = short_line(text)
        elif style.startswith("Heading ") and level.isdigit():
            self._writer.heading(int(level), text)
        else:
            self._writer.paragraph(text)

    def _write_file(self, element: Any) -> None:
        """The words of a file that stands in the document: a page, a text, or another document."""
        from atomr_local.indexing.readers.documents.process import parse

        notes = self._writer.document.notes
        relation = self._document.part.rels.get(element.get(f"{_RELATION}id", ""))
        self._files += 1
        if relation is None or relation.is_external:
            notes.append("a file that should stand in it is missing")
            return
        if self._files > _MOST_FILES or self._depth >= _MOST_FILES_DEEP:
            notes.append("files that stand in it are left out: there are too many, or too deep in each other")
            return
        part = relation.target_part
        name = "file.html" if "html" in part.content_type else str(part.partname).rpartition("/")[2]
        try:
            if document_kind(BytesIO(part.blob), name) == "docx":
                found = [parse_docx(BytesIO(part.blob), self._depth + 1)]
            else:
                found = list(parse(BytesIO(part.blob), name))
        except UnreadableError as error:
            notes.append(f"a file that stands in it cannot be read: {error}")
            return
        for inner in found:
            self._writer.insert(inner)
            notes += inner.notes


def _words(paragraph: Any) -> str:
    """The words of a paragraph as it stands now, insertions, links, fields and the letters of formulas among them."""
    shown = (_SHOWN[element.tag](element) for element in _inside(paragraph) if element.tag in _SHOWN)
    return joined(shown)


def _of_text(element: Any) -> str:
    run = element.getparent()
    mark = mark_of(_value(run, "rPr", "vertAlign"))
    fonts = run.find(f"{WORD}rPr/{WORD}rFonts")
    font = str(fonts.get(f"{WORD}ascii") or fonts.get(f"{WORD}hAnsi") or "") if fonts is not None else ""
    return mark + in_font(element.text or "", font) + (LEVEL if mark else "")


def _of_formula(element: Any) -> str:
    """A fraction, a power, a root or the like on one line."""
    name = element.tag.removeprefix(_MATH)
    parts: defaultdict[str, str] = defaultdict(str, chr="∫", begChr="(", endChr=")")
    for sign in element.iterfind(f"{_MATH}{name}Pr/*[@{_MATH}val]"):
        parts[sign.tag.removeprefix(_MATH)] = sign.get(f"{_MATH}val", "")
    for child in element.iterchildren("*"):
        text = _words(child)
        if name == "d":  # what stands in brackets
            text = f", {text}" if text and parts["e"] else text
        elif not _ONE_OPERAND.fullmatch(text):
            text = f"({text})"
        parts[child.tag.removeprefix(_MATH)] += text
    return _FORMULAS[name].format_map(parts)


_ONE_OPERAND = re.compile(r"[\d.,]*|[^\W\d]+|\([^()]*\)")
_FORMULAS = {
    "f": f"{FRACTION}{{num}}/{{den}}",
    "sSup": "{e}^{sup}",
    "sSub": "{e}_{sub}",
    "sSubSup": "{e}_{sub}^{sup}",
    "rad": "{deg}√{e}",
    "nary": "{chr}_{sub}^{sup} {e}",
    "d": "{begChr}{e}{endChr}",
}


def _of_symbol(element: Any) -> str:
    code = element.get(f"{WORD}char", "")
    is_code = len(code) <= 5 and _HEXADECIMAL.fullmatch(code)
    return symbol(element.get(f"{WORD}font", ""), int(code, 16)) if is_code else ""


def _of_ruby(element: Any) -> str:
    return with_reading(*("".join(map(_words, element.iterchildren(f"{WORD}{name}"))) for name in ("rubyBase", "rt")))


def _of_choice(element: Any) -> str:
    """What is chosen in a field of a form, which has no words of its own."""
    entries = [str(entry.get(f"{WORD}val", "")) for entry in element.iterchildren(f"{WORD}listEntry")]
    number = whole(_value(element, "result" if element.find(f"{WORD}result") is not None else "default"))
    return entries[number] if number < len(entries) else ""


def _of_check_box(element: Any) -> str:
    checked = element.find(f"{WORD}checked")
    return "☒" if _is_on(checked if checked is not None else element.find(f"{WORD}default")) else "☐"


# What elements of a paragraph show by themselves.
_SHOWN: dict[str, Callable[[Any], str]] = {
    f"{_MATH}t": _of_text,
    f"{WORD}t": _of_text,
    f"{WORD}tab": lambda _: " ",
    f"{WORD}ptab": lambda _: " ",
    f"{WORD}br": lambda _: "\n",
    f"{WORD}cr": lambda _: "\n",
    f"{WORD}noBreakHyphen": lambda _: "-",
    f"{WORD}sym": _of_symbol,
    _RUBY: _of_ruby,
    **{f"{_MATH}{name}": _of_formula for name in _FORMULAS},
    f"{WORD}ddList": _of_choice,
    f"{WORD}checkBox": _of_check_box,
}


def _inside(element: Any, *names: str) -> Iterator[Any]:
    """What is in an element, in order, without what is passed over; of names only what they name."""
    found = elements_in(element, lambda one: one.tag not in _PASSED_OVER)
    return (child for child in found if not names or child.tag in names)


def _roots(part: Any, *kinds: str) -> Iterator[tuple[str, Any]]:
    """The parts of these types that a part refers to, as their roots, with what each is."""
    for relation in part.rels.values():
        kind = str(relation.reltype).rpartition("/")[2]
        if kind in kinds and not relation.is_external:
            yield kind, parse_xml(relation.target_part.blob)


def _notes(document: Any) -> dict[tuple[str, str], str]:
    """The texts of footnotes, endnotes and comments by kind and id."""
    found: dict[tuple[str, str], str] = {}
    for kinds, root in _roots(document.part, *(f"{kind}s" for kind in _NOTES)):
        kind = kinds.removesuffix("s")
        for note in islice(root.iterchildren(f"{WORD}{kind}"), _MOST_NOTES):
            text = " ".join(" ".join(map(_words, note.iter(f"{WORD}p"))).split())
            text = comment(note.get(f"{WORD}author", ""), text) if kind == "comment" else text
            found[kind, note.get(f"{WORD}id", "")] = text
    return found


def _margins(document: Any) -> Iterator[tuple[str, bool]]:
    """The paragraphs of headers and footers, as of :func:`write_margins`."""
    for _, root in sorted(_roots(document.part, "header", "footer"), key=itemgetter(0), reverse=True):
        for paragraph in root.iter(f"{WORD}p"):
            counting = counts = False
            for one in paragraph.iter(*(f"{WORD}{name}" for name in ("fldSimple", "instrText", "fldChar", "t"))):
                code = (one.text or "") if one.tag == f"{WORD}instrText" else one.get(f"{WORD}instr", "")
                if _COUNTS_PAGES.search(code):
                    counts, counting = True, one.tag == f"{WORD}instrText"
                    for shown in one.iter(f"{WORD}t"):
                        shown.text = ""
                elif one.get(f"{WORD}fldCharType") == "end":
                    counting = False
                elif counting and one.tag == f"{WORD}t":
                    one.text = ""
            yield _words(paragraph), counts


class _Lists:
    """The numbers that Word shows before the paragraphs of a document's lists (ECMA-376, part 1, 17.9)."""

    def __init__(self, document: Any) -> None:
        self._styles = {one.get(f"{WORD}styleId"): one for one in document.styles.element.iterchildren(f"{WORD}style")}
        self._lists: dict[str, str] = {}  # by the ids that paragraphs have of them
        self._levels: dict[tuple[str, int], Any] = {}
        self._begins: dict[tuple[str, int], int] = {}
        self._counts: dict[str, dict[int, int]] = {}
        for _, root in _roots(document.part, "numbering"):
            lists = {one.get(f"{WORD}abstractNumId"): one for one in root.iterchildren(f"{WORD}abstractNum")}
            for num in root.iterchildren(f"{WORD}num"):
                number = num.get(f"{WORD}numId", "")
                self._lists[number] = name = _value(num, "abstractNumId")
                for level in (*lists.get(name, ()), *num.iterfind(f"{WORD}lvlOverride/{WORD}lvl")):
                    self._levels[number, whole(level.get(f"{WORD}ilvl"))] = level
                for own in num.iterfind(f"{WORD}lvlOverride/{WORD}startOverride"):
                    at = whole(own.getparent().get(f"{WORD}ilvl"))
                    self._begins[number, at] = whole(own.get(f"{WORD}val"))

    def mark(self, paragraph: Any) -> str:
        """What stands before the paragraph; "" before one of no numbered list."""
        number, at = self._place(paragraph)
        level = self._levels.get((number, at))
        if level is None:
            return ""

        def of_level(above: int, name: str) -> str:
            return _value(self._levels.get((number, above)), name)

        before = self._counts.get(self._lists[number], {})
        # A level begins again below another, unless it says which.
        counts = {
            one: count for one, count in before.items()
            if one <= at or at >= whole(of_level(one, "lvlRestart") or str(one))
        }  # fmt: skip
        for above in range(at):
            counts.setdefault(above, whole(of_level(above, "start")))
        begin = counts[at] + 1 if at in counts else whole(of_level(at, "start"))
        counts[at] = self._begins.pop((number, at), begin)
        self._counts[self._lists[number]] = counts
        if _value(level, "numFmt") in {"bullet", "none"}:
            return ""
        plain = _is_on(level.find(f"{WORD}isLgl"))

        def shown(found: re.Match[str]) -> str:
            above = int(found[1]) - 1
            kind = "decimal" if plain else of_level(above, "numFmt")
            return "" if kind == "none" else numeral(counts.get(above, 0), _NUMERALS.get(kind, "1"))

        return _PLACE_OF_LEVEL.sub(shown, _value(level, "lvlText")).strip()

    def _place(self, paragraph: Any) -> tuple[str, int]:
        """The id of the paragraph's list, and its level from 0; its style may give them."""
        number = level = ""
        look = paragraph.find(f"{WORD}pPr")
        style = _value(look, "pStyle")
        for _ in range(_MOST_DEPTH):
            number = number or _value(look, "numPr", "numId")
            level = level or _value(look, "numPr", "ilvl")
            if (given := self._styles.get(style)) is None:
                break
            look, style = given.find(f"{WORD}pPr"), _value(given, "basedOn")
        return number, whole(level)


_NOTES = ("footnote", "endnote", "comment")
_COUNTS_PAGES = re.compile(r"\b(?:PAGE|NUMPAGES|SECTIONPAGES)\b")
_PLACE_OF_LEVEL = re.compile(r"%([1-9])")
_NUMERALS = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I", "decimalZero": "01"}


def _value(element: Any, *names: str) -> str:
    """The value of what lies in an element below these names; "" if there is none."""
    found = element.find("/".join(f"{WORD}{name}" for name in names)) if element is not None else None
    return str(found.get(f"{WORD}val", "")) if found is not None else ""


def parse_pptx(stream: BinaryIO) -> Document:
    import pptx

    writer = Writer("slide")
    with office_file(stream, "presentation") as usual:
        presentation = pptx.Presentation(usual)
        _take_properties(writer.document, presentation.core_properties)
        for number, slide in enumerate(presentation.slides, 1):
            writer.at(number)
            title = slide.shapes.title
            frame = getattr(title, "text_frame", None)  # a picture may stand in place of it
            text = _drawn_text(frame) if frame is not None else ""
            if text.strip() or writer.document.sections:  # the title before holds for its own slide
                writer.heading(1, text if text.strip() else f"Slide {number}")
            _write_shapes(writer, slide.shapes, 0, title.shape_id if text.strip() else None)
            if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
                writer.paragraph(_drawn_text(notes))
            for _, root in _roots(slide.part, "comments"):
                for words in root.iter("{*}text", f"{_DRAWING}p"):
                    writer.paragraph(comment("", _drawn_words(words) or words.text or ""))
    return writer.done()


def _write_shapes(writer: Writer, shapes: Any, depth: int, title: int | None = None) -> None:
    """The shapes of a slide or a group, but for the one with the title's id."""
    if depth > _MOST_DEPTH:
        raise UnreadableError(f"its shapes are nested more than {_MOST_DEPTH} deep")
    for shape in shapes:
        if title is not None and shape.shape_id == title:
            continue
        if hasattr(shape, "shapes"):
            _write_shapes(writer, shape.shapes, depth + 1)
        elif getattr(shape, "has_table", False):
            write_table(writer, slide_rows(shape.table))
        elif shape.has_text_frame:
            for line in _numbered(paragraph._p for paragraph in shape.text_frame.paragraphs):
                writer.line(line)
        for drawing in shape._element.iterchildren(f"{_DRAWING}graphic"):
            _write_drawings(writer, drawing.iter(_DIAGRAM, f"{_CHART}chart"), shape.part)
    for alternatives in shapes._spTree.iterchildren(_ALTERNATIVES):
        write_shape_words(writer, alternatives)


def _numbered(paragraphs: Iterable[Any]) -> Iterator[str]:
    """The words of paragraphs of a shape, with the numbers that its lists show."""
    counts: dict[int, int] = {}
    for paragraph in paragraphs:
        words = _drawn_words(paragraph)
        look = paragraph.find(f"{_DRAWING}pPr")
        level = whole(look.get("lvl")) if look is not None else 0
        auto = look.find(f"{_DRAWING}buAutoNum") if look is not None else None
        counts = {at: count for at, count in counts.items() if at < level or (at == level and auto is not None)}
        if auto is not None and words.strip():
            kind = str(auto.get("type", ""))
            counts[level] = counts.get(level, (whole(auto.get("startAt")) or 1) - 1) + 1
            letter = "a" if kind.startswith("alpha") else "i" if kind.startswith("roman") else "1"
            number = numeral(counts[level], letter.upper() if "Uc" in kind else letter)
            words = f"{number}{')' if 'Paren' in kind else '.' if 'Period' in kind else ''} {words}"
        yield words


def write_shape_words(writer: Writer, element: Any) -> None:
    """The words of all shapes in an element, of those that are there in two ways the first."""
    for one in elements_in(element, _is_drawn):
        if one.tag == f"{_DRAWING}p":
            writer.line(_drawn_words(one))


def _write_drawings(writer: Writer, found: Iterable[Any], part: Any) -> None:
    """The words of diagrams (SmartArt) and charts, which stand in parts of their own.

    Args:
        found: what refers to them, in the part.
    """
    for one in found:
        relation = part.rels.get(one.get(f"{_RELATION}{'dm' if one.tag == _DIAGRAM else 'id'}", ""))
        if relation is None or relation.is_external:
            continue
        root = parse_xml(relation.target_part.blob)
        if one.tag == _DIAGRAM:
            for paragraph in root.iter(f"{_DRAWING}p"):
                writer.line(_drawn_words(paragraph))
        else:
            write_chart(writer, root)


def write_chart(writer: Writer, root: Any) -> None:
    """The titles of a chart of Office, and its values, a line for each category: "1931; Herring: 47"."""
    for title in root.iter(f"{_CHART}title"):
        writer.line(" ".join([*map(_drawn_words, title.iter(f"{_DRAWING}p")), *_points(title).values()]))
    columns: list[tuple[str, dict[int, str]]] = []
    for series in islice(root.iter(f"{_CHART}ser"), MOST_SPAN):
        name, *found = (
            next(map(_points, series.iterchildren(*(f"{_CHART}{one}" for one in parts))), {})
            for parts in (("tx",), ("cat", "xVal"), ("val", "yVal"))
        )
        columns += [("", found[0])] if not columns else []
        columns.append((" ".join(name.values()), found[1]))
    names = [name for name, _ in columns]
    for number in sorted({number for _, points in columns for number in points}):
        writer.line(row_text(names, [points.get(number, "") for _, points in columns]))


def _points(element: Any) -> dict[int, str]:
    """The texts or numbers that a chart keeps, by their index; those of several levels together."""
    code = element.findtext(f".//{_CHART}formatCode") or "General"
    found: dict[int, str] = {}
    for point in islice(element.iter(f"{_CHART}pt"), _MOST_POINTS):
        text = shown_number(" ".join((point.findtext(f"{_CHART}v") or "").split()), code)
        number = whole(point.get("idx"))
        found[number] = f"{text} {found.get(number, '')}".strip()
    return found


def _drawn_text(frame: Any) -> str:
    return "\n".join(_drawn_words(paragraph._p) for paragraph in frame.paragraphs)


def _drawn_words(paragraph: Any) -> str:
    """The words of a paragraph of a shape, with fields and the letters of formulas; numbers of slides are left out."""
    words: list[str] = []
    for element in elements_in(paragraph, _is_drawn):
        if element.tag == f"{_DRAWING}br":
            words.append("\n")
        elif element.tag == f"{_MATH}oMath":
            words.append(_words(element))
        elif element.tag in {f"{_DRAWING}t", f"{_MATH}t"}:
            look = element.getparent().find(f"{_DRAWING}rPr")
            latin, special = (look.find(f"{_DRAWING}{name}") if look is not None else None for name in ("latin", "sym"))
            words.append(mark_of(look.get("baseline", "")) if look is not None else "")
            text = element.text or ""
            if special is not None:
                text = in_font(text, str(special.get("typeface", "")), private=True)
            words.append(in_font(text, str(latin.get("typeface", ""))) if latin is not None else text)
            words.append(LEVEL if len(words) > 1 and words[-2] else "")
    return joined(words)


def _is_drawn(element: Any) -> bool:
    return bool(element.tag not in {f"{_COMPATIBILITY}Fallback", f"{_MATH}oMath"} and element.get("type") != "slidenum")


def _take_properties(document: Document, properties: Any) -> None:
    title = short_line(properties.title)
    # What the templates of the two libraries and of the programs say names no document.
    if title.casefold() not in {"word document", "powerpoint presentation", "presentation"}:
        document.title = title
    if properties.author and properties.author != "python-docx":
        document.details["author"] = short_line(properties.author)
