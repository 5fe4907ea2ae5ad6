"""Chats: WhatsApp and signal-export as text, and what must not be taken for them."""

from __future__ import annotations

from io import BytesIO

import pytest

from atomr_local.indexing.readers.documents.document import Document, UnreadableError
from atomr_local.indexing.readers.documents.kinds import document_kind
from atomr_local.indexing.readers.documents.process import parse

_LRM = "\u200e"


def read(text: str, name: str = "WhatsApp Chat with Ann.txt") -> list[Document]:
    assert document_kind(BytesIO(text.encode()), name) == "chat"
    return list(parse(BytesIO(text.encode()), name))


def test_a_chat_has_a_document_a_day_and_its_messages_their_time_and_sender_as_places() -> None:
    first, second = read(
        "12/03/2026, 18:04 - Messages and calls are end-to-end encrypted.\n"
        "12/03/2026, 18:04 - Ann: When does the ferry leave?\n"
        "And from which pier?\n\n"
        "12/03/2026, 18:05 - Ben Lo: 7:40\n"
        "13/03/2026, 09:00 - Ann: Thanks: see you\n"
    )
    assert first.title == "WhatsApp Chat with Ann, 2026-03-12"
    assert first.text == "18:04 Ann: When does the ferry leave?\nAnd from which pier?\n18:05 Ben Lo: 7:40"
    assert (first.place_kind, first.places) == (
        "message", [(0, "2026-03-12 18:04, Ann"), (first.text.index("18:05"), "2026-03-12 18:05, Ben Lo")],
    )  # fmt: skip
    assert first.details == {"author": "Ann, Ben Lo", "date": "2026-03-12"}
    assert (second.text, second.details["date"]) == ("09:00 Ann: Thanks: see you", "2026-03-13")


@pytest.mark.parametrize("name", ["_chat.txt", "chat.txt", "2026.txt"])
def test_a_file_that_does_not_tell_which_chat_it_holds_is_called_by_its_senders(name: str) -> None:
    (day,) = read("[13/03/2026, 18:04:11] Ann: a\n[13/03/2026, 18:05:11] Ben: b", name)
    assert day.title == "Chat of Ann, Ben, 2026-03-13"


@pytest.mark.parametrize(
    ("begins", "place"),
    [
        ("3/16/26, 1:55 PM - ", "2026-03-16 1:55 PM"),
        ("3/6/26, 1:55\u202fPM - ", "2026-03-06 1:55 PM"),  # capitals and no zeros: the United States
        ("[3/16/26, 1:55:07 PM] ", "2026-03-16 1:55 PM"),
        ("16/03/26, 1:55 pm - ", "2026-03-16 1:55 pm"),
        ("06/03/2026, 13:55 - ", "2026-03-06 13:55"),
        ("06.03.26, 13:55 - ", "2026-03-06 13:55"),
        ("[06.03.26, 13:55:07] ", "2026-03-06 13:55"),
        ("06-03-2026 13:55 - ", "2026-03-06 13:55"),
        ("6.3.2026 klo 13.55 - ", "2026-03-06 klo 13.55"),
        ("16. 3. 2026. 13:55 - ", "2026-03-16 13:55"),
        ("[2026/3/16 下午1:55:07] ", "2026-03-16 下午1:55"),
        ("2026-03-16, 1:55 p.m. - ", "2026-03-16 1:55 p.m."),
        ("[١٦\u200f/٣\u200f/٢٠٢٦، ١:٥٥:٠٧\xa0م] \u202a", "2026-03-16 ١:٥٥ م"),
        (f"{_LRM}[16/03/2026, 13:55:07] ", "2026-03-16 13:55"),
        ("3/16/26, 13:55:07: ", "2026-03-16 13:55"),
        ("[13:55, 3/16/2026] ", "2026-03-16 13:55"),
        # What comes first is open: the date stays as it is.
        ("3/6/26, 13:55 - ", "3/6/26 13:55"),
        ("03/06/26, 1:55 PM - ", "03/06/26 1:55 PM"),
        ("16/13/26, 13:55 - ", "16/13/26 13:55"),
        ("16/3/2569, 13:55 - ", "16/3/2569 13:55"),
    ],
)
def test_dates_are_read_as_languages_write_them(begins: str, place: str) -> None:
    (day,) = read(f"{begins}Ann: The pump leaks.\n{begins}Ben: Call Kim.\n")
    assert [where for _, where in day.places] == [f"{place}, Ann", f"{place}, Ben"]
    assert ("date" in day.details) == place.startswith("2026")


def test_one_date_tells_the_order_of_all() -> None:
    days = read("3/6/26, 13:55 - Ann: a\n3/7/26, 13:55 - Ben: b\n3/28/26, 13:55 - Ann: c\n")
    assert [day.details["date"] for day in days] == ["2026-03-06", "2026-03-07", "2026-03-28"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("<Media omitted>", ""),
        ("<Médias omis>", ""),
        ("<省略多媒體檔案>", ""),
        (f"{_LRM}image omitted", ""),
        (f"{_LRM}<attached: 00000042-PHOTO.jpg>", ""),
        ("image omitted", ""),
        ("IMG-20260312-WA0001.jpg (file attached)", ""),
        ("IMG-20260312-WA0001.jpg (Datei angehängt)\nThe broken pump", "The broken pump"),
        ("This message was deleted", ""),
        ("null", ""),
        ("7:40 <This message was edited>", "7:40"),
        (f"plan.pdf • {_LRM}2 pages {_LRM}document omitted", "plan.pdf •"),
        ("plan.pdf (file attached)", "plan.pdf (file attached)"),
        ("Use <b> here", "Use <b> here"),
        ("<html>", "<html>"),
        ("x < y and y > z", "x < y and y > z"),
        ("Messages to this number fail", "Messages to this number fail"),
        ("This message was deleted by mistake, so again: 7:40", "This message was deleted by mistake, so again: 7:40"),
    ],
)
def test_placeholders_are_no_text(said: str, told: str) -> None:
    (day,) = read(f"13/03/2026, 18:00 - Ann: Hello\n13/03/2026, 18:04 - Ben: {said}\n")
    assert day.text == "18:00 Ann: Hello" + (f"\n18:04 Ben: {told}" if told else "")


def test_what_the_program_says_is_no_message() -> None:
    (day,) = read(
        f"[13/03/2026, 18:00:01] Ann: {_LRM}Messages and calls are end-to-end encrypted.\n"
        "[13/03/2026, 18:00:02] Kim added Ben\n"
        "[13/03/2026, 18:00:03] Kim changed the subject to “Trip: boats”\n"
        "[13/03/2026, 18:00:04] ~ Ann: Hello\n"
        "13/03/2026, 18:05 - Ben: pasted from elsewhere\n"
        "[13/03/2026, 18:00:05] Ben: Hi\n"
    )
    assert day.text == "18:00 Ann: Hello\n13/03/2026, 18:05 - Ben: pasted from elsewhere\n18:00 Ben: Hi"
    with pytest.raises(UnreadableError, match="it has no text"):
        read("13/03/2026, 18:00 - Ann: <Media omitted>\n13/03/2026, 18:04 - Ann: <Media omitted>\n")


def test_markdown_of_signal_export_is_a_chat() -> None:
    (day,) = read(
        "[2026-03-12 15:04:05] Me: How is everyone?  \n(- Aya: 👍 -)\n\n"
        "[2026-03-12 15:10:00] Aya: \n\n> How is everyone?\n\nFine!  ![a.jpg](./media/a.jpg)  \n\n"
        "[2026-03-12 15:11:00] Jim: ![b.jpg](./media/b.jpg)  \n\n[2026-03-12 15:12:00] Jim: (This message was deleted)\n",
        "chat.md",
    )
    assert day.text == "15:04 Me: How is everyone?\n15:10 Aya: > How is everyone?\nFine!"


_MARCH = "2026-03-12 18:04:11"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", f"[{_MARCH}] local.ERROR: Disk full\n[{_MARCH}] local.INFO: Started\n"),
        ("a.txt", f"[{_MARCH}] server: started\n[{_MARCH}] worker: started\n"),
        ("a.txt", "[12/03/2026, 18:04:11] INFO: Started\n[12/03/2026, 18:05:11] WARN: Slow\n"),
        ("a.txt", "[12/03/2026, 18:04:11] server: Started\n[12/03/2026, 18:05:11] server: Slow\n"),
        ("a.txt", f"{_MARCH} - root - INFO - Started: now\n{_MARCH} - root - INFO - Done: now\n"),
        ("a.txt", f"{_MARCH} - Ann: Started\n{_MARCH} - Ben: Done\n"),
        ("a.txt", "12/03/2026, 18:04: Pump: checked\n13/03/2026, 18:04: Boiler: checked\n"),
        ("a.txt", "12/03/2026, 18:04 - Ann: one line alone\n"),
        ("a.txt", "Minutes\n12/03/2026, 18:04 - Ann: Hello\n12/03/2026, 18:05 - Ben: Hi\n"),
        ("a.txt", "18:04 Ann: Hello\n18:05 Ben: Hi\n"),
        ("a.txt", "[18:04] Ann: Hello\n[18:05] Ben: Hi\n"),
        ("a.txt", "12/03/2026, 18:04 - Kim added Ben\n12/03/2026, 18:05 - Kim added Ann\n"),
        ("a.log", "12/03/2026, 18:04 - Ann: Hello\n12/03/2026, 18:05 - Ben: Hi\n"),
        ("a.py", "12/03/2026, 18:04 - Ann: Hello\n12/03/2026, 18:05 - Ben: Hi\n"),
        ("notes.md", f"[{_MARCH}] Boiler: checked\n[{_MARCH}] Pump: checked\n"),
    ],
)
def test_logs_and_other_texts_are_no_chats(name: str, text: str) -> None:
    assert document_kind(BytesIO(text.encode()), name) in {"text", "log", "markdown", "code"}


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["![", "![a](./media/", " <a", f"{_LRM} ", "(- ", "IMG-20260312-WA1. (", "<a ", "12/03/2026, 18:04 - A"]
)
def test_no_text_makes_a_chat_slow(piece: str) -> None:
    (day,) = read(
        f"13/03/2026, 18:00 - Ann: Hello\n13/03/2026, 18:04 - Ben: {piece * 100_000}\n13/03/2026, 18:05 - Ann: Bye"
    )
    assert "Bye" in day.text
    lines = f"13/03/2026, 18:00 - Ann: {piece}\n" * 3_000
    assert len(read(f"{lines}13/03/2026, 18:05 - Ben: Bye")) == 1
