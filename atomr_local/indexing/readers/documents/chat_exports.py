"""Files of chats: text, JSON of Telegram, Discord, Slack and Signal, and the archives that these programs export."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from io import BytesIO
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.chats import Message, chat_documents, messages_of
from atomr_local.indexing.readers.documents.document import Document, UnreadableError, open_zip, part
from atomr_local.indexing.readers.documents.json_text import parse_json
from atomr_local.indexing.readers.documents.kinds import HEAD, chat_kind
from atomr_local.indexing.readers.documents.mail import MOST_MAILBOX
from atomr_local.indexing.readers.documents.text_file import read_bytes
from atomr_local.indexing.readers.lines import decoded, head_as_utf8

_Chats = Iterator[tuple[str, list[Message]]]
# Where messages have date, sender, text, key, and the key of what they answer (:func:`_string`), by a key that those of
# no other program have: Telegram, DiscordChatExporter, Discord's own data (what its user wrote), signal-export.
_PROGRAMS = {
    "from_id": ("date", "from|from_id", "text", "id", "reply_to_message_id"),
    "author": ("timestamp", "author nickname|author name", "content", "id", "reference messageId"),
    "Contents": ("Timestamp", "", "Contents", "ID", ""),
    "reactions": ("date", "sender", "body", "", ""),
}
_OF_PEOPLE = frozenset({"", "message", "Default", "Reply"})  # types; others tell of members, names and calls
_SLACK_OF_PEOPLE = frozenset({"", "bot_message", "me_message", "thread_broadcast", "reply_broadcast", "file_share"})
_SLACK_NAME = "profile display_name|profile real_name|display_name|real_name|name|id"
_SIGNAL_NAME = "contact systemGivenName|contact profileGivenName|group snapshot title title|contact e164"
_SLACK_LINK = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def parse_chat(stream: BinaryIO, name: str) -> Iterator[Document]:
    """The days and threads of the chats in a file; JSON of another structure is read as JSON."""
    data = read_bytes(stream)
    found = list(_chats(data, name, {}))
    for chat, messages in found:
        yield from chat_documents(messages, chat)
    if not found:
        yield parse_json(BytesIO(data))


def parse_chat_archive(stream: BinaryIO) -> Iterator[Document]:
    """The chats in an archive of WhatsApp, Slack or Discord, file by file.

    Raises:
        UnreadableError: it is damaged, or unpacks to too much.
    """
    with open_zip(stream) as archive:
        files = {one.filename: one.file_size for one in archive.infolist() if one.filename.endswith((".txt", ".json"))}
        if sum(files.values()) > MOST_MAILBOX:
            raise UnreadableError(f"its chats have more than {MOST_MAILBOX >> 20} MiB: unpack it first")
        users = _dicts(_loaded(decoded(part(archive, "users.json")))) if "users.json" in files else []
        people = {_string(user, "id"): _string(user, _SLACK_NAME) for user in users}
        for file in sorted(files):
            for chat, messages in _chats(part(archive, file), file, people):
                yield from chat_documents(messages, chat)


def _chats(data: bytes, path: str, people: Mapping[str, str]) -> _Chats:
    """The chats in a file, each with its name: those that JSON does not name are called as its folder is."""
    where, source = PurePosixPath(path), decoded(data)
    kind = chat_kind(head_as_utf8(data[:HEAD]), where.name)
    if kind == "chat":
        yield where.stem, messages_of(source)
    for chat, messages in _chats_in_json(source, people) if kind == "chat json" else ():
        if messages:
            yield chat or where.parent.name or where.stem, messages


def _chats_in_json(source: str, people: Mapping[str, str]) -> _Chats:
    value = _loaded(source)
    if isinstance(value, dict):
        chats = value.get("chats")
        for one in _dicts(chats.get("list")) if isinstance(chats, dict) else [value]:
            yield _string(one, "name|channel name"), list(_messages(_dicts(one.get("messages"))))
        return
    found = _dicts(value) or _dicts([_loaded(line) for line in source.split("\n")])
    if any("chatItem" in one for one in found):
        yield from _signal(found)
    else:
        yield "", list(_slack(found, people) if any("ts" in one for one in found) else _messages(found))


def _loaded(text: str) -> Any:
    with suppress(ValueError):
        return json.loads(text, strict=False)
    return None


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _string(value: Any, paths: str) -> str:
    """The first text or number that lies below one of these paths of keys, such as "author name|id"; "" without one.

    Of a list, the texts of its pieces.
    """
    for path in paths.split("|"):
        found = value
        for key in path.split():
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, list):
            found = "".join(one if isinstance(one, str) else _string(one, "text") for one in found)
        if found and isinstance(found, str | int):
            return str(found)
    return ""


def _messages(found: list[dict[str, Any]]) -> Iterator[Message]:
    program = next((paths for key, paths in _PROGRAMS.items() if any(key in one for one in found)), ("",) * 5)
    for one in found:
        date, sender, text, key, answers = (_string(one, path) for path in program)
        if date and _string(one, "type") in _OF_PEOPLE:
            source, quote = _string(one, "forwarded_from"), _string(one, "quote").strip("> \n")
            text = f"(from {source}) {text}" if source and text else f"(to “{quote}”) {text}" if quote else text
            yield Message(date[:10], date[11:16], sender or "Me", text, key, answers)


def _utc(seconds: str, parts: int = 1) -> tuple[str, str]:
    """The day and the time of seconds since 1970, or of parts of a second; "" of what is no time."""
    with suppress(ValueError, OverflowError, OSError):
        day, time = f"{datetime.fromtimestamp(float(seconds) / parts, UTC):%Y-%m-%d %H:%M}".split()
        return day, f"{time} UTC"
    return "", ""


def _slack(found: list[dict[str, Any]], people: Mapping[str, str]) -> Iterator[Message]:
    """The messages of a channel. Those that have a thread are in it, with the one that it begins with."""
    named = {_string(one, "user"): _string(one["user_profile"], _SLACK_NAME) for one in found if "user_profile" in one}
    people = named | {**people}

    def told(match: re.Match[str]) -> str:
        sign, what, label = match.groups()
        if sign:
            return f"{sign.replace('!', '@')}{(label or people.get(what) or what).lstrip('@')}"
        return f"{label} ({what})" if label and label != what else what

    for one in found:
        when, user = _string(one, "ts"), _string(one, "user")
        day, time = _utc(when)
        if day and _string(one, "subtype") in _SLACK_OF_PEOPLE:
            text = html.unescape(_SLACK_LINK.sub(told, _string(one, "text|attachments")))
            sender = people.get(user) or _string(one, "username") or user
            yield Message(day, time, sender, text, when, thread=_string(one, "thread_ts"))


def _signal(found: list[dict[str, Any]]) -> _Chats:
    """What Signal itself exports: its recipients, its chats and their messages."""
    people: dict[str, str] = {}
    chats: dict[str, tuple[str, list[Message]]] = {}
    for one in found:
        if who := one.get("recipient"):
            name = _string(who, _SIGNAL_NAME)
            family = _string(who, "contact systemFamilyName|contact profileFamilyName")
            people[_string(who, "id")] = f"{name} {family}".strip() or "Me"
        elif chat := one.get("chat"):
            chats[_string(chat, "id")] = people.get(_string(chat, "recipientId"), ""), []
        elif (item := one.get("chatItem")) and _string(item, "chatId") in chats:
            sent, text = _string(item, "dateSent"), _string(item, "standardMessage text body")
            answers = _string(item, "standardMessage quote targetSentTimestamp")
            message = Message(*_utc(sent, 1000), people.get(_string(item, "authorId"), ""), text, sent, answers)
            chats[_string(item, "chatId")][1].append(message)
    yield from chats.values()
