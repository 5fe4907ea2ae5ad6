"""Statements with their qualifiers (start, end, point in time, of), and which of them rank best.

They lie in a graph of their own beside the plain facts, in Wikidata's own form (p:, ps:, pq:), so that a question that
asks for no time reads the plain facts alone.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from atomr_local.language.properties import ENTITY

QUALIFIER_GRAPH = "urn:atomr:qualifiers"
PROP = "http://www.wikidata.org/prop/"
PROP_STATEMENT = PROP + "statement/"
PROP_QUALIFIER = PROP + "qualifier/"
NODE = ENTITY + "statement/"
START, END, POINT, OF = "P580", "P582", "P585", "P642"
QUALIFIERS = frozenset({START, END, POINT, OF})
WIKIDATA = "http://www.wikidata.org/"
_NODE_ID = re.compile(r"[QqPpMm]\d+[-$][0-9A-Za-z-]{1,60}")


@dataclass
class Claim:
    """One statement of an item.

    Attributes:
        node: the IRI of the statement itself.
        term: the value as an N-Triples term.
        entity: the IRI of the value where it is an entity.
        value_range: one of RANGES in names/database.py.
        rank: "preferred", "normal" or "deprecated".
        qualifiers: (id of one of QUALIFIERS, value as an N-Triples term).
        text: the value as the source writes it, where that differs from the term.
        unit: the IRI of a number's unit, where it is to be shown by its label.
        datatype: of the property; "" where the source does not tell.
        base: what the IRIs of the property's Wikibase begin with.
    """

    node: str
    property: str
    term: str
    entity: str | None
    value_range: str
    rank: str = "normal"
    qualifiers: list[tuple[str, str]] = field(default_factory=list)
    text: str = ""
    unit: str = ""
    datatype: str = ""
    base: str = WIKIDATA


def node_iri(statement_id: str, item: str, base: str = WIKIDATA) -> str:
    """The IRI of a statement by its id in JSON; an id that is none of a Wikibase's gives a stable IRI of its own."""
    node = f"{base}entity/statement/"
    if _NODE_ID.fullmatch(statement_id):
        return node + statement_id.replace("$", "-", 1)
    return f"{node}{item}-{hashlib.sha256(statement_id.encode('utf-8', 'replace')).hexdigest()[:32]}"


def best(claims: Iterable[Claim]) -> Iterator[Claim]:
    """Of each property the preferred statements, or where there is none, the normal ones; never deprecated ones."""
    by_property: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    for claim in claims:
        if claim.rank != "deprecated":
            by_property[claim.base, claim.property].append(claim)
    for group in by_property.values():
        preferred = [claim for claim in group if claim.rank == "preferred"]
        yield from preferred or group


def qualifier_triples(subject: str, claim: Claim) -> Iterator[str]:
    """The triples of a qualified statement that is not deprecated; none for any other."""
    if not claim.qualifiers or claim.rank == "deprecated":
        return
    node = f"<{claim.node}>"
    yield f"<{subject}> <{PROP}{claim.property}> {node} .\n"
    yield f"{node} <{PROP_STATEMENT}{claim.property}> {claim.term} .\n"
    for pid, term in claim.qualifiers:
        yield f"{node} <{PROP_QUALIFIER}{pid}> {term} .\n"
