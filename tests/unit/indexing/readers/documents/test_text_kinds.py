"""Kinds of text: JSON, logs, subtitles, calendars, contacts and pictures that are text."""

from __future__ import annotations

from io import BytesIO

import pytest
from support.read_documents import placed_lines, read_document

from atomr_local.indexing.readers.documents.document import UnreadableError, is_rule
from atomr_local.indexing.readers.documents.kinds import document_kind


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ('[{"id":0,"name":"Ann"},{"id":1,"name":"Bo"}]', [(1, "id: 0; name: Ann"), (1, "id: 1; name: Bo")]),
        (
            '{\n "people": [\n  {"name": "J\\u00fcrgen",\n   "tags": ["a", "b"]},\n  {"name": "\\u0141ucja"}\n ]\n}',
            [(3, "people: name: Jürgen; tags: a, b"), (5, "people: name: Łucja")],
        ),
        ('{"id": 1, "home": {"city": "Bern", "zip": "01234"}}', [(1, "id: 1; home city: Bern; home zip: 01234")]),
        ('{"north": {"h": 1.50},\n"south": {"h": 2}}', [(1, "north: h: 1.50"), (2, "south: h: 2")]),
        ('{"a": "x"}\n{"a": "y\\nz \\ud83d\\ude00"}\n', [(1, "a: x"), (2, "a: y z 😀")]),
        ('["one", "two",\n"three"]', [(1, "one"), (1, "two"), (2, "three")]),
        ('{"a": 1, // why\n "b": null /* so */, "c": [], "d": true,}', [(1, "a: 1; b: null; d: true")]),
        ('{"a": "\\u00fc"', [(1, "a: ü")]),  # cut off
        ('{"a": {{ value }}, "b": "\\u00fc"}', [(1, '{"a": {{ value }}, "b": "ü"}')]),  # a template
        ('{"a": 1]', [(1, '{"a": 1]')]),
    ],
)
def test_json_has_an_object_or_a_value_a_line(source: str, told: list[tuple[int, str]]) -> None:
    assert placed_lines(read_document(source, "a.json")) == told


def test_json_is_told_by_its_content_and_long_objects_have_several_lines() -> None:
    source = '{"' + '", "'.join(f'key{i}": "{"word " * 20}' for i in range(12)) + '"}'
    assert document_kind(BytesIO(source.encode()), "export.dat") == "json"
    assert 1 < len(placed_lines(read_document(source, "export.dat"))) < 12
    deep = read_document("[" * 100_000, "deep.json")
    assert len(deep.text) == 100_000


def test_escapes_in_settings_are_characters() -> None:
    document = read_document("greeting=Gr\\u00fcezi\nline=\\u000a\npath=C:\\\\u00fc\n", "a.properties")
    assert document.text.split("\n") == ["greeting=Grüezi", "line=\\u000a", "path=C:\\\\u00fc"]
    assert read_document('s = "\\u00fc"', "a.py").text == 's = "\\u00fc"'  # code stays as it is


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.log", "2026-03-01T10:00:00Z host1 smartd[812]: Device /dev/sda, 8 Currently unreadable sectors"),
        ("a.txt", "[18:04:11] Ann: when does the ferry leave from the old pier"),
        ("a.txt", "2021-03-12 18:04:11 ann: when does the ferry leave from the old pier please"),
        ("a.txt", "Mar  1 10:00:00 host1 sshd[99]: accepted publickey for ann from 10.0.0.5 port"),
        ("a.txt", '10.0.0.5 - ann [01/Mar/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 512 and more'),
        ("a.txt", "[INFO] the backup of the second disk took three hours and eleven minutes again"),
        ("a.txt", "[    1.234567] usb 1-1: new high speed device number 2 using some driver here"),
        ("a.log", "\x1b[32mok\x1b[0m the backup of the second disk took three hours and eleven minutes"),
    ],
)
def test_a_line_of_a_log_or_a_chat_is_a_line(name: str, source: str) -> None:
    clean = source.replace("\x1b[32m", "").replace("\x1b[0m", "")
    assert placed_lines(read_document(f"{source} one\n{source} two\n\u200e{source} three", name)) == [
        (number, f"{clean} {word}") for number, word in enumerate(("one", "two", "three"), 1)
    ]


def test_lines_of_mere_marks_are_left_out() -> None:
    text = (
        "Here is a long line that somebody wrapped in the past,\n" + "-" * 60 + "\nand after it another one.\n* * *\n"
    )
    assert read_document(text, "a.txt").text.split("\n") == [
        "Here is a long line that somebody wrapped in the past,",
        "and after it another one.",
    ]
    assert all(map(is_rule, ("-----", "=" * 9, "* * *", "+----+--+", "────", "~~~")))
    assert not any(map(is_rule, ("--", "-1-", "...", "1 - 2", "}", '"""', "*")))


_SRT = "1\n00:00:01,000 --> 00:00:03,500\nWhere did you hide\n\n2\n00:00:03,600 --> 00:00:05,000\n<i>the map?</i>\n\n3\n00:01:05,100 --> 00:01:07,900\n{\\an8}Under the step\nof the tower.\n"
_VTT = (
    "WEBVTT\nKind: captions\n\nNOTE by a machine\nin two lines\n\nSTYLE\n::cue {}\n\n00:18.300 --> 00:20.790 align:start\n"
    "and<00:00:18.400><c> the</c><c> fair</c> ends\n\n00:20.790 --> 00:20.800\nand the fair ends\n\n"
    "intro\n01:00:20.800 --> 01:00:23.000\n<v Ann Lee>It rains &amp; pours.\n"
)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (_SRT, [("00:00:01", "Where did you hide the map?"), ("00:01:05", "Under the step of the tower.")]),
        (_VTT, [("00:00:18", "and the fair ends"), ("01:00:20", "Ann Lee: It rains & pours.")]),
        (
            "0:00:01.000,0:00:02.000\nGo home.\n\n0:00:02.500,0:00:03.000\nNow.",
            [("00:00:01", "Go home."), ("00:00:02", "Now.")],
        ),
        (
            "[Script Info]\nTitle: x\n[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,Default,Ann,0,0,0,,{\\i1}Go\\Nhome, now.\n",
            [("00:00:01", "Ann: Go home, now.")],
        ),
        (
            "[ti:Song]\n[00:12.00]The river runs.\n[00:17.20]It runs.\n",
            [("00:00:12", "The river runs."), ("00:00:17", "It runs.")],
        ),
        # What two people say one after the other is read twice.
        (
            "1\n00:00:01,000 --> 00:00:02,000\nYes.\n\n2\n00:00:03,000 --> 00:00:04,000\nYes.\n",
            [("00:00:01", "Yes."), ("00:00:03", "Yes.")],
        ),
    ],
)
def test_cues_are_joined_to_sentences_at_their_times(source: str, told: list[tuple[str, str]]) -> None:
    document = read_document(source, "a.txt")
    assert (document.place_kind, placed_lines(document)) == ("time", told)


def test_a_sentence_over_cues_has_the_time_of_each() -> None:
    assert read_document(_SRT, "a.srt").places[:2] == [(0, "00:00:01"), (19, "00:00:03")]


_EVENT = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-CALNAME:Choir\r\nBEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nCOMMENT:no\r\n"
    "END:VTIMEZONE\r\nBEGIN:VEVENT\r\nUID:2@x\r\nDTSTART;TZID=Europe/Berlin:20240512T183000\r\nDTEND:20240512T183015Z\r\n"
    "SUMMARY:Concert with the neighbour\r\n ing village\\, and M\xfcller\r\nRRULE:FREQ=WEEKLY;BYDAY=MO\r\n"
    'ORGANIZER;CN="Lee: Ann":mailto:ann@example.org\r\nDESCRIPTION:Bring the folder\\nand a pencil\r\n'
    "ATTACH;ENCODING=BASE64;VALUE=BINARY:AAAA\r\n BBBB\r\nBEGIN:VALARM\r\nDESCRIPTION:Alarm\r\nEND:VALARM\r\nEND:VEVENT\r\n"
    "BEGIN:VTODO\r\nSUMMARY:Pay rent\r\nDUE;VALUE=DATE:20240601\r\nEND:VTODO\r\nBEGIN:VEVENT\r\nSUMMARY:Fair\r\n"
    "DTSTART;VALUE=DATE:20240731\r\nDTEND;VALUE=DATE:20240801\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


def test_entries_of_a_calendar() -> None:
    data = _EVENT.encode()
    cut = data.index("ü".encode()) + 1  # folded within a character
    document = read_document(data[:cut] + b"\r\n " + data[cut:], "a.ics")
    assert document.title == "Choir"
    assert placed_lines(document) == [
        (
            8,
            "Summary: Concert with the neighbouring village, and Müller; Start: 2024-05-12 18:30 Europe/Berlin; "
            "End: 2024-05-12 18:30:15 UTC; Repeats: weekly, byday mo; Organizer: Lee: Ann (ann@example.org); "
            "Description: Bring the folder and a pencil",
        ),
        (24, "Summary: Pay rent; Due: 2024-06-01"),
        (28, "Summary: Fair; Start: 2024-07-31; End: 2024-07-31"),  # the day after the last is given
    ]


def test_contacts() -> None:
    old = (
        "BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=BCr=\ngen;;Dr.\n"
        "TEL;CELL:+49 170 5550000\nORG:Bakery M=C3=BCller;Sales\nPHOTO;ENCODING=BASE64;JPEG:/9j/4AAQ\n kZJRgAB\n/9j/AAAA\n"
        "END:VCARD\n"
    )
    new = (
        "BEGIN:VCARD\nVERSION:4.0\nFN:Mia Torp\nN:Torp;Mia;;;\nitem1.TEL;TYPE=home;VALUE=uri:tel:+46-70\nBDAY:19800203\n"
        "ADR;TYPE=work:;;Elm Street 4;Leeds;;LS1;\nNOTE:red\\; green\\nblue\nPHOTO:data:image/png;base64,AAAA\nX-ID:7\nEND:VCARD\n"
    )
    assert placed_lines(read_document(old + new, "a.vcf")) == [
        (1, "Name: Dr. Jürgen Müller; Phone (cell): +49 170 5550000; Organization: Bakery Müller, Sales"),
        (
            11,
            "Name: Mia Torp; Phone (home): +46-70; Birthday: 1980-02-03; Address (work): Elm Street 4, Leeds, LS1; "
            "Note: red; green blue",
        ),
    ]


@pytest.mark.parametrize(
    ("name", "source", "what"),
    [
        ("a.svg", '<svg xmlns="http://www.w3.org/2000/svg"><title>x</title></svg>', "an SVG image"),
        (
            "a.svg",
            '\n<?xml version="1.0"?>\n<!-- by x -->\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x">\n<svg/>',
            "an SVG",
        ),
        ("a.xml", '<svg:svg xmlns:svg="http://www.w3.org/2000/svg"></svg:svg>', "an SVG image"),
        ("a.eps", "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n", "an EPS image"),
        ("a", "%!PS-Adobe-3.0\n", "PostScript file: save it as PDF"),
        ("a.xpm", "/* XPM */\nstatic char *x[] = {};", "an XPM image"),
    ],
)
def test_pictures_that_are_text_are_named(name: str, source: str, what: str) -> None:
    for data in (source.encode(), source.encode("utf-16")):
        if data.startswith(b"\xff\xfe") and not name.endswith(("svg", "xml")):
            continue
        with pytest.raises(UnreadableError, match=what):
            read_document(data, name)


def test_a_note_may_begin_with_a_picture() -> None:
    pytest.importorskip("yaml")
    assert "Words" in read_document("<svg><path/></svg>\n\nWords.", "a.md").text
