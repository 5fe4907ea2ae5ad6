"""Calendars (iCalendar) and contacts (vCard): an entry a line, without what is meant for programs."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import BinaryIO, NamedTuple

from atomr_local.indexing.readers.documents.document import Document, Writer
from atomr_local.indexing.readers.documents.text_file import read_bytes
from atomr_local.indexing.readers.known import known
from atomr_local.indexing.readers.lines import decoded, encoding_of

_PROPERTY = re.compile(r'(?:[\w-]+\.)?([\w-]+)((?:;(?:"[^"]*"|[^":])*)?):(.*)', re.S)
_PARAMETER = re.compile(r';([\w-]+)(?:=((?:"[^"]*"|[^";])*))?')
_ESCAPED = re.compile(r"\\([\\;,nN:])")
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?")
_UNDECLARED = re.compile(r"(?:=[C-F][0-9A-F](?:=[89AB][0-9A-F])+)+")  # UTF-8 that says nothing of its encoding
_RULE = re.compile(r"FREQ=(\w+)")
_LABELS = known("documents/markup.toml")["calendar"]["labels"]
_ENTRIES = frozenset({"VEVENT", "VTODO", "VJOURNAL", "VCARD"})
_NAMES = ("SUMMARY", "FN", "N")
_NO_TYPES = frozenset({"PREF", "INTERNET", "VOICE", "TEXT", "URI", "X400"})
_BINARY = frozenset({"B", "BASE64"})


class _Property(NamedTuple):
    name: str
    parameters: dict[str, str]
    value: str
    line: int


def parse_calendar(stream: BinaryIO) -> Document:
    """A line an entry, with its name first, then its other fields in their order."""
    writer = Writer("line")
    open_: list[str] = []
    entry: list[_Property] = []
    first = 0
    for found in _properties(read_bytes(stream)):
        name = found.value.strip().upper()
        if found.name == "BEGIN":
            if name in _ENTRIES:
                entry, first = [], found.line
            open_.append(name)
        elif found.name == "END":
            while open_ and open_.pop() != name:
                pass
            if name in _ENTRIES:
                writer.at(first)
                writer.line(_told(entry))
                entry = []
        elif open_ and open_[-1] in _ENTRIES:
            entry.append(found)
        elif found.name == "X-WR-CALNAME" and not writer.document.title:
            writer.document.title = _text(found.value)[:300]
    writer.line(_told(entry))
    return writer.done()


def _properties(data: bytes) -> Iterator[_Property]:
    """The properties of the unfolded lines, decoded; those that hold binary data are left out."""
    if encoding_of(data[:4096])[0].startswith(("utf-16", "utf-32")):
        data = decoded(data).encode("utf-8", "replace")
    whole: list[bytearray] = []
    numbers: list[int] = []
    # A line may be folded within a character, so bytes are joined.
    for number, line in enumerate(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), 1):
        quoted = bool(whole) and whole[-1].endswith(b"=") and b"QUOTED-PRINTABLE" in whole[-1][:200].upper()
        if whole and (quoted or line[:1] in {b" ", b"\t"}):
            if quoted:
                del whole[-1][-1]
            whole[-1] += line[1:] if line[:1] in {b" ", b"\t"} else line
        else:
            whole.append(bytearray(line))
            numbers.append(number)
    for number, line_text in zip(numbers, decoded(b"\n".join(whole)).split("\n"), strict=False):
        if not (found := _PROPERTY.fullmatch(line_text)):
            continue
        # vCard 2.1 has values without names: ";CELL;ENCODING=BASE64", ";QUOTED-PRINTABLE".
        given = [(name.upper(), value.strip('"')) for name, value in _PARAMETER.findall(found[2])]
        parameters = {name: value for name, value in given if value}
        kinds = ",".join([parameters.get("TYPE", ""), *(name for name, value in given if not value)])
        encoding = parameters.get("ENCODING", "").upper()
        value = found[3]
        if encoding in _BINARY or "BASE64" in kinds.upper() or value.startswith("data:"):
            continue
        if encoding == "QUOTED-PRINTABLE" or "QUOTED-PRINTABLE" in kinds.upper():
            value = _unquoted(value, parameters.get("CHARSET", "utf-8"))
        else:
            value = _UNDECLARED.sub(lambda coded: _unquoted(coded[0], "utf-8"), value)
        yield _Property(found[1].upper(), parameters | {"TYPE": kinds}, value, number)


def _unquoted(value: str, charset: str) -> str:
    return decoded(quopri.decodestring(value.encode("utf-8", "replace")), charset)


def _told(entry: list[_Property]) -> str:
    named = {found.name for found in entry if found.value.strip(" ;")}
    parts: list[tuple[str, str]] = []
    for found in sorted(entry, key=lambda found: found.name not in _NAMES):
        label = _LABELS.get(found.name, "")
        if not label or (found.name == "N" and "FN" in named):
            continue
        types = [kind for kind in re.split(r"[,;]", found.parameters["TYPE"]) if kind and kind.upper() not in _NO_TYPES]
        if types and found.name in {"TEL", "EMAIL", "ADR", "URL", "IMPP", "RELATED"}:
            label += f" ({', '.join(types).lower()})"
        if value := _value(found):
            parts.append((label, value))
    return "; ".join(f"{label}: {value}" for label, value in dict.fromkeys(parts))


def _value(found: _Property) -> str:
    name, value = found.name, found.value.strip()
    if name in {"N", "ADR", "ORG"}:
        fields = [_text(part) for part in re.split(r"(?<!\\);", value)]
        if name == "N":  # family, given, additional, before and after
            fields = [fields[i] for i in (3, 1, 2, 0, 4) if i < len(fields)]
        return (" " if name == "N" else ", ").join(field for field in fields if field)
    if name in {"DTSTART", "DTEND", "DUE", "EXDATE", "RDATE", "COMPLETED", "BDAY", "ANNIVERSARY", "DEATHDATE"}:
        zone = found.parameters.get("TZID", "").strip("/")
        return ", ".join(_when(one, zone, last=name == "DTEND") for one in value.split(","))
    if name == "RRULE":
        rest = [part.lower().replace("=", " ") for part in value.split(";") if not part.startswith(("FREQ=", "WKST="))]
        often = _RULE.search(value)
        return ", ".join([often[1].lower() if often else "", *rest]).strip(", ")
    if name in {"ORGANIZER", "ATTENDEE"}:
        address = re.sub(r"(?i)^mailto:", "", value)
        person = found.parameters.get("CN", "")
        return f"{person} ({address})" if person and person != address else address
    return _text(re.sub(r"(?i)^tel:", "", value) if name == "TEL" else value)


def _when(value: str, zone: str, *, last: bool) -> str:
    """A date or time as people write it; the day after the last of an event is made the last one."""
    if not (found := _DATE.fullmatch(value.strip())):
        return value.strip()
    year, month, day, hour, minute, second, utc = found.groups()
    if hour is None:
        try:
            given = date(int(year), int(month), int(day))
            return (given - timedelta(days=1) if last else given).isoformat()
        except (ValueError, OverflowError):
            return value
    time = f"{hour}:{minute}" + (f":{second}" if second != "00" else "")
    return f"{year}-{month}-{day} {time}" + (" UTC" if utc else f" {zone}" if zone else "")


def _text(value: str) -> str:
    said = _ESCAPED.sub(lambda found: " " if found[1] in "nN" else found[1], value)
    return " ".join(said.split())
