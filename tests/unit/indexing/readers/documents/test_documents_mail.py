"""Mail and saved pages: which of several texts is read, what is forwarded, and in which encoding."""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from io import BytesIO

import pytest
from support.read_documents import read_document

from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.kinds import document_kind

_FEE = "The yearly fee rises to 48 euros on 1 July."
_PAGE = "<p>The yearly fee rises to <b>48 euros</b> on 1 July.</p>"


read = partial(read_document, name="a.eml")


def multipart(kind: str, *parts: tuple[str, str]) -> str:
    """A body of several parts, each of a type and a text; one of type "" brings its own head."""
    mark = f"b{abs(hash((kind, parts)))}"
    inside = "".join(
        f"--{mark}\n{f'Content-Type: {sort}; charset=utf-8' + chr(10) * 2 if sort else ''}{text}\n"
        for sort, text in parts
    )
    return f'MIME-Version: 1.0\nContent-Type: multipart/{kind}; boundary="{mark}"\n\n{inside}--{mark}--\n'


def body(message: str) -> list[str]:
    """The paragraphs below the head."""
    return read(f"From: a@b.org\nSubject: Fee\n{message}").text.split("\n\n")[1:]


@pytest.mark.parametrize(
    ("plain", "page", "told"),
    [
        (" \n\n", _PAGE, [_FEE]),
        ("Your mail program does not show HTML.", _PAGE, [_FEE]),
        ("Diese Nachricht im Browser ansehen: https://example.org", _PAGE, [_FEE]),
        ("The yearly fee rises.", _PAGE, [_FEE]),  # its beginning alone
        (_FEE, "<p></p>", [_FEE]),
        (f"{_FEE} -- Kim", _PAGE, [f"{_FEE} -- Kim"]),
        ("We meet on Monday in the hall.", _PAGE, ["We meet on Monday in the hall.", _FEE]),
    ],
)
def test_of_alternatives_the_one_that_says_more_is_read(plain: str, page: str, told: list[str]) -> None:
    assert body(multipart("alternative", ("text/plain", plain), ("text/html", page))) == told
    related = multipart("related", ("text/html", page))
    assert body(multipart("alternative", ("text/plain", plain), ("", related))) == told


def test_a_page_behind_a_text_is_read_where_they_are_no_alternatives() -> None:
    parts = (("text/plain", "CAUTION: from outside."), ("text/html", _PAGE))
    assert body(multipart("mixed", *parts)) == ["CAUTION: from outside.", _FEE]
    inner = multipart("alternative", ("text/plain", " "), ("text/html", _PAGE))
    assert body(multipart("mixed", ("text/plain", "CAUTION."), ("", inner))) == ["CAUTION.", _FEE]


@pytest.mark.parametrize("disposition", ["", "Content-Disposition: attachment; filename=x.eml\n"])
def test_a_forwarded_message_keeps_its_sender_subject_and_date(disposition: str) -> None:
    inner = multipart("alternative", ("text/plain", "HTML only"), ("text/html", _PAGE))
    date = "Mon, 02 Mar 2020 10:00:00 +0000"
    head = f"From: Bank <bank@b.org>\nSubject: =?utf-8?q?Geb=C3=BChr?=\nDate: {date}\n"
    forwarded = f"Content-Type: message/rfc822\n{disposition}\n{head}{inner}"
    assert body(multipart("mixed", ("text/plain", "See below."), ("", forwarded))) == [
        "See below.", f"From: Bank <bank@b.org>. Subject: Gebühr. Date: {date}", _FEE,
    ]  # fmt: skip


_INVITATION = """BEGIN:VCALENDAR
METHOD:REQUEST
BEGIN:VEVENT
SUMMARY:Harbour walk
DTSTART;TZID=Europe/Berlin:20260312T180000
DESCRIPTION:We meet at the pier.
LOCATION:Pier 2
END:VEVENT
END:VCALENDAR
"""
_INVITED = "Summary: Harbour walk; Start: 2026-03-12 18:00 Europe/Berlin"


@pytest.mark.parametrize("sort", ["text/calendar; method=REQUEST", "application/ics", "text/calendar; name=invite.ics"])
def test_an_invitation_is_read_once_with_what_the_text_does_not_say(sort: str) -> None:
    described = multipart(
        "mixed", ("text/plain", "We meet at the pier."), (sort, _INVITATION), ("text/calendar", _INVITATION)
    )
    assert body(described) == ["We meet at the pier.", f"{_INVITED}; Location: Pier 2"]
    alternative = multipart("alternative", ("text/plain", " "), (sort, _INVITATION))
    assert body(alternative) == [f"{_INVITED}; Description: We meet at the pier.; Location: Pier 2"]
    attached = f"Content-Type: {sort}\nContent-Disposition: attachment; filename=invite.ics\n\n{_INVITATION}"
    found = read(f"From: a@b.org\n{multipart('mixed', ('text/plain', 'See you.'), ('', attached))}")
    assert (found.text.split("\n\n")[-1], found.notes) == (f"{_INVITED}; Location: Pier 2", [])


def test_a_message_of_a_maildir_is_mail_by_its_content() -> None:
    data = b"Return-Path: <a@b.org>\nSubject: Fee\nFrom: a@b.org\n\nText.\n"
    for name in ("1773338640.M20046P2137.host,S=4542:2,S", "1773338640.V1I2M3.host", "1773338640.x"):
        assert document_kind(BytesIO(data), name) == "mail"
        assert read_document(data, name).title == "Fee"


def test_recipients_without_addresses_are_all_told() -> None:
    found = read("From: a@b.org\nTo: Kim Lo; Ben\nCc: Team: Boats\nSubject: x\n\nText.")
    assert found.text == "From: a@b.org. To: Kim Lo; Ben. Cc: Team: Boats\n\nText."


def test_messages_in_each_other_and_many_parts_have_an_end() -> None:
    message = "Subject: inmost\n\nDeep.\n"
    for _ in range(200):
        message = f"Subject: x\nContent-Type: message/rfc822\n\n{message}"
    assert read(f"From: a@b.org\n{message}").notes == ["only the first 200 of its parts were read"]
    many = multipart("mixed", *(("text/plain", f"Part {i}.") for i in range(300)))
    found = read(f"From: a@b.org\nSubject: x\n{many}")
    assert ("Part 198." in found.text, "Part 199." in found.text, len(found.notes)) == (True, False, 1)
    deep = multipart("alternative", ("text/plain", "x y z"), ("text/html", _PAGE))
    for _ in range(40):  # each is looked at once
        deep = multipart("alternative", ("text/plain", "x y z"), ("", deep))
    assert _FEE in read(f"From: a@b.org\nSubject: x\n{deep}").text


@pytest.mark.parametrize(
    ("charset", "codec", "text"),
    [
        ("us-ascii", "utf-8", "Das Café in Zürich."),
        ("iso-8859-1", "utf-8", "Das Café in Zürich."),
        ("iso-8859-1", "cp1252", "He said “yes” – it is €50."),
        ("gb2312", "gb18030", "会议由朱镕基主持，费用 €50。"),
        ("ks_c_5601-1987", "cp949", "담당자는 똠방각하 입니다."),
        ("x-sjis", "cp932", "担当は髙橋さん、①号室。"),
        ("iso-2022-jp", "iso-2022-jp", "会議は来週です。"),
        ("utf-16", "utf-16-le", "会議は来週です。"),
        ("utf-8", "cp1252", "Das Café in Zürich, Größe 12 m²."),
        ("unknown-8bit", "cp1252", "Das Café in Zürich, Größe 12 m²."),
        ("", "cp1252", "Das Café in Zürich, Größe 12 m²."),
        ("windows-1251", "cp1251", "Встреча в четверг."),
    ],
)
def test_charsets_are_read_as_browsers_do_and_those_that_lie_as_they_are(charset: str, codec: str, text: str) -> None:
    declared = f'Content-Type: text/plain; charset="{charset}"\n' if charset else ""
    packed = b64encode(text.encode(codec)).decode()
    head = f"From: a@b.org\nSubject: =?{charset or 'x'}?b?{packed}?=\n"
    found = read(f"{head}{declared}Content-Transfer-Encoding: base64\n\n{packed}")
    assert found.text.split("\n\n")[1] == text
    if charset:
        assert found.title == text
    if not codec.startswith("utf-16"):
        raw = f"From: a@b.org\nX: y\n{declared}Content-Transfer-Encoding: 8bit\n".encode()
        raw += b"Subject: " + text.encode(codec) + b"\n\n" + text.encode(codec)
        if codec != "iso-2022-jp":
            assert read(raw).title == text
        assert read(raw).text.endswith(text)


def test_a_character_may_be_cut_between_two_words_of_a_header() -> None:
    data = "Größe".encode()
    words = " ".join(f"=?utf-8?b?{b64encode(piece).decode()}?=" for piece in (data[:3], data[3:]))
    assert read(f"From: a@b.org\nSubject: {words}\n\nText.").title == "Größe"


def test_a_message_of_apple_mail_ends_before_its_property_list() -> None:
    message = f"From: a@b.org\nSubject: Fee\n\n{_FEE}\n"
    found = read_document(
        f"{len(message):<10}\n{message}<?xml version='1.0'?><plist><key>flags</key></plist>", "1.emlx"
    )
    assert (found.title, found.text) == ("Fee", f"From: a@b.org\n\n{_FEE}")


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.mhtml", "From: <Saved by Blink>\nSnapshot-Content-Location: https://b.org\nSubject: =?utf-8?Q?x?=\n"),
        ("a", 'From: "Saved by Windows Internet Explorer 8"\nSubject: Fees\n'),
        ("a.mht", ""),
    ],
)
def test_a_saved_page_is_a_page(name: str, head: str) -> None:
    page = f"<html><head><title>Fees</title></head><body><h1>2026</h1>{_PAGE}</body></html>"
    data = head + multipart("related", ("text/html", page), ("image/png", "iVBORw0KGgo="))
    assert document_kind(BytesIO(data.encode()), name) == "saved page"
    found = read_document(data, name)
    assert (found.title, found.text, found.details, found.notes) == ("Fees", _FEE, {}, [])


@pytest.mark.parametrize(
    ("name", "inside", "advice"),
    [
        ("a.msg", "", "no Outlook message.*: save it as EML"),
        ("a", "__substg1.0_1000001F", "no Outlook message.*: save it as EML"),
        ("a.doc", "WordDocument", "before 2007.*: save it as DOCX"),
    ],
)
def test_a_message_of_outlook_is_named(name: str, inside: str, advice: str) -> None:
    with pytest.raises(UnreadableError, match=advice):
        read_document(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\0") + inside.encode("utf-16-le"), name)
