"""What was typed into a PDF: the values of its form's fields, and words that were written upon its pages."""

from __future__ import annotations

import ctypes
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from atomr_local.indexing.readers.documents.pdf_page import Line, Piece, TextPage

_MOST_ANNOTATIONS = 5_000
_MOST_OPTIONS = 1_000
_LONGEST_VALUE = 1_000_000  # characters
_PASSWORD = 1 << 13  # flag of a field of text
_FROM_LABEL = 40.0  # points between a box and the words for it
_FAR_FROM_LABEL = 200.0
# Lines that are drawn for a pen to write on.
_LEADERS = re.compile(r"\s*(?:_{3,}|\.{4,}|…{2,})")
# Names that programs give: "Text1", "f1_01[0]".
_MACHINE_NAME = re.compile(
    r"(?i)(?:undefined|untitled|fill|text|field|check|button|group|radio|choice|combo|drop ?down|list|\w{0,2})"
    r"(?: ?(?:box|field|button))?[ _.]*[\d_.]*"
)
_ANSWER = re.compile(r"(?i)yes|no|y|n|ja|nein|oui|non|s[ií]|true|false|on|off|x")


@dataclass(slots=True)
class Field:
    """A field of a form, or words that were written upon the page.

    Attributes:
        kind: "words", a box to "check" by itself, or a "radio" button of several of which one is chosen.
        label: what the file calls it, in words; "" if nothing that a person would.
        value: as it is shown; of a box what checking it means, "" if it is not checked.
    """

    kind: Literal["words", "check", "radio"]
    left: float
    bottom: float
    right: float
    top: float
    label: str
    value: str


def write_fields(text: TextPage, page: Any) -> None:
    """Put what was typed into the page behind its printed labels; what has none gets a line of its own."""
    fields = list(_fields(page))
    if not fields:
        return
    pieces = [(line, piece) for line in text.lines if line.upright and line.text for piece in line.pieces()]
    added: dict[int, list[tuple[int, float, str]]] = defaultdict(list)
    for field in fields:
        near = _label(field, pieces)
        words = near[0].text[near[1].start : near[1].end].strip() if near else ""
        value = field.value
        if field.kind == "radio" or (field.kind == "check" and _ANSWER.fullmatch(words)):
            if not value:
                continue
            value = words or value
            if field.label:
                near = None  # the words are the value
            elif near:
                value = "(chosen)"
        elif field.kind == "check":
            value = "yes" if value else "no"
        if near:
            added[id(near[0])].append((near[1].end, field.left, value))
        elif field.label or field.kind == "words":
            _put(text.lines, field.bottom, f"{field.label}: {value}" if field.label else value)
    for line in text.lines:
        _insert(line, added.get(id(line), []))


def _insert(line: Line, values: list[tuple[int, float, str]]) -> None:
    """Put the values, each with its place on the page, behind line.text[:end]."""
    told, at = "", 0
    for end, several in groupby(sorted(values), itemgetter(0)):
        value = " ".join(value for _, _, value in several)
        told += _LEADERS.sub("", line.text[at:end]).rstrip()
        told += f"{'' if not told[-1:].isalnum() or value.startswith('(') else ':'} {value} "
        at, line.own = end, True
    line.text = " ".join((told + line.text[at:]).split()) if told else line.text


def _put(lines: list[Line], bottom: float, words: str) -> None:
    """Put a line of its own among the lines, below those that stand higher."""
    upright = [i for i, line in enumerate(lines) if line.upright]
    at = max((i + 1 for i in upright if lines[i].y >= bottom - 1), default=0 if upright else len(lines))
    lines.insert(at, Line(words, lines[at - 1].size if at else 0.0, bottom, own=True))


def _label(field: Field, pieces: Sequence[tuple[Line, Piece]]) -> tuple[Line, Piece] | None:
    """The printed label: left of a field or right above it; right of a box, or else left of it."""
    found: list[tuple[float, Line, Piece]] = []
    is_box = field.kind != "words"
    for line, piece in pieces:
        left, right = field.left - piece.right, piece.left - field.right
        above = line.y - field.top
        if _is_beside(field, line):
            if is_box and -2 <= right <= _FROM_LABEL:
                found.append((right - _FROM_LABEL, line, piece))
            elif piece.left < field.left and left <= (_FROM_LABEL if is_box else _FAR_FROM_LABEL):
                found.append((max(0.0, left), line, piece))
        elif not is_box and 0 < above < 1.5 * line.size and piece.left < field.right and piece.right > field.left:
            found.append((_FROM_LABEL + above, line, piece))
    return min(found, key=itemgetter(0))[1:] if found else None


def _is_beside(field: Field, line: Line) -> bool:
    height = field.top - field.bottom
    return field.bottom - 0.3 * min(height, line.size) <= line.y <= field.top - 0.1 * height


def _fields(page: Any) -> Iterator[Field]:
    """The fields of the page that are shown and have a value, and boxes whether checked or not."""
    from pypdfium2 import raw

    for number in range(min(raw.FPDFPage_GetAnnotCount(page.raw), _MOST_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, number)
        if not annotation:
            continue
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            hidden = raw.FPDFAnnot_GetFlags(annotation) & (raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW)
            box = raw.FS_RECTF()
            if hidden or not raw.FPDFAnnot_GetRect(annotation, box):
                continue
            found = None
            place = (box.left, min(box.bottom, box.top), box.right, max(box.bottom, box.top))
            if kind == raw.FPDF_ANNOT_FREETEXT:
                words = _told(lambda *to: raw.FPDFAnnot_GetStringValue(annotation, b"Contents", *to))  # noqa: B023
                found = Field("words", *place, "", words)
            elif kind == raw.FPDF_ANNOT_WIDGET and page.formenv:
                found = _field(page.formenv.raw, annotation, place)
            if found is not None and (found.value or found.kind != "words"):
                yield found
        finally:
            raw.FPDFPage_CloseAnnot(annotation)


def _field(form: Any, annotation: Any, place: tuple[float, float, float, float]) -> Field | None:
    """The field; None of a button that does something, a signature or a password."""
    from pypdfium2 import raw

    def told(function: Callable[..., int], *more: int) -> str:
        return _told(lambda *to: function(form, annotation, *more, *to))

    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    name = re.sub(r"\[\d+\]", "", told(raw.FPDFAnnot_GetFormFieldName)).rpartition(".")[2]
    name = "" if _MACHINE_NAME.fullmatch(name) else name.replace("_", " ").strip()
    label = told(raw.FPDFAnnot_GetFormFieldAlternateName) or name
    if kind in {raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON}:
        option = told(raw.FPDFAnnot_GetFormFieldExportValue) or "on"
        checked = option if raw.FPDFAnnot_IsChecked(form, annotation) else ""
        return Field("radio" if kind == raw.FPDF_FORMFIELD_RADIOBUTTON else "check", *place, label, checked)
    if kind in {raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX}:
        options = min(raw.FPDFAnnot_GetOptionCount(form, annotation), _MOST_OPTIONS)
        chosen = [
            told(raw.FPDFAnnot_GetOptionLabel, i)
            for i in range(options)
            if raw.FPDFAnnot_IsOptionSelected(form, annotation, i)
        ]
        return Field("words", *place, label, ", ".join(chosen) or told(raw.FPDFAnnot_GetFormFieldValue))
    if kind != raw.FPDF_FORMFIELD_TEXTFIELD or raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        return None
    return Field("words", *place, label, told(raw.FPDFAnnot_GetFormFieldValue))


def _told(function: Callable[[Any, int], int]) -> str:
    """What a function of PDFium writes as UTF-16, on one line."""
    size = min(function(None, 0), 2 * _LONGEST_VALUE)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    if function(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size) > size:
        # PDFium writes all of it or nothing.
        return f"(a value of more than {_LONGEST_VALUE} characters)"
    return " ".join(buffer.raw.decode("utf-16-le", "replace").replace("\x00", "").split())
