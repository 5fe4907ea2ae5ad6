"""Tables of real files of every format: what names their columns, titles, merged cells and tables within tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.office_files import open_text
from support.read_documents import lines_of, read_document
from support.read_files import fill, saved, unzipped, zipped

from atomr_local.indexing.readers.wikipedia.wikitext import plain_text

Rows = Sequence[Sequence[str]]
Made = Callable[[Path, Rows], list[str]]


def told(data: bytes | str, name: str) -> list[str]:
    return lines_of(read_document(data, name))


def open_cells(rows: Rows) -> str:
    return "".join(
        "<table:table-row>"
        + "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row)
        + "</table:table-row>"
        for row in rows
    )


def workbook(rows: Sequence[Sequence[object]]) -> Any:
    """A workbook of openpyxl with one sheet, which has these rows."""
    book = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        book.active.append(list(row))
    return book


def slide_table(rows: Rows) -> tuple[Any, Any]:
    """A presentation with a table of these rows, and the table."""
    presentation = pytest.importorskip("pptx").Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(len(rows), max(map(len, rows)), 0, 0, 9_000_000, 3_000_000).table
    fill(table, rows)
    return presentation, table


def of_csv(_folder: Path, rows: Rows) -> list[str]:
    return told("\n".join(",".join(row) for row in rows), "a.csv")


def of_xlsx(folder: Path, rows: Rows) -> list[str]:
    return told(saved(workbook(rows), folder / "a.xlsx"), "a.xlsx")


def of_ods(_folder: Path, rows: Rows) -> list[str]:
    return told(open_text(f'<table:table table:name="S">{open_cells(rows)}</table:table>', "spreadsheet"), "a.ods")


def of_odt(_folder: Path, rows: Rows) -> list[str]:
    return told(open_text(f"<table:table>{open_cells(rows)}</table:table>", "text"), "a.odt")


def of_docx(folder: Path, rows: Rows) -> list[str]:
    document = pytest.importorskip("docx").Document()
    fill(document.add_table(len(rows), max(map(len, rows))), rows)
    return told(saved(document, folder / "a.docx"), "a.docx")


def of_pptx(folder: Path, rows: Rows) -> list[str]:
    return told(saved(slide_table(rows)[0], folder / "a.pptx"), "a.pptx")


def of_html(_folder: Path, rows: Rows) -> list[str]:
    cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return told(f"<!doctype html><table>{cells}</table>", "a.html")


def of_markdown(_folder: Path, rows: Rows) -> list[str]:
    first, *others = ["| " + " | ".join(row) + " |" for row in rows]
    return told("\n".join([f"# Notes\n\n{first}", "|" + "---|" * len(rows[0]), *others]), "a.md")


def of_wikitext(_folder: Path, rows: Rows) -> list[str]:
    body = "\n|-\n".join("| " + " || ".join(row) for row in rows)
    return plain_text(f'{{| class="wikitable"\n{body}\n|}}').text.split("\n")


FORMATS = [of_csv, of_xlsx, of_ods, of_odt, of_docx, of_pptx, of_html, of_markdown, of_wikitext]


@pytest.mark.parametrize("made", FORMATS, ids=lambda made: made.__name__[3:])
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [["Name", "Born"], ["Ann", "1912"], ["Bob", "1913"]],
            ["Name: Ann; Born: 1912", "Name: Bob; Born: 1913"],
        ),
        # labels and values: the first row is none of names
        (
            [["Height", "300 m"], ["Owner", "Ann Lee"], ["Built", "3 May 1887"]],
            ["Height: 300 m", "Owner: Ann Lee", "Built: 3 May 1887"],
        ),
        ([["Owner:", "Ann Lee"], ["Keeper:", "Bob"]], ["Owner: Ann Lee", "Keeper: Bob"]),
        # names of columns that are years, and a corner without a name
        (
            [["", "2019", "2020"], ["Apples", "5", "7"], ["Pears", "6", "8"]],
            ["Apples; 2019: 5; 2020: 7", "Pears; 2019: 6; 2020: 8"],
        ),
        # no names at all
        ([["1", "2"], ["3", "4"]], ["1; 2", "3; 4"]),
    ],
)
def test_rows_are_told_with_what_names_them(made: Made, rows: Rows, expected: list[str], tmp_path: Path) -> None:
    assert made(tmp_path, rows) == expected


SHEETS = [of_csv, of_xlsx, of_ods]


@pytest.mark.parametrize("made", SHEETS, ids=lambda made: made.__name__[3:])
def test_a_second_table_on_a_sheet_has_names_of_its_own(made: Made, tmp_path: Path) -> None:
    rows = [["Name", "Born"], ["Ann", "1912"], ["Bob", "1913"], ["", ""]]
    rows += [["Street", "Rent"], ["Elm", "900"], ["Oak", "950"]]
    assert made(tmp_path, rows) == [
        "Name: Ann; Born: 1912", "Name: Bob; Born: 1913", "Street: Elm; Rent: 900", "Street: Oak; Rent: 950",
    ]  # fmt: skip
    # what goes on below an empty row does not
    assert made(tmp_path, [*rows[:3], ["", ""], ["Cy", "1914"], ["Dan", "1915"]])[2:] == [
        "Name: Cy; Born: 1914", "Name: Dan; Born: 1915",
    ]  # fmt: skip


def test_a_title_above_the_names_is_a_heading_of_its_sheet(tmp_path: Path) -> None:
    trees: list[list[object]] = [[None], ["Trees"], ["Street", "Trees"], ["Oak", 7], [None]]
    book = workbook(
        [["Rents of 2020"], ["Street", "Rent"], ["Elm", 900], *trees, ["Bridge", "Length"], ["Elm Bridge", "40 m"]]
    )
    sheet = book.active
    sheet.title = "Town"
    sheet.merge_cells("A1:B1")
    document = read_document(saved(book, tmp_path / "a.xlsx"), "a.xlsx")
    assert document.text.split("\n") == [
        "Street: Elm; Rent: 900",
        "Street: Oak; Trees: 7",
        "Bridge: Elm Bridge; Length: 40 m",
    ]
    assert [title for _, _, title in document.sections] == ["Town", "Rents of 2020", "Town", "Trees", "Town"]
    assert [place for _, place in document.places] == ["Town!A3:B3", "Town!A7:B7", "Town!A10:B10"]


def test_merged_cells_of_a_spreadsheet_stand_in_each_row_and_name_each_column(tmp_path: Path) -> None:
    amounts = [["North", 5, 6, 0.5], [None, 7, 8, 0.25], ["South", 9, None, 1]]
    book = workbook([["Region", "Fruit", None, "Open"], [None, "Apples", "Pears", None], *amounts])
    sheet = book.active
    for cells in ("A1:A2", "B1:C1", "D1:D2", "A3:A4"):
        sheet.merge_cells(cells)
    for row in (3, 4, 5):
        sheet.cell(row, 4).number_format = "0%"
    assert told(saved(book, tmp_path / "a.xlsx"), "a.xlsx") == [
        "Region: North; Fruit Apples: 5; Fruit Pears: 6; Open: 50%",
        "Region: North; Fruit Apples: 7; Fruit Pears: 8; Open: 25%",
        "Region: South; Fruit Apples: 9; Open: 100%",
    ]


@pytest.mark.parametrize("made", SHEETS, ids=lambda made: made.__name__[3:])
def test_sheets_of_many_columns_lose_none(made: Made, tmp_path: Path) -> None:
    names = ["Gene", *(f"sample {i}" for i in range(1, 1_200))]
    rows = [names, ["alpha", *(str(i) for i in range(1, 1_200))]]
    found = made(tmp_path, rows)
    assert all(line.startswith("Gene: alpha; sample ") for line in found)
    assert [field for line in found for field in line.split("; ")[1:]] == [f"sample {i}: {i}" for i in range(1, 1_200)]


def test_cells_beyond_the_last_column_are_counted() -> None:
    document = read_document("a," * 16_384 + "b,c\n" + "1," * 16_384 + "2,3\n", "a.csv")
    assert document.notes == ["4 cells beyond column 16384 of a table are left out"]


def test_the_places_of_a_wide_row_are_those_of_its_parts() -> None:
    document = read_document(",".join(f"n{i}" for i in range(90)) + "\n" + ",".join("abc" for _ in range(90)), "a.csv")
    assert [place for _, place in document.places] == ["A2:AN2", "AO2:CB2", "CC2:CL2"]


def test_dimensions_that_a_sheet_wrongly_declares_hide_nothing(tmp_path: Path) -> None:
    whole = unzipped(saved(workbook([["Name", "Born"], ["Ann", 1912]]), tmp_path / "a.xlsx"))
    parts = {name: part.replace(b'ref="A1:B2"', b'ref="A1"') for name, part in whole.items()}
    assert told(zipped(parts), "a.xlsx") == ["Name: Ann; Born: 1912"]


def test_rows_far_below_have_their_numbers_in_ods() -> None:
    gap = '<table:table-row table:number-rows-repeated="900"><table:table-cell/></table:table-row>'
    body = open_cells([["Name", "Born"], ["Ann", "1912"]]) + gap + open_cells([["Bob", "1913"]])
    document = read_document(open_text(f'<table:table table:name="S">{body}</table:table>', "spreadsheet"), "a.ods")
    assert document.text.split("\n")[1] == "Name: Bob; Born: 1913"
    assert document.places[-1][1] == "S!A903:B903"


def test_merged_and_marked_cells_of_opendocument_text() -> None:
    rows = (
        '<table:table-header-rows><table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>Place</text:p>'
        '</table:table-cell><table:table-cell table:number-columns-spanned="2"><text:p>People</text:p></table:table-cell>'
        "<table:covered-table-cell/></table:table-row><table:table-row><table:covered-table-cell/><table:table-cell>"
        "<text:p>men</text:p></table:table-cell><table:table-cell><text:p>women</text:p></table:table-cell>"
        "</table:table-row></table:table-header-rows>"
    ) + open_cells([["York", "few", "many"]])
    found = told(open_text(f"<table:table>{rows}</table:table>", "text"), "a.odt")
    assert found == ["Place: York; People men: few; People women: many"]


def test_tables_in_cells_of_opendocument_text_follow() -> None:
    inner = f"<table:table>{open_cells([['A', 'B'], ['1', '2']])}</table:table>"
    cell = f"<table:table-row><table:table-cell><text:p>Ann</text:p>{inner}</table:table-cell><table:table-cell><text:p>7</text:p></table:table-cell></table:table-row>"
    rows = open_cells([["Name", "Number"]]) + cell
    found = told(open_text(f"<table:table>{rows}</table:table>", "text"), "a.odt")
    assert found == ["Name: Ann; Number: 7", "A: 1; B: 2"]


def test_merged_cells_and_tables_in_tables_of_word(tmp_path: Path) -> None:
    document = pytest.importorskip("docx").Document()
    table = document.add_table(4, 3)
    fill(table, [["Place", "People", ""], ["", "men", "women"], ["York", "12", "13"], ["Leeds", "14", "15"]])
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(0, 0).text, table.cell(0, 1).text = "Place", "People"
    fill(table.cell(3, 0).add_table(2, 2), [["A", "B"], ["1", "2"]])
    assert told(saved(document, tmp_path / "a.docx"), "a.docx") == [
        "Place: York; People men: 12; People women: 13",
        "Place: Leeds; People men: 14; People women: 15",
        "A: 1; B: 2",
    ]


def test_what_word_marks_decides(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    from docx.oxml import OxmlElement

    document = docx.Document()
    texts = [["Role", "Person"], ["Owner", "Ann"], ["Keeper", "Bob"]]
    unmarked, marked, bold = (document.add_table(3, 2) for _ in range(3))
    for table in (unmarked, marked, bold):
        for i, row in enumerate(texts):
            for j, words in enumerate(row):
                run = table.cell(i, j).paragraphs[0].add_run(words)
                run.bold = table is bold and i == 0
    marked.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    named = ["Role: Owner; Person: Ann", "Role: Keeper; Person: Bob"]
    # Where nothing tells names from labels, nothing is said that is not there.
    assert told(saved(document, tmp_path / "a.docx"), "a.docx") == [
        "Role: Person", "Owner: Ann", "Keeper: Bob", *named, *named,
    ]  # fmt: skip


def test_insertions_content_controls_and_text_boxes_of_word_are_read(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    from docx.oxml import parse_xml

    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    document = docx.Document()
    body = document.element.body
    for xml in (
        f"<w:sdt {word}><w:sdtContent><w:p><w:r><w:t>In a control.</w:t></w:r></w:p></w:sdtContent></w:sdt>",
        f'<w:p {word}><w:r><w:t xml:space="preserve">It is </w:t></w:r><w:ins w:id="1" w:author="x"><w:r><w:t>new</w:t></w:r></w:ins>'
        '<w:del w:id="2" w:author="x"><w:r><w:delText>old</w:delText></w:r></w:del><w:r><w:t>.</w:t></w:r></w:p>',
        f"<w:p {word}><w:r><w:pict><w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></w:txbxContent></w:pict></w:r></w:p>",
    ):
        body.insert(len(body) - 1, parse_xml(xml))
    assert told(saved(document, tmp_path / "a.docx"), "a.docx") == ["In a control.", "It is new.", "In a box."]


def test_merged_cells_of_slides(tmp_path: Path) -> None:
    presentation, table = slide_table(
        [["Place", "People", ""], ["", "men", "women"], ["York", "12", "13"], ["", "14", "15"]]
    )
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(2, 0).merge(table.cell(3, 0))
    assert told(saved(presentation, tmp_path / "a.pptx"), "a.pptx") == [
        "Place: York; People men: 12; People women: 13",
        "Place: York; People men: 14; People women: 15",
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # labels that the page marks
        ("<table><tr><th>Height<td>tall<tr><th>Owner<td>Ann</table>", ["Height: tall", "Owner: Ann"]),
        ("<table><tr><th>A<td>1<th>B<td>2<tr><th>C<td>3<th>D<td>4</table>", ["A: 1; B: 2", "C: 3; D: 4"]),
        # spans, and a caption before the rows
        (
            "<table><caption>Huts</caption><tr><th rowspan=2>Name<th colspan=2>Beds<tr><th>old<th>new"
            "<tr><td>Ann<td>few<td>many</table>",
            ["Huts", "Name: Ann; Beds old: few; Beds new: many"],
        ),
        # a page laid out by tables, in its order
        (
            "<table><tr><td>first<table><tr><th>A<th>B<tr><td>1<td>2</table>between</td><td><p>right<p>side</td></tr>"
            "<tr><td>below<td>last</table>",
            ["first", "A: 1; B: 2", "between", "right", "side", "below", "last"],
        ),
        # a table of data keeps its rows, and what stands in its cells follows
        (
            "<table><tr><th>Name<th>Parts<tr><td>Ann<td>see<table><tr><th>A<th>B<tr><td>1<td>2</table></table>",
            ["Name: Ann; Parts: see", "A: 1; B: 2"],
        ),
        # headings below which nothing stands are words like others
        ("<table><tr><th>A<th>B<tr><th>C<th>D</table>", ["A; B", "A: C; B: D"]),
        ("<table><tr><th>A<th>B<tr><td>1<td>2<tr><th>C<th>D</table>", ["A: 1; B: 2", "A: C; B: D"]),
        ("<table><td>no row<td>of its own</table>", ["no row; of its own"]),
        ("<table><tr><td><p>One.<p>Two.</table>", ["One.", "Two."]),
        ("<table><tr><td><b>Role</b><td><b>Person</b><tr><td>Owner<td>Ann</table>", ["Role: Owner; Person: Ann"]),
        ("<table><tr><td>open<table><tr><td>and never", ["open", "and never"]),
    ],
)
def test_tables_of_pages(body: str, expected: list[str]) -> None:
    assert told(f"<!doctype html>{body}", "a.html") == expected


def test_ten_thousand_tables_in_each_other_lose_no_word() -> None:
    deep = "<table><tr><td>" * 10_000 + "deep words" + "</table>" * 10_000
    assert told(f"<!doctype html><p>first{deep}<p>last", "a.html") == ["first", "deep words", "last"]
    data = "<table><tr><th>A<th>B<tr><td>x<td>y" * 2_000
    assert told(f"<!doctype html>{data}", "a.html")[-1] == "A: x; B: y"


def test_names_that_no_row_uses_are_told_if_they_say_something() -> None:
    def rows(*names: str) -> list[str]:
        head = "".join(f"<th>{name}</th>" for name in names)
        row = "<tr><td>Heron</td><td>1931</td>" + "<td></td>" * (len(names) - 2) + "</tr>"
        return told(f"<!doctype html><table><tr>{head}</tr>{row}</table>", "a.html")

    row = "Boat: Heron; Year: 1931"
    assert rows("Boat", "Year", "Remarks") == [row]
    long = "Template owner: Christian Jansen"
    assert rows("Boat", "Year", long) == [row, long]
    assert rows("Boat", "Year", "A", "B", "C") == [row, "A; B; C"]
    cut = " ".join(f"name{i}" for i in range(20))
    assert rows("Boat", cut)[1:] == [cut]
