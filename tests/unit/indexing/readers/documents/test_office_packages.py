"""Kinds of Office files: templates, shows, files with macros, strict files, files within files, and what is not read."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from support.office_files import open_text, word_file, word_runs
from support.read_documents import read_document
from support.read_files import saved, unzipped, zipped

from atomr_local.indexing.readers.documents import document as zip_limits
from atomr_local.indexing.readers.documents.document import UnreadableError, told_error

docx, openpyxl, pptx = (pytest.importorskip(name) for name in ("docx", "openpyxl", "pptx"))

_OPEN_XML = "application/vnd.openxmlformats-officedocument."


def changed(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """The ZIP file with its parts changed."""
    return zipped({name: change(name, part) for name, part in unzipped(data).items()})


def strict(data: bytes) -> bytes:
    """The file with the namespaces of strict Open XML."""
    usual = re.compile(rb"http://schemas\.openxmlformats\.org/(\w+)/2006/(?!extended|custom-)")
    return changed(
        data,
        lambda name, part: (
            usual.sub(lambda at: at[0] if at[1] == b"package" else b"http://purl.oclc.org/ooxml/%s/" % at[1], part)
            if name.endswith((".xml", ".rels"))
            else part
        ),
    )


def show(folder: Path) -> bytes:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Harvest", "We picked 412 kg."
    return saved(presentation, folder / "a.pptx")


def workbook(folder: Path) -> bytes:
    book: Any = openpyxl.Workbook()
    for row in (["Bridge", "Year"], ["Elm Bridge", 1931]):
        book.active.append(row)
    return saved(book, folder / "a.xlsx")


@pytest.mark.parametrize(
    "kind",
    [
        "application/vnd.ms-word.document.macroEnabled.main+xml",
        "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
        f"{_OPEN_XML}wordprocessingml.template.main+xml",
    ],
)
@pytest.mark.parametrize("main", ["word/document.xml", "word/document2.xml"])
def test_word_files_of_every_type_are_read_by_content(kind: str, main: str) -> None:
    # A document may speak of such types.
    assert read_document(word_file(word_runs(f"By Omar, {kind}."), kind=kind, main=main)).text == f"By Omar, {kind}."


@pytest.mark.parametrize(
    "kind",
    [
        f"{_OPEN_XML}presentationml.slideshow.main+xml",
        f"{_OPEN_XML}presentationml.template.main+xml",
        "application/vnd.ms-powerpoint.presentation.macroEnabled.main+xml",
        "application/vnd.ms-powerpoint.slideshow.macroEnabled.main+xml",
        "application/vnd.ms-powerpoint.template.macroEnabled.main+xml",
    ],
)
def test_shows_and_templates_are_read_by_content(kind: str, tmp_path: Path) -> None:
    usual = f"{_OPEN_XML}presentationml.presentation.main+xml".encode()
    made = changed(show(tmp_path), lambda _, part: part.replace(usual, kind.encode()))
    assert kind.encode() in unzipped(made)["[Content_Types].xml"]
    assert read_document(made).text == "We picked 412 kg."


def test_strict_files_are_read(tmp_path: Path) -> None:
    document: Any = docx.Document()
    document.add_heading("Ferry", 1)
    document.add_paragraph("It leaves at 23:15.")
    found = read_document(strict(saved(document, tmp_path / "a.docx")))
    assert (found.text, found.sections) == ("It leaves at 23:15.", [(0, 1, "Ferry")])
    assert read_document(strict(workbook(tmp_path))).text == "Bridge: Elm Bridge; Year: 1931"
    assert read_document(strict(show(tmp_path))).text == "We picked 412 kg."


def test_dates_of_strict_spreadsheets(tmp_path: Path) -> None:
    made = changed(
        strict(workbook(tmp_path)),
        lambda _, part: re.sub(rb'<c r="B2"[^>]*><v>1931</v>', b'<c r="B2" t="d"><v>1931-05-04</v>', part),
    )
    assert read_document(made).text == "Bridge: Elm Bridge; Year: 1931-05-04"


def test_numbers_of_spreadsheets_do_not_change(tmp_path: Path) -> None:
    book: Any = openpyxl.Workbook()
    numbers = [(1234, "00000"), (0.12345678, "0%"), (12.5, '0.0"%"'), (0.1 + 0.2, "General"), (12345.678, "#,##0.00")]
    for row, (number, shape) in enumerate([*numbers, (True, "General"), (2.0, "General")], 1):
        book.active.cell(row, 1, f"row {row}")
        book.active.cell(row, 2, number).number_format = shape
    shown = [line.rpartition(": ")[2] for line in read_document(saved(book, tmp_path / "a.xlsx")).text.split("\n")]
    assert shown == ["01234", "12.345678%", "12.5%", "0.3", "12345.678", "True", "2"]


def test_relations_that_lead_nowhere_hide_nothing() -> None:
    made = word_file(word_runs("The pump."), relations={"p": ("image", "../NULL"), "q": ("image", "NULL")})
    assert read_document(made).text == "The pump."


_PAGE = "<html><body><h1>Ferry</h1><p>It leaves at 07:40.</p></body></html>"
_INSIDE = word_file(word_runs("From another file."))


@pytest.mark.parametrize(
    ("target", "part", "type_", "expected"),
    [
        ("a.html", _PAGE, "text/html", "Before.\n\nIt leaves at 07:40.\n\nAfter."),
        ("a.dat", "<p>A part of a page.", "application/xhtml+xml", "Before.\n\nA part of a page.\n\nAfter."),
        ("a.txt", "Plain words.", "text/plain", "Before.\n\nPlain words.\n\nAfter."),
        (
            "a.docx",
            _INSIDE,
            f"{_OPEN_XML}wordprocessingml.document.main+xml",
            "Before.\n\nFrom another file.\n\nAfter.",
        ),
    ],
    ids=["page", "part of a page", "text", "document"],
)
def test_files_within_a_word_document_are_read_at_their_place(
    target: str, part: str | bytes, type_: str, expected: str
) -> None:
    body = f"{word_runs('Before.')}<w:altChunk r:id='c'/>{word_runs('After.')}"
    made = word_file(
        body,
        relations={"c": ("aFChunk", target)},
        parts={f"word/{target}": part},
        types={target.rpartition(".")[2]: type_},
    )
    found = read_document(made)
    assert (found.text, found.notes) == (expected, [])
    assert [title for _, _, title in found.sections] == (["Ferry"] if target == "a.html" else [])


def test_files_too_deep_in_each_other_and_missing_ones_are_told() -> None:
    made = word_file(word_runs("The innermost."))
    for number in range(5):
        made = word_file(
            f"{word_runs(f'Level {number}.')}<w:altChunk r:id='c'/><w:altChunk r:id='none'/>",
            relations={"c": ("aFChunk", "a.docx")},
            parts={"word/a.docx": made},
            types={"docx": f"{_OPEN_XML}wordprocessingml.document.main+xml"},
        )
    found = read_document(made)
    assert found.text == "Level 4.\n\nLevel 3.\n\nLevel 2.\n\nLevel 1."
    assert any("too deep" in note for note in found.notes)
    assert "a file that should stand in it is missing" in found.notes


def test_diagrams_have_words(tmp_path: Path) -> None:
    drawing = "http://schemas.openxmlformats.org/drawingml/2006"
    points = f'<d xmlns:a="{drawing}/main"><a:p><a:r><a:t>Step 1: </a:t></a:r><a:r><a:t>cut</a:t></a:r></a:p></d>'
    ids = f'<w:r><w:drawing><g xmlns:d="{drawing}/diagram"><d:relIds r:dm="d"/></g></w:drawing></w:r>'
    made = word_file(
        f"<w:p><w:r><w:t>See:</w:t></w:r>{ids}</w:p>",
        relations={"d": ("diagramData", "data.xml")},
        parts={"word/data.xml": points},
    )
    assert read_document(made).text == "See:\nStep 1: cut"


def test_rewritten_files_keep_to_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    template = f"{_OPEN_XML}wordprocessingml.template.main+xml"
    large = word_file(word_runs("x"), kind=template, parts={"word/other.xml": f"<a>{'x' * 5_000}</a>"})
    monkeypatch.setattr(zip_limits, "MOST_XML", 4_000)
    with pytest.raises(UnreadableError, match=r"word/other\.xml unpacks to"):
        read_document(large)
    entities = word_file(word_runs("x"), kind=template, parts={"word/other.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a/>'})
    with pytest.raises(UnreadableError, match="declares entities"):
        read_document(entities)


def test_no_message_shows_an_object_of_the_program() -> None:
    with pytest.raises(UnreadableError, match="damaged") as caught:
        read_document(word_file(word_runs("x"), kind="application/x-other"))
    assert "<" not in str(caught.value)
    stream = BytesIO()
    nested = ValueError(f"file '{stream}' in {zipfile.ZipFile(BytesIO(zipped({})))} of {type(stream)}")
    assert told_error(nested) == "file the file in the file of the file"


_NOT_READ = {
    "a.xlsb": ({"xl/workbook.bin": "x"}, "Excel workbook in the binary format (XLSB): save it as XLSX"),
    "a.pages": ({"Index/Document.iwa": "x"}, "Pages document: export it as DOCX or PDF"),
    "a.numbers": ({"Index/Document.iwa": "x"}, "Numbers spreadsheet: export it as XLSX or CSV"),
    "a.key": ({"Index/Slide-1.iwa": "x"}, "Keynote presentation: export it as PPTX or PDF"),
    "old.key": ({"index.apxl": "x"}, "Keynote presentation"),
    "b.zip": ({"Index/Presentation.iwa": "x"}, "Keynote presentation"),
    "c.zip": ({"Index.zip": "x", "preview.jpg": "x"}, "Pages, Numbers or Keynote: export it"),
    "a.xps": ({"FixedDocumentSequence.fdseq": "x", "[Content_Types].xml": "x"}, "XPS document: save it as PDF"),
    "a.vsdx": ({"visio/document.xml": "x"}, "Visio drawing: save it as PDF"),
    "a.odg": ({"mimetype": "application/vnd.oasis.opendocument.graphics"}, "OpenDocument drawing: save it as PDF"),
    "a.sxw": ({"mimetype": "application/vnd.sun.xml.writer"}, "OpenOffice.org 1: save it as ODT, ODS or ODP"),
    "d.zip": ({"a.txt": "x"}, "packed with Zip; unpack it first"),
}


@pytest.mark.parametrize("name", _NOT_READ)
def test_what_is_not_read_is_named_with_what_to_save_it_as(name: str) -> None:
    parts, said = _NOT_READ[name]
    with pytest.raises(UnreadableError, match=re.escape(said)):
        read_document(zipped(parts), name)


@pytest.mark.parametrize("sort", ["text", "text-template", "text-master", "text-web"])
def test_templates_of_opendocument_are_read(sort: str) -> None:
    made = changed(
        open_text("<text:p>Plant the beans.</text:p>"),
        lambda name, part: f"application/vnd.oasis.opendocument.{sort}".encode() if name == "mimetype" else part,
    )
    assert read_document(made).text == "Plant the beans."
