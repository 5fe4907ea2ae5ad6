"""Files of each format that hold what is neither a sentence nor a heading, and which of it the readers keep."""

# ruff: noqa: E501 (pieces of XML)
from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from atomr_local.indexing.readers.documents.process import parse

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
C = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
R = f'xmlns:r="{RELATIONS}"'
_DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
_OPEN = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("style", "style"), ("draw", "drawing"),
        ("presentation", "presentation"), ("chart", "chart"), ("svg", "svg-compatible"),
    )
) + ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'  # fmt: skip
_CHART = (
    f"<c:chartSpace {C} {A}><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Catch by year</a:t></a:r></a:p></c:rich></c:tx>"
    "</c:title><c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:strCache><c:pt idx='0'><c:v>Herring</c:v></c:pt>"
    "</c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:strCache><c:pt idx='0'><c:v>1931</c:v></c:pt></c:strCache>"
    "</c:strRef></c:cat><c:val><c:numRef><c:numCache><c:pt idx='0'><c:v>47</c:v></c:pt></c:numCache></c:numRef></c:val>"
    "</c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>"
)
_POINTS = f"<d {A}><a:p><a:r><a:t>Haul the nets</a:t></a:r></a:p></d>"
_PICTURE_WORDS = "A gull on a mast"


@dataclass(frozen=True, slots=True)
class Kept:
    """A format with the pieces that its reader keeps, and those that it loses, by their names."""

    format: str
    kept: tuple[str, ...]
    lost: tuple[str, ...]


def kept_by_format() -> Iterator[Kept]:
    """Each format in turn.

    Raises:
        ImportError: a package is missing that writes files of a format.
    """
    for name, (write, pieces) in _FORMATS.items():
        documents = list(parse(BytesIO(write()), f"a.{name}"))
        headings = " ".join(title for one in documents for _, _, title in one.sections)
        text = " ".join(f"{headings} {one.text}" for one in documents)
        found = {piece: bool(re.search(wanted, " ".join(text.split()))) for piece, wanted in pieces.items()}
        for piece in [piece for piece, there in found.items() if there and piece.startswith("that ")]:
            del found[piece]  # as it should be
        yield Kept(
            name.upper(), tuple(one for one, there in found.items() if there),
            tuple(one for one, there in found.items() if not there),
        )  # fmt: skip


def table() -> list[str]:
    """The rows of the documentation's table."""
    return [
        f"| {one.format} | {', '.join(one.kept) or 'nothing'} | {', '.join(one.lost) or 'nothing'} |"
        for one in kept_by_format()
    ]


def _packed(parts: dict[str, str | bytes]) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return packed.getvalue()


def _relations(*targets: tuple[str, str]) -> str:
    links = "".join(
        f'<Relationship Id="r{i}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for i, (kind, target) in enumerate(targets)
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{links}</Relationships>'
    )


def _with_parts(made: bytes, parts: dict[str, str], change: Callable[[str, bytes], bytes]) -> bytes:
    """A file of Open XML with more parts, each of them XML."""
    with zipfile.ZipFile(BytesIO(made)) as whole:
        return _packed({name: change(name, whole.read(name)) for name in whole.namelist()} | parts)


def _saved(made: Any) -> bytes:
    packed = BytesIO()
    made.save(packed)
    return packed.getvalue()


def _run(text: str, more: str = "") -> str:
    return f'<w:p>{more}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def _docx() -> bytes:
    import docx

    numbered = '<w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="77"/></w:numPr></w:pPr>'
    drawn = "<w:p><w:r><w:drawing><w:inline>{}</w:inline></w:drawing></w:r></w:p>"
    table = "".join(
        "<w:tr>" + "".join(f"<w:tc>{_run(cell)}</w:tc>" for cell in row) + "</w:tr>"
        for row in (("Boat", "Year"), ("Heron", "1931"))
    )
    body = (
        _run("Cast off.", numbered) + _run("Set sail.", numbered) + f"<w:tbl>{table}</w:tbl>"
        + "".join(
            f'<w:p><w:r><w:t>Mark.</w:t></w:r><w:r><w:{kind}Reference w:id="5"/></w:r></w:p>'
            for kind in ("footnote", "endnote", "comment")
        )
        + "<w:p><w:del><w:r><w:delText>Scuttle her.</w:delText></w:r></w:del></w:p>"
        + drawn.format(f"<w:txbxContent>{_run('Beware of the tide.')}</w:txbxContent>")
        + drawn.format(f'<c:chart {C} r:id="x1"/>') + drawn.format(f'<g:relIds xmlns:g="{_DIAGRAM}" r:dm="x2"/>')
        + drawn.format(f'<w:docPr id="1" name="x" descr="{_PICTURE_WORDS}"/>')
        + f"<w:p><m:oMath {M}><m:f><m:num><m:r><m:t>3</m:t></m:r></m:num><m:den><m:r><m:t>8</m:t></m:r></m:den></m:f></m:oMath></w:p>"
    )  # fmt: skip
    parts = {
        "word/chart9.xml": _CHART, "word/data9.xml": _POINTS,
        "word/header9.xml": f"<w:hdr {W}>{_run('Harbour office')}</w:hdr>",
        "word/numbering9.xml": f'<w:numbering {W}><w:abstractNum w:abstractNumId="9"><w:lvl w:ilvl="0"><w:start w:val="1"/>'
        '<w:numFmt w:val="decimal"/><w:lvlText w:val="%1)"/></w:lvl></w:abstractNum><w:num w:numId="77"><w:abstractNumId w:val="9"/></w:num></w:numbering>',
        **{
            f"word/{kind}s9.xml": f'<w:{kind}s {W}><w:{kind} w:id="5" w:author="Ann Lee">{_run(text)}</w:{kind}></w:{kind}s>'
            for kind, text in (("footnote", "It is of oak."), ("endnote", "It was sold."), ("comment", "Ask the crew."))
        },
    }  # fmt: skip
    links = {"x1": ("chart", "chart9"), "x2": ("diagramData", "data9"), "x3": ("header", "header9"),
             "x4": ("numbering", "numbering9"), "x5": ("footnotes", "footnotes9"), "x6": ("endnotes", "endnotes9"),
             "x7": ("comments", "comments9")}  # fmt: skip

    def change(name: str, data: bytes) -> bytes:
        if name == "word/document.xml":
            return data.replace(b"<w:sectPr", f"{body}<w:sectPr".encode(), 1)
        if name == "word/_rels/document.xml.rels":
            data = re.sub(rb'<Relationship [^>]*/numbering"[^>]*/>', b"", data)
            more = "".join(
                f'<Relationship Id="{key}" Type="{RELATIONS}/{kind}" Target="{part}.xml"/>'
                for key, (kind, part) in links.items()
            )
            return data.replace(b"</Relationships>", f"{more}</Relationships>".encode())
        return data

    return _with_parts(_saved(docx.Document()), parts, change)


def _pptx() -> bytes:
    import pptx
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Trips"
    table = slide.shapes.add_table(2, 2, 0, 0, 900, 900).table
    for i, row in enumerate((("Boat", "Year"), ("Heron", "1931"))):
        for j, text in enumerate(row):
            table.cell(i, j).text = text
    slide.notes_slide.notes_text_frame.text = "Speak up."
    data = CategoryChartData()
    data.categories = ["1931"]
    data.add_series("Herring", (47,))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 900, 900, data)
    slide.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "Beware of the tide."
    numbered = slide.placeholders[1].text_frame.paragraphs[0]
    numbered.text = "Cast off."
    numbered._p.get_or_add_pPr().append(
        numbered._p.makeelement(
            "{http://schemas.openxmlformats.org/drawingml/2006/main}buAutoNum", {"type": "arabicPeriod"}
        )
    )

    def change(name: str, data: bytes) -> bytes:
        if name == "ppt/slides/_rels/slide1.xml.rels":
            more = f'<Relationship Id="x1" Type="{RELATIONS}/comments" Target="../comments/c.xml"/>'
            return data.replace(b"</Relationships>", f"{more}</Relationships>".encode())
        return data

    note = '<p:cmLst xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"><p:cm><p:text>Ask the crew.</p:text></p:cm></p:cmLst>'
    return _with_parts(_saved(made), {"ppt/comments/c.xml": note}, change)


def _xlsx() -> bytes:
    import openpyxl
    from openpyxl.chart import BarChart, Reference
    from openpyxl.comments import Comment

    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Boat", "Share", "Price", "Paid"], ["Heron", 0.25, 47, 45000], ["Gull", 0.5, 48, 45001]):
        sheet.append(row)
    for i in (2, 3):
        sheet.cell(i, 2).number_format, sheet.cell(i, 3).number_format = "0%", '#,##0.00 "€"'
        sheet.cell(i, 4).number_format = "d. m. yyyy"
    sheet["A2"].comment = Comment("Ask the crew.", "Ann Lee")
    sheet["F9"] = "=SUM(C2:C3)"
    chart = BarChart()
    chart.title = "Catch by year"
    chart.add_data(Reference(sheet, min_col=3, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "H1")
    hidden = book.create_sheet("Old")
    hidden["A1"], hidden.sheet_state = "Sold in spring.", "hidden"
    return _saved(book)


def _open(sort: str, body: str, *, styles: str = "", more: str = "") -> bytes:
    chart = (
        f"<office:document-content {_OPEN}><office:body><office:chart><chart:chart><chart:title><text:p>Catch by year</text:p>"
        "</chart:title><table:table><table:table-row><table:table-cell><text:p/></table:table-cell><table:table-cell><text:p>"
        "Herring</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>1931</text:p>"
        "</table:table-cell><table:table-cell><text:p>47</text:p></table:table-cell></table:table-row></table:table>"
        "</chart:chart></office:chart></office:body></office:document-content>"
    )
    formula = (
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mi>x</mi><annotation encoding="StarMath 5.0">'
        "3 over 8</annotation></semantics></math>"
    )
    return _packed(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{sort}",
            "META-INF/manifest.xml": "<manifest/>",
            "content.xml": f"<office:document-content {_OPEN}><office:automatic-styles>{more}</office:automatic-styles>"
            f"<office:body><office:{sort}>{body}</office:{sort}></office:body></office:document-content>",
            "styles.xml": f"<office:document-styles {_OPEN}><office:master-styles>{styles}</office:master-styles></office:document-styles>",
            "Object 1/content.xml": chart, "Object 2/content.xml": formula,
        }
    )  # fmt: skip


_OPEN_TABLE = (
    "<table:table table:name='Trips'>"
    + "".join(
        "<table:table-row>"
        + "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row)
        + "</table:table-row>"
        for row in (("Boat", "Year"), ("Heron", "1931"))
    )
    + "</table:table>"
)
_OPEN_NOTE = "<office:annotation><dc:creator>Ann Lee</dc:creator><text:p>Ask the crew.</text:p></office:annotation>"
_OPEN_OBJECT = "<draw:frame>{}<draw:object xlink:href='./Object {}'/></draw:frame>"
_OPEN_PICTURE = f"<draw:frame><draw:image/><svg:desc>{_PICTURE_WORDS}</svg:desc></draw:frame>"


def _odt() -> bytes:
    styles = (
        "<text:list-style style:name='L'><text:list-level-style-number text:level='1' style:num-format='1' "
        "style:num-suffix=')'/></text:list-style>"
    )
    items = "".join(f"<text:list-item><text:p>{one}</text:p></text:list-item>" for one in ("Cast off.", "Set sail."))
    notes = "".join(
        f"<text:p>Mark.<text:note text:note-class='{kind}'><text:note-citation>1</text:note-citation><text:note-body>"
        f"<text:p>{text}</text:p></text:note-body></text:note></text:p>"
        for kind, text in (("footnote", "It is of oak."), ("endnote", "It was sold."))
    )
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>Scuttle her.</text:p></text:deletion>"
        f"</text:changed-region></text:tracked-changes><text:list text:style-name='L'>{items}</text:list>{_OPEN_TABLE}{notes}"
        f"<text:p>Mark.{_OPEN_NOTE}</text:p><text:p><draw:frame><draw:text-box><text:p>Beware of the tide.</text:p>"
        f"</draw:text-box></draw:frame></text:p><text:p>{_OPEN_OBJECT.format('', 1)}</text:p><text:p>It is "
        f"{_OPEN_OBJECT.format('', 2)} wide.</text:p><text:p>See {_OPEN_PICTURE} it.</text:p>"
    )
    margins = "<style:master-page><style:header><text:p>Harbour office</text:p></style:header></style:master-page>"
    return _open("text", body, styles=margins, more=styles)


def _odp() -> bytes:
    body = (
        "<draw:page><draw:frame presentation:class='title'><draw:text-box><text:p>Trips</text:p></draw:text-box></draw:frame>"
        f"<draw:frame><draw:text-box><text:p>Beware of the tide.</text:p></draw:text-box></draw:frame><draw:frame>{_OPEN_TABLE}"
        f"</draw:frame>{_OPEN_OBJECT.format('', 1)}{_OPEN_NOTE}{_OPEN_PICTURE}<presentation:notes><draw:frame><draw:text-box>"
        "<text:p>Speak up.</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>"
    )
    return _open("presentation", body)


def _ods() -> bytes:
    shapes = f"<table:shapes>{_OPEN_OBJECT.format('', 1)}</table:shapes>"
    body = _OPEN_TABLE.replace("<text:p>Heron</text:p>", f"<text:p>Heron</text:p>{_OPEN_NOTE}").replace(
        "<table:table-row>", f"{shapes}<table:table-row>", 1
    )
    hidden = "<table:table table:name='Old' table:display='false'><table:table-row><table:table-cell><text:p>Sold in spring.</text:p></table:table-cell></table:table-row></table:table>"
    return _open("spreadsheet", body + hidden)


_PAGE_PIECES = (
    "<h1>Trips</h1><ol><li>Cast off.</li><li>Set sail.</li></ol><table><tr><th>Boat</th><th>Year</th></tr><tr><td>Heron</td>"
    f"<td>1931</td></tr></table><p>See <img src='x.png' alt='{_PICTURE_WORDS}'/> it.</p><aside>Beware of the tide.</aside>"
    '<p>It is <math><semantics><mi>x</mi><annotation encoding="application/x-tex">w = 3q</annotation></semantics></math></p>'
)


def _html() -> bytes:
    return f"<!doctype html><nav>Menu</nav>{_PAGE_PIECES}<p>Mark.<a href='#n' role='doc-noteref'>1</a></p><aside id='n' role='doc-footnote'>It is of oak.</aside><!-- Scuttle her. -->".encode()


def _epub() -> bytes:
    page = '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>{}</body></html>'
    refer = '<p>Mark.<a epub:type="noteref" href="n.xhtml#n1">1</a></p><h2>Later</h2><p>Then rain.</p>'
    note = '<aside epub:type="endnote" id="n1">It was sold.</aside>'
    items = "".join(f'<item id="{one}" href="{one}.xhtml" media-type="application/xhtml+xml"/>' for one in "cn")
    return _packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="c.opf"/></rootfiles></container>',
            "c.opf": f'<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest>{items}</manifest><spine>'
            '<itemref idref="c"/><itemref idref="n"/></spine></package>',
            "c.xhtml": page.format(_PAGE_PIECES + refer),
            "n.xhtml": page.format(note),
        }
    )


def _markdown() -> bytes:
    return f"# Trips\n\n1. Cast off.\n2. Set sail.\n\n| Boat | Year |\n|---|---|\n| Heron | 1931 |\n\nMark.[^1]\n\n[^1]: It is of oak.\n\n![{_PICTURE_WORDS}](x.png)\n\nIt is $w = 3q$.\n\n<!-- Scuttle her. -->\n".encode()


def _rtf() -> bytes:
    return (
        rb"{\rtf1\ansi{\header Harbour office\par}{\pntext 1)\tab}Cast off.\par\trowd Boat\cell Year\cell\row\trowd Heron"
        rb"\cell 1931\cell\row\pard Mark.{\footnote It is of oak.}\par{\deleted Scuttle her.}\par}"
    )


_LIST, _ROW = r"1[.)] Cast off", r"Boat: Heron; (?:Year|Share): "
_GONE = r"^(?!.*Scuttle)"
_FORMATS: dict[str, tuple[Callable[[], bytes], dict[str, str]]] = {
    "docx": (_docx, {
        "numbers of lists": _LIST, "rows of tables": _ROW, "footnotes": "of oak", "endnotes": "was sold",
        "comments": "Ann Lee: Ask the crew", "headers and footers": "Harbour office", "text boxes": "Beware", "charts": "Catch by year.*1931.*47",
        "SmartArt": "Haul the nets", "formulas": "3/8", "that text was deleted": _GONE, "alternative texts of pictures": _PICTURE_WORDS,
    }),
    "pptx": (_pptx, {
        "numbers of lists": _LIST, "rows of tables": _ROW, "notes": "Speak up", "comments": "Ask the crew", "text boxes": "Beware",
        "charts": "1931.*47",
    }),
    "xlsx": (_xlsx, {
        "rows of tables": _ROW, "percents": "25%", "currencies and units": "47 ?€", "dates": "2023-03-15", "comments": "Ann Lee: Ask the crew",
        "charts": "Catch by year", "hidden sheets": "Sold in spring", "formulas without kept values": "95",
    }),
    "odt": (_odt, {
        "numbers of lists": _LIST, "rows of tables": _ROW, "footnotes": "of oak", "endnotes": "was sold", "comments": "Ann Lee: Ask the crew",
        "headers and footers": "Harbour office", "text boxes": "Beware", "charts": "Catch by year.*1931.*47", "formulas": "3 over 8",
        "that text was deleted": _GONE, "alternative texts of pictures": _PICTURE_WORDS,
    }),
    "odp": (_odp, {
        "rows of tables": _ROW, "notes": "Speak up", "comments": "Ann Lee: Ask the crew", "text boxes": "Beware",
        "charts": "Catch by year.*1931.*47", "alternative texts of pictures": _PICTURE_WORDS,
    }),
    "ods": (_ods, {
        "rows of tables": _ROW, "comments": "Ann Lee: Ask the crew", "charts": "Catch by year.*1931.*47", "hidden sheets": "Sold in spring",
    }),
    "epub": (_epub, {
        "numbers of lists": _LIST, "rows of tables": _ROW, "endnotes of other chapters, at their place": r"Mark\. It was sold\. Then",
        "boxes": "Beware", "formulas with TeX": "w = 3q", "alternative texts of pictures": _PICTURE_WORDS,
    }),
    "html": (_html, {
        "numbers of lists": _LIST, "rows of tables": _ROW, "footnotes": "of oak", "boxes": "Beware", "formulas with TeX": "w = 3q",
        "that menus are none of it": "^(?!.*Menu)", "that comments are hidden": _GONE, "alternative texts of pictures": _PICTURE_WORDS,
    }),
    "md": (_markdown, {
        "numbers of lists": _LIST, "rows of tables": _ROW, "footnotes": "of oak", "formulas": "w = 3q", "that comments are hidden": _GONE,
        "alternative texts of pictures": _PICTURE_WORDS,
    }),
    "rtf": (_rtf, {
        "numbers of lists": _LIST, "rows of tables": _ROW, "footnotes": "of oak", "headers and footers": "Harbour office",
        "that text was deleted": _GONE,
    }),
}  # fmt: skip
