"""Chats: a document a day or a thread."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import (
    HEAD,
    MOST_MAILBOX,
    Document,
    UnreadableError,
    Writer,
    open_zip,
    part,
    short_line,
)
from atomr_local.indexing.readers.documents.json_text import parse_json
from atomr_local.indexing.readers.documents.text_file import read_bytes
from atomr_local.indexing.readers.known import known
from atomr_local.indexing.readers.lines import decoded, head_as_utf8

_MOST_NAMES = 20
_LONGEST_QUOTE = 80  # characters of a message of another day
_UNTOLD = re.compile(r"(?i)_?chat|main|data|messages?|result|[\d_-]*")  # names of files that tell no chat


@dataclass(slots=True)
class Message:
    """One message; without text where it holds a picture or the like alone.

    Attributes:
        day, time: "2026-03-12" and "18:04"; as the file writes them where it leaves open what they mean.
        key: its own, in its chat.
        answers: the key of the message that it answers.
        thread: the key of its thread; "" outside of threads.
    """

    day: str
    time: str
    sender: str
    text: str
    key: str = ""
    answers: str = ""
    thread: str = ""


def chat_documents(messages: Iterable[Message], chat: str) -> Iterator[Document]:
    """A document for each day and each thread: a line a message, which stands at its time and sender.

    Args:
        chat: its name, or the name of its file; one that tells nothing gives way to the names of the senders.
    """
    parts: dict[str, list[Message]] = {}
    known = {"": None} | {message.key: message for message in messages if message.key}
    for message in messages:
        message.text = message.text.strip()
        if message.text:
            parts.setdefault(message.thread or message.day, []).append(message)
    if _UNTOLD.fullmatch(chat):
        chat = f"Chat of {_names(message for said in parts.values() for message in said)}"
    for said in parts.values():
        writer = Writer("message")
        day = said[0].day
        for message in said:
            time = message.time if message.day == day else f"{message.day} {message.time}"
            asked = known.get(message.answers)
            words = short_line(asked.text[:_LONGEST_QUOTE]) if asked and asked.day != message.day else ""
            to = f", to {asked.sender}" + (f" (“{words}”)" if words else "") if asked else ""
            writer.at(f"{message.day} {message.time}, {message.sender}")
            writer.line(f"{time} {message.sender}{to}: {message.text}")
        document = writer.done()
        document.title = short_line(f"{chat}, {day}" + (f": {said[0].text[:_LONGEST_QUOTE]}" if said[0].thread else ""))
        document.details = {"author": _names(said)} | ({"date": day} if day[4:5] == "-" else {})
        yield document


def _names(messages: Iterable[Message]) -> str:
    names = list(dict.fromkeys(message.sender for message in messages))
    return ", ".join(names[:_MOST_NAMES]) + (" and others" if len(names) > _MOST_NAMES else "")


# Chats as text: "[12/03/2026, 18:04:11] Ann: …" (iPhones), "12/03/2026, 18:04 - Ann: …" (Android), and
# "[2026-03-12 18:04:11] Ann: …" (signal-export). The order of day and month is that of the phone's language.

_LRM = "\u200e"  # begins what the program itself says
_UNSEEN = re.compile("[\u200f\u202a-\u202e\u2066-\u2069\ufeff\r]")
_TIME_FIRST = re.compile(r"^(\[?)(\d\d?:[\d:]+), (\d+[-/.]\d+[-/.]\d+)")  # in Vietnamese
_DAY = r"(?P<day>(?P<a>\d{1,4}) ?(?P<mark>[-/.]) ?(?P<b>\d\d?) ?[-/.] ?(?P<c>\d{1,4}))\.?(?: г\.?)?"
_CLOCK = (
    r"(?P<clock>(?:[^\W\d_]{1,4}\.? ?)?\d\d?[:.]\d\d)(?P<seconds>[:.]\d\d)?"
    r"(?P<half>(?: ?[^\W\d_](?:[. ]{0,2}[^\W\d_]){0,3}\.?)?)"
)
_STYLE = r"(?P<style>(?(open)\] |(?: [-–] |: )))"
_LINE = re.compile(
    rf"{_LRM}*(?P<open>\[)?{_DAY}[,،]? {_CLOCK}{_STYLE}(?:(?P<sender>[^:]{{1,80}}):(?: |$))?(?P<text>.*)"
)
_LEVEL = re.compile(r"\b(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b|^(?i:trace|debug|info|warning|error)$")
_NO_SENDER = re.compile(r'["“”„«»\[\]{}=\\]')  # Ann changed the subject to “Trip: boats”
_SECURED = re.compile(r"(?i)end-to-end|ende-zu-ende|de bout en bout|de extremo a extremo|de ponta a ponta")
_KNOWN = known("documents/markup.toml")["chats"]
_JSON = re.compile(rf"\s*+(?:{'|'.join(_KNOWN['json'])})".encode(), re.S)
_NOTHING = re.compile("|".join(_KNOWN["nothing"]), re.M)


def _first_line(line: str) -> re.Match[str] | None:
    """What the first line of a message says; one without a sender is of the program."""
    line = _UNSEEN.sub("", line).replace("\xa0", " ").replace("\u202f", " ")
    return _LINE.match(_TIME_FIRST.sub(r"\1\3, \2", line))


def chat_kind(head: bytes, name: str) -> str:
    """The kind of a text that begins so, in UTF-8, if it is a chat; "" of others."""
    if _JSON.match(head):
        return "chat json"
    is_prose = PurePosixPath(name.casefold()).suffix in {"", ".md", ".txt", ".text"}
    return "chat" if is_prose and _is_chat(head, name) else ""


def _is_chat(head: bytes, name: str) -> bool:
    """Whether a text that begins so, in UTF-8, is a chat: it begins with a message, and further ones follow.

    Logs have lines of the same form. They are told by levels in place of names; and where all times are written as
    programs write them, or one sender says all, the file's name or words of WhatsApp's own must tell that it is a chat.
    """
    lines = [line for line in head.decode("utf-8", "replace").split("\n")[:300] if line.strip()]
    first = _first_line(lines[0]) if lines else None
    if first is None:
        return False
    whole = [found for line in lines if (found := _first_line(line)) and found["style"] == first["style"]]
    senders = [found["sender"] for found in whole if found["sender"]]
    if len(senders) < 2 or len(senders) * 4 < len(whole) or any(map(_LEVEL.search, senders)):
        return False
    as_logged = first["open"] and first["mark"] == "-" and len(first["a"]) == 4
    if as_logged or len(set(senders)) == 1 or bool(first["seconds"]) != (first["style"] in {"] ", ": "}):
        return bool(re.search(r"(?i)chat|whatsapp", name) or _LRM.encode() in head or _SECURED.search(lines[0]))
    return True


def messages_of(source: str) -> list[Message]:
    """The messages of a chat as text, without placeholders of pictures and what the program says."""
    found: list[tuple[re.Match[str], list[str]]] = []
    for line in source.split("\n"):
        if (first := _first_line(line)) and (not found or first["style"] == found[0][0]["style"]):
            found.append((first, [first["text"]]))
        elif found:
            found[-1][1].append(_UNSEEN.sub("", line))
    order = _order([first for first, _ in found])
    messages = []
    for number, (first, lines) in enumerate(found):
        sender = (first["sender"] or "").replace(_LRM, "").lstrip("~").strip()
        said = (line.rstrip() for line in _NOTHING.sub("", "\n".join(lines)).split("\n") if line.strip(" •"))
        if sender and not _NO_SENDER.search(sender) and (number or not _SECURED.search(lines[0])):
            messages.append(Message(_day(first, order), first["clock"] + first["half"], sender, "\n".join(said)))
    return messages


def _order(dates: list[re.Match[str]]) -> str:
    """What the first two numbers of the dates are: "md", "dm", or "" if the file leaves it open.

    Tells by numbers above 12, else by how the languages write dates: that of the United States has the month first,
    slashes, no zero before one digit, and "PM" in capitals.
    """
    written = [date for date in dates if len(date["a"]) < 4]
    most = [max((int(date[part]) for date in written), default=0) for part in "ab"]
    if max(most) > 12:
        return "" if min(most) > 12 else "dm" if most[0] > 12 else "md"
    padded = any(date[part].startswith("0") for date in written for part in "ab")
    capitals = any(date["half"].isupper() for date in written)
    if any(date["mark"] != "/" for date in written) or (padded and not capitals):
        return "dm"
    return "md" if capitals and not padded else ""


def _day(when: re.Match[str], order: str) -> str:
    a, b, c = int(when["a"]), int(when["b"]), int(when["c"])
    year, month, day = (a, b, c) if len(when["a"]) == 4 else (c, a, b) if order == "md" else (c, b, a)
    year += 2000 * (year < 100)
    is_sure = (order or len(when["a"]) == 4) and 1990 < year < 2100 and 1 <= month <= 12 and 1 <= day <= 31
    return f"{year}-{month:02}-{day:02}" if is_sure else when["day"]


# Files of chats: text, JSON of Telegram, Discord, Slack and Signal, and the archives that these programs export.

_Chats = Iterator[tuple[str, list[Message]]]
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
    program = next((paths for key, paths in _KNOWN["programs"].items() if any(key in one for one in found)), ("",) * 5)
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
