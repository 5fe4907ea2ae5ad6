"""Pages of HTML and chapters of books: forms, what is hidden, notes and boxes beside the text, and encodings."""

from __future__ import annotations

import pytest
from support.office_files import e_book
from support.read_documents import headings_above, read_document

from atomr_local.indexing.readers.documents import html as html_reader
from atomr_local.indexing.readers.documents.document import Document, UnreadableError


def read(body: str | bytes) -> Document:
    page = body if isinstance(body, bytes) else f"<!DOCTYPE html><html><body>{body}</body></html>"
    return read_document(page, "a.html")


def test_of_a_form_the_controls_go_and_what_stands_in_it_stays() -> None:
    controls = "<input value=x><button>Send</button><select><option>One</select><textarea>note</textarea>"
    page = f"<form><h1>Rules</h1><p>Off on 15 May.</p>{controls}<h2>Keys</h2><p>With Tomas.</p></form>"
    found = read(f"{page}<form role=search><label>Find</label></form><search>Find</search>")
    assert found.text == "Off on 15 May.\n\nWith Tomas."
    assert headings_above(found, "With") == ["Rules", "Keys"]


def test_what_is_hidden_until_found_is_text() -> None:
    shown = "<section hidden='until-found'><p>Founded in 750.</p></section>"
    assert read(f"<p>Birka.</p>{shown}<p hidden>Draft.<p hidden=hidden>Draft.").text == "Birka.\n\nFounded in 750."


_NOTE = "<p>Some say 1811.</p>"


@pytest.mark.parametrize(
    ("link", "note", "said"),
    [
        ('<a href="#n" epub:type="noteref">1</a>', f'<aside id="n" epub:type="footnote">{_NOTE}</aside>', "in 1812."),
        ('<a href="#n" role="doc-noteref"><sup>1</sup></a>', f'<li id="n" role="doc-footnote">{_NOTE}</li>', "in 1812."),
        ('<a href="#n" role="doc-noteref">*</a>', f'<div id="n">{_NOTE}</div>', "in 1812."),
        ('<a href="#n" class="footnote-ref"><sup>1</sup></a>', '<ol><li id="n">Some say 1811.'
         '<a href="#r" class="footnote-back">↩</a></ol>', "in 1812."),
        ('<sup><a href="#n">1</a></sup>', f'<div class="footnote-definition" id="n">{_NOTE}</div>', "in 1812.[1]"),
        ('<a href="#n">1</a>', f'<aside id="n" epub:type="footnote">{_NOTE}</aside>', "in 1812.[1]"),
    ],
)  # fmt: skip
def test_a_footnote_stands_behind_its_paragraph(link: str, note: str, said: str) -> None:
    found = read(f"<h1>Ferries</h1><p>It ran in 1812.{link}</p><p>It sank.</p><h2>Boats</h2><p>Two.</p>{note}")
    assert found.text == f"It ran {said}\n\nSome say 1811.\n\nIt sank.\n\nTwo."
    assert headings_above(found, "Some say") == ["Ferries"]


def test_notes_that_name_each_other_are_written_once_and_those_without_link_where_they_stand() -> None:
    notes = "".join(
        f'<aside id="{name}" role="doc-footnote"><p>Note {name}.<a href="#{other}">x</a></p></aside>'
        for name, other in (("a", "b"), ("b", "a"))
    )
    lone = '<aside epub:type="footnote" id="c"><p>Note c.</p></aside>'
    found = read(f"<p>One.<a href='#a'>1</a></p><p>Two.</p>{notes}{lone}<p>Three.</p>")
    assert found.text == "One.[1]\n\nNote a.x\n\nNote b.x\n\nTwo.\n\nNote c.\n\nThree."


def test_a_number_that_links_within_the_page_stays_a_number() -> None:
    assert read("<p>See section <a href='#s3'>3</a>, or <a href='b.html'>4</a>.</p>").text == "See section 3, or 4."
    assert (
        read("<p>In 1812<a href='#c'><i>[</i>1<i>]</i></a> and (<a href='#d'>2</a>).</p>").text == "In 1812[1] and (2)."
    )


def test_a_box_beside_the_text_is_text_and_its_headings_end_with_it() -> None:
    box = "<aside class=sidebar><h2>Cable ferries</h2><p>A rope guides it.</p></aside>"
    found = read(f"<h1>Ferries</h1><h2>History</h2><p>From 1812.</p>{box}<p>Until 1920.</p><h3>Crew</h3><p>Two.</p>")
    assert found.text == "From 1812.\n\nA rope guides it.\n\nUntil 1920.\n\nTwo."
    assert headings_above(found, "A rope")[-1] == "Cable ferries"
    assert headings_above(found, "Until") == ["Ferries", "History"]
    assert headings_above(found, "Two") == ["Ferries", "History", "Crew"]
    links = "<aside><h2>See also</h2><ul><li><a href=/a>Another page</a><li><a href=/b>One more</a></ul></aside>"
    assert read(f"<p>Text.</p>{links}<p>More.").text == "Text.\n\nMore."


def test_a_box_of_facts_names_its_values() -> None:
    rows = "".join(
        f"<div><h3>{name}</h3><div>{value}</div></div>" for name, value in (("Captain", "Elin"), ("Length", "31 m"))
    )
    found = read(f"<h1>Skarven</h1><aside class='portable-infobox'><h2>Skarven</h2>{rows}</aside><p>A ship.</p>")
    assert found.text == "Captain: Elin\n\nLength: 31 m\n\nA ship."
    assert headings_above(found, "A ship") == ["Skarven"]


def test_asides_and_notes_of_a_book() -> None:
    chapter = (
        '<h1>One</h1><p>In that year<a href="#n" epub:type="noteref">1</a> it began.</p><p>Two ships.</p>'
        '<aside epub:type="sidebar"><h2>Ropes</h2><p>A rope.</p></aside>'
        '<aside epub:type="footnote" id="n"><p>1 It was 1904.</p></aside>'
    )
    assert (
        read_document(e_book({"a.xhtml": chapter})).text
        == "In that year it began.\n\n1 It was 1904.\n\nTwo ships.\n\nA rope."
    )


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("gb2312", "utf-8", "Müller wohnt in Köln; 谷歌 äöü."),
        ("utf-8", "cp1252", "Müller wohnt in Köln, Größe 12 m²."),
        ("gb2312", "gb18030", "会议由朱镕基主持，费用 €50。"),
        ("shift_jis", "cp932", "担当は髙橋さん、①号室、～17時。"),
        ("x-sjis", "cp932", "担当は髙橋さんです。"),
        ("euc-kr", "cp949", "담당자는 똠방각하 입니다."),
        ("ks_c_5601-1989", "cp949", "담당자는 똠방각하 입니다."),
        ("windows-949", "cp949", "담당자는 똠방각하 입니다."),
        ("windows-31j", "cp932", "担当は髙橋さんです。"),
        ("iso-8859-9", "cp1254", "“İzmir” güzel"),
        ("windows-874", "cp874", "ประชุมวันจันทร์"),
        ("x-mac-cyrillic", "mac-cyrillic", "Встреча в четверг."),
        ("iso-8859-8-i", "iso8859-8", "שלום עולם"),
        ("big5", "big5", "會議由主持"),
        ("utf-16", "utf-8", "Müller"),
        ("nonsense", "cp1252", "Café à la crème"),
    ],
)
def test_labels_of_encodings_as_browsers_read_them(label: str, codec: str, text: str) -> None:
    page = f'<html><head><meta charset="{label}"></head><body><p>{text}</p></body></html>'
    assert read(page.encode(codec)).text == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>About 10<sup>6</sup> cells, 10<sup>−3</sup> m.</p>", "About 10^6 cells, 10^−3 m."),
        ("<p>Base 1011<sub>2</sub>.</p>", "Base 1011_2."),
        ("<p>H<sub>2</sub>O, the 4<sup>th</sup> day.</p>", "H2O, the 4th day."),
        ("<p>In 1812<sup><b>3</b></sup> it burned.</p>", "In 1812^3 it burned."),
    ],
)
def test_raised_and_lowered_digits_are_no_part_of_the_number_before_them(body: str, text: str) -> None:
    assert read(body).text == text


def test_a_raised_digit_in_a_cell_is_no_part_of_its_number() -> None:
    table = "<table><tr><th>Star</th><th>Mass</th></tr><tr><td>Sol</td><td>2·10<sup>30</sup></td></tr></table>"
    assert read(table).text == "Star: Sol; Mass: 2·10^30"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<ol><li>one<li><p>two</p><li>three</ol>", "1. one\n\n2. two\n\n3. three"),
        ("<ol start=5><li>five<ol type=a><li>sub</ol><li value=9>nine<li>ten</ol>", "5. five\n\na. sub\n\n9. nine\n\n10. ten"),
        ("<ul><li>point</ul><ol start=x><li><li>two</ol><li>stray", "point\n\n2. two\n\nstray"),
        ("<p>x<a href='#n' role=doc-noteref>1</a></p><ol><li id=n>a note</ol>", "x\n\na note"),
    ],
)  # fmt: skip
def test_items_of_ordered_lists_keep_their_numbers(body: str, text: str) -> None:
    assert read(body).text == text


@pytest.mark.parametrize(
    ("link", "note", "expected"),
    [
        ('<a epub:type="noteref" href="notes.xhtml#n1">1</a>', '<aside epub:type="endnote" id="n1">Sold.</aside>',
         "It sank.\n\nSold.\n\nLater.\n\nNotes end."),
        ('<a epub:type="noteref" href="../b/notes.xhtml#n1">1</a>', '<ol><li id="n1">Sold.</li></ol>',
         "It sank.\n\nSold.\n\nLater.\n\nNotes end."),
        ('<sup><a href="notes.xhtml#n1">1</a></sup>', '<p id="n1">Sold.</p>', "It sank.[1]\n\nSold.\n\nLater.\n\nNotes end."),
        ('<a epub:type="noteref" href="other.xhtml#n1">1</a>', '<p id="n1">Sold.</p>', "It sank.\n\nLater.\n\nSold.\n\nNotes end."),
        ('<a href="http://example.org/notes.xhtml#n1">1</a>', '<p id="n1">Sold.</p>', "It sank.1\n\nLater.\n\nSold.\n\nNotes end."),
    ],
)  # fmt: skip
def test_endnotes_of_another_chapter_stand_behind_their_paragraph(link: str, note: str, expected: str) -> None:
    made = e_book({"one.xhtml": f"<p>It sank.{link}</p><p>Later.</p>", "notes.xhtml": f"{note}<p>Notes end.</p>"})
    assert read_document(made).text == expected


def test_chapters_that_are_too_large_to_hold_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_reader, "_MOST_CHAPTERS", 1_000)
    with pytest.raises(UnreadableError, match="its chapters have more than"):
        read_document(e_book(dict.fromkeys(("one.xhtml", "two.xhtml"), f"<p>{'x' * 900}</p>")))
