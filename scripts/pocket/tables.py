"""Reading the tables, and the entities and facts that they become."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

TABLES = Path(__file__).resolve().parent / "tables"
Kind = Literal["entity", "date", "quantity", "string"]
Row = dict[str, str]

# Wikidata's property for a relation, where it has one; the others are told by their label alone.
PROPERTIES = {
    "instance of": "P31", "capital": "P36", "capital of": "P1376", "continent": "P30", "official language": "P37",
    "language used": "P2936", "currency": "P38", "area": "P2046", "shares border with": "P47",
    "ISO 3166-1 alpha-2 code": "P297", "ISO 3166-1 alpha-3 code": "P298", "top-level Internet domain": "P78",
    "country": "P17", "place of birth": "P19", "place of death": "P20", "date of birth": "P569",
    "date of death": "P570", "country of citizenship": "P27", "occupation": "P106", "sex or gender": "P21",
    "father": "P22", "mother": "P25", "child": "P40", "sibling": "P3373", "spouse": "P26", "educated at": "P69",
    "award received": "P166", "position held": "P39", "author": "P50", "composer": "P86", "creator": "P170",
    "director": "P57", "cast member": "P161", "publication date": "P577", "inception": "P571",
    "date of first performance": "P1191", "location of first performance": "P4647", "based on": "P144", "genre": "P136",
    "language of work or name": "P407", "narrative location": "P840", "collection": "P195", "location": "P276",
    "follows": "P155", "country of origin": "P495", "founded by": "P112", "headquarters location": "P159",
    "industry": "P452", "elevation above sea level": "P2044", "length": "P2043", "mountain range": "P4552",
    "mouth of the watercourse": "P403", "named after": "P138", "discoverer or inventor": "P61",
    "time of discovery or invention": "P575", "orbital period": "P2146", "diameter": "P2386",
    "parent astronomical body": "P397", "element symbol": "P246", "atomic number": "P1086",
}  # fmt: skip


@dataclass
class Entity:
    """Something that facts are about.

    Attributes:
        key: names it in the tables, unlike any other; it may carry a qualifier, such as "Hamlet (1948 film)".
        label: what it is called in facts and articles.
        table: the table that it is a row of, or "" for what is only mentioned.
    """

    key: str
    label: str
    table: str = ""
    qid: str = ""
    description: str = ""
    aliases: list[str] = field(default_factory=list)
    row: Row = field(default_factory=dict)


@dataclass(frozen=True)
class Fact:
    """Subject and, for kind "entity", object are entity keys; other objects are literals, quantities without unit."""

    subject: str
    property: str
    object: str
    kind: Kind
    source: str
    unit: str = ""


def read_table(name: str) -> list[Row]:
    """The rows of `<name>.psv`: a header line, then one row a line, cells separated by "|".

    Raises:
        ValueError: a row has another number of cells than the header; the message names file and line.
    """
    file = TABLES / f"{name}.psv"
    with file.open(encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream, delimiter="|", quoting=csv.QUOTE_NONE)
        header = next(lines)
        rows = []
        for number, cells in enumerate(lines, start=2):
            if len(cells) != len(header):
                raise ValueError(f"{file.name}, line {number}: {len(cells)} cells, the header has {len(header)}")
            rows.append({name: cell.strip() for name, cell in zip(header, cells, strict=True)})
    return rows


def many(cell: str, separator: str = ";") -> list[str]:
    """The values of a cell that may hold several."""
    return [part.strip() for part in cell.split(separator) if part.strip()]


def extras(row: Mapping[str, str]) -> dict[str, list[str]]:
    """The cell "more": `name=value,value;name=value`."""
    found: dict[str, list[str]] = {}
    for part in many(row.get("more", "")):
        name, _, values = part.partition("=")
        found.setdefault(name, []).extend(_values(values))
    return found


def _values(text: str) -> list[str]:
    # A comma followed by a space belongs to a name: "Prince Edward, Duke of Kent".
    marked = text.replace(", ", "\x00")
    return [part.replace("\x00", ", ").strip() for part in marked.split(",") if part.strip()]


def plain(name: str) -> str:
    """The name without its qualifier in brackets."""
    return name.partition(" (")[0]
