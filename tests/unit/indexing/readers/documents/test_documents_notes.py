"""Exports of programs for notes: Evernote, Joplin, Notion, and notebooks of the older format."""

from __future__ import annotations

import json
from io import BytesIO

import pytest
from support.read_documents import read_documents as read
from support.read_files import zipped

from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.kinds import document_kind
from atomr_local.indexing.readers.documents.notes import parse_enex

_HEAD = '<?xml version="1.0"?>\n<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export4.dtd">\n'
_BREAD = (
    "<note><title>Bread &amp; rye</title><created>20250101T090000Z</created><tag>kitchen</tag><tag>rye</tag>"
    "<note-attributes><author>Elsa</author><source-url>https://b.org</source-url></note-attributes><content><![CDATA["
    '<?xml version="1.0"?><!DOCTYPE en-note SYSTEM "http://xml.evernote.com/pub/enml2.dtd"><en-note>'
    '<div>It has 78&nbsp;%.</div><en-todo checked="true"/>fed<br/><en-todo/>baked<en-media hash="ab"/><en-crypt>RU5D</en-crypt></en-note>]]>'
    '</content><resource><data encoding="base64">AAECAwQF</data><mime>image/png</mime></resource></note>'
)
_BOAT = "<note><title>Boat</title><content><![CDATA[<en-note>Varnish it.</en-note>]]></content></note>"


def test_an_export_of_evernote_has_a_document_for_each_note() -> None:
    bread, boat = read(f"{_HEAD}<en-export>{_BREAD}{_BOAT}</en-export>", "notes.enex")
    assert (bread.title, bread.text) == ("Bread & rye", "It has 78 %.\n\n[x] fed\n\n[ ] baked")
    assert bread.details == {"date": "2025-01-01", "author": "Elsa", "tags": "kitchen, rye"}
    assert bread.notes == ["1 attachment was not read"]
    assert (boat.title, boat.text, boat.details, boat.notes) == ("Boat", "Varnish it.", {}, [])


def test_a_damaged_export_gives_the_notes_before_the_damage() -> None:
    (bread,) = read(f"{_HEAD}<en-export>{_BREAD}<note><title>B</tit", "a.enex")
    assert bread.title == "Bread & rye"
    (bread,) = read(f"{_HEAD}<en-export>{_BREAD}<note></b>", "a.enex")
    assert any("were not read: its XML is damaged" in note for note in bread.notes)
    with pytest.raises(UnreadableError, match="its XML is damaged"):
        read(f"{_HEAD}<en-export></b>", "a.enex")


def test_an_export_of_evernote_declares_no_entities() -> None:
    head = '<!DOCTYPE en-export [<!ENTITY a "x">]>'
    assert document_kind(BytesIO(f"{head}<en-export>{_BOAT}</en-export>".encode()), "a.enex") != "enex"
    with pytest.raises(UnreadableError, match="its XML is damaged"):
        read(f"{_HEAD}<en-export>{'<x>' * 100_000}", "a.enex")
    with pytest.raises(UnreadableError, match="declares entities"):
        list(parse_enex(BytesIO(f"{head}<en-export>{_BOAT}</en-export>".encode())))


_RECORD = (
    "\n\nid: 9d1c0f3c2a9e8d7b4c6a9e1f2d3c4b5a\nparent_id: \ncreated_time: 2026-03-01T09:00:00.000Z\nauthor: Elsa\n"
)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_note_of_joplin_has_its_record_in_its_details(ends: str) -> None:
    pytest.importorskip("yaml")
    (note,) = read(f"Bread\n\nThe oven is hot.\n\n## Rye\n\nSour.{_RECORD}type_: 1".replace("\n", ends), "9d1c.md")
    assert (note.title, note.text) == ("Bread", "The oven is hot.\n\nSour.")
    assert note.details == {"date": "2026-03-01", "author": "Elsa"}
    assert note.places[:2] == [(0, 3), (18, 7)]
    with pytest.raises(UnreadableError, match="record of a notebook, a tag or a file"):
        read(f"Kitchen{_RECORD}type_: 2", "9d1c.md")
    (other,) = read("# A\n\nid: 7 is a number.\ntype_: 1", "a.md")
    assert other.text.startswith("id: 7")


_ID = "0f3c2a9e8d7b4c6a9e1f2d3c4b5a6978"


def test_a_page_of_notion_has_its_title_without_the_id() -> None:
    pytest.importorskip("yaml")
    (page,) = read("# Bread\n\nTags: rye, kitchen\nCreated: March 1, 2026\nStatus: done\n\nSour.", f"Bread {_ID}.md")
    assert (page.title, page.details) == ("Bread", {"tags": "rye, kitchen", "date": "March 1, 2026"})
    assert "Status: done" in page.text
    (page,) = read("Sour.", f"Bread {_ID}.md")
    assert page.title == "Bread"
    (page,) = read("Sour.", "Bread 0f3c.md")
    assert page.title == ""


def test_an_archive_of_notion_has_a_document_for_each_page_and_table() -> None:
    pytest.importorskip("yaml")
    inner = zipped({
        f"Bread {_ID}.md": "Sour.", f"Loaves {_ID}.csv": "Name,Flour\nRye,1 g\n",
        f"Loaves {_ID}_all.csv": "Name,Flour\nRye,1 g\nOat,2 g\n", "Bread/oven.png": "x",
    })  # fmt: skip
    packed = zipped({"ExportBlock-8a1b-Part-1.zip": inner})
    for data in (inner, packed):
        bread, loaves = read(data, "a.zip")
        assert (bread.title, bread.text, loaves.title) == ("Bread", "Sour.", "Loaves")
        assert loaves.text == "Name: Rye; Flour: 1 g\nName: Oat; Flour: 2 g"
        assert (loaves.notes, loaves.fields) == (["1 other file was not read"], {})
    with pytest.raises(UnreadableError, match="it has no text"):  # archives are opened one within another, no deeper
        read(zipped({"ExportBlock-1-Part-1.zip": packed}), "a.zip")
    with pytest.raises(UnreadableError, match="unpack it first"):
        read(zipped({"a.md": "x"}), "a.zip")


def test_properties_of_a_page_of_notion_are_fields_of_it() -> None:
    pytest.importorskip("yaml")
    target = f"(Bakery%20{_ID}.md)"
    (page,) = read(f"# Rye bread\n\nStatus: done\nPlace: Bakery {target}\nTags: rye\n\nSour: no", f"Bread {_ID}.md")
    assert (page.title, page.details) == ("Rye bread", {"tags": "rye"})
    assert page.fields == {"status": ["done"], "place": ["Bakery"]}


_PAGE = (
    f'<html><head><title>Bread</title></head><body><article id="{_ID}" class="page sans"><header>'
    '<div class="page-header-icon"><span class="icon">B</span></div><h1 class="page-title">Bread</h1>'
    '<table class="properties"><tbody><tr class="property-row property-row-multi_select"><th>Tags</th><td>'
    '<span class="selected-value">rye</span><span class="selected-value">oat cake</span></td></tr>'
    '<tr><th>By</th><td><a href="a.html">Ann</a></td></tr></tbody></table></header><div class="page-body">'
    '<ul class="to-do-list"><li><div class="checkbox checkbox-on"></div> <span>fed</span></li></ul>'
    '<ul class="to-do-list"><li><div class="checkbox checkbox-off"></div> <span>baked</span></li></ul></div></article>'
)


@pytest.mark.parametrize("name", ["page.html", f"Bread {_ID}.html"])
def test_a_page_of_notion_in_html(name: str) -> None:
    (page,) = read(_PAGE, name)
    assert (page.title, page.details, page.fields) == ("Bread", {"tags": "rye, oat cake"}, {"by": ["Ann"]})
    assert page.text == "Tags: rye, oat cake\nBy: Ann\n\n[x] fed\n\n[ ] baked"


def _bear(**said: object) -> str:
    record = {"trashed": 0, "creationDate": "2026-03-23T17:08:15Z"} | said
    return json.dumps({"type": "net.daringfireball.markdown", "net.shinyfrog.bear": record})


def test_a_backup_of_bear_has_a_document_for_each_note_outside_its_bin() -> None:
    pytest.importorskip("yaml")
    parts = {
        "All.bear2bk/Bread.textbundle/text.md": "# Rye bread\n\nSour. #kitchen/oven #to bake soon# #b\n\n~~Sweet.~~",
        "All.bear2bk/Bread.textbundle/info.json": _bear(),
        "All.bear2bk/Bread.textbundle/assets/oven.png": "x",
        "All.bear2bk/Old.textbundle/text.md": "# Old", "All.bear2bk/Old.textbundle/info.json": _bear(trashed=1),
        "All.bear2bk/Locked.textbundle/text.md": "", "All.bear2bk/Locked.textbundle/info.json": "[",
        "All.bear2bk/2026-03.textbundle/text.txt": "Boat", "All.bear2bk/2026-03.textbundle/info.json": _bear(creationDate=7),
        "All.bear2bk/tags.json": "{}",
    }  # fmt: skip
    bread, boat = read(zipped(parts), "a.bear2bk")
    assert (bread.title, bread.text) == ("Rye bread", "Sour. #kitchen/oven #to bake soon# #b\n\n~~Sweet.~~")
    assert bread.details == {"tags": "kitchen/oven, to bake soon, b", "date": "2026-03-23"}
    assert (boat.title, boat.text, boat.details) == ("2026-03", "Boat", {})
    assert boat.notes == [
        "1 deleted note was not read", "1 note without text was not read", "1 attachment was not read"
    ]  # fmt: skip
    (packed,) = read(zipped({"info.json": "{}", "text.md": "# Bread\n\nSour."}), "Bread.textpack")
    assert packed.title == "Bread"
    with pytest.raises(UnreadableError, match="it has no text"):
        read(zipped({"Old.textbundle/text.md": "a", "Old.textbundle/info.json": _bear(trashed=1)}), "a.bear2bk")


def test_notebooks_of_format_3() -> None:
    pytest.importorskip("markdown_it")
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Tides"]},
        {"cell_type": "markdown", "source": ["High water is at noon."]},
        {"cell_type": "code", "input": ["print(12)"], "outputs": [{"output_type": "stream", "text": ["12\n"]}]},
    ]
    (found,) = read(json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}), "a.ipynb")
    assert found.text == "High water is at noon.\nprint(12)\n12"
    assert [section[1:] for section in found.sections] == [(2, "Tides")]
    with pytest.raises(UnreadableError, match="no notebook"):
        read('{"nbformat": 3, "worksheets": []}', "a.ipynb")
