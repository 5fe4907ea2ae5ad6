"""Characters that are no plain letters in a file: hyphens, symbols, tabs, readings, and what was deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.office_files import open_text, word_file, word_runs
from support.read_documents import read_document
from support.read_files import saved

from atomr_local.indexing.readers.documents.symbols import symbol

docx, pptx = (pytest.importorskip(name) for name in ("docx", "pptx"))

_RUBY = (
    "<w:r><w:ruby><w:rubyPr/><w:rt><w:r><w:t>ち</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>智</w:t></w:r></w:rubyBase>"
    "</w:ruby></w:r>"
)
_RAISED = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>{}</w:t></w:r>'
_LOWERED = _RAISED.replace("superscript", "subscript")
_M = "<m:r><m:t>{}</m:t></m:r>"
_FIELD = '<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{}</w:ffData></w:fldChar></w:r>'


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ("The effect came 1{w:noBreakHyphen/}24 hours later.", "The effect came 1-24 hours later."),
        ("Patients {w:sym w:font='Symbol' w:char='F0B3'/} 12 years", "Patients ≥ 12 years"),
        ("Patients {w:sym w:font='Symbol' w:char='00A3'/} 5", "Patients ≤ 5"),
        ("5 {w:sym w:font='Symbol' w:char='F06D'/}g", "5 μg"),
        ("{w:sym w:font='Wingdings' w:char='F0FE'/} paid, see {w:sym w:font='Wingdings' w:char='F082'/}", "☑ paid, see ②"),
        ("1 {w:sym w:font='Arial' w:char='2265'/} 0{w:sym w:font='Arial' w:char='odd'/}", "1 ≥ 0"),
        ("Total{w:ptab w:relativeTo='margin' w:alignment='right' w:leader='dot'/}EUR 90", "Total EUR 90"),
        ("Total{w:tab/}90{w:br/}12{w:cr/}7", "Total 90\n12\n7"),
        ("co{w:softHyphen/}operation, hyph\xadens, 555\xad0142", "cooperation, hyphens, 555-0142"),
    ],
)  # fmt: skip
def test_no_character_of_word_is_lost(runs: str, expected: str) -> None:
    assert read_document(word_file(word_runs(runs)), "a.docx").text == expected


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        # letters of a font of symbols, told by their run
        ('<w:r><w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><w:t>\uf0b3</w:t></w:r><w:r><w:t> 12 \uf0b3</w:t></w:r>', "≥ 12 \uf0b3"),
        ('<w:r><w:t>5 </w:t></w:r><w:r><w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><w:t>m</w:t></w:r><w:r><w:t>g</w:t></w:r>', "5 μg"),
        ('<w:r><w:rPr><w:rFonts w:ascii="Wingdings" w:hAnsi="Wingdings"/></w:rPr><w:t>à</w:t></w:r><w:r><w:t> 12</w:t></w:r>', "→ 12"),
        # raised digits are none of the number before them
        ("<w:r><w:t>10</w:t></w:r>" + _RAISED.format("6") + "<w:r><w:t> m</w:t></w:r>" + _RAISED.format("2"), "10^6 m2"),
        ("<w:r><w:t>5·10</w:t></w:r>" + _RAISED.format("-3") + "<w:r><w:t>, the 1</w:t></w:r>" + _RAISED.format("st"), "5·10^-3, the 1st"),
        ("<w:r><w:t>H</w:t></w:r>" + _LOWERED.format(2) + "<w:r><w:t>0 m</w:t></w:r>" + _RAISED.format(2) + _RAISED.format(3), "H2 0 m23"),
        ("<w:r><w:t>H</w:t></w:r>" + _LOWERED.format(2) + "<w:r><w:t>O, 101</w:t></w:r>" + _LOWERED.format(2), "H2O, 101_2"),
        # formulas on one line
        (f"<m:oMath>{_M.format(2)}<m:f><m:num>{_M.format(1)}</m:num><m:den>{_M.format('2x')}</m:den></m:f></m:oMath>", "2 1/(2x)"),
        (f"<m:oMath><m:f><m:num>{_M.format('a + b')}</m:num><m:den>{_M.format(2)}</m:den></m:f></m:oMath>", "(a + b)/2"),
        (f"<m:oMath><m:sSup><m:e>{_M.format(10)}</m:e><m:sup>{_M.format(6)}</m:sup></m:sSup></m:oMath>", "10^6"),
        (f"<m:oMath><m:rad><m:deg/><m:e>{_M.format(9)}</m:e></m:rad></m:oMath>", "√9"),
        # deleted, with marks that would stay; moved away; inserted
        ("<w:r><w:t>1</w:t></w:r><w:del><w:r><w:noBreakHyphen/><w:delText>2</w:delText><w:sym w:char='0033'/></w:r></w:del>"
         "<w:moveFrom><w:r><w:t>3</w:t></w:r></w:moveFrom><w:ins><w:r><w:t>4</w:t></w:r></w:ins>", "14"),
        # fields: their results, what is chosen in a form, and no code
        ('<w:fldSimple w:instr="DATE"><w:r><w:t>4 May</w:t></w:r></w:fldSimple><w:r><w:instrText>PAGE 7</w:instrText></w:r>', "4 May"),
        (_FIELD.format('<w:ddList><w:result w:val="1"/><w:listEntry w:val="red"/><w:listEntry w:val="blue"/></w:ddList>'), "blue"),
        (_FIELD.format("<w:ddList/>") + _FIELD.format('<w:checkBox><w:checked/></w:checkBox>')
         + _FIELD.format('<w:checkBox><w:default w:val="0"/></w:checkBox>'), "☒☐"),
        # tab stops are none
        ('<w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>a</w:t></w:r>', "a"),
        (f"{_RUBY}<w:r><w:t>に働けば</w:t></w:r>", "智(ち)に働けば"),
    ],
)  # fmt: skip
def test_what_a_paragraph_of_word_shows_is_its_text(paragraph: str, expected: str) -> None:
    assert read_document(word_file(f"<w:p>{paragraph}</w:p>"), "a.docx").text == expected


def test_footnotes_keep_their_hyphens_and_deleted_ones_go() -> None:
    references = "".join(
        f'<w:{mark}><w:r><w:footnoteReference w:id="{i}"/></w:r></w:{mark}>' for i, mark in ((2, "ins"), (3, "del"))
    )
    notes = "".join(
        f'<w:footnote w:id="{i}">{word_runs(words)}</w:footnote>'
        for i, words in ((0, "separator"), (2, "After 1{w:noBreakHyphen/}24 hours."), (3, "Gone."))
    )
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    made = word_file(
        f"<w:p><w:r><w:t>It works.</w:t></w:r>{references}</w:p>",
        relations={"n": ("footnotes", "footnotes.xml")},
        parts={"word/footnotes.xml": f"<w:footnotes {word}>{notes}</w:footnotes>"},
    )
    assert read_document(made, "a.docx").text == "It works.\n\nAfter 1-24 hours."


@pytest.mark.parametrize(
    ("font", "code", "expected"),
    [
        ("Symbol", 0x61, "α"), ("symbol", 0xF0B1, "±"), ("Wingdings 2", 0xF050, "✓"), ("Webdings", 0xF061, "✓"),
        ("Wingdings", 0xF0E0, "→"), ("Unknown", 0xF0E0, "\uf0e0"), ("Symbol", 0x2265, "≥"), ("Symbol", 0xF0F0, "\uf0f0"),
    ],
)  # fmt: skip
def test_fonts_of_symbols(font: str, code: int, expected: str) -> None:
    assert symbol(font, code) == expected


def test_paragraphs_of_slides_keep_breaks_fields_and_symbols(tmp_path: Path) -> None:
    from lxml import etree

    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Sales\vof 2019"
    frame = slide.placeholders[1].text_frame
    frame.text = "In 2019\v45 % more"
    for xml in (
        '<a:fld {} id="{{1}}" type="datetime1"><a:t> on 4 May, </a:t></a:fld>',
        '<a:r {}><a:rPr><a:latin typeface="Symbol"/></a:rPr><a:t>\uf0b3</a:t></a:r>',
        '<a:r {}><a:rPr baseline="30000"/><a:t>2</a:t></a:r>',
        '<a:r {}><a:rPr baseline="0"><a:latin typeface="Arial"/><a:sym typeface="Wingdings"/></a:rPr><a:t> 3 \uf0e0 m</a:t></a:r>',
        '<a:fld {} id="{{2}}" type="slidenum"><a:t>17</a:t></a:fld>',
    ):
        declared = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
        frame.paragraphs[0]._p.append(etree.fromstring(xml.format(declared)))
    slide.notes_slide.notes_text_frame.text = "Say it\vslowly."
    found = read_document(saved(presentation, tmp_path / "a.pptx"))
    assert found.text == "In 2019\n45 % more on 4 May, ≥2 3 → m\n\nSay it\nslowly."
    assert found.sections == [(0, 1, "Sales of 2019")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # a note and a box in a paragraph glue no numbers together
        ('<text:p>It takes 24<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>5 of them'
         "</text:p></text:note-body></text:note> hours.</text:p>", "It takes 24 hours.\n\n5 of them"),
        ("<text:p>See 1<draw:frame><draw:text-box><text:p>In a box.</text:p></draw:text-box></draw:frame>2</text:p>",
         "See 12\n\nIn a box."),
        ("<table:table><table:table-row><table:table-cell><text:p>7<text:note><text:note-body><text:p>a note</text:p>"
         "</text:note-body></text:note></text:p></table:table-cell><table:table-cell><text:p>8</text:p></table:table-cell>"
         "</table:table-row></table:table>", "7; 8\n\na note"),
        ("<text:p><text:ruby><text:ruby-base>智</text:ruby-base><text:ruby-text>ち</text:ruby-text></text:ruby>に</text:p>",
         "智(ち)に"),
        ("<text:p>Plant the <text:span>beans</text:span><text:s/>in May.</text:p>", "Plant the beans in May."),
        ("<text:p>hyph\xadens at 555\xad0142<text:tab/>x</text:p>", "hyphens at 555-0142 x"),
    ],
)  # fmt: skip
def test_paragraphs_of_opendocument(body: str, expected: str) -> None:
    assert read_document(open_text(body), "a.odt").text == expected


def test_styles_of_opendocument_change_no_number() -> None:
    styles = "".join(
        f'<style:style style:name="{name}"><style:text-properties {look}/></style:style>'
        for name, look in (
            ("up", 'style:text-position="super 58%"'),
            ("down", 'style:text-position="sub 58%"'),
            ("greek", 'style:font-name="Symbol"'),
        )
    )
    spans = '10<text:span text:style-name="{}">{}</text:span>'
    body = ", ".join(spans.format(*one) for one in (("up", 6), ("down", 2), ("greek", "\uf0b3 5"), ("x", 3)))
    assert read_document(open_text(f"{styles}<text:p>{body}</text:p>"), "a.odt").text == "10^6, 10_2, 10≥ 5, 103"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p><ruby>智<rt>ち</rt></ruby>に<ruby>角<rp>(</rp><rt>かど</rt><rp>)</rp></ruby>が", "智(ち)に角(かど)が"),
        ("<p><ruby>食<rt>た</rt>べ<rt></rt></ruby>る", "食(た)べる"),
        ("<p><ruby>攻<rt>こう<rt>かく</ruby>x", "攻(こう)(かく)x"),
        ("<table><tr><th>A<th>B<tr><td><ruby>智<rt>ち</rt></ruby><td>1</table>", "A: 智(ち); B: 1"),
    ],
)
def test_readings_of_characters_on_pages(body: str, expected: str) -> None:
    assert read_document(f"<!doctype html>{body}", "a.html").text == expected
