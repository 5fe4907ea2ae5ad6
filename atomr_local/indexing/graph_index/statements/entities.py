"""Entities of Wikidata's JSON → triples, with names, ranks and qualifiers."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from atomr_local.indexing.graph_index.bulk_loading import (
    QUALIFIERS,
    WIKIDATA,
    Claim,
    Spool,
    best,
    node_iri,
    qualifier_triples,
)
from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.statements import terms as wikibases
from atomr_local.indexing.graph_index.statements.terms import (
    ALIAS,
    COMMONS,
    OBJECT,
    STATED,
    LabelWords,
    iri_term,
    literal_term,
    plain_text,
)
from atomr_local.indexing.graph_index.subset import Role, Subset
from atomr_local.indexing.readers.facts.json_lines import Fact, encodable
from atomr_local.language.literals import Date, format_number
from atomr_local.language.properties import ENTITY, PROPERTY

_ENTITY_ID = re.compile(r"[QPM][1-9]\d{0,11}")
_PROPERTY_ID = re.compile(r"P[1-9]\d{0,9}")
_TIME = re.compile(r"(?P<sign>[+-]?)(?P<year>\d{1,16})-(?P<month>\d{2})-(?P<day>\d{2})T.*")
_IRI = re.compile(r'[a-z][a-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]+', re.IGNORECASE)
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")
_UNKNOWN = ("somevalue", "novalue")
_EARTH = "Q2"
_WKT = "http://www.opengis.net/ont/geosparql#wktLiteral"
_DAY, _MONTH, _YEAR, _DECADE, _CENTURY, _MILLENNIUM = 11, 10, 9, 8, 7, 6
# Units that conditions are written in; others are shown by their label.
_UNITS = {
    "Q11573": "m", "Q828224": "km", "Q174728": "cm", "Q174789": "mm", "Q253276": "mi", "Q3710": "ft", "Q218593": "in",
    "Q25343": "m²", "Q712226": "km²", "Q35852": "ha", "Q11570": "kg", "Q41803": "g", "Q191118": "t", "Q11574": "s",
    "Q7727": "min", "Q25235": "h", "Q573": "d", "Q577": "yr", "Q1811": "au", "Q531": "ly", "Q11229": "%",
    "Q4917": "USD", "Q4916": "EUR", "Q25224": "GBP", "Q25267": "°C",
}  # fmt: skip


class _Value(NamedTuple):
    term: str
    entity: str | None
    value_range: str
    text: str = ""
    unit: str = ""


@dataclass(frozen=True)
class EntityStatements:
    """Takes in one entity after the other.

    Attributes:
        passed_over: counts the statements that are left out, by what they are.
    """

    names: NamesWriter
    words: LabelWords
    selection: Subset
    sink: Spool
    passed_over: Counter[str] = field(default_factory=Counter)

    def take(self, entities: Iterable[dict[str, Any]]) -> None:
        """Names into the name database, statements into the sink."""
        for entity in entities:
            identifier: str = entity["id"]
            names = self.names
            if identifier.startswith("P"):
                self._take_names(PROPERTY + identifier, entity, names.property_name, names.property_description)
                continue
            role = self._role(identifier)
            if role is Role.NONE:
                continue
            iri = entity_iri(identifier)
            self._take_names(iri, entity, names.name, names.description)
            if entity["sitelinks"]:
                names.sitelinks(iri, len(entity["sitelinks"]))
            subject = role is Role.SUBJECT
            self._statements(iri, list(self._kept(entity, role, self.passed_over if subject else None)), role)

    def _role(self, identifier: str) -> Role:
        """Of media, a slice of Wikidata holds none."""
        if identifier.startswith("M"):
            return Role.NONE if self.selection.sliced else Role.SUBJECT
        return self.selection.role(int(identifier[1:]))

    def _kept(self, entity: dict[str, Any], role: Role, passed_over: Counter[str] | None) -> Iterator[Claim]:
        for claim in claims_of(entity, passed_over):
            if self.selection.keeps_of(role, claim.property, claim.datatype):
                yield claim
            elif passed_over is not None and self.selection.allowed is None:
                passed_over[wikibases.IDENTIFIERS] += 1

    def _statements(self, iri: str, claims: list[Claim], role: Role) -> None:
        taken = set()
        for claim in best(claims):
            line = f"{iri_term(iri)} {iri_term(PROPERTY + claim.property)} {claim.term} .\n"
            if line in taken:
                continue
            taken.add(line)
            prop = PROPERTY + claim.property
            self.names.statement(iri, prop, claim.entity, claim.value_range)
            if claim.unit:
                self.names.statement_unit(iri, prop, claim.term, claim.text, claim.unit)
            elif claim.text:
                self.names.statement_text(iri, prop, claim.term, claim.text)
            self.sink.fact(line)
        if role is Role.SUBJECT:
            for claim in claims:
                for line in qualifier_triples(iri, claim):
                    self.sink.qualifier(line)

    def _take_names(
        self,
        iri: str,
        entity: dict[str, Any],
        name: Callable[[str, str, int], None],
        description: Callable[[str, str], None],
    ) -> None:
        for text, fit in self._texts(entity["labels"]):
            name(iri, text, STATED * fit)
        for text in self._aliases(entity["aliases"]):
            name(iri, text, ALIAS)
        for text, _ in self._texts(entity["descriptions"]):
            description(iri, text)

    def _texts(self, by_language: dict[str, Any]) -> Iterator[tuple[str, int]]:
        """Texts of the languages that serve, the best language first."""
        fits = sorted((-self.words.fit(tag), tag) for tag in by_language)
        for negative, tag in fits:
            text = _text(by_language[tag])
            if negative and text:
                yield text, -negative

    def _aliases(self, by_language: dict[str, Any]) -> Iterator[str]:
        for tag, aliases in by_language.items():
            if self.words.fit(tag) and isinstance(aliases, list):
                yield from filter(None, map(_text, aliases))


def _text(value: Any) -> str:
    """The text of {"language", "value"}; some writers wrap it once more by its language."""
    while isinstance(value, dict) and "value" not in value and len(value) == 1:
        (value,) = value.values()
    text = value.get("value") if isinstance(value, dict) else None
    return plain_text(encodable(text)) if isinstance(text, str) else ""


def entity_iri(identifier: str) -> str:
    """The IRI of an entity by its id: media are those of Commons."""
    return (COMMONS + "entity/" if identifier.startswith("M") else ENTITY) + identifier


def claims_of(entity: dict[str, Any], passed_over: Counter[str] | None = None) -> Iterator[Claim]:
    """The statements of an entity that have a value that can be kept; what is no statement is skipped.

    Args:
        passed_over: counts the others, by what their value is.
    """
    base = COMMONS if entity["id"].startswith("M") else WIKIDATA
    for group in entity["claims"].values():
        statements = [one for one in group if isinstance(one, dict)] if isinstance(group, list) else []
        # That the value is unknown, or that there is none, may be what is said first of all.
        unknown_first = any(
            one.get("rank") == "preferred" and (one.get("mainsnak") or {}).get("snaktype") in _UNKNOWN
            for one in statements
        )
        for statement in statements:
            snak = statement.get("mainsnak")
            value = _snak_value(snak)
            if value is None or not isinstance(snak, dict):
                if passed_over is not None and isinstance(snak, dict):
                    unknown = snak.get("snaktype") in _UNKNOWN
                    passed_over[wikibases.UNKNOWN_VALUES if unknown else wikibases.OTHER_VALUES] += 1
                continue
            rank = statement.get("rank")
            datatype = snak.get("datatype")
            yield Claim(
                node_iri(str(statement.get("id", "")), entity["id"], base),
                snak["property"],
                *value[:3],
                rank if rank in ("preferred", "deprecated") else "outranked" if unknown_first else "normal",
                list(_qualifiers(statement.get("qualifiers"))),
                value.text,
                value.unit,
                datatype if isinstance(datatype, str) else "",
            )


def _qualifiers(qualifiers: Any) -> Iterator[tuple[str, str]]:
    for pid in sorted(QUALIFIERS.intersection(qualifiers if isinstance(qualifiers, dict) else ())):
        for snak in qualifiers[pid] if isinstance(qualifiers[pid], list) else ():
            value = _snak_value(snak)
            if value is not None:
                yield pid, value.term


def _snak_value(snak: Any) -> _Value | None:
    """The value of a snak, or None: unknown, of a kind that is not kept, or malformed."""
    try:
        if snak["snaktype"] != "value" or not _PROPERTY_ID.fullmatch(snak["property"]):
            return None
        return _value(snak["datavalue"]["type"], snak["datavalue"]["value"], snak.get("datatype"))
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        return None


def _value(kind: str, value: Any, datatype: Any) -> _Value | None:  # noqa: PLR0911
    """Raises one of the errors that Python has for what is malformed."""
    if kind == "wikibase-entityid":
        letter = "P" if value.get("entity-type") == "property" else "Q"
        identifier = value.get("id") or f"{letter}{value['numeric-id']}"
        iri = entity_iri(identifier)
        return _Value(iri_term(iri), iri, "entities") if _ENTITY_ID.fullmatch(identifier) else None
    if kind == "time":
        return _time(value["time"], value["precision"])
    if kind == "quantity":
        return _quantity(value["amount"], value.get("unit", "1"))
    if kind == "string":
        text = _clean(value)
        is_url = datatype == "url" and _IRI.fullmatch(text)
        return _Value(iri_term(text), None, "texts", text) if is_url else _Value(literal_term(text), None, "texts")
    if kind == "monolingualtext":
        language = value["language"] if _LANGUAGE.fullmatch(value["language"]) else ""
        return _Value(literal_term(_clean(value["text"]), language=language), None, "texts")
    if kind == "globecoordinate":
        point = f"Point({float(value['longitude']):.10g} {float(value['latitude']):.10g})"
        globe = str(value.get("globe") or _EARTH).rpartition("/")[2]
        if globe == _EARTH:
            return _Value(f'"{point}"^^<{_WKT}>', None, "texts")
        # As Wikidata's RDF has it; shown with the name of the globe.
        place = f'"<{ENTITY}{globe}> {point}"^^<{_WKT}>'
        return _Value(place, None, "texts", point, ENTITY + globe) if _ENTITY_ID.fullmatch(globe) else None
    return None


def _clean(text: str) -> str:
    return encodable(text).strip()


def _time(text: str, precision: int) -> _Value | None:
    """At the precision of the source: a day, a month or a year; decades and centuries are kept as words."""
    match = _TIME.fullmatch(text)
    if match is None or len(match["year"].lstrip("0")) > 12:
        return None
    before, year = match["sign"] == "-", int(match["year"])
    number = 1 - year if before else year  # the dumps count 1 BC as -1, XSD and ISO 8601 as 0
    if _MILLENNIUM <= precision <= _DECADE:
        return _Value(literal_term(_words(year, precision, before)), None, "texts")
    month = int(match["month"]) if precision >= _MONTH else 0
    day = int(match["day"]) if precision >= _DAY else 0
    if not 0 <= month <= 12 or not 0 <= day <= 31:
        return None
    date = Date(number, month or None, day if month and day else None)
    return _Value(literal_term(str(date), date.datatype), None, "dates")


def _words(year: int, precision: int, before: bool) -> str:
    """ "1950s", "19th century", "2nd millennium BC"."""
    if precision == _DECADE:
        text = f"{year // 10 * 10}s"
    else:
        span, name = (100, "century") if precision == _CENTURY else (1000, "millennium")
        number = -(-year // span)
        ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        text = f"{number}{ending} {name}"
    return f"{text} BC" if before else text


def _quantity(amount: str, unit: str) -> _Value | None:
    try:
        number = Decimal(amount)
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > 300:
        return None
    text = format_number(number)
    term = literal_term(text, "decimal")
    identifier = unit.rsplit("/", 1)[-1]
    if identifier in _UNITS:
        return _Value(term, None, "numbers", f"{text} {_UNITS[identifier]}")
    if re.fullmatch(r"Q[1-9]\d{0,11}", identifier):
        return _Value(term, None, "numbers", text, ENTITY + identifier)
    return _Value(term, None, "numbers")


# Maps the labels of facts to entities, before the facts are loaded.

FILE = "labels.sqlite"


class LabelIds:
    """Which Wikidata ids stand beside which label, so that lines without an id can join those with one.

    On disk, so that memory stays bounded however many facts there are.
    """

    def __init__(self, directory: Path, names: NamesWriter) -> None:
        self._db = sqlite3.connect(directory / FILE, check_same_thread=False)
        self._db.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
            "CREATE TABLE IF NOT EXISTS known(label TEXT, qid TEXT, subject INTEGER, PRIMARY KEY(label, qid, subject)) "
            "WITHOUT ROWID"
        )
        self._names = names
        self.id_of = lru_cache(maxsize=100_000)(self._id_of)

    def close(self) -> None:
        self._db.close()

    def clear(self) -> None:
        """Forget what a run that was cut short has collected."""
        self._db.execute("DELETE FROM known")

    def add(self, fact: Fact) -> None:
        rows = [
            (term.label, term.qid, subject)
            for term, subject in ((fact.subject, 1), (fact.object, 0))
            if term.qid is not None
        ]
        if rows:
            self._db.executemany("INSERT OR IGNORE INTO known VALUES(?, ?, ?)", rows)

    def commit(self) -> None:
        self._db.commit()

    def _id_of(self, label: str) -> str | None:
        """The IRI of the only entity known by this label, or None.

        What is written about (as a subject) outweighs what is only mentioned: objects are often given by a word
        for them ("Italian" for Italy).
        """
        found = self._db.execute(
            "SELECT qid, max(subject) FROM known WHERE label = ? GROUP BY qid", (label,)
        ).fetchall()
        subjects = [qid for qid, subject in found if subject]
        ids = subjects or [qid for qid, _ in found]
        if ids:
            return ENTITY + ids[0] if len(ids) == 1 else None
        named = self._names.iris_named(label, OBJECT)
        return named[0] if len(named) == 1 else None
