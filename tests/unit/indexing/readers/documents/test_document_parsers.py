from __future__ import annotations

import codecs
import json
import mailbox
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path

import pytest
from support.office_files import e_book
from support.read_documents import place_of, read_document, titles_before
from support.read_files import fill, saved

from atomr_local.indexing.readers.documents import mail as mail_reader
from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.kinds import are_documents, document_kind
from atomr_local.indexing.readers.documents.process import parse
from atomr_local.indexing.readers.tables import column_name


def test_markdown_gives_front_matter_headings_lines_and_tables() -> None:
    pytest.importorskip("yaml")
    document = read_document(
        "---\ntitle: Walks\naliases:\n  - Tours\ntags: hiking, alps\n---\n\n# Alps\n\nThe **Zinal** hut is\nhigh: [[Sierre|a town]].\n\n"
        "## Huts\n\n- one\n- two\n\n| Hut | Beds |\n|---|---|\n| Mountet | 120 |\n\n```\ncode()\n```\n",
        "walks.md",
    )
    assert (document.title, document.aliases, document.details) == ("Walks", ["Tours"], {"tags": "hiking, alps"})
    assert document.text.split("\n") == [
        "The Zinal hut is high: a town.",
        "one",
        "two",
        "Hut: Mountet; Beds: 120",
        "code()",
    ]
    assert [(level, title) for _, level, title in document.sections] == [(1, "Alps"), (2, "Huts")]
    assert (place_of(document, "Zinal"), place_of(document, "two"), place_of(document, "code")) == (10, 16, 22)
    assert place_of(document, "high") == 11  # its own line, though the paragraph is one
    assert titles_before(document, "Mountet") == ["Alps", "Huts"]


def test_each_row_of_a_markdown_table_stands_on_its_own_line() -> None:
    source = "Before.\n\n| Hut | Beds |\n|---|---|\n| Mountet | 120 |\n| Tracuit | 116 |\n\nAfter.\n\n| 1 | 2 |\n|---|---|\n| 3 | 4 |\n"
    document = read_document(source, "walks.md")
    lines = source.split("\n")
    assert (place_of(document, "Before"), place_of(document, "After")) == (1, 8)
    for row in ("Mountet", "Tracuit"):
        assert row in lines[int(str(place_of(document, row))) - 1]
    # A table without names of columns begins with its first row.
    assert (place_of(document, "1; 2"), place_of(document, "3; 4")) == (10, 12)


def test_front_matter_that_is_no_yaml_is_told_and_the_text_read() -> None:
    pytest.importorskip("yaml")
    document = read_document("---\ntitle: [\n---\nThe text.", "x.md")
    assert (document.title, document.text, document.notes) == ("", "The text.", ["its front matter is no YAML"])


def test_wrapped_lines_of_plain_text_are_joined_and_others_are_not() -> None:
    document = read_document(
        "This line was wrapped by somebody whose editor\nhas a fixed width of lines. It ends.\n\n- one\n- two\n",
        "a.txt",
    )
    assert document.text.split("\n") == [
        "This line was wrapped by somebody whose editor has a fixed width of lines. It ends.", "- one", "- two",
    ]  # fmt: skip
    assert (place_of(document, "wrapped"), place_of(document, "fixed width"), place_of(document, "two")) == (1, 2, 5)
    code = read_document("def area(r):\n    return 3 * r\n", "a.py")
    assert (code.text, code.place_kind, place_of(code, "return")) == ("def area(r):\n    return 3 * r", "line", 2)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_texts_in_other_encodings(encoding: str) -> None:
    pytest.importorskip("charset_normalizer")
    text = "Die Größe der Häuser überrascht die Gäste in Zürich, München und Köln sehr häufig."
    assert read_document(text.encode(encoding), "a.txt").text == text


def test_html_leaves_scripts_and_navigation_out() -> None:
    document = read_document(
        "<!doctype html><title>Bees — a page</title><meta name=author content='A. B.'><nav>menu</nav><script>evil()</script>"
        "<h1>Bees</h1><p>Bees make <b>honey</b>.<p>More.<h2>Hives</h2><table><tr><th>Kind<th>Frames<tr><td>Dadant<td>12</table>"
    )
    assert (document.title, document.details) == ("Bees — a page", {"author": "A. B."})
    assert document.text == "Bees make honey.\n\nMore.\nKind: Dadant; Frames: 12"
    assert titles_before(document, "Dadant") == ["Bees", "Hives"]


def test_formulas_of_a_page_are_read_as_tex() -> None:
    def math(inside: str) -> str:
        return f"<math><semantics><mrow><mi>w</mi></mrow>{inside}</semantics></math>"

    tex, star = (
        '<annotation encoding="application/x-tex">w =\n 3 q</annotation>',
        '<annotation encoding="StarMath">x</annotation>',
    )
    document = read_document(f"<!doctype html><p>It is {math(tex)} or {math(star)} or {math('')}.<p>{math(tex)[:-20]}")
    assert document.text.split("\n\n")[0] == "It is w = 3 q or  or ."


def test_a_page_in_the_encoding_that_it_declares() -> None:
    source = '<html><head><meta charset="iso-8859-2"></head><body>Łódź leży w Polsce.</body></html>'
    assert read_document(source.encode("iso-8859-2")).text == "Łódź leży w Polsce."


def test_rows_of_a_table_have_the_names_of_their_columns_and_their_cells() -> None:
    document = read_document('Name;Born\r\n"Ann; Lee";1912\r\n\r\nBo;1920\r\n', "people.csv")
    assert document.text == "Name: Ann; Lee; Born: 1912\nName: Bo; Born: 1920"
    assert place_of(document, "Bo;") == "A4:B4"
    assert [column_name(i) for i in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]


def test_spreadsheets_know_their_sheets(tmp_path: Path) -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.title = "Rents"
    for row in (["Street", "Rent"], ["Elm Street", 900.0], ["Oak Road", 950.5]):
        book.active.append(row)
    book.create_sheet("Empty")
    document = read_document(saved(book, tmp_path / "wrong.txt"), "wrong.txt")  # by its content, not its name
    assert document.text == "Street: Elm Street; Rent: 900\nStreet: Oak Road; Rent: 950.5"
    assert (place_of(document, "Oak"), titles_before(document, "Oak")) == ("Rents!A3:B3", ["Rents"])


def test_word_documents(tmp_path: Path) -> None:
    document = pytest.importorskip("docx").Document()
    document.core_properties.title = "Sailing"
    document.add_heading("Knots", 1)
    document.add_paragraph("The bowline makes a loop.")
    document.add_heading("History", 2)
    fill(document.add_table(2, 2), [["Knot", "Year"], ["Reef", "1627"]])
    found = read_document(saved(document, tmp_path / "a.docx"))
    assert (found.title, found.text) == ("Sailing", "The bowline makes a loop.\nKnot: Reef; Year: 1627")
    assert found.sections == [(0, 1, "Knots"), (26, 2, "History")]


_MATH_XML = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def test_shapes_with_formulas_are_read(tmp_path: Path) -> None:
    pptx = pytest.importorskip("pptx")
    from lxml import etree

    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Loads", "The load is at most"
    shape = slide.placeholders[1]._element
    paragraph = next(shape.iter("{http://schemas.openxmlformats.org/drawingml/2006/main}p"))
    etree.SubElement(paragraph, f"{{{_MATH_XML}}}t").text = " w = 3q"
    compatible = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
    alternatives = etree.SubElement(shape.getparent(), f"{compatible}AlternateContent")
    etree.SubElement(alternatives, f"{compatible}Choice").append(shape)
    etree.SubElement(alternatives, f"{compatible}Fallback")
    assert read_document(saved(presentation, tmp_path / "a.pptx")).text == "The load is at most w = 3q"


def test_presentations_know_their_slides(tmp_path: Path) -> None:
    pptx = pytest.importorskip("pptx")
    presentation = pptx.Presentation()
    for number in (1, 2):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = f"Budget {number}"
        slide.placeholders[1].text = f"The harbour costs {number} million."
    slide.notes_slide.notes_text_frame.text = "Say it slowly."
    found = read_document(saved(presentation, tmp_path / "a.pptx"))
    assert (place_of(found, "2 million"), place_of(found, "slowly"), titles_before(found, "2 million")[-1]) == (
        2,
        2,
        "Budget 2",
    )


def test_e_books_in_reading_order() -> None:
    chapters = {"two.xhtml": "<h1>Two</h1><p>It came back.</p>", "ch 1.xhtml": "<h1>One</h1><p>The ship left.</p>"}
    metadata = "<dc:title>The Sea</dc:title><dc:creator>A. B.</dc:creator>"
    document = read_document(e_book(chapters, metadata, spine=("ch 1.xhtml", "two.xhtml")))
    assert (document.title, document.details) == ("The Sea", {"author": "A. B."})
    assert document.text == "The ship left.\n\nIt came back."
    assert titles_before(document, "It came") == ["One", "Two"]


def test_rich_text() -> None:
    pytest.importorskip("striprtf")
    document = read_document(
        r"{\rtf1\ansi{\info{\title My letter}}\pard Dear Ann,\par the key lies under the \b third\b0  stone.\par}"
    )
    assert (document.title, document.text) == ("My letter", "Dear Ann,\n\nthe key lies under the third stone.")


def message(number: int) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "Ann <ann@example.org>", f"Boiler {number}"
    mail["Date"] = "Mon, 05 Feb 2024 10:00:00 +0000"
    mail.set_content(f"The boiler was repaired\non day {number}.\nFrom here on it works.\n")
    return mail


def test_e_mail_names_what_is_attached() -> None:
    mail = message(1)
    mail.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="bill.pdf")
    document = read_document(bytes(mail))
    assert document.title == "Boiler 1"
    assert "The boiler was repaired on day 1. From here on it works." in document.text
    assert document.text.endswith("Attachments: bill.pdf")
    assert document.notes == ["1 attachment was not read"]


def test_notebooks_know_their_cells() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Tides\n", "High water is at noon."]},
        {"cell_type": "code", "source": "print(12)", "outputs": [{"output_type": "stream", "text": ["12\n"]}]},
        "broken",
    ]
    document = read_document(json.dumps({"nbformat": 4, "cells": cells}), "a.ipynb")
    assert (document.text, place_of(document, "print")) == ("High water is at noon.\nprint(12)\n12", 2)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "it is empty"),
        (b"\x00\x01\x02" * 9, "neither text nor"),
        (b"\x89PNG\r\n\x1a\n" + bytes(9), "a PNG image"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "before 2007, or one that is encrypted"),
        (b"PK\x03\x04" + bytes(50), "damaged ZIP"),
        (b"   \n", "it has no text"),
    ],
)
def test_what_is_no_document_is_told(data: bytes, problem: str) -> None:
    with pytest.raises(UnreadableError, match=problem):
        read_document(data, "x.txt")


def test_files_of_articles_are_no_documents(tmp_path: Path) -> None:
    corpus, note = tmp_path / "c.txt", tmp_path / "n.md"
    corpus.write_text('{"id": "1", "title": "x", "text": "y"}')
    note.write_text("# Note")
    assert not are_documents([corpus])
    assert not are_documents([corpus, note])
    assert are_documents([note])
    assert are_documents([tmp_path, corpus])


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.html", "<h1>Bees</h1>\n<p>Bees make <em>honey</em>.</p>"),
        ("a.txt", '<h1 id="bees">Bees</h1>\n<p>Bees make honey.</p>'),  # pandoc without -s
        ("a", "<head><meta name=x content=y></head><p>Bees make honey."),
        ("a.dat", "<!-- saved -->\n<P>Bees make<BR>\nhoney.<P>They sting."),
        ("a.htm", "Bees make <b>honey</b>."),
        ("a.xml", '<?xml version="1.0"?>\n<div xmlns="http://www.w3.org/1999/xhtml"><p>Bees make honey.</p></div>'),
    ],
)
def test_fragments_of_html_are_told_by_their_content(name: str, source: str) -> None:
    assert document_kind(BytesIO(source.encode()), name) == "html"
    assert "<" not in read_document(source, name).text


@pytest.mark.parametrize(
    ("name", "source", "kind"),
    [
        ("a.md", "<!DOCTYPE html><p>x", "html"),
        ("a", "---\ntitle: x\n---\ntext", "markdown"),
        ("a.txt", "From: a@b\nSubject: x\n\nHello", "mail"),
        ("a.txt", "Dear Ann: this\nis no mail", "text"),
        ("a.rs", "fn main() {}", "code"),
        ("a.json", '{"cells": []}', "json"),
        # what only looks like HTML is none
        ("a.xml", "<article><title>x</title><para>y</para><para>z</para></article>", "code"),
        ("a.xml", '<article xmlns="http://docbook.org/ns/docbook"><title>x</title></article>', "code"),
        ("a.vue", "<template><p>x</p></template>", "code"),
        ("a.php", "<p><?php echo 1 ?></p>", "code"),
        ("README", '<p align="center"><img src="a.png"></p>\n\n# Title\n\nWords.', "text"),
        ("a.md", "<h1>Title</h1>\n\nWords.", "markdown"),
        ("a.txt", "<ann> hello\n<bo> hi there", "log"),
        ("a.txt", "<p> is a tag of HTML.", "text"),
        ("a.html", "no tags at all", "code"),
    ],
)
def test_content_tells_the_kind_before_the_name(name: str, source: str, kind: str) -> None:
    assert document_kind(BytesIO(source.encode()), name) == kind


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
@pytest.mark.parametrize("head", ["<!DOCTYPE html>", "<h1>Łódź</h1>", '<html><meta charset="utf-16">'])
def test_html_in_any_encoding(head: str, encoding: str) -> None:
    assert "leży w Polsce" in read_document(f"{head}<p>Łódź <b>leży</b> w Polsce.".encode(encoding), "a.txt").text


@pytest.mark.parametrize("name", ["a.html", "a.txt"])
def test_a_page_that_says_latin_1_has_quotation_marks_of_windows(name: str) -> None:
    page = "<html><meta http-equiv=Content-Type content='text/html; charset=iso-8859-1'><p>“Größe”"
    assert read_document(page.encode("cp1252"), name).text == "“Größe”"


def test_declared_encodings_of_other_texts() -> None:
    source = '<?xml version="1.0" encoding="iso-8859-2"?>\n<x>Łódź</x>'
    assert "Łódź" in read_document(source.encode("iso-8859-2"), "a.xml").text
    assert (
        "Łódź"
        in read_document("#!/usr/bin/python\n# -*- coding: iso-8859-2 -*-\n'Łódź'".encode("iso-8859-2"), "a.py").text
    )
    assert read_document("Name;Stadt\nAnn;Köln\n".encode("utf-16-le"), "a.csv").text.count("Köln") == 1
    assert [document.title for document in parse(BytesIO(codecs.BOM_UTF8 + bytes(message(3))), "a.eml")] == ["Boiler 3"]


def mailbox_of(messages: list[bytes]) -> bytes:
    return b"".join(b"From ann@example.org Mon Feb  5 10:00:00 2024\n" + one + b"\n" for one in messages)


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_a_mailbox_has_a_document_for_each_message(tmp_path: Path, ends: bytes) -> None:
    box = mailbox.mbox(tmp_path / "box")
    for number in range(3):
        box.add(message(number))
    box.flush()
    for data in ((tmp_path / "box").read_bytes(), mailbox_of([bytes(message(number)) for number in range(3)])):
        found = list(parse(BytesIO(data.replace(b"\n", ends)), "box"))
        assert [document.title for document in found] == ["Boiler 0", "Boiler 1", "Boiler 2"]
        assert all("From here on it works." in document.text for document in found)


def test_a_line_of_a_message_that_looks_like_the_next_message_is_kept() -> None:
    mail = EmailMessage()
    mail["Subject"], mail["From"] = "Report", "ann@example.org"
    mail.set_content(
        "It is old.\n\nFrom Leeds it came in 1912\nby rail.\n\n>From York too.\n\nFrom Leeds again in 1913\n"
    )
    (document,) = parse(BytesIO(mailbox_of([bytes(mail)])), "box")
    assert "From Leeds it came in 1912 by rail." in document.text
    assert "From York too." in document.text
    assert "From Leeds again in 1913" in document.text


def test_a_large_mailbox_is_read_message_by_message(monkeypatch: pytest.MonkeyPatch) -> None:
    long = message(1)
    long.add_attachment(bytes(30_000), maintype="application", subtype="zip", filename="a.zip")
    monkeypatch.setattr(mail_reader, "MOST_MESSAGE", 20_000)
    found = list(parse(BytesIO(mailbox_of([bytes(long), bytes(message(2))])), "box"))
    assert [document.title for document in found] == ["Boiler 1", "Boiler 2"]
    assert "repaired on day 1" in found[0].text
    assert any("was not read" in note for note in found[0].notes)
    assert found[1].notes == []
    monkeypatch.setattr(mail_reader, "MOST_MAILBOX", 150)
    found = list(parse(BytesIO(mailbox_of([bytes(message(number)) for number in range(9)])), "box"))
    assert len(found) == 2
    assert "messages after this one were not read" in found[-1].notes[0]
