"""Chats: a document a day or a thread; and those that WhatsApp, and signal-export in Markdown, write as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from atomr_local.indexing.readers.documents.document import Document, Writer, short_line

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
        chat = f"Chat of {_names(message for part in parts.values() for message in part)}"
    for part in parts.values():
        writer = Writer("message")
        day = part[0].day
        for message in part:
            time = message.time if message.day == day else f"{message.day} {message.time}"
            asked = known.get(message.answers)
            words = short_line(asked.text[:_LONGEST_QUOTE]) if asked and asked.day != message.day else ""
            to = f", to {asked.sender}" + (f" (“{words}”)" if words else "") if asked else ""
            writer.at(f"{message.day} {message.time}, {message.sender}")
            writer.line(f"{time} {message.sender}{to}: {message.text}")
        document = writer.done()
        document.title = short_line(f"{chat}, {day}" + (f": {part[0].text[:_LONGEST_QUOTE]}" if part[0].thread else ""))
        document.details = {"author": _names(part)} | ({"date": day} if day[4:5] == "-" else {})
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
# Placeholders of WhatsApp, which marks its words on iPhones alone; pictures, reactions and stickers of signal-export.
_NOTHING = re.compile(
    rf"{_LRM}.{{0,200}}$|^<[^<>/=]{{0,40}}[ \u3000-\uffff][^<>/=]{{0,40}}>$| <\w+(?: [\w']+){{2,}}>$"
    r"|^(?:IMG|VID|AUD|PTT|STK)-\d{8}-WA\d+\.\w* \([^()\n]+\)$|^(?:image|video|audio|GIF|sticker|document) omitted$"
    r"|^(?:null|Missed (?:voice|video) call|You deleted this message\.?|\(?This message was deleted\.?\)?) *$"
    r"|!\[[^\]\n]{0,200}\]\(\./media/[^)\n]{0,300}\)|^\((?:- .* -|\( .* \))\) *$|\((?:media|attachment) not exported\)",
    re.M,
)


def _first_line(line: str) -> re.Match[str] | None:
    """What the first line of a message says; one without a sender is of the program."""
    line = _UNSEEN.sub("", line).replace("\xa0", " ").replace("\u202f", " ")
    return _LINE.match(_TIME_FIRST.sub(r"\1\3, \2", line))


def is_chat(head: bytes, name: str) -> bool:
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
