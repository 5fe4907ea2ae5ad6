"""What Office and OpenDocument files hold beside their text: numbers of lists, notes, comments, margins, charts."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from support.office_files import open_text, word_file, word_runs
from support.read_documents import read_document
from support.read_files import saved, unzipped, zipped

from atomr_local.indexing.readers.documents import document as zip_limits
from atomr_local.indexing.readers.documents.document import UnreadableError, open_zip, part
from atomr_local.indexing.readers.documents.symbols import numeral, shown_number

docx, openpyxl, pptx = (pytest.importorskip(name) for name in ("docx", "openpyxl", "pptx"))

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"


@pytest.mark.parametrize(
    ("number", "kind", "shown"),
    [(3, "1", "3"), (3, "a", "c"), (28, "A", "BB"), (1994, "i", "mcmxciv"), (9, "I", "IX"), (0, "a", "0"),
     (10_000, "i", "10000"), (10_000, "a", "10000"), (2, "01", "02")],
)  # fmt: skip
def test_numerals(number: int, kind: str, shown: str) -> None:
    assert numeral(number, kind) == shown


def _item(words: str, num: str = "1", level: int = 0, style: str = "") -> str:
    place = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{num}"/></w:numPr>' if num else ""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{place}</w:pPr><w:r><w:t>{words}</w:t></w:r></w:p>"


def _level(number: int, kind: str, text: str, more: str = "") -> str:
    return f'<w:lvl w:ilvl="{number}">{more}<w:numFmt w:val="{kind}"/><w:lvlText w:val="{text}"/></w:lvl>'


_NUMBERING = f"""<w:numbering {_WORD}>
<w:abstractNum w:abstractNumId="5">{_level(0, "decimal", "%1.", '<w:start w:val="1"/>')}
{_level(1, "lowerLetter", "%1.%2)", '<w:start w:val="1"/>')}
{_level(2, "decimalZero", "%3", '<w:lvlRestart w:val="1"/>')}</w:abstractNum>
<w:abstractNum w:abstractNumId="6">{_level(0, "bullet", "·")}</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="5"/>
<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="6"/></w:num></w:numbering>"""


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([_item("one"), word_runs("between"), _item("two")], ["1. one", "between", "2. two"]),
        ([_item("one"), _item("a", level=1), _item("b", level=1), _item("two"), _item("c", level=1)],
         ["1. one", "1.a) a", "1.b) b", "2. two", "2.a) c"]),
        ([_item("one"), _item("seven", "2"), _item("eight", "2")], ["1. one", "7. seven", "8. eight"]),
        ([_item("deep", level=1), _item("next")], ["1.a) deep", "2. next"]),
        ([_item("zero", level=2), _item("b", level=1), _item("one", level=2), _item("two"), _item("zero", level=2)],
         ["00 zero", "1.b) b", "01 one", "2. two", "00 zero"]),
        ([_item("point", "3"), _item("none", "0"), _item("unknown", "99"), _item("", "1"), _item("one")],
         ["point", "none", "unknown", "1. one"]),
    ],
)  # fmt: skip
def test_lists_of_word_keep_their_numbers(items: list[str], expected: list[str]) -> None:
    made = word_file(
        "".join(items), relations={"n": ("numbering", "numbering.xml")}, parts={"word/numbering.xml": _NUMBERING}
    )
    assert read_document(made).text.split("\n\n") == expected


def test_styles_number_headings_and_cells(tmp_path: Path) -> None:
    document: Any = docx.Document()
    for text, style in (("Boilers", "Heading 1"), ("Pumps", "Heading 1"), ("Drain it.", "List Number")):
        document.add_paragraph(text, style=style)
    document.add_table(1, 1).cell(0, 0).paragraphs[0].style = "List Number"
    document.tables[0].cell(0, 0).paragraphs[0].text = "Fill it."
    assert read_document(saved(document, tmp_path / "a.docx")).text.split("\n\n")[-2:] == [
        "1. Drain it.",
        "2. Fill it.",
    ]


def test_comments_of_word_stand_behind_their_paragraph_and_deleted_rows_go() -> None:
    body = (
        '<w:p><w:r><w:t>It leaks.</w:t></w:r><w:r><w:commentReference w:id="0"/></w:r></w:p>'
        f"<w:tbl><w:tr>{'<w:trPr><w:del/></w:trPr>'}<w:tc>{word_runs('Old row')}</w:tc></w:tr>"
        f"<w:tr><w:tc>{word_runs('New row')}</w:tc></w:tr></w:tbl>"
    )
    made = word_file(
        body,
        relations={"c": ("comments", "comments.xml")},
        parts={
            "word/comments.xml": f'<w:comments {_WORD}><w:comment w:id="0" w:author="Ann  Lee">{word_runs("Since May?")}'
            f'</w:comment><w:comment w:id="1">{word_runs("Of nothing.")}</w:comment></w:comments>'
        },
    )
    assert read_document(made).text == "It leaks.\n\nComment by Ann Lee: Since May?\n\nNew row"


def _field(code: str, shown: str) -> str:
    mark = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    runs = f"<w:r><w:instrText> {code} </w:instrText></w:r>", f"<w:r><w:t>{shown}</w:t></w:r>"
    return mark.format("begin") + runs[0] + mark.format("separate") + runs[1] + mark.format("end")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("<w:r><w:t>Form 12 of Elm Ltd, page </w:t></w:r>" + _field("PAGE", "3"), "Form 12 of Elm Ltd, page"),
        ("<w:r><w:t>Page </w:t></w:r>" + _field("PAGE", "3") + '<w:r><w:t> of </w:t></w:r><w:fldSimple w:instr="NUMPAGES">'
         "<w:r><w:t>9</w:t></w:r></w:fldSimple>", ""),
        (_field("DATE", "4 May 2024") + "<w:r><w:t> Confidential</w:t></w:r>", "4 May 2024 Confidential"),
    ],
)  # fmt: skip
def test_headers_and_footers_stand_at_the_end_once_without_numbers_of_pages(header: str, expected: str) -> None:
    part_of = f"<w:{{0}} {_WORD}><w:p>{header}</w:p></w:{{0}}>"
    found = read_document(
        word_file(
            word_runs("The text."),
            relations={"f": ("footer", "f.xml"), "h": ("header", "h.xml"), "g": ("header", "g.xml")},
            parts={"word/f.xml": part_of.format("ftr"), "word/h.xml": part_of.format("hdr"), "word/g.xml": part_of.format("hdr")},
        )
    )  # fmt: skip
    assert found.text == f"The text.\n{expected}".strip()
    assert [title for _, _, title in found.sections] == (["Headers and footers"] if expected else [])


def test_formulas_of_word_keep_their_brackets_and_sums() -> None:
    run = "<m:r><m:t>{}</m:t></m:r>"
    brackets = f"<m:d><m:e>{run.format('a+b')}</m:e></m:d>"
    square = f'<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr><m:e>{run.format("1")}</m:e><m:e>{run.format("2")}</m:e></m:d>'
    total = f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{run.format("i=1")}</m:sub><m:sup>{run.format("n")}</m:sup><m:e>{run.format("i")}</m:e></m:nary>'
    made = word_file(f"<w:p><m:oMath>{run.format('3')}{brackets}{square}{total}</m:oMath></w:p>")
    assert read_document(made).text == "3(a+b)[1, 2]∑_(i=1)^n i"


def _chart(series: str) -> str:
    names = f'xmlns:c="{_DRAWING}/chart" xmlns:a="{_DRAWING}/main"'
    title = "<c:title><c:tx><c:rich><a:p><a:r><a:t>Catch</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    return f"<c:chartSpace {names}><c:chart>{title}<c:plotArea>{series}</c:plotArea></c:chart></c:chartSpace>"


def _series(name: str, code: str, *values: str) -> str:
    def cache(texts: tuple[str, ...], more: str = "") -> str:
        points = "".join(f'<c:pt idx="{i}"><c:v>{text}</c:v></c:pt>' for i, text in enumerate(texts))
        return f"<c:strCache>{more}{points}</c:strCache>"

    years = cache(("1931", "1932")[: len(values)])
    shape = f"<c:formatCode>{code}</c:formatCode>"
    return f"<c:ser><c:tx>{cache((name,))}</c:tx><c:cat>{years}</c:cat><c:val>{cache(values, shape)}</c:val></c:ser>"


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ([_series("Herring", "General", "47", "0.30000000000000004"), _series("Cod", "0%", "0.5", "0.25")],
         "Catch\n1931; Herring: 47; Cod: 50%\n1932; Herring: 0.3; Cod: 25%"),
        ([_series("Herring", "General", "nan")], "Catch\n1931; Herring: nan"),
        ([], "Catch"),
    ],
)  # fmt: skip
def test_charts_are_read_as_tables(series: list[str], expected: str) -> None:
    drawing = f'<w:p><w:r><w:drawing><c:chart xmlns:c="{_DRAWING}/chart" r:id="c"/></w:drawing></w:r></w:p>'
    made = word_file(drawing, relations={"c": ("chart", "c.xml")}, parts={"word/c.xml": _chart("".join(series))})
    assert read_document(made).text == expected


def test_a_table_without_properties_and_a_chart_that_is_missing() -> None:
    drawing = f'<w:p><w:r><w:drawing><c:chart xmlns:c="{_DRAWING}/chart" r:id="none"/></w:drawing></w:r></w:p>'
    made = word_file(f"<w:tbl><w:tr><w:tc>{word_runs('Alone.')}</w:tc></w:tr></w:tbl>{drawing}")
    assert read_document(made).text == "Alone."


def test_a_long_heading_is_read_in_full(tmp_path: Path) -> None:
    document: Any = docx.Document()
    title = " ".join(f"word{i}" for i in range(80))
    document.add_heading(title, 1)
    found = read_document(saved(document, tmp_path / "a.docx"))
    assert found.text == title
    assert len(found.sections[0][2]) == 300


def _slides(folder: Path, *texts: tuple[str, str]) -> Any:
    presentation: Any = pptx.Presentation()
    for title, text in texts:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, text
    return presentation


def test_slides_without_titles_do_not_stand_under_the_title_before(tmp_path: Path) -> None:
    made = _slides(tmp_path, ("", "First."), ("Budget", "Second."), ("", "Third."))
    assert [title for _, _, title in read_document(saved(made, tmp_path / "a.pptx")).sections] == ["Budget", "Slide 3"]


def test_slides_keep_numbers_of_lists_charts_and_comments(tmp_path: Path) -> None:
    from lxml import etree

    presentation = _slides(tmp_path, ("Steps", "Drain it.\nOpen the lid.\nLook.\nFill it.\nNote"))
    frame = presentation.slides[0].placeholders[1].text_frame
    kinds = [("arabicPeriod", "0"), ("alphaUcParenR", "1"), ("alphaUcParenR", "1"), ("arabicPeriod", "0"), ("", "0")]
    for paragraph, (kind, level) in zip(frame.paragraphs, kinds, strict=True):
        look = paragraph._p.get_or_add_pPr()
        look.set("lvl", level)
        if kind:
            etree.SubElement(look, f"{{{_DRAWING}/main}}buAutoNum", type=kind, startAt="4" if level == "0" else "1")
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    data: Any = CategoryChartData()
    data.categories = ["1931"]
    data.add_series("Herring", (47,))
    presentation.slides[0].shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, 9, 9, data)
    parts = unzipped(saved(presentation, tmp_path / "a.pptx"))
    rels = parts["ppt/slides/_rels/slide1.xml.rels"]
    comments = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments"
    parts["ppt/slides/_rels/slide1.xml.rels"] = rels.replace(
        b"</Relationships>", b'<Relationship Id="x9" Type="%s" Target="../c.xml"/></Relationships>' % comments
    )
    parts["ppt/c.xml"] = b'<p:cmLst xmlns:p="urn:p"><p:cm><p:text>Is that all?</p:text></p:cm></p:cmLst>'
    text = read_document(zipped(parts)).text
    assert text.startswith("4. Drain it.\nA) Open the lid.\nB) Look.\n5. Fill it.\nNote")
    assert "1931; Herring: 47" in text
    assert text.endswith("Comment: Is that all?")


@pytest.mark.parametrize(
    ("text", "shape", "shown"),
    [
        ("12.5", '0.0" kg"', "12.5 kg"), ("-900", "[$€-407] #,##0.00", "€-900"), ("900", '#,##0 "€"', "900€"),
        ("900", '_-* #,##0.00\\ "EUR"_-;-* #,##0.00_-', "900 EUR"), ("12000", '#,##0,"K"', "12000"),
        ("5551234", "000\\-0000", "5551234"), ("0.256", "0.0%", "25.6%"), ("45000", "yyyy\\-mm\\-dd", "2023-03-15"),
        ("7", "00000", "00007"), ("1_0", "General", "1_0"), ("Ann", "0%", "Ann"), ("1e999", "General", "1e999"),
        ("6.1E-17", "General", "6.1e-17"), ("0.5", "# ?/?", "0.5"), ("3", '0 "of 10"', "3 of 10"),
    ],
)  # fmt: skip
def test_numbers_are_shown_with_units_and_all_their_digits(text: str, shape: str, shown: str) -> None:
    assert shown_number(text, shape) == shown


def test_spreadsheets_keep_comments_charts_and_durations_and_tell_what_is_not_counted(tmp_path: Path) -> None:
    from datetime import datetime, timedelta

    book: Any = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Trips"
    for row in (["Boat", "Lasted", "Left"], ["Heron", timedelta(hours=30, minutes=5), datetime(2024, 5, 4, 7, 30)]):
        sheet.append(row)
    sheet["B2"].number_format = "[h]:mm"
    sheet["C9"] = "=SUM(B2:B3)"
    sheet["A2"].comment = openpyxl.comments.Comment("Leaks.", "Ann Lee")
    sheet["B2"].comment = openpyxl.comments.Comment("[Threaded comment] Your version … Comment: Since May?", "tc={1}")
    chart: Any = openpyxl.chart.BarChart()
    chart.title = "Catch"
    sheet.add_chart(chart, "F1")
    book.create_sheet("Old").sheet_state = "hidden"
    book["Old"]["A1"] = "Sold."
    found = read_document(saved(book, tmp_path / "a.xlsx"))
    lines = found.text.split("\n")
    assert lines[0] == "Boat: Heron; Lasted: 30:05; Left: 2024-05-04 07:30:00"
    assert set(lines[1:4]) == {"Comment by Ann Lee: Leaks.", "Comment: Since May?", "Catch"}
    assert lines[-1] == "Sold."
    assert {"Trips!A2", "Trips!B2"} < {place for _, place in found.places}
    assert found.notes == ["1 formulas of Trips have no values: save it in a spreadsheet program"]


def test_spreadsheets_with_looks_in_two_ways_or_none(tmp_path: Path) -> None:
    book: Any = openpyxl.Workbook()
    book.active.append(["Boat", "Heron"])
    parts = unzipped(saved(book, tmp_path / "a.xlsx"))
    styles = parts["xl/styles.xml"].decode()
    font = styles[styles.index("<font>") : styles.index("</font>") + len("</font>")]
    two = (
        '<mc:AlternateContent xmlns:mc="urn:mc"><mc:Choice><font odd="1"/></mc:Choice><mc:Fallback>'
        f"{font}</mc:Fallback></mc:AlternateContent>"
    )
    parts["xl/styles.xml"] = styles.replace(font, two, 1).encode()
    assert read_document(zipped(parts)).text == "Boat; Heron"
    del parts["xl/styles.xml"]
    found = read_document(zipped(parts))
    assert (found.text, len(found.notes)) == ("Boat; Heron", 1)


_LISTS = (
    '<style:style style:name="x"/><text:list-style style:name="L"><text:list-level-style-number text:level="1" '
    'style:num-format="1" style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" '
    'style:num-suffix=")" text:display-levels="2" text:start-value="3"/></text:list-style>'
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<text:list text:style-name='L'><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>c</text:p>"
         "</text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>",
         ["1. one", "1.c) c", "2. two"]),
        ("<text:list text:style-name='L'><text:list-item><text:p>one</text:p></text:list-item></text:list><text:p>x</text:p>"
         "<text:list text:style-name='L' text:continue-numbering='true'><text:list-item><text:p>two</text:p></text:list-item>"
         "</text:list><text:list text:style-name='L'><text:list-item text:start-value='8'><text:p>eight</text:p></text:list-item>"
         "</text:list>", ["1. one", "x", "2. two", "8. eight"]),
        ("<text:list><text:list-item><text:p>point</text:p></text:list-item><text:list-item/></text:list>", ["point"]),
    ],
)  # fmt: skip
def test_lists_of_opendocument_keep_their_numbers(body: str, expected: list[str]) -> None:
    assert read_document(open_text(_LISTS + body)).text.split("\n\n") == expected


def test_headings_of_opendocument_keep_their_numbers() -> None:
    levels = "".join(
        f'<text:outline-level-style text:level="{i}" style:num-format="1" text:display-levels="{i}"/>' for i in (1, 2)
    )
    heads = "".join(f"<text:h text:outline-level='{i}'>{name}</text:h><text:p>x</text:p>" for i, name in ((1, "A"), (2, "B"), (2, "C"), (1, "D")))  # fmt: skip
    found = read_document(open_text(f"<text:outline-style>{levels}</text:outline-style>{heads}"))
    assert [title for _, _, title in found.sections] == ["1 A", "1.1 B", "1.2 C", "2 D"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<text:p>It leaks.<office:annotation><text:p>Since May?</text:p></office:annotation></text:p>",
         "It leaks.\n\nComment: Since May?"),
        ("<text:p>See<draw:frame><draw:image/><svg:title xmlns:svg='urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0'>"
         "a gull</svg:title></draw:frame> it.</text:p>", "See it."),
        ("<text:p>p. <text:page-number>7</text:page-number></text:p>", "p."),
    ],
)  # fmt: skip
def test_what_stands_beside_the_text_of_opendocument(body: str, expected: str) -> None:
    assert read_document(open_text(body)).text == expected


def test_sheets_of_opendocument_keep_comments_at_their_cells_and_pass_over_other_files() -> None:
    cells = (
        '<table:table-cell><text:p>Heron</text:p><office:annotation><text:p>Leaks.</text:p></office:annotation></table:table-cell>'
        '<table:table-cell><text:p>47</text:p></table:table-cell>'
    )  # fmt: skip
    linked = "<table:table table:name='x'><table:table-source/><table:table-row><table:table-cell><text:p>Elsewhere</text:p></table:table-cell></table:table-row></table:table>"
    found = read_document(open_text(f"<table:table table:name='S'><table:table-row/><table:table-row>{cells}</table:table-row></table:table>{linked}", "spreadsheet"))  # fmt: skip
    assert found.text == "Heron: 47\n\nComment: Leaks."
    assert [place for _, place in found.places] == ["S!A2:B2", "S!A2"]


def test_slides_of_opendocument_have_their_titles() -> None:
    space = "xmlns:presentation='urn:oasis:names:tc:opendocument:xmlns:presentation:1.0'"
    frame = "<draw:frame {} presentation:class='{}'><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    pages = "".join(
        f"<draw:page>{''.join(frame.format(space, kind, text) for kind, text in page)}</draw:page>"
        for page in ([("outline", "First."), ("title", "Budget")], [("outline", "Second.")])
    )
    found = read_document(open_text(pages, "presentation"))
    assert (found.text, [title for _, _, title in found.sections]) == ("First.\n\nSecond.", ["Budget", "Slide 2"])


def test_a_part_that_is_too_large_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_limits, "MOST_XML", 10)
    with open_zip(BytesIO(zipped({"a.xml": "x" * 50}))) as archive, pytest.raises(UnreadableError) as caught:
        part(archive, "a.xml")
    assert str(caught.value) == "its part a.xml unpacks to 0 MiB: a ZIP bomb?"
