"""The words of files by short walks over each format's own XML or text: a second opinion on what the readers give.

Nothing here is the program's. A walk knows less of a format than its reader does: it takes every word that the file
shows, in the order of the file, and passes over what nobody sees, such as deleted text, scripts and codes of fields.
"""

from __future__ import annotations

import csv
import email
import email.policy
import html
import json
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO, StringIO
from typing import Any
from urllib.parse import unquote

import lxml.etree as xml  # type: ignore[import-untyped]
import lxml.html as pages  # type: ignore[import-untyped]


@dataclass(frozen=True, slots=True)
class Piece:
    """Words that stand together.

    Attributes:
        place: a slide's number, or "Sheet!row"; "" where the format has no such places.
        heading: the last one before them; "" where there is none.
        aside: they stand beside the text, such as a note: where a reader puts them is its own choice.
    """

    text: str
    place: str = ""
    heading: str = ""
    aside: bool = False


def pieces_of(data: bytes, kind: str) -> list[Piece]:
    """The pieces of a file of this kind, one of :data:`WALKS`.

    Raises:
        ValueError, KeyError, zipfile.BadZipFile, lxml.etree.LxmlError: it is damaged.
    """
    found = [piece for piece in WALKS[kind](data) if piece.text.strip()]
    # Headers and the like stand there for several kinds of pages.
    seen: set[Piece] = set()
    return [one for one in found if not one.aside or not (one in seen or seen.add(one))]  # type: ignore[func-returns-value]


def _name(element: Any) -> str:
    return xml.QName(element).localname if isinstance(element.tag, str) else ""


def _given(element: Any, name: str) -> str:
    """An attribute by its name without a namespace."""
    return next((str(value) for key, value in element.attrib.items() if xml.QName(key).localname == name), "")


def _root(archive: zipfile.ZipFile, part: str) -> Any:
    return xml.fromstring(archive.read(part), xml.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))


def _walk(element: Any, passed_over: frozenset[str]) -> Iterator[Any]:
    """An element and what is in it, in order, but not what is in an element of these names."""
    waiting = [element]
    while waiting:
        one = waiting.pop()
        if (name := _name(one)) and (one is element or name not in passed_over):
            yield one
            waiting += reversed(one)


def _related(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Of a part of Open XML: id → (type, part) of what it refers to inside the file."""
    folder, name = posixpath.split(part)
    rels = f"{folder}/_rels/{name}.rels".lstrip("/")
    found = {}
    for one in _root(archive, rels) if rels in archive.namelist() else ():
        if _given(one, "TargetMode") != "External" and (target := unquote(_given(one, "Target"))):
            path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
            if path in archive.namelist():
                found[_given(one, "Id")] = (_given(one, "Type").rpartition("/")[2], path)
    return found


# Open XML: what stands on a line of its own, and what nobody sees.

_HIDDEN = frozenset({"del", "moveFrom", "Fallback", "instrText", "delText", "rPr", "pPr", "sdtPr", "rubyPr"})
_WORDS_OF = {"t": None, "v": None, "tab": " ", "br": "\n", "cr": "\n", "ptab": " ", "noBreakHyphen": "-"}
_APART = frozenset({"sup", "sub", "num", "den", "deg", "rt"})
_HEADING = re.compile(r"heading (\d)", re.I)


def _line(paragraph: Any, passed_over: frozenset[str] = _HIDDEN) -> str:
    """The words of a paragraph; raised and lowered digits, and those of fractions, are none of the number before."""
    words: list[str] = []
    for one in _walk(paragraph, passed_over | {"txbxContent", "p"}):
        name = _name(one)
        if name == "fld" and one.get("type") == "slidenum":
            one[:] = []
        elif name in _WORDS_OF:
            apart = name == "t" and any(
                _name(up) in _APART or _is_raised(up) for up in one.iterancestors() if _name(up) != "p"
            )
            text = (one.text or "") if _WORDS_OF[name] is None else str(_WORDS_OF[name])
            words.append(f"\0{text}\0" if apart else text)
    return parted("".join(words))


def parted(text: str) -> str:
    """The text with a blank where a mark of what stands apart has digits on both sides, and no other marks."""
    return re.sub(r"(?<=\d)\0+(?=[-−–+]?\d)", " ", text).replace("\0", "")


def _is_raised(run: Any) -> bool:
    """Whether a run of letters stands higher or lower than the others."""
    looks = [one for look in run if _name(look) == "rPr" for one in (look, *look)] if _name(run) == "r" else []
    return any(_name(one) == "vertAlign" or one.get("baseline", "0") != "0" for one in looks)


def _docx(data: bytes) -> Iterator[Piece]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        main = next(part for kind, part in _related(archive, "").values() if kind == "officeDocument")
        related = sorted(_related(archive, main).values())
        levels = {
            _given(style, "styleId"): _given(name, "val")
            for kind, part in related if kind == "styles"
            for style in _root(archive, part) for name in style if _name(name) == "name"
        }  # fmt: skip
        heading = ""
        gone = _HIDDEN | {"txbxContent"}
        for paragraph in _walk(_root(archive, main), _HIDDEN):
            if _name(paragraph) != "p" or "document" in _name(paragraph):
                continue
            row = next((up for up in paragraph.iterancestors() if _name(up) == "tr"), None)
            if row is not None and any(_name(one) == "del" for look in row if _name(look) == "trPr" for one in look):
                continue
            aside = any(_name(up) == "txbxContent" for up in paragraph.iterancestors())
            text = _line(paragraph, gone)
            style = next((_given(one, "val") for one in paragraph.iter("{*}pStyle")), "")
            if not aside and row is None and _HEADING.fullmatch(levels.get(style, "")) and text.strip():
                heading = text
            yield Piece(text, "", heading, aside)
        for kind, part in related:
            if kind in {"footnotes", "endnotes", "comments", "header", "footer", "chart", "diagramData"}:
                yield from _beside(_root(archive, part), "")


def _beside(root: Any, place: str) -> Iterator[Piece]:
    """The words of a part that stands beside the text; those of a chart are in values."""
    for one in _walk(root, _HIDDEN):
        if _name(one) == "p":
            text = _without_numbers_of_pages(one)
            yield Piece(text, place, aside=True)
        elif _name(one) == "ser" and _name(one.getparent()) != "wireframe":
            first = _name(next(one.itersiblings(preceding=True), one)) != "ser"
            for part in one:
                if _name(part) in {"tx", "val", "yVal"} or (first and _name(part) in {"cat", "xVal"}):
                    for value in part.iter("{*}v"):
                        yield Piece(
                            _charted(value.text or "", part.findtext(".//{*}formatCode") or ""), place, aside=True
                        )
        elif _name(one) == "title":
            yield from (Piece(value.text or "", place, aside=True) for value in one.iter("{*}v"))


def _charted(text: str, code: str) -> str:
    """A number of a chart with 15 digits, as people see it; a date only by its year."""
    if not re.fullmatch(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text):
        return text
    number = float(f"{float(text):.15g}")
    if re.search(r"[yd]|mmm", _LITERAL.sub("", code)) and "General" not in code:
        return str((datetime(1899, 12, 30) + timedelta(days=number)).date())
    number = round(number * 100, 6) if "%" in code else number
    return str(int(number)) if number.is_integer() else str(number)


def _without_numbers_of_pages(paragraph: Any) -> str:
    """The words of a paragraph of a header or a footer; what a field counts there is no word of it."""
    codes = " ".join((one.text or "") + _given(one, "instr") for one in paragraph.iter("{*}instrText", "{*}fldSimple"))
    text = _line(paragraph)
    return re.sub(r"\d+", "", text) if re.search(r"\b(?:PAGE|NUMPAGES|SECTIONPAGES)\b", codes) else text


def _pptx(data: bytes) -> Iterator[Piece]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        main = next(part for kind, part in _related(archive, "").values() if kind == "officeDocument")
        slides = _related(archive, main)
        for number, one in enumerate(_root(archive, main).iter("{*}sldId"), 1):
            part = next((slides[value][1] for value in one.attrib.values() if value in slides), "")
            yield from _of_slide(archive, part, str(number)) if part else ()


def _of_slide(archive: zipfile.ZipFile, part: str, number: str) -> Iterator[Piece]:
    shapes: dict[bool, list[Any]] = {True: [], False: []}  # the paragraphs of titles, and the others
    for paragraph in _walk(_root(archive, part), _HIDDEN):
        if _name(paragraph) == "p":
            shape = next((up for up in paragraph.iterancestors() if _name(up) == "sp"), None)
            marks = {mark.get("type") for mark in shape.iter("{*}ph")} if shape is not None else set()
            shapes[bool(marks & {"title", "ctrTitle"})].append(paragraph)
    yield from (Piece(_line(one), number) for one in (*shapes[True], *shapes[False]))
    for kind, beside in _related(archive, part).values():
        root: Any = _root(archive, beside) if kind in {"chart", "diagramData", "comments", "notesSlide"} else None
        if kind == "notesSlide":
            for shape in root.iter("{*}sp"):
                if any(mark.get("type") == "body" for mark in shape.iter("{*}ph")):
                    yield from (Piece(_line(one), number, aside=True) for one in shape.iter("{*}p"))
        elif root is not None:
            yield from _beside(root, number)
            yield from (Piece(one.text or "", number, aside=True) for one in root.iter("{*}text"))


_DATES = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})  # of the formats that have numbers
_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.')


def _xlsx(data: bytes) -> Iterator[Piece]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        main = next(part for kind, part in _related(archive, "").values() if kind == "officeDocument")
        related = _related(archive, main)
        by_kind = dict(related.values())
        shared = [
            "".join(t.text or "" for t in one.iter("{*}t") if _name(t.getparent()) != "rPh")
            for one in (_root(archive, by_kind["sharedStrings"]) if "sharedStrings" in by_kind else ())
            if _name(one) == "si"
        ]
        formats = _formats(_root(archive, by_kind["styles"])) if "styles" in by_kind else []
        base = (
            1462
            if any(one.get("date1904") in {"1", "true"} for one in _root(archive, main).iter("{*}workbookPr"))
            else 0
        )
        for sheet in _root(archive, main).iter("{*}sheet"):
            kind, part = related.get(next((v for v in sheet.attrib.values() if v in related), ""), ("", ""))
            name = sheet.get("name", "")
            yield Piece(name, aside=True)
            for row in _root(archive, part).iter("{*}row") if kind == "worksheet" else ():
                for cell in row.iter("{*}c"):
                    number = re.sub(r"\D", "", cell.get("r", "")) or row.get("r", "")
                    yield Piece(_of_cell(cell, shared, formats, base), f"{name}!{number}")
            for inner, beside in _related(archive, part).values() if part else ():
                if inner == "drawing":
                    yield from _beside(_root(archive, beside), "")
                    for innermost, chart in _related(archive, beside).values():
                        if innermost == "chart":
                            yield from _beside(_root(archive, chart), "")
                elif inner == "comments":
                    for one in _root(archive, beside).iter("{*}comment"):
                        yield Piece("".join(t.text or "" for t in one.iter("{*}t")), "", aside=True)


def _formats(styles: Any) -> list[str]:
    """What the cells of each style show: "date", "%" or "number"."""
    own = {one.get("numFmtId"): one.get("formatCode", "") for one in styles.iter("{*}numFmt")}
    found = []
    for xf in (one for many in styles.iter("{*}cellXfs") for one in many):
        code = xf.get("numFmtId", "0")
        shape = _LITERAL.sub("", own.get(code, "")).partition(";")[0]
        is_date = re.search(r"[ymdhs]", shape, re.I) if code in own else code.isdigit() and int(code) in _DATES
        found.append("date" if is_date else "%" if "%" in shape or code in {"9", "10"} else "number")
    return found


def _of_cell(cell: Any, shared: list[str], formats: list[str], base: int) -> str:
    value = next((one.text or "" for one in cell if _name(one) == "v"), "")
    kind = cell.get("t", "n")
    if kind == "s":
        return shared[int(value)] if value else ""
    if kind == "inlineStr":
        return "".join(one.text or "" for one in cell.iter("{*}t"))
    if kind == "b":
        return str(value == "1")
    if kind != "n" or not value:
        return value.replace("T", " ")
    style = int(cell.get("s", "0"))
    shown = formats[style] if style < len(formats) else "number"
    number = float(f"{float(value):.15g}")
    if shown == "date" and 0 <= number < 2_900_000:
        when = datetime(1899, 12, 30) + timedelta(days=number + base, microseconds=500)
        day, time = when.date().isoformat(), when.time().isoformat("seconds")
        return time if number < 1 else day if number.is_integer() else f"{day} {time}"
    number = round(number * 100, 6) if shown == "%" else number
    return str(int(number)) if number.is_integer() else str(number)


# OpenDocument.

_HIDDEN_OPEN = frozenset({"tracked-changes", "note-citation", "page-number", "page-count", "creator", "ruby-text"})
_ASIDE_OPEN = frozenset({"note", "annotation", "text-box", "custom-shape", "notes", "frame", "shapes", "rect", "line"})
_BREAKS = {"s": " ", "tab": " ", "line-break": "\n"}


def _opendocument(data: bytes) -> Iterator[Piece]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        root = _root(archive, "content.xml")
        raised = {
            _given(style, "name")
            for style in root.iter("{*}style")
            if any(_given(look, "text-position")[:1] not in {"", "0"} for look in style)
        }
        yield from _of_body(next(root.iter("{*}body")), raised)
        if "styles.xml" in archive.namelist():
            for page in _root(archive, "styles.xml").iter("{*}header", "{*}footer"):
                yield from (Piece(_open_line(line, raised), aside=True) for line in page.iter("{*}p"))
        for name in archive.namelist():
            if re.fullmatch(r"(?:\./)?Object [^/]*/content\.xml", name):
                for chart in _root(archive, name).iter("{urn:oasis:names:tc:opendocument:xmlns:chart:1.0}chart"):
                    yield from (Piece(_open_line(line, raised), aside=True) for line in chart.iter("{*}p"))


def _of_body(body: Any, raised: set[str]) -> Iterator[Piece]:
    heading, slide, sheet, row, many = "", 0, "", 0, 1
    for one in _walk(body, _HIDDEN_OPEN):
        name = _name(one)
        if name == "page":
            slide += 1
        elif name == "table" and _name(one.getparent()) == "spreadsheet":
            sheet, row, many = _given(one, "name"), 1, 0
            yield Piece(sheet, aside=True)
        elif name == "table-row" and sheet:
            row, many = row + many, int(_given(one, "number-rows-repeated") or 1)
        if name not in {"p", "h"}:
            continue
        text = _open_line(one, raised)
        above = [_name(up) for up in one.iterancestors()]
        aside = not _ASIDE_OPEN.isdisjoint(above) and not (slide and "notes" not in above)
        if sheet and not aside:
            cell = next((up for up in one.iterancestors() if _name(up) == "table-cell"), one)
            times = min(int(_given(cell, "number-columns-repeated") or 1), 1000)
            yield from (Piece(text, f"{sheet}!{row + i}") for i in range(min(many, 1000)) for _ in range(times))
            continue
        if name == "h" and not aside and not slide and text.strip() and "table-cell" not in above:
            heading = text
        yield Piece(text, str(slide) if slide else "", heading, aside)


def _open_line(paragraph: Any, raised: set[str]) -> str:
    """The words of a paragraph, without those of notes, boxes and remarks in it."""
    words: list[str] = []
    waiting: list[Any] = [paragraph]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            words.append(one)
            continue
        name = _name(one)
        if one is paragraph or (name and name not in _HIDDEN_OPEN | _ASIDE_OPEN | {"p", "h", "table", "g"}):
            mark = "\0" if _given(one, "style-name") in raised else ""
            words.append(_BREAKS.get(name, "") + mark + (one.text or ""))
            waiting.append(mark)
            for child in reversed(one):
                waiting += (child.tail or "", child)
    return parted("".join(words)).replace("\xad", "")


# Pages and books.

_UNSEEN = frozenset(
    """script style head nav template noscript svg select button textarea iframe object audio video math
    canvas""".split()  # noqa: SIM905
)
_INLINE = frozenset(
    """a abbr b bdi bdo big cite code del dfn em font i ins kbd label mark nobr q s samp small span strike strong sub
    sup time tt u var wbr ruby rb img input rt rp""".split()  # noqa: SIM905
)


def _html(data: bytes) -> Iterator[Piece]:
    yield from _of_page(_page(data))


def _page(data: bytes) -> Any:
    try:
        return pages.document_fromstring(data.decode("utf-8").encode(), parser=pages.HTMLParser(encoding="utf-8"))
    except UnicodeDecodeError:  # it declares another encoding
        return pages.document_fromstring(data)


def _of_page(root: Any) -> Iterator[Piece]:
    heading, aside = "", 0
    words: list[str] = []

    def said() -> Iterator[Piece]:
        yield Piece("".join(words), heading=heading, aside=aside > 0)
        words.clear()

    def take(element: Any) -> Iterator[Piece]:
        nonlocal heading, aside
        name = _name(element).lower()
        if not name or name in _UNSEEN or element.get("hidden", "until-found") != "until-found":
            return
        beside = name == "aside" or "note" in f"{element.get('epub:type', '')} {element.get('role', '')}"
        if name not in _INLINE or beside:
            yield from said()
        aside += beside
        above = {_name(up) for up in element.iterancestors()}
        if re.fullmatch(r"h[1-6]", name) and not aside and "table" not in above:
            heading = " ".join("".join(element.itertext()).split()) or heading
        words.append(("\0" if name in {"sup", "sub"} else "") + (element.text or ""))
        for child in element:
            yield from take(child)
            words.append(child.tail or "")
        if name not in _INLINE or beside:
            yield from said()
        aside -= beside

    yield from (Piece(parted(one.text), one.place, one.heading, one.aside) for one in take(root))


def _epub(data: bytes) -> Iterator[Piece]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        package = next(_given(one, "full-path") for one in _root(archive, "META-INF/container.xml").iter("{*}rootfile"))
        root = _root(archive, package)
        items = {one.get("id"): one.get("href", "") for one in root.iter("{*}item")}
        for ref in root.iter("{*}itemref"):
            path = posixpath.normpath(
                posixpath.join(posixpath.dirname(package), unquote(items.get(ref.get("idref"), "")))
            )
            if path.endswith(("html", "htm", "xml")) and path in archive.namelist():
                yield from _of_page(_page(archive.read(path)))


# Text.

_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\([^()]*(?:\([^()]*\))?[^()]*\)|\[[^\]]*\])")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*$")
_NOT_SHOWN = re.compile(r"(?s)\A---\n.*?\n(?:---|\.\.\.)\n|<!--.*?-->|^[ ]{0,3}\[[^\]\n]+\]:[^\n]*$", re.M)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]*>|<https?://[^>]*>")


def _markdown(data: bytes) -> Iterator[Piece]:
    heading, fence = "", ""
    shown = html.unescape(_NOT_SHOWN.sub("", data.decode("utf-8", "replace").replace("\r\n", "\n")))
    for line in shown.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
            continue
        text = line if fence else re.sub(r"[*`]|\\(?=[^\w\s])", "", _TAG.sub("", _LINK.sub(r"\1", line)))
        if not fence and (found := re.match(r"[ >]*#{1,6}\s+(.*?)\s*#*$", text)):
            heading = text = found[1]
        yield Piece(text, heading=heading)


_NOT_TEXT = re.compile(
    r"(?m)^ *\.\. (?!note|warning|tip|important|seealso|caution|hint|attention|danger|error)"
    r"(?:[^\n]*::|_|\[|[^\n:]*$)[^\n]*(?:\n +:[^\n]*)*"
)
_ROLE = re.compile(r":[\w:+-]+:`(?:[^`<]*<([^`>]*)>|[^`]*)`")


def _rst(data: bytes) -> Iterator[Piece]:
    text = _NOT_TEXT.sub("", data.decode("utf-8", "replace"))
    text = _ROLE.sub(lambda at: re.sub(r"^:[\w:+-]+:|`|<[^>]*>", "", at[0]), text)
    yield from (Piece(re.sub(r"<https?:[^>]*>`_+|`|\*\*?|\|", "", line)) for line in text.split("\n"))


def _csv(data: bytes) -> Iterator[Piece]:
    text = data.decode("utf-8-sig", "replace")
    delimiter = max(",;\t|", key=text[:4096].count)
    for number, row in enumerate(csv.reader(StringIO(text, newline=""), delimiter=delimiter), 1):
        yield from (Piece(cell, f"!{number}") for cell in row)


def _ipynb(data: bytes) -> Iterator[Piece]:
    for cell in json.loads(data).get("cells", ()):
        source = "".join(cell.get("source", ""))
        yield from _markdown(source.encode()) if cell["cell_type"] == "markdown" else [Piece(source)]
        for output in cell.get("outputs", ()):
            found = output.get("text") or output.get("data", {}).get("text/plain", "")
            if "text/html" not in output.get("data", {}):
                yield Piece("".join(found)[:2_000], aside=True)


def _eml(data: bytes) -> Iterator[Piece]:
    mail: Any = email.message_from_bytes(data, policy=email.policy.default)
    yield from (Piece(str(mail.get(name, "")), aside=True) for name in ("Subject", "From", "To", "Cc", "Date"))
    yield from (Piece(part.get_filename("") or "", aside=True) for part in mail.walk())
    body = mail.get_body(("plain", "html"))
    if body is not None:
        content = body.get_content()
        if body.get_content_subtype() == "html":
            yield from _of_page(_page(content.encode()))
        else:
            yield from map(Piece, content.split("\n"))


_RTF = re.compile(r"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-z])|([{}])|[\r\n]+|(.)", re.S)
_RTF_AWAY = frozenset(
    """fonttbl colortbl stylesheet info pict themedata colorschememapping datastore latentstyles listtable generator
    listoverridetable rsidtbl fldinst xmlnstbl header footer headerf footerf""".split()  # noqa: SIM905
)


def _rtf(data: bytes) -> Iterator[Piece]:
    words: list[str] = []
    stack: list[tuple[bool, int]] = []
    away, after, skip = False, 1, 0
    for found in _RTF.finditer(data.decode("latin-1")):
        word, number, code, sign, brace, letter = found.groups()
        if brace == "{":
            stack.append((away, after))
        elif brace == "}":
            away, after = stack.pop() if stack else (False, 1)
        elif sign == "*" or word in _RTF_AWAY:
            away = True
        elif word == "uc":
            after = int(number or 1)
        elif word == "u" and not away:
            words.append(chr(int(number or 0) % 0x10000))
            skip = after
        elif word in {"par", "line", "row", "cell", "tab", "sect", "page"}:
            words.append("\n" if word != "tab" else " ")
        elif skip and (code or letter):
            skip -= 1
        elif not away and (code or letter or sign in {"~", "_", "{", "}", "\\"}):
            words.append(bytes([int(code, 16)]).decode("cp1252", "replace") if code else letter or
                         {"~": " ", "_": "-"}.get(sign, sign))  # fmt: skip
    yield from map(Piece, "".join(words).split("\n"))


WALKS: dict[str, Callable[[bytes], Iterator[Piece]]] = {
    "docx": _docx, "docm": _docx, "pptx": _pptx, "pptm": _pptx, "xlsx": _xlsx, "xlsm": _xlsx, "odt": _opendocument,
    "ods": _opendocument, "odp": _opendocument, "epub": _epub, "html": _html, "htm": _html, "md": _markdown,
    "rst": _rst, "csv": _csv, "ipynb": _ipynb, "eml": _eml, "rtf": _rtf,
}  # fmt: skip
