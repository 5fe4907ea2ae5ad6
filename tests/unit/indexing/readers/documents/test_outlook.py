"""Messages of Outlook: their texts and attachments, and files that are damaged or something else."""

from __future__ import annotations

from typing import Any

import pytest
from support.outlook_files import compound, message
from support.read_documents import read_document

from atomr_local.indexing.readers.documents import mail as outlook
from atomr_local.indexing.readers.documents.document import Document, UnreadableError

pytest.importorskip("olefile")

_SUBJECT, _BODY, _HTML, _NAME, _ADDRESS, _TO, _FILE = 0x37, 0x1000, 0x1013, 0x42, 0x5D01, 0xE04, 0x3707
_SENT, _CODE_PAGE, _PAGE_OF_HTML = 0x39, 0x3FFD, 0x3FDE
_MARCH = 132_600_288_000_000_000  # 2021-03-12 13:20 UTC, in ticks since 1601
_HEAD: dict[int, Any] = {_SUBJECT: "Ferry", _NAME: "Åsa Berg", _ADDRESS: "asa@b.org", _TO: "Kim Lo; Ben"}
_FEE = "The yearly fee rises to 48 euros."


def read(tree: dict[str, Any], name: str = "a.msg") -> Document:
    return read_document(compound(tree), name)


def test_a_message_has_its_sender_date_and_text() -> None:
    found = read(message({**_HEAD, _BODY: f"{_FEE}\r\n\r\nKim"}, {_SENT: _MARCH}))
    assert found.title == "Ferry"
    assert found.details == {"author": "Åsa Berg <asa@b.org>", "date": "2021-03-12 13:20 UTC"}
    assert found.text == f"From: Åsa Berg <asa@b.org>. To: Kim Lo, Ben. Date: 2021-03-12 13:20 UTC\n\n{_FEE}\n\nKim"
    assert found.notes == []


@pytest.mark.parametrize(
    ("texts", "numbers", "told"),
    [
        ({_BODY: "Größe 12 m²".encode("cp1252")}, {_CODE_PAGE: 1252}, "Größe 12 m²"),
        ({_BODY: "Встреча в четверг".encode("cp1251")}, {_CODE_PAGE: 1251}, "Встреча в четверг"),
        ({_HTML: f"<p>{_FEE} ü</p>".encode()}, {_PAGE_OF_HTML: 65001}, f"{_FEE} ü"),
        ({_BODY: " ", _HTML: f"<p>{_FEE}</p>".encode()}, {}, _FEE),
        ({_BODY: f"{_FEE} Kim", _HTML: f"<p>{_FEE}</p>".encode()}, {}, f"{_FEE} Kim"),  # what says more
    ],
)
def test_texts_are_read_in_their_code_page_and_html_where_it_says_more(
    texts: dict[int, str | bytes], numbers: dict[int, int], told: str
) -> None:
    assert read(message(texts, numbers)).text == told


def test_a_forwarded_message_is_read_and_files_are_named() -> None:
    inner = message({_SUBJECT: "Fee", _BODY: _FEE}, {}, message({_FILE: "inner.pdf"}))
    attached = (
        {"__substg1.0_3701000D": inner},
        message({_FILE: "plan.pdf"}),
        message({0x3704: "PLAN~1.DOC"}),
        message({}),
    )
    found = read(message({**_HEAD, _BODY: "See below."}, {}, *attached))
    assert found.text.split("\n\n")[1:] == [
        "See below.", "Subject: Fee", _FEE, "Attachments: inner.pdf, plan.pdf, PLAN~1.DOC, without a name",
    ]  # fmt: skip
    assert found.notes == ["4 attachments were not read"]


def test_a_message_without_text_tells_what_to_do() -> None:
    (note,) = read(message(_HEAD)).notes
    assert "formatted text (RTF) alone, which was not read: save it as EML" in note


def test_messages_and_attachments_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlook, "_MOST_ITEMS", 5)
    for depth, told in ((4, True), (9, False)):
        inner = message({_BODY: "Inmost."})
        for _ in range(depth):
            inner = message({_SUBJECT: "x"}, {}, {"__substg1.0_3701000D": inner})
        assert ("Inmost." in read(inner).text) == told
    many = message({_BODY: "Text."}, {}, *(message({_FILE: f"{i}.txt"}) for i in range(9)))
    assert read(many).notes == ["5 attachments were not read"]


@pytest.mark.parametrize("date", [1, 1 << 63, (1 << 64) - 1])
def test_a_date_that_is_none_is_left_out(date: int) -> None:
    found = read(message({_BODY: "Text."}, {_SENT: date | 1 << 33}))
    assert "9999" not in found.text
    assert found.text.endswith("Text.")


@pytest.mark.parametrize(
    ("data", "name", "why"),
    [
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(2048, b"\0"),
            "a.msg",
            "damaged, or no Outlook message .*: save it as EML",
        ),
        (compound({"WordDocument": b"x"}), "a.msg", "no Outlook message .it has none.: save it as EML"),
        (compound({"WordDocument": b"x"}), "a.doc", "before 2007.*: save it as DOCX"),
        (compound(message({_BODY: "x"}))[:-600], "a", "damaged, or no Outlook message"),
        (b"\x78\x9f\x3e\x22\x01\0\x01", "winmail.dat", "a winmail.dat of Outlook: ask for the mail as HTML"),
        (b"!BDN\0\0\0\0SM\x17\0", "mail.pst", r"a mailbox of Outlook \(PST\): export it as MBOX or EML"),
    ],
)
def test_what_is_no_message_is_told(data: bytes, name: str, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        read_document(data, name)
