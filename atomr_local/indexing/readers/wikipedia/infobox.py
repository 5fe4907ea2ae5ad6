"""Infoboxes: which templates they are, and their fields as lines with readable names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from atomr_local.indexing.readers.known import known
from atomr_local.indexing.readers.tables import one_line
from atomr_local.indexing.readers.wikipedia.plain_text import PlainText
from atomr_local.indexing.readers.wikipedia.templates import coordinates

MOST_FIELDS = 200
MOST_VALUE = 400  # characters
LEAST_FIELDS = 4  # of a template whose name does not say what it is
COORDINATES_LABEL = "coordinates"
BETWEEN = "; "  # the values of a field
_NAMED = re.compile(r"(?:info|taxo|species|chem|drug|geo|star)box\b|\b\w*info(?:box|boks|taula|mesto)", re.I)
_BOX = re.compile(r"\s*\b(?:infobox|infoboks|info)\b[\s/]*", re.I)
_KNOWN = known("wikipedia/templates.toml")["infobox"]
_PICTURE, _OF_PICTURE = (re.compile(_KNOWN[kind], re.I) for kind in ("picture", "of_picture"))
_NO_VALUE, _LAYOUT = (re.compile(_KNOWN[kind], re.I | re.X) for kind in ("no_value", "layout"))
_NUMBERED = re.compile(r"(.*?\D)(\d+)")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORDS = re.compile(r"\w")
# Parts of coordinates that older infoboxes have as fields of their own: degrees, minutes or seconds.
_DEGREES = re.compile(r"(?:(lat)|long?)(?:(d|deg|degrees)|(m|min|minutes)|(s|sec|seconds))")
_DIRECTIONS = {"latns": "ns", "latdir": "ns", "longew": "ew", "longdir": "ew", "londir": "ew", "lonew": "ew"}


def says_infobox(template: str) -> bool:
    """Whether the template's name says that it is one."""
    return _NAMED.search(template) is not None


def kind_named(template: str) -> str:
    """What the infobox is about, by the name of its template: "film"; the whole name if it says no more."""
    name = " ".join(template.split()).casefold()
    return _BOX.sub(" ", name).strip() or name


def infobox_lines(named: Mapping[str, str], lost: Counter[str]) -> list[str]:
    """The fields of an infobox, one a line: "melting point: 13.99 K". What the limits leave out is noted in `lost`.

    Empty fields, pictures and what only the layout needs are left out; latitude and longitude in parts are joined.

    Args:
        named: the template's arguments, rendered.
    """
    pictures = [_plain(key) for key, value in named.items() if _PICTURE.fullmatch(value.strip())]
    given = {key: value for key, value in named.items() if _WORDS.search(value)}
    degrees = {_squeezed(key): value.strip() for key, value in given.items() if _is_of_coordinates(key)}
    lines: list[str] = []
    for key, value in given.items():
        if _is_of_coordinates(key) or _is_of_layout(_plain(key), value.strip(), pictures):
            continue
        label = _label(key, named)
        shown = one_line(value, BETWEEN)
        if not label or not _WORDS.search(shown):
            continue
        if len(shown) > MOST_VALUE:
            shown = f"{shown[:MOST_VALUE].rsplit(' ', 1)[0]} …"
            lost["ends of infobox fields"] += 1
        if len(lines) < MOST_FIELDS:
            lines.append(f"{label}: {shown}")
        else:
            lost["infobox fields"] += 1
    where = _joined(degrees)
    return [*lines, f"{COORDINATES_LABEL}: {where}"] if where else lines


def pairs_of_rows(rows: Iterable[list[str]]) -> dict[str, str]:
    """The fields of an infobox that is made as a table: of the rows with a name and one or more values."""
    found: dict[str, str] = {}
    for row in rows:
        filled = [cell for cell in row if _WORDS.search(cell)]
        if len(filled) > 1:
            found.setdefault(filled[0].rstrip(": "), BETWEEN.join(filled[1:]))
    return found


def titled(page: PlainText, title: str) -> PlainText:
    """The page with its title before each infobox: "Hydrogen — melting point: 13.99 K"."""
    text, added = page.text, 0
    sections = []
    for section in page.sections:
        start = section.start + added
        sections.append(replace(section, start=start) if added else section)
        if section.kind == "infobox":
            before = f"{title} — "
            text = text[:start] + before + text[start:]
            added += len(before)
    return replace(page, text=text, sections=tuple(sections)) if added else page


def field_of(line: str, title: str) -> tuple[str, list[str]] | None:
    """The name and the values of a field in a passage of an infobox, by its line; None if it is no such line."""
    label, colon, value = line.removeprefix(f"{title} — ").partition(": ")
    if not colon or not label or not value:
        return None
    return label, [part for part in value.split(BETWEEN) if part]


def _plain(key: str) -> str:
    """The name of a field in words, lower case."""
    return " ".join(re.split(r"[\s_\-]+", _CAPITAL.sub(" ", key.strip()))).casefold()


def _squeezed(key: str) -> str:
    return re.sub(r"[\s_\-]", "", key).casefold()


def _label(key: str, named: Mapping[str, str]) -> str:
    """A field's name as people read it; of numbered pairs of names and values, the name that stands for this value."""
    pair = _NUMBERED.fullmatch(key.strip())
    if pair and pair[1] == "data":
        return _colonless(named.get(f"label{pair[2]}", ""))
    if pair and pair[1] == "label":
        return ""
    label = _plain(key)
    if pair:
        label = _plain(pair[1])
    return _colonless(label)


def _colonless(label: str) -> str:
    return one_line(label.replace(":", " "), " ")[:100]


def _is_of_layout(label: str, value: str, pictures: list[str]) -> bool:
    return bool(
        _PICTURE.fullmatch(value)
        or _NO_VALUE.fullmatch(value)
        or _LAYOUT.fullmatch(label)
        or any(
            label.startswith(picture) and label != picture and _OF_PICTURE.search(label.removeprefix(picture))
            for picture in pictures
        )
    )


def _is_of_coordinates(key: str) -> bool:
    return (name := _squeezed(key)) in _DIRECTIONS or _DEGREES.fullmatch(name) is not None


def _joined(degrees: Mapping[str, str]) -> str:
    """Latitude and longitude of their parts; "" where they are no such."""
    numbers: dict[str, dict[int, str]] = {"ns": {}, "ew": {}}
    letters: dict[str, str] = {}
    for key, value in degrees.items():
        if found := _DEGREES.fullmatch(key):
            numbers["ns" if found[1] else "ew"].setdefault(found.lastindex or 0, value)
        else:
            letters[_DIRECTIONS[key]] = value
    if not (numbers["ns"] and numbers["ew"]):
        return ""
    parts = {axis: [number for _, number in sorted(found.items())] for axis, found in numbers.items()}
    if set(letters) == {"ns", "ew"}:
        return coordinates([*parts["ns"], letters["ns"], *parts["ew"], letters["ew"]], {})
    return coordinates([parts["ns"][0], parts["ew"][0]], {}) if len(parts["ns"]) == len(parts["ew"]) == 1 else ""
