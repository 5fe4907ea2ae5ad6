"""Chats as JSON and as archives: Telegram, Discord, Slack, Signal, WhatsApp; other JSON stays JSON."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from support.read_files import zipped

from atomr_local.indexing.readers.documents import chats as chat_exports
from atomr_local.indexing.readers.documents.document import Document, UnreadableError
from atomr_local.indexing.readers.documents.kinds import document_kind
from atomr_local.indexing.readers.documents.process import parse


def read(content: Any, name: str = "result.json") -> list[Document]:
    data = content if isinstance(content, bytes) else json.dumps(content, indent=1).encode()
    assert document_kind(BytesIO(data), name) in {"chat json", "chat archive"}
    return list(parse(BytesIO(data), name))


def lines(*values: Any) -> bytes:
    return "\n".join(json.dumps(value) for value in values).encode()


def told(documents: list[Document]) -> list[tuple[str, str]]:
    return [(document.title, document.text) for document in documents]


def telegram(number: int, text: Any, **more: Any) -> dict[str, Any]:
    usual = {"type": "message", "date": "2026-03-12T18:04:00", "from": "Ann", "from_id": "user1"}
    return {"id": number, "text": text} | usual | more


_TELEGRAM = {
    "name": "Boats",
    "type": "private_group",
    "id": 1,
    "messages": [
        telegram(1, "", type="service", action="pin_message"),
        telegram(2, ["When does ", {"type": "bold", "text": "the "}, "ferry leave?"]),
        telegram(3, "", photo="photos/1.jpg"),
        telegram(4, "7:40", **{"from": "Ben", "reply_to_message_id": 2, "date": "2026-03-13T09:00:00"}),
        telegram(5, "Pier 2", **{"from": None, "reply_to_message_id": 4, "date": "2026-03-13T09:01:00"}),
        telegram(6, "Storm", **{"forwarded_from": "Harbour", "date": "2026-03-13T09:02:00"}),
    ],
}


def test_telegram_tells_whom_a_message_answers() -> None:
    first, second = read(_TELEGRAM)
    assert (first.title, first.text) == ("Boats, 2026-03-12", "18:04 Ann: When does the ferry leave?")
    assert second.text == (
        "09:00 Ben, to Ann (“When does the ferry leave?”): 7:40\n09:01 user1, to Ben: Pier 2\n09:02 Ann: (from Harbour) Storm"
    )
    assert second.details == {"author": "Ben, user1, Ann", "date": "2026-03-13"}
    assert second.places[0] == (0, "2026-03-13 09:00, Ben")


def test_telegram_exports_all_chats_in_one_file() -> None:
    saved = {"type": "saved_messages", "id": 2, "messages": [telegram(1, "Buy milk")]}
    chats = {"about": "All chats.", "list": [saved, _TELEGRAM, {"name": "x"}, 7]}
    titles = [
        title for title, _ in told(read({"about": "Here is the data you requested. Remember: …", "chats": chats}))
    ]
    assert titles == ["Chat of Ann, 2026-03-12", "Boats, 2026-03-12", "Boats, 2026-03-13"]


def discord(number: str, content: str, **more: Any) -> dict[str, Any]:
    author = {"id": "1", "name": "ann_l", "nickname": "Ann"}
    usual = {"type": "Default", "timestamp": "2026-03-12T18:04:50.473-05:00", "author": author}
    return {"id": number, "content": content} | usual | more


def test_discord() -> None:
    messages = [
        discord("5", "When?"),
        discord("6", "7:40", type="Reply", author={"name": "ben"}, reference={"messageId": "5"}),
        discord("7", "Joined the server.", type="GuildMemberJoin"),
    ]
    export = {"guild": {"id": "1", "name": "Boats"}, "channel": {"id": "2", "name": "ferries"}, "messages": messages}
    assert told(read(export)) == [("ferries, 2026-03-12", "18:04 Ann: When?\n18:04 ben, to Ann: 7:40")]
    own = [{"ID": 1091115849500336229, "Timestamp": "2026-03-12 18:04:50", "Contents": "I said so", "Attachments": ""}]
    assert told(read(own, "messages.json")) == [("Chat of Me, 2026-03-12", "18:04 Me: I said so")]


def slack(ts: float, text: str, user: str = "U1", **more: Any) -> dict[str, Any]:
    return {"type": "message", "text": text, "user": user, "ts": f"{ts:.6f}"} | more


_DAY = 1_773_338_640  # 2026-03-12 18:04 UTC
_SLACK = [
    slack(
        _DAY,
        "Hi <@U2>, see <https://b.org|the plan> &amp; <#C1|boats>",
        user_profile={"display_name": "", "real_name": "Ann Lo"},
    ),
    slack(_DAY + 60, "<@U2> has joined", "U2", subtype="channel_join"),
    slack(_DAY + 120, "Who drives?", "U2", thread_ts=f"{_DAY + 120:.6f}", reply_count=1),
    slack(_DAY + 86_400, "I do", thread_ts=f"{_DAY + 120:.6f}"),
    slack(_DAY + 180, "", "B1", subtype="bot_message", username="builder", attachments=[{"text": "Build 7 passed"}]),
]


def test_slack_has_days_and_threads() -> None:
    assert told(read(_SLACK, "2026-03-12.json")) == [
        (
            "Chat of Ann Lo, builder, U2, 2026-03-12",
            "18:04 UTC Ann Lo: Hi @U2, see the plan (https://b.org) & #boats\n18:07 UTC builder: Build 7 passed",
        ),
        (
            "Chat of Ann Lo, builder, U2, 2026-03-12: Who drives?",
            "18:06 UTC U2: Who drives?\n2026-03-13 18:04 UTC Ann Lo: I do",
        ),
    ]


def test_an_archive_of_slack_names_channels_and_people() -> None:
    users = [{"id": "U2", "name": "kim", "profile": {"display_name": "Kim"}}, 7]
    files = {"users.json": users, "channels.json": [{"id": "C1", "name": "boats"}], "boats/2026-03-12.json": _SLACK[:3]}
    packed = zipped({name: json.dumps(content) for name, content in files.items()} | {"boats/a.png": b"\x89PNG"})
    day, thread = read(packed, "export.zip")
    assert (day.title, day.text) == (
        "boats, 2026-03-12",
        "18:04 UTC Ann Lo: Hi @Kim, see the plan (https://b.org) & #boats",
    )
    assert thread.text == "18:06 UTC Kim: Who drives?"


@pytest.mark.parametrize(
    ("name", "title"), [("_chat.txt", "Chat of Ann, Ben"), ("WhatsApp Chat with Ben.txt", "WhatsApp Chat with Ben")]
)
def test_an_archive_of_whatsapp(name: str, title: str) -> None:
    chat = "[13/03/2026, 18:04:11] Ann: When?\n[13/03/2026, 18:05:11] Ben: 7:40"
    packed = zipped({name: chat, "00000001-PHOTO.jpg": b"\xff\xd8"})
    assert told(read(packed, "WhatsApp Chat - Ben.zip")) == [
        (f"{title}, 2026-03-13", "18:04 Ann: When?\n18:05 Ben: 7:40")
    ]


def test_an_archive_has_no_more_text_than_a_mailbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_exports, "MOST_MAILBOX", 1 << 20)
    with pytest.raises(UnreadableError, match="more than 1 MiB: unpack it first"):
        read(zipped({"_chat.txt": b" " * (2 << 20)}), "a.zip")
    assert (
        document_kind(BytesIO(zipped({"messages/c1091115849500336229/messages.json": "[]"})), "package.zip")
        == "chat archive"
    )
    with pytest.raises(UnreadableError, match="packed with Zip; unpack it first"):
        document_kind(BytesIO(zipped({"a/2026-03-12.json": "[]", "notes.txt": "x"})), "a.zip")


def test_signal() -> None:
    frames = [
        {"version": 1, "backupTimeMs": "1"},
        {"account": {"givenName": "Eve"}},
        {"recipient": {"id": "1", "self": {}}},
        {"recipient": {"id": "2", "contact": {"profileGivenName": "Ada", "profileFamilyName": "Quist"}}},
        {"chat": {"id": "9", "recipientId": "2"}},
        {"chatItem": {"chatId": "9", "authorId": "2", "dateSent": f"{_DAY}000", "standardMessage": {"text": {"body": "When?"}}}},
        {
            "chatItem": {
                "chatId": "9", "authorId": "1", "dateSent": f"{_DAY + 60}000",
                "standardMessage": {"text": {"body": "7:40"}, "quote": {"targetSentTimestamp": f"{_DAY}000"}},
            }
        },
        {"chatItem": {"chatId": "9", "authorId": "2", "dateSent": f"{_DAY}000", "updateMessage": {}}},
        {"chatItem": {"chatId": "8", "authorId": "2", "dateSent": "never", "standardMessage": 7}},
        "x",
    ]  # fmt: skip
    text = "18:04 UTC Ada Quist: When?\n18:05 UTC Me, to Ada Quist: 7:40"
    assert told(read(lines(*frames), "main.jsonl")) == [("Ada Quist, 2026-03-12", text)]


def test_signal_export() -> None:
    rest = {"sticker": None, "reactions": [], "attachments": []}
    exported = lines(
        {"date": "2026-03-12T18:04:11", "sender": "Me", "body": "When?  ", "quote": "", **rest},
        {"date": "2026-03-12T18:05:11", "sender": "Ada", "body": "7:40  ", "quote": "\n\n> When?\n\n", **rest},
    )
    assert told(read(exported, "data.json")) == [
        ("Chat of Me, Ada, 2026-03-12", "18:04 Me: When?\n18:05 Ada: (to “When?”) 7:40")
    ]


@pytest.mark.parametrize(
    "content",
    [
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]},
        {"name": "boats", "type": "module", "id": 7, "messages": ["a"]},
        {"name": "Boats", "type": "private_group", "messages": [{"text": "no id before it"}]},
        {"about": "A list of boats", "chats": {"list": []}},
        {"guild": {"id": "1"}, "members": []},
        [{"ts": 1773338640.5, "type": "message", "value": 7}],
        [{"type": "message", "text": "without a time"}],
        [{"ID": 7, "Timestamp": "2026-03-12", "Contents": "short number"}],
        [{"author": "Ann", "content": "Boats", "timestamp": "2026-03-12T18:04:50"}],
        {"version": 1, "chatItem": {}},
    ],
)
def test_other_json_is_no_chat(content: Any) -> None:
    assert document_kind(BytesIO(json.dumps(content).encode()), "a.json") == "json"


@pytest.mark.parametrize(
    "content",
    [
        {"name": "B", "type": "private_group", "id": 1, "messages": [{"pump": "leaks"}, 7, None]},
        {
            "name": "B",
            "type": "private_group",
            "id": 1,
            "messages": [{"id": 1, "from_id": "u", "date": 7.5, "pump": "leaks"}],
        },
        {"about": "Here is the data you requested", "chats": {"list": 7}, "pump": "leaks"},
        {"about": "Here is the data you requested", "chats": [], "pump": "leaks"},
        [{"type": "message", "ts": "9999999999.999999", "text": {"a": 1}, "pump": "leaks"}, {"ts": "x"}, {"ts": [1]}],
    ],
)
def test_a_chat_of_another_structure_is_read_as_json_or_has_no_text(content: Any) -> None:
    try:
        assert all("leaks" in document.text for document in read(content))
    except UnreadableError as error:
        assert str(error) == "it has no text"


def test_damaged_json_is_read_line_by_line() -> None:
    whole = json.dumps(_TELEGRAM)
    (document,) = read(whole[: whole.index('"7:40"')].encode())
    assert "ferry leave?" in document.text
