"""Converts what readers give into graph statements: IRIs, typed literals, and names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from atomr_local.indexing.readers.facts.json_lines import Fact, Stated, Term
from atomr_local.language.literals import format_number, parse_date, parse_quantity
from atomr_local.language.names import name_key, words
from atomr_local.language.properties import ENTITY, PROPERTY, KnownProperty, property_table

if TYPE_CHECKING:
    from pyoxigraph import Literal

    from atomr_local.indexing.graph_index.names.writer import NamesWriter


# What the IRIs of any Wikibase say: every installation writes RDF in one form, under a prefix of its own.
#
# Wikidata's prefix is http://www.wikidata.org/; structured data on Commons has https://commons.wikimedia.org/ for its
# media and Wikidata's for its properties.

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


BLANK = "urn:atomr:blank:"  # how a node without an IRI is called in an index
NAMELESS = "something without a name"
NO_LABEL = " (no label)"
MINTED_ENTITY = "urn:atomr:entity:"
MINTED_PROPERTY = "urn:atomr:property:"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ALT_LABEL = "http://www.w3.org/2004/02/skos/core#altLabel"
DESCRIPTION = "http://schema.org/description"
LABELS = {RDFS_LABEL, "http://www.w3.org/2004/02/skos/core#prefLabel", "http://schema.org/name"}
DESCRIPTIONS = {DESCRIPTION, "https://schema.org/description", "http://www.w3.org/2000/01/rdf-schema#comment"}
NAMING = frozenset({*LABELS, ALT_LABEL, *DESCRIPTIONS})

# Weights by which one of an entity's names becomes its label: said to be the label, then written about under
# this name, then mentioned by it; an adjective ("American") is a label only where there is nothing else.
# Whole numbers, so that sums do not depend on how a build was cut into pieces.
STATED, _TERM_SUBJECT, OBJECT, _ADJECTIVE, ALIAS = 10**12, 10**6, 10**3, 1, 0
_DATE_WORDS = {"date", "year", "time", "when", "day", "inception", "founded", "born", "died", "since"}
_LONGEST_NAME = 120
_LABEL_FACTS = {"label", "name"}
_ALIAS_FACTS = {"also known as", "alias", "aliases", "alternative name"}
_DESCRIPTION_FACTS = {"description"}
_DATE_TYPES = {"date", "time", "datetime", "year", "gyear"}
_NUMBER_TYPES = {"quantity", "number", "integer", "decimal", "float"}
_ENTITY_TYPES = {"entity", "item", "wikibase-item"}


def minted_iri(namespace: str, label: str) -> str:
    """A stable IRI for what has a label and no id; long labels are cut and completed by a hash."""
    encoded = quote(" ".join(label.split()), safe="")
    if len(encoded) > 200:
        encoded = encoded[:120].rsplit("%", 1)[0] + "-" + hashlib.sha256(label.encode()).hexdigest()[:32]
    return namespace + encoded


_BEFORE_LOCAL_NAME = re.compile(r".*[/#:]", re.DOTALL)
_INSIDE_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


def local_name(iri: str) -> str:
    """A readable name out of an IRI: "birth place" for http://example.org/birthPlace."""
    tail = _BEFORE_LOCAL_NAME.sub("", iri.rstrip("/#:"))
    if "%" in tail:
        tail = unquote(tail)
    return " ".join(_INSIDE_WORDS.sub(" ", tail).split()) or iri


def shown_name(iri: str) -> str:
    """What to show of an entity or property without a label: a readable name out of its IRI, or its id, said to be one.

    "birth place" for http://example.org/birthPlace, "Q239 (no label)" for http://www.wikidata.org/entity/Q239.
    """
    if identifier := identifier_of(iri):
        return identifier + NO_LABEL
    return NAMELESS if iri.startswith(BLANK) else local_name(iri)


def iri_term(iri: str) -> str:
    return f"<{iri}>"


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})
_ESCAPED = re.compile(r'[\\"\n\r]')


def literal_term(text: str, datatype: str = "", language: str = "") -> str:
    """The literal as an N-Triples term. `datatype` is a local name of XSD."""
    escaped = text.translate(_ESCAPES) if _ESCAPED.search(text) else text
    suffix = f"^^<{XSD}{datatype}>" if datatype else f"@{language}" if language else ""
    return f'"{escaped}"{suffix}'


class FactStatements:
    """Facts with labels → triples. `id_of` gives the IRI of the only entity known by a label, or None."""

    def __init__(self, names: NamesWriter, id_of: Callable[[str], str | None]) -> None:
        self._names = names
        self._id_of = id_of
        self._vocabulary = property_table()

    def triple(self, fact: Fact) -> tuple[str, str, str] | None:
        """Take in the fact: subject, predicate and object as N-Triples terms; None if it only names its subject."""
        subject = self._entity(fact.subject, _TERM_SUBJECT)
        key = name_key(fact.property)
        if fact.pid is None and fact.object.qid is None and self._names_only(subject, key, fact.object.label):
            return None
        known, predicate = self._property(fact, key)
        adjectival = known is not None and known.adjectival
        literal = None if fact.object.qid else _literal(fact, known)
        entity = None
        if literal is None:
            entity = self._entity(fact.object, _ADJECTIVE if adjectival else OBJECT)
            # The label chosen in the end may be another one, so the wording of this statement is always kept.
            literal = iri_term(entity), "entities", ""
        term, value_range, normal = literal
        if normal != fact.object.label:
            self._names.statement_text(subject, predicate, term, fact.object.label)
        self._names.statement(subject, predicate, entity, value_range)
        return iri_term(subject), iri_term(predicate), term

    def _entity(self, term: Term, weight: int) -> str:
        iri = (ENTITY + term.qid) if term.qid else self._id_of(term.label) or minted_iri(MINTED_ENTITY, term.label)
        self._names.name(iri, term.label, weight)
        for alias in term.aliases:
            self._names.name(iri, alias, ALIAS)
        if term.description:
            self._names.description(iri, term.description)
        return iri

    def _names_only(self, subject: str, key: str, text: str) -> bool:
        """Take in a fact that says how the subject is called or what it is."""
        if key in _ALIAS_FACTS:
            self._names.name(subject, text, ALIAS)
        elif key in _DESCRIPTION_FACTS:
            self._names.description(subject, text)
        elif key in _LABEL_FACTS:
            self._names.name(subject, text, STATED)
        else:
            return False
        return True

    def _property(self, fact: Fact, key: str) -> tuple[KnownProperty | None, str]:
        known = self._vocabulary.by_iri.get(PROPERTY + fact.pid) if fact.pid else self._vocabulary.by_label.get(key)
        if fact.pid:
            iri = PROPERTY + fact.pid
        else:
            iri = known.iri if known else minted_iri(MINTED_PROPERTY, fact.property.casefold())
        self._names.property_name(iri, fact.property, 1)
        return known, iri


def _literal(fact: Fact, known: KnownProperty | None) -> tuple[str, str, str] | None:
    """(N-Triples term, kind of value, its normal form), or None if the object is an entity."""
    text, said = fact.object.label, fact.object_type
    if said in _ENTITY_TYPES:
        return None
    kind = said or (known.kind if known is not None else "")
    if kind in _DATE_TYPES:
        return _date(text, bare_year=True) or _string(text)
    if kind in _NUMBER_TYPES:
        return _number(text) or _string(text)
    if said or kind == "string":
        return _string(text)
    if known is not None:
        return None
    found = _date(text, bare_year=bool(_DATE_WORDS.intersection(words(fact.property)))) or _number(text)
    return found or (_string(text) if len(text) > _LONGEST_NAME or "\n" in text else None)


def _date(text: str, *, bare_year: bool) -> tuple[str, str, str] | None:
    date = parse_date(text, bare_year=bare_year)
    return (literal_term(str(date), date.datatype), "dates", str(date)) if date else None


def _number(text: str) -> tuple[str, str, str] | None:
    quantity = parse_quantity(text)
    if quantity is None:
        return None
    number = format_number(quantity.amount)
    return literal_term(number, "decimal"), "numbers", number


def _string(text: str) -> tuple[str, str, str]:
    return literal_term(text), "texts", text


_DATES = {XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth")}
_NUMBERS = {XSD + name for name in ("decimal", "integer", "double", "float", "int", "long", "nonNegativeInteger")}
_MOST_DIGITS = 300
RANGES_OF = dict.fromkeys(_DATES, "dates") | dict.fromkeys(_NUMBERS, "numbers")


def range_of(value: Literal) -> str:
    return RANGES_OF.get(value.datatype.value, "texts")


def literal_text(lexical: str, datatype: str) -> str:
    """A literal as it is shown: dates without a time of day, numbers without a plus sign or padding."""
    if datatype in _DATES:
        date = parse_date(lexical)
        return str(date) if date else lexical
    if datatype in _NUMBERS:
        try:
            number = Decimal(lexical)
        except ArithmeticError:
            return lexical
        # Without its exponent a number of ten characters can be a gigabyte long.
        return format_number(number) if abs(number.adjusted()) <= _MOST_DIGITS else lexical
    return lexical


def label_triples(names: NamesWriter, language: str, after: int = 0) -> Iterator[tuple[int, list[str]]]:
    """The names as triples, one rdfs:label per entity, so that SPARQL finds them too; those of an entity together, with
    its number.

    Args:
        after: entities up to this number are left out.
    """
    label_term, alias_term, description_term = map(iri_term, (RDFS_LABEL, ALT_LABEL, DESCRIPTION))
    for number, iri, label, description, others in names.labelled(after):
        said = [(label_term, label)] if label else []
        said += [(alias_term, text) for text in others]
        if description:
            said.append((description_term, description))
        yield number, [f"<{iri}> {predicate} {literal_term(text, language=language)} .\n" for predicate, text in said]


class LabelWords:
    """Which names and descriptions are taken: those of one language, its variants and of no language."""

    def __init__(self, language: str) -> None:
        self.language = language.casefold()

    def fit(self, language: str | None) -> int:
        """How well a name of this language serves, in tenths."""
        tag = (language or "").casefold()
        if tag == self.language:
            return 10
        if tag == "mul":
            return 9
        return 8 if not tag else 7 if tag.startswith(self.language + "-") else 0


def take_name(
    name: Callable[[str, str, int], None],
    description: Callable[[str, str], None],
    iri: str,
    predicate: str,
    text: str,
    fit: int,
) -> None:
    """Give a label or alias to `name`, or a description to `description`; what is empty or does not serve is dropped.

    Args:
        predicate: one of :data:`NAMING`.
        fit: as :meth:`LabelWords.fit` gives it.
    """
    plain = plain_text(text)
    if not plain or not fit:
        return
    if predicate in DESCRIPTIONS:
        description(iri, plain)
    else:
        name(iri, plain, ALIAS if predicate == ALT_LABEL else STATED * fit)


def plain_text(text: str) -> str:
    """A name or description on one line."""
    return " ".join(text.replace("\x00", "").split())


# Which passage states a fact: kept as RDF reification (RDF 1.1 Semantics, appendix D.1) beside the qualifiers, with
# Dublin Core's title and source, and PROV's value for the sentence.

STATEMENT = "urn:atomr:stated:"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
SUBJECT, PREDICATE, PROVENANCE_OBJECT = _RDF + "subject", _RDF + "predicate", _RDF + "object"
TITLE, SOURCE = "http://purl.org/dc/terms/title", "http://purl.org/dc/terms/source"
SAID = "http://www.w3.org/ns/prov#value"


def stated_lines(triple: tuple[str, str, str], stated: Stated) -> Iterator[str]:
    """The triples that say where a fact is stated.

    Args:
        triple: subject, predicate and object of the fact, as N-Triples terms.
    """
    told = {TITLE: stated.title, SOURCE: stated.passage, SAID: stated.said}
    key = "\n".join((*triple, stated.title, stated.passage))
    node = f"<{STATEMENT}{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:32]}>"
    for name, term in zip((SUBJECT, PREDICATE, PROVENANCE_OBJECT), triple, strict=True):
        yield f"{node} <{name}> {term} .\n"
    for name, text in told.items():
        if text:
            yield f"{node} <{name}> {literal_term(text)} .\n"
