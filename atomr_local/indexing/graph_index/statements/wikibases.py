"""What the IRIs of any Wikibase say: every installation writes RDF in one form, under a prefix of its own.

Wikidata's prefix is http://www.wikidata.org/; structured data on Commons has https://commons.wikimedia.org/ for its
media and Wikidata's for its properties.
"""

from __future__ import annotations

import re
from typing import NamedTuple

COMMONS = "https://commons.wikimedia.org/"
DIRECT = "prop/direct/"
_BASE = r"(?P<base>https?://[^\s<>?#]{1,200}?/)"
_ID = r"(?P<letter>[QPMLE])(?P<number>[1-9]\d{0,11})"
_SUBJECT = re.compile(
    _BASE
    + r"(?:entity/"
    + _ID
    + r"(?P<part>-[FS]\d+)?"
    + r"|entity/statement/(?P<owner>[QqPpMmLlEe][1-9]\d{0,11})[-$][0-9A-Za-z-]{1,60}"
    + r"|(?P<storage>(?:reference|value)/[0-9a-f]{32,40}|wiki/Special:EntityData/.+))"
)
_PARTS = ("/entity/", "/reference/", "/value/", "Special:EntityData/")  # of most IRIs none
_PREDICATE = re.compile(_BASE + r"prop/(?P<form>(?:[a-z-]+/){0,3})(?P<pid>P[1-9]\d{0,9})")
_IDENTIFIER = re.compile(r"https?://[^\s<>?#]{1,200}/(?:entity|prop/direct)/([QPM][1-9]\d{0,11})")
_UNKNOWN = re.compile(r"https?://[^\s<>?#]{1,200}?/\.well-known/genid/.+")


# What is passed over, as it is told.
LEXEMES, SCHEMAS = "triples about lexemes", "triples about entity schemas"
UNKNOWN_VALUES = "statements of an unknown value or none"
OTHER_VALUES = "statements of other kinds of value"
IDENTIFIERS = "statements of external identifiers and media"
_LETTERS = {"L": LEXEMES, "E": SCHEMAS}


class Subject(NamedTuple):
    """An IRI of a Wikibase as a subject.

    Attributes:
        base: what all IRIs of this Wikibase begin with.
        kind: the letter of an entity's id, "node" for a statement of its own, "" for how things are stored.
        owner: the id of the entity, or of that which the statement is about.
    """

    base: str
    kind: str
    owner: str

    @property
    def passed_over(self) -> str:
        """As what its triples are counted because no graph is built of them; "" where one is."""
        return _LETTERS.get(self.owner[:1], "")


def subject_of(iri: str) -> Subject | None:
    """What of a Wikibase the IRI is; None if it is none."""
    match = _SUBJECT.fullmatch(iri) if any(part in iri for part in _PARTS) else None
    if match is None:
        return None
    if match["storage"] is not None:
        return Subject(match["base"], "", "")
    if match["owner"] is not None:
        return Subject(match["base"], "node", match["owner"].upper())
    return Subject(match["base"], match["letter"], f"{match['letter']}{match['number']}")


def predicate_of(iri: str) -> tuple[str, str, str] | None:
    """(base, form, property id) of a predicate of a Wikibase, the form such as "direct/" or ""; None if it is none."""
    match = _PREDICATE.fullmatch(iri) if "/prop/" in iri else None
    return (match["base"], match["form"], match["pid"]) if match is not None else None


def is_entity(iri: str) -> bool:
    """Whether the IRI is that of an item, a property or a medium of some Wikibase."""
    found = subject_of(iri)
    return found is not None and found.kind in ("Q", "P", "M")


def identifier_of(iri: str) -> str:
    """The id of an item, a property or a medium of some Wikibase, or of a property in its direct form; "" of others."""
    match = _IDENTIFIER.fullmatch(iri)
    return match[1] if match is not None else ""


def is_unknown(iri: str) -> bool:
    """Whether the IRI stands for a value of which only is known that there is one."""
    return iri.startswith("http") and "/.well-known/genid/" in iri and _UNKNOWN.fullmatch(iri) is not None
