"""Tables that are drawn row by row, footnotes, bold headings, page numbers as printed, and OCR."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from made_documents.pdf_file import page as drawn
from made_documents.pdf_file import pdf
from support import hostile_documents as by_hand
from support.read_documents import read_document

from atomr_local.errors import InputError, MissingPartError
from atomr_local.indexing.readers.documents import pdf_ocr
from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.process import DocumentParser
from atomr_local.system.cancellation import Cancellation

pytest.importorskip("pypdfium2", reason="reading PDF needs pypdfium2")

_TEXT = "The level of the river was measured every day of the year"
_HEAD, _OSLO, _BERGEN = (50, "Town"), (50, "Oslo"), (50, "Bergen")


read = partial(read_document, name="report.pdf")


def by_rows(*rows: Sequence[tuple[int, str]], gap: int = 16, first: int = 680) -> str:
    """The text of a page with rows of cells (x, text) between two lines of prose."""
    cells = [(x, first - gap * i, 10, text) for i, row in enumerate(rows) for x, text in row]
    return read(pdf([drawn([(50, 720, 10, f"{_TEXT}."), *cells, (50, 400, 10, f"{_TEXT} again.")])])).text


@pytest.mark.parametrize(
    ("rows", "read_as"),
    [
        (
            [[_HEAD, (150, "Workers"), (250, "Share")], [_OSLO, (150, "45"), (250, "1.5")], [_BERGEN, (150, "71"), (250, "2.5")]],
            "Town: Oslo; Workers: 45; Share: 1.5\nTown: Bergen; Workers: 71; Share: 2.5",
        ),
        ([[_OSLO, (150, "45")], [_BERGEN, (150, "71")], [(50, "Narvik"), (150, "62")]], "Oslo: 45\nBergen: 71\nNarvik: 62"),
        # A cell is empty; names stand beside their columns; a name is nearly as near as a blank.
        ([[_HEAD, (150, "A"), (250, "B")], [_OSLO, (250, "4")], [_BERGEN, (150, "7"), (250, "6")], [(50, "Ulvik"), (150, "1"), (250, "3")]],
         "Town: Oslo; B: 4\nTown: Bergen; A: 7; B: 6\nTown: Ulvik; A: 1; B: 3"),
        ([[_HEAD, (100, "Workers"), (200, "Share")], [_OSLO, (145, "45"), (240, "15")], [_BERGEN, (145, "71"), (240, "25")]],
         "Town: Oslo; Workers: 45; Share: 15\nTown: Bergen; Workers: 71; Share: 25"),
        ([[(50, "Number"), (92, "Workers"), (134, "Share")], [(50, "1.5"), (92, "45"), (134, "1.5")], [(50, "2.5"), (92, "71"), (134, "2.5")],
          [(50, "3.5"), (92, "62"), (134, "2.1")]],
         "Number: 1.5; Workers: 45; Share: 1.5\nNumber: 2.5; Workers: 71; Share: 2.5"),
        ([[(50, "Boats . . . . . . ."), (250, "45")], [(50, "Nets . . . . . . . ."), (250, "71")], [(50, "Oars . . . . . . ."), (250, "62")]],
         "Boats: 45\nNets: 71\nOars: 62"),
    ],
)  # fmt: skip
def test_the_rows_of_a_table_that_is_drawn_row_by_row(rows: list[list[tuple[int, str]]], read_as: str) -> None:
    assert f"{_TEXT}.\n{read_as}" in by_rows(*rows)


def test_a_cell_of_two_lines_drawn_before_those_beside_it() -> None:
    rows = [(50, 700, "Town"), (150, 700, "Workers"), (250, 700, "Share")]
    for y, town in ((680, "Nether"), (640, "Upper")):
        rows += [(50, y, town), (50, y - 12, "Harbour"), (150, y, str(y)), (250, y, "1.5")]
    text = read(pdf([drawn([(x, y, 10, word) for x, y, word in rows])])).text
    assert text == "Town: Nether Harbour; Workers: 680; Share: 1.5\nTown: Upper Harbour; Workers: 640; Share: 1.5"


@pytest.mark.parametrize(
    "rows",
    [
        [[(50, f"{i}."), (80, f"{_TEXT} {i}.")] for i in range(1, 5)],
        [[(50, _TEXT), (350, f"{_TEXT} in Oslo")] for _ in range(4)],
    ],
)
def test_lists_and_prose_side_by_side_are_no_tables(rows: list[list[tuple[int, str]]]) -> None:
    assert ";" not in by_rows(*rows)


def test_names_in_columns_of_other_heights_are_kept() -> None:
    columns = [
        [(50 + 150 * i, 700 - 20 * j - 7 * i, 10, f"{name} {'abcd'[j]}") for j in range(4)]
        for i, name in enumerate(("Ann", "Ben", "Cem"))
    ]
    text = read(pdf([drawn([cell for column in columns for cell in column])])).text
    assert "Ann a Ann b Ann c Ann d Ben a" in " ".join(text.split())


def test_rows_of_words_alone_stay_line_by_line() -> None:
    rows = [[_OSLO, (150, "was warm")], [_BERGEN, (150, "was wet")], [(50, "Narvik"), (150, "was cold")]]
    assert "\n\nOslo was warm\n\nBergen was wet\n\nNarvik was cold\n\n" in by_rows(*rows)


def test_numbers_of_two_cells_stay_two() -> None:
    """PDFium reads them as one, where nothing else is drawn between them."""
    line = b"BT /F1 10 Tf 50 700 Td (Rent 14.12) Tj 60 0 Td (272) Tj 0 -14 Td (and so on it went) Tj ET"
    assert "14.12 272" in read(pdf([line])).text


def test_letters_beyond_the_first_plane_move_nothing() -> None:
    cmap = b"/CIDInit /ProcSet findresource begin begincmap 1 beginbfchar <6B> <D835DC58> endbfchar endcmap"
    text = by_font(b"BT /F2 10 Tf 50 700 Td (k) Tj 0 -14 Td /F1 10 Tf (Several works have shown that the mill) Tj "
                   b"0 -14 Td (better than the others stood the flood of that year.) Tj ET", b"/Type1/BaseFont/Courier/ToUnicode 7 0 R", by_hand.stream(cmap))  # fmt: skip
    assert (
        text == "\U0001d458 Several works have shown that the mill better than the others stood the flood of that year."
    )


def by_font(content: bytes, second: bytes, *more: bytes) -> str:
    """The text of a page with F1, Helvetica, and F2 as described."""
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
    return read(by_hand.pdf([
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 5 0 R/F2 6 0 R>>>>/Contents 4 0 R>>",
        by_hand.stream(content), font, b"<</Type/Font/Subtype%s>>" % second, *more,
    ])).text  # fmt: skip


def test_bold_lines_as_large_as_the_text_are_headings() -> None:
    content = b"BT /F2 10 Tf 50 700 Td (The harbour) Tj /F1 10 Tf 0 -20 Td (%s) Tj " % _TEXT.encode()
    content += (
        b"/F2 10 Tf 0 -20 Td (Rent: 45) Tj 100 0 Td (in all) Tj -100 0 Td /F1 10 Tf 0 -20 Td (%s) Tj ET"
        % _TEXT.encode()
    )
    data = by_hand.pdf([
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 5 0 R/F2 6 0 R>>>>/Contents 4 0 R>>",
        by_hand.stream(content), *(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica%s>>" % bold for bold in (b"", b"-Bold")),
    ])  # fmt: skip
    assert [title for _, _, title in read(data).sections] == ["The harbour"]


@pytest.mark.parametrize(
    ("pages", "text"),
    [(("", "Methods"), "Methods"), (("Hello world",) * 4, "Hello world Hello world Hello world Hello world")],
)
def test_a_file_of_headings_or_repeated_words_alone_has_text(pages: tuple[str, ...], text: str) -> None:
    drawings = [drawn([(50, 700, 30, words)]) for words in pages]
    assert " ".join(read(pdf(drawings, outline=pages[1] == "Methods")).text.split()) == text


def test_a_paragraph_goes_on_behind_a_footnote() -> None:
    above = [(50, 700 - 14 * i, 10, f"{_TEXT} and") for i in range(4)]
    notes = [(50, 80, 7, "2 As the keeper told us"), (50, 70, 7, "in his letter of May.")]
    pages = [drawn([*above, *notes]), drawn([(50, 700, 10, "then the flood came."), (50, 680, 10, f"{_TEXT}.")])]
    document = read(pdf(pages))
    assert document.text.startswith("2 As the keeper told us in his letter of May.\n\nThe level")
    assert "year and then the flood came." in document.text
    assert [place[1] for place in document.places] == [1, 2]


@pytest.mark.parametrize(
    ("words", "read_as"),
    [
        ("free of all charge to readers here", "free of all charge to readers here"),
        ("the o\\016ce was \\015ooded by di\\013erent rivers", "the office was flooded by different rivers"),  # as TeX numbers them
        ("XQVF KZ JWPB GHQX ZZKW VVBX QQ", ""), ("FREE OF ALL CHARGE TO READERS HERE", ""),
    ],
)  # fmt: skip
def test_letters_without_a_map_are_read_where_they_are_words(words: str, read_as: str) -> None:
    codes = range(1, 123)
    font = (
        b"/Type3/FontBBox[0 0 10 10]/FontMatrix[.1 0 0 .1 0 0]/FirstChar 1/LastChar 122/Widths[%s]/CharProcs<<%s>>"
        b"/Encoding<</Differences[1%s]>>"
        % (b"6 " * 122, b"".join(b"/g%d 7 0 R" % code for code in codes), b"".join(b"/g%d" % code for code in codes))
    )
    content = b"BT /F1 10 Tf 50 700 Td (%s.) Tj 0 -20 Td /F2 10 Tf (" % _TEXT.encode()
    content += b") Tj 70 0 Td (".join(word.encode() for word in words.split()) + b") Tj ET"
    text = by_font(content, font, by_hand.stream(b"600 0 d0 0 0 5 5 re f"))
    assert text == " ".join(filter(None, (f"{_TEXT}.", read_as)))


# Page numbers as they are printed.


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (b"0<</S/r>>2<</S/D>>", ["i", "ii", "1"]),
        (b"0<</S/D>>", [None, None, None]),
        (b"0<</P(p. )/S/D/St 219>>", ["219", "220", "221"]),
        (b"0<</P(Sec2:)/S/r/St 4>>", ["iv", "v", "vi"]),
        (b"0<</P<FEFFD800>>>1<</P(\\007)>>2<</P(C)>>", [None, None, "C"]),
        (b"0<</P(Part of the book on boats )/S/D>>2<</P(A-)/S/D>>", [None, None, "A-1"]),
    ],
)
def test_pages_are_told_by_what_is_printed_on_them(labels: bytes, told: list[str | None]) -> None:
    pages = [drawn([(50, 700, 10, f"{_TEXT} in part {part}.")]) for part in "abc"]
    places = read(pdf(pages, labels=labels)).places
    assert [place[1] for place in places] == [1, 2, 3]
    assert [place[2] if len(place) > 2 else None for place in places] == told


# OCR. A program of the test stands for Tesseract where that is not installed.

_SCAN = pdf([b""], picture=True)
_ROWS = [
    "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext",
    "4\t1\t1\t1\t1\t0\t100\t100\t900\t40\t-1\t",
    "5\t1\t1\t1\t1\t1\t100\t100\t100\t40\t95\tHappy", "5\t1\t1\t1\t1\t2\t220\t100\t100\t40\t96\tnew", "5\t1\t1\t1\t1\t3\t340\t100\t100\t40\t20\ty3ar",
    "5\t1\t1\t1\t2\t1\t100\t160\t100\t40\t91\tto", "5\t1\t1\t1\t2\t2\t220\t160\t200\t40\t95\teverybody", "5\t1\t1\t1\t2\t3\t440\t160\t200\t40\t95\there.",
    *(f"5\t1\t2\t1\t{i}\t{j}\t{100 + 600 * j}\t{300 + 60 * i}\t100\t40\t95\t{word}" for i, row in enumerate(("Oslo 45", "Bergen 71", "Narvik 62")) for j, word in enumerate(row.split())),
    "5\t1\t3\t1\t1\t1\t100\t900\t100\t40\t40\t~~|", "5\t1\t3\t1\t1\t2\t100\t900\t100\t40\t45\t<>",
]  # fmt: skip


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, told: str, more: str = "") -> None:
    file = folder / "tesseract"
    listed = "List of languages (3):\\neng\\ndeu\\nosd"
    file.write_text(f"#!{sys.executable}\nimport sys, time\nif '--list-langs' in sys.argv: print({listed!r}.replace('\\\\n', chr(10))); sys.exit()\n"
                    f"assert sys.stdin.buffer.read(2) == b'P5'\n{more}\nprint({told!r})\n")  # fmt: skip
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_a_scan_is_read_by_ocr_and_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, "\n".join(_ROWS))
    document = read(_SCAN, ocr="eng")
    assert document.text == "Happy new […] to everybody here.\nOslo: 45\nBergen: 71\nNarvik: 62"
    assert document.places == [(0, 1, "1", "read by OCR")]
    assert document.notes == ["page 1 read by OCR: letters and figures may be wrong"]
    whole = read(pdf([drawn([(50, 700, 10, f"{_TEXT}.")])]), ocr="eng")
    assert (whole.text, whole.notes) == (f"{_TEXT}.", [])  # no page without letters, no OCR


@pytest.mark.parametrize(
    ("told", "more"),
    [("", ""), ("no table", ""), ("\n".join(_ROWS), "sys.exit(1)"), ("\n".join(_ROWS), "time.sleep(30)"),
     ("\n".join((_ROWS[0], *_ROWS[-2:])), "")],
)  # fmt: skip
def test_ocr_that_fails_or_is_not_sure_gives_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, more: str
) -> None:
    program(tmp_path, monkeypatch, told, more)
    monkeypatch.setattr(pdf_ocr, "_SECONDS_A_PAGE", 1.0)
    with pytest.raises(UnreadableError, match=r"its 1 page has pictures but no text: a scan\? OCR found no sure text"):
        read(_SCAN, ocr="eng")


def test_what_to_do_with_a_scan_is_told() -> None:
    with pytest.raises(
        UnreadableError, match=r"a scan\? Build the index with --ocr eng, or run ocrmypdf over it first"
    ):
        read(_SCAN)


def test_languages_of_ocr_are_looked_at_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, "")
    pdf_ocr.check_languages("deu+eng")
    for wrong in ("xxx", "eng+xxx", "osd", "--psm"):
        with pytest.raises(InputError, match="does not know the language"):
            pdf_ocr.check_languages(wrong)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(MissingPartError, match="tesseract, which is not installed"):
        pdf_ocr.check_languages("eng")


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_tesseract_itself_reads_a_picture_in_the_sandbox(tmp_path: Path) -> None:
    import pypdfium2

    words = [(50, 700 - 40 * i, 24, "Happy new year 2003") for i in range(3)]
    picture = pypdfium2.PdfDocument(pdf([drawn(words)]))[0].render(scale=2, grayscale=True)
    pixels = b"".join(bytes(picture.buffer)[y * picture.stride :][: picture.width] for y in range(picture.height))
    image = b"/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceGray/BitsPerComponent 8" % (
        picture.width,
        picture.height,
    )
    file = tmp_path / "scan.pdf"
    scan = by_hand.stream(b"q 600 0 0 800 0 0 cm /I Do Q")
    file.write_bytes(by_hand.pdf_with_content(scan, b"/XObject<</I 6 0 R>>", [by_hand.stream(pixels, image)]))
    parser = DocumentParser(ocr="eng")
    try:
        with file.open("rb") as stream:
            (found,) = parser.read(stream.fileno(), file.name, Cancellation())
    finally:
        parser.close()
    assert "Happy new year 2003" in found["text"]
    assert found["places"] == [[0, 1, "1", "read by OCR"]]
