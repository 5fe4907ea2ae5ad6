"""Converts RDF triples into graph statements: extracts names and selects Wikidata's statements by rank."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from atomr_local.indexing.graph_index.bulk_loading import (
    NODE,
    PROP,
    QUALIFIERS,
    WIKIDATA,
    Claim,
    Spool,
    best,
    qualifier_triples,
)
from atomr_local.indexing.graph_index.names.writer import NamesWriter, Numbers
from atomr_local.indexing.graph_index.statements import terms as wikibases
from atomr_local.indexing.graph_index.statements.terms import (
    BLANK,
    DIRECT,
    NAMING,
    RANGES_OF,
    LabelWords,
    Subject,
    iri_term,
    predicate_of,
    range_of,
    subject_of,
    take_name,
)
from atomr_local.indexing.graph_index.subset import Role, Subset
from atomr_local.language.properties import ENTITY, PROPERTY

Term = NamedNode | BlankNode | Literal | Triple
ONTOLOGY = "http://wikiba.se/ontology#"
ABOUT = "http://schema.org/about"
_CAPTION = "http://schema.org/caption"  # of a medium: its label once more
_WIKIDATA_PAGE = "https://www.wikidata.org/wiki/"
_MEDIA = "http://commons.wikimedia.org/"
ITEM = re.compile(re.escape(ENTITY) + r"Q([1-9]\d{0,11})")
PROPERTY_ENTITY = re.compile(re.escape(ENTITY) + r"(P[1-9]\d{0,9})")
_STATEMENT_NODE = re.compile(re.escape(NODE) + r"[Qq]([1-9]\d{0,11})[-$].+")
_DATA_PAGE = re.compile(r"https?://www\.wikidata\.org/wiki/Special:EntityData/(Q[1-9]\d{0,11})(?:\.\w+)?")
WIKI_PAGE = re.compile(
    r"https?://[a-z0-9-]+\.(?:wikipedia|wiktionary|wikisource|wikiquote|wikibooks|wikinews|wikiversity|wikivoyage"
    r"|wikimedia)\.org/"
)
_RANKS = {"PreferredRank": "preferred", "DeprecatedRank": "deprecated", "BestRank": "preferred"}


class TripleStatements:
    """Takes in one block of triples after the other.

    Args:
        blank_scope: keeps apart the blank nodes of different files.
        passed_over: counts what no graph is built of, by what it is.

    Attributes:
        item: whose plain statements were taken last.
        plain: those statements, as lines of N-Triples.
    """

    def __init__(
        self,
        names: NamesWriter,
        words: LabelWords,
        selection: Subset,
        sink: Spool,
        blank_scope: str,
        passed_over: Counter[str] | None = None,
    ) -> None:
        self._names = names
        self._words = words
        self._selection = selection
        self._sink = sink
        self._blanks = f"{BLANK}{blank_scope}:"
        # The item that was last seen, its plain statements as lines, and its statements by their own nodes.
        self.item = ""
        self.plain: set[str] = set()
        self._owner = ""
        self._nodes: dict[str, Claim] = {}
        self.passed_over: Counter[str] = Counter() if passed_over is None else passed_over
        self._subject: tuple[str, Subject | None] = ("", None)

    def take(self, triples: Iterable[Quad]) -> None:
        """Names into the name database, statements into the sink."""
        for triple in triples:
            subject = triple.subject
            if not isinstance(subject, NamedNode):
                if not self._selection.sliced:
                    self._plain_triple(subject, triple.predicate.value, triple.object)
                continue
            iri = subject.value
            if iri.startswith((WIKIDATA, _WIKIDATA_PAGE)):
                self._of_wikidata(iri, triple.predicate.value, triple.object)
            elif (place := self._place(iri)) is not None:
                if not self._selection.sliced:
                    self._of_other(place, iri, triple.predicate.value, triple.object)
            elif iri.startswith(ONTOLOGY):
                pass  # what a dump says of itself
            elif WIKI_PAGE.match(iri):
                if triple.predicate.value == ABOUT:
                    self._page(triple.object)
            elif not self._selection.sliced:
                self._plain_triple(subject, triple.predicate.value, triple.object)

    def state(self) -> dict[str, Any]:
        """What is held back because more may follow, as JSON values."""
        nodes = [
            [c.node, c.property, c.term, c.entity, c.value_range, c.rank, c.qualifiers, c.base]
            for c in self._nodes.values()
        ]
        return {"item": self.item, "plain": sorted(self.plain), "owner": self._owner, "nodes": nodes}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state` gave."""
        self.item, self.plain, self._owner = state["item"], set(state["plain"]), state["owner"]
        self._nodes = {
            node: Claim(node, pid, term, entity, value_range, rank, [(q, v) for q, v in qualifiers], base=base)
            for node, pid, term, entity, value_range, rank, qualifiers, base in state["nodes"]
        }

    def end(self) -> None:
        """The file has ended: take what is held back."""
        self._close_owner()
        self.item = ""
        self.plain.clear()

    @property
    def open(self) -> bool:
        """Whether statements with their own nodes are held back until the next item begins."""
        return bool(self._owner)

    def begin(self, iri: str) -> None:
        """A plain statement of another item than `item` follows."""
        if self._owner != iri:
            self._close_owner()
        self.item = iri
        self.plain.clear()

    # -- Wikidata

    def _of_wikidata(self, iri: str, predicate: str, value: Term) -> None:
        match = ITEM.fullmatch(iri)
        if match is not None:
            self._about_item(iri, int(match[1]), predicate, value)
            return
        match = _STATEMENT_NODE.fullmatch(iri)
        if match is not None:
            number = int(match[1])
            self._about_node(iri, f"{ENTITY}Q{number}", self._selection.role(number), predicate, value)
            return
        match = PROPERTY_ENTITY.fullmatch(iri)
        if match is not None:
            if isinstance(value, Literal):
                self._about_property(PROPERTY + match[1], predicate, value)
            return
        match = _DATA_PAGE.fullmatch(iri)
        if match is not None:
            if predicate == ONTOLOGY + "sitelinks" and isinstance(value, Literal):
                self._sitelinks(NamedNode(ENTITY + match[1]), value)
            return
        place = self._place(iri)
        if place is not None and place.passed_over:
            self.passed_over[place.passed_over] += 1

    def _about_item(self, iri: str, number: int, predicate: str, value: Term) -> None:
        role = self._selection.role(number)
        if role is Role.NONE:
            return
        if predicate.startswith(PROPERTY):
            pid = predicate[len(PROPERTY) :]
            if role is not Role.SUBJECT and not self._selection.keeps_of(role, pid):
                return
            self._plain_statement(iri, WIKIDATA, pid, value)
        elif isinstance(value, Literal) and self._naming(iri, predicate, value):
            pass
        elif predicate == ONTOLOGY + "sitelinks" and isinstance(value, Literal):
            self._sitelinks(NamedNode(iri), value)
        elif predicate.startswith((PROP, ONTOLOGY)) or _names_ontology(value):
            pass  # how Wikidata stores things, not what it knows
        elif not self._selection.sliced:
            self._plain_triple(NamedNode(iri), predicate, value)

    def _plain_statement(self, iri: str, base: str, pid: str, value: Term) -> None:
        found = self._value(base, pid, value)
        if found is None:
            return
        if iri != self.item:
            self.begin(iri)
        self._fact(iri, base + DIRECT + pid, *found)

    def _fact(self, iri: str, prop: str, term: str, entity: str | None, value_range: str) -> None:
        """Take in a statement of the entity that is open, unless it was there already."""
        line = f"<{iri}> <{prop}> {term} .\n"
        if line not in self.plain:
            self.plain.add(line)
            self._names.statement(iri, prop, entity, value_range)
            self._sink.fact(line)

    def _value(self, base: str, pid: str, value: Term, *, counts: bool = True) -> tuple[str, str | None, str] | None:
        """(term, the entity it is, kind of value), or None if it is unknown or not wanted.

        Args:
            base: of the property's Wikibase.
            counts: whether a statement that is left out is counted as passed over.
        """
        if _blank(value):
            self.passed_over[wikibases.UNKNOWN_VALUES] += counts
            return None
        media = self._selection.allowed is None and isinstance(value, NamedNode) and _is_media(value.value)
        if media or (base == WIKIDATA and not self._selection.keeps(pid)):
            if self._selection.allowed is None:
                self.passed_over[wikibases.IDENTIFIERS] += counts
            return None
        if isinstance(value, Literal):
            return str(value), None, range_of(value)
        if not isinstance(value, NamedNode):
            return None
        iri = value.value
        if iri.startswith(ENTITY) or wikibases.is_entity(iri):
            return f"<{iri}>", iri, "entities"
        return f"<{iri}>", None, "texts"

    def _about_node(self, iri: str, owner: str, role: Role, predicate: str, value: Term) -> None:
        """Note what is said of a statement by its own node.

        Args:
            owner: the entity that the statement is about, and how much of it is kept.
        """
        if role < Role.LINKED:
            return
        if owner != self._owner:
            self._close_owner()
            self._owner = owner
        claim = self._nodes.get(iri)
        if claim is None:
            claim = self._nodes[iri] = Claim(iri, "", "", None, "texts")
        if predicate == ONTOLOGY + "rank" and isinstance(value, NamedNode):
            claim.rank = _RANKS.get(value.value.removeprefix(ONTOLOGY), "normal")
            return
        base, form, pid = _parts(predicate)
        if form == "statement/":
            wanted = base != WIKIDATA or role is Role.SUBJECT or self._selection.keeps_of(role, pid)
            # A statement that stands in its direct form too was counted there.
            found = self._value(base, pid, value, counts=self.item != owner) if wanted else None
            if found is not None:
                claim.base, claim.property = base, pid
                claim.term, claim.entity, claim.value_range = found
        elif (base, form, role) == (WIKIDATA, "qualifier/", Role.SUBJECT) and pid in QUALIFIERS and not _blank(value):
            claim.qualifiers.append((pid, str(value)))

    def _close_owner(self) -> None:
        """The statements of one item are complete: take the best of each property, and what is qualified."""
        claims = [claim for claim in self._nodes.values() if claim.property]
        if self._owner and claims:
            if self.item != self._owner:
                self.item = self._owner
                self.plain.clear()
            for claim in best(claims):
                prop = claim.base + DIRECT + claim.property
                self._fact(self._owner, prop, claim.term, claim.entity, claim.value_range)
            for claim in claims:
                for line in qualifier_triples(self._owner, claim):
                    self._sink.qualifier(line)
        self._owner = ""
        self._nodes.clear()

    # -- another Wikibase, under its own prefix

    def _place(self, iri: str) -> Subject | None:
        """What of a Wikibase the subject is; looked at once where triples of one subject stand together."""
        if self._subject[0] != iri:
            self._subject = (iri, subject_of(iri))
        return self._subject[1]

    def _of_other(self, place: Subject, iri: str, predicate: str, value: Term) -> None:
        if place.passed_over:
            self.passed_over[place.passed_over] += 1
        elif place.kind == "node":
            self._about_node(iri, f"{place.base}entity/{place.owner}", Role.SUBJECT, predicate, value)
        elif place.kind == "P":
            if isinstance(value, Literal):
                self._about_property(place.base + DIRECT + place.owner, predicate, value)
        elif place.kind:
            self._about_entity(iri, predicate, value)

    def _about_entity(self, iri: str, predicate: str, value: Term) -> None:
        base, form, pid = _parts(predicate)
        if pid:
            if form == "direct/":
                self._plain_statement(iri, base, pid, value)
        elif isinstance(value, Literal) and (predicate == _CAPTION or self._naming(iri, predicate, value)):
            pass
        elif not predicate.startswith(ONTOLOGY) and not _names_ontology(value):
            self._plain_triple(NamedNode(iri), predicate, value)

    def _page(self, item: Term) -> None:
        match = ITEM.fullmatch(item.value) if isinstance(item, NamedNode) else None
        if match is not None and self._selection.role(int(match[1])) > Role.CLASS:
            self._names.sitelinks(match[0], 1)

    def _sitelinks(self, item: NamedNode, value: Literal) -> None:
        match = ITEM.fullmatch(item.value)
        if match is not None and value.value.isdigit() and self._selection.role(int(match[1])) > Role.NONE:
            self._names.sitelinks(item.value, min(int(value.value[:9]), 10_000))

    # -- names

    def _naming(self, iri: str, predicate: str, value: Literal) -> bool:
        """Take in a label, alias or description; those of other languages are dropped."""
        if predicate not in NAMING:
            return False
        fit = self._words.fit(value.language)
        take_name(self._names.name, self._names.description, iri, predicate, value.value, fit)
        return True

    def _about_property(self, iri: str, predicate: str, value: Literal) -> None:
        if predicate in NAMING:
            names, fit = self._names, self._words.fit(value.language)
            take_name(names.property_name, names.property_description, iri, predicate, value.value, fit)

    # -- other vocabularies

    def _plain_triple(self, subject: Any, predicate: str, value: Term) -> None:
        if not isinstance(subject, NamedNode | BlankNode):
            return  # a statement about a triple; nothing here asks about those yet
        iri = self._iri(subject)
        if isinstance(value, Literal):
            if self._naming(iri, predicate, value):
                return
            self._names.statement(iri, predicate, None, range_of(value))
            term = str(value)
        elif isinstance(value, NamedNode | BlankNode):
            target = self._iri(value)
            self._names.statement(iri, predicate, target, "entities")
            term = iri_term(target)
        else:
            return
        self._sink.fact(f"{iri_term(iri)} {iri_term(predicate)} {term} .\n")

    def _iri(self, node: NamedNode | BlankNode) -> str:
        # Renamed, because each load into the store would give a blank node a new identity.
        return self._blanks + quote(node.value, safe="") if isinstance(node, BlankNode) else node.value


def _blank(value: Term) -> bool:
    return isinstance(value, BlankNode) or (isinstance(value, NamedNode) and wikibases.is_unknown(value.value))


def _parts(predicate: str) -> tuple[str, str, str]:
    """Base, form ("direct/", "statement/", …) and id of a Wikibase's property; three empty texts for what is none."""
    if predicate.startswith(PROP):
        form, slash, pid = predicate[len(PROP) :].rpartition("/")
        return WIKIDATA, form + slash, pid
    return predicate_of(predicate) or ("", "", "")


def _is_media(iri: str) -> bool:
    """Whether the IRI is that of a file, not of what is known of it."""
    return iri.startswith(_MEDIA)


def _names_ontology(value: Term) -> bool:
    return isinstance(value, NamedNode) and value.value.startswith(ONTOLOGY)


class LineFilter:
    """Which lines of a Wikidata N-Triples file a slice needs, by their subject alone, without parsing them.

    Lines of one subject stand together, so each subject is looked at once.
    """

    def __init__(self, selection: Subset) -> None:
        self._selection = selection
        self._subject = b""
        self._verdict = True

    def __call__(self, line: bytes) -> bool:
        end = line.find(b">")
        subject = line[:end]
        if subject != self._subject:
            self._subject = subject
            self._verdict = self._wanted(subject[1:].decode("utf-8", "replace"))
        return self._verdict

    def _wanted(self, iri: str) -> bool:
        match = ITEM.fullmatch(iri) or _STATEMENT_NODE.fullmatch(iri)
        if match is not None:
            return self._selection.role(int(match[1])) > Role.NONE
        if PROPERTY_ENTITY.fullmatch(iri) or WIKI_PAGE.match(iri) or _DATA_PAGE.fullmatch(iri):
            return True
        # What has no subject that can be read is for the parser to judge.
        return not iri.startswith(("http://", "https://", "urn:", "_:"))


# Typical lines of Wikidata's truthy dumps as Arrow columns, one block at a time.
#
# One expression knows these lines; it is stricter than the grammar, so that what it accepts any parser accepts, and
# written as the parser would write it. Where things lie in a line that it accepts follows from where its angle brackets
# and quotation marks are, for there are no others in it.

Marks = NDArray[np.bool_]
_GEO = "http://www.opengis.net/ont/geosparql#wktLiteral"
_NAMING = "|".join(map(re.escape, sorted(NAMING)))
_TYPES = "|".join(map(re.escape, sorted({*RANGES_OF, _GEO})))
_DIGITS = len(ENTITY) + len("Q")
# No escapes and no characters that a parser might refuse or write in another way.
_TEXT = r'"[^"\\\x00-\x1f\x7f-\x{9f}\x{fffe}\x{ffff}]*"'
_LITERAL = rf"{_TEXT}(?:@[a-z]{{2,3}}(?:-[a-z]{{2,8}})?|\^\^<(?:{_TYPES})>)?"
# For RE2.
LINE = (
    rf"^<{re.escape(ENTITY)}Q[1-9][0-9]{{0,11}}> "
    rf"<(?:{re.escape(PROPERTY)}P[1-9][0-9]{{0,9}}> (?:<{re.escape(ENTITY)}[QP][1-9][0-9]{{0,11}}>|{_LITERAL})"
    rf"|(?:{_NAMING})> {_LITERAL}) \.\n$"
)


class Column:
    """Texts out of a block, each kept once.

    Attributes:
        codes: for each row, the place of its text in `texts`.
        texts: the different ones.
    """

    def __init__(self, data: bytes, starts: Numbers, ends: Numbers) -> None:
        encoded = _cut(data, starts, ends).dictionary_encode()
        self.codes: Numbers = encoded.indices.to_numpy()
        self.texts: list[str] = encoded.dictionary.to_pylist()

    def of(self, rows: Numbers) -> list[str]:
        """The texts of these rows."""
        return [self.texts[code] for code in self.codes[rows].tolist()]

    def mapped(self, meaning: Callable[[str], Any], kind: type[np.generic]) -> NDArray[Any]:
        """What each row's text means, asked once a text."""
        return np.fromiter(map(meaning, self.texts), kind, len(self.texts))[self.codes]


class Columns:
    """The known lines of a block in their order, one row each.

    Attributes:
        lines: each row's line in the block, from 0.
        others: the lines that are not known.
        literal: whether each row's object is a literal.
        subject, predicate: IRIs.
        items: the number of each subject's Q-id.
        object: terms as they are written.
        suffix: what follows the text of a literal: "", "@en" or "^^<datatype>"; "" for an entity.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        marks = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(marks == ord("\n")) + 1
        starts = np.concatenate(([0], ends[:-1]))
        known = pc.match_substring_regex(_cut(data, starts, ends), LINE).to_numpy(zero_copy_only=False)
        try:
            data.decode()
        except UnicodeDecodeError:
            known &= np.fromiter(map(_is_text, data.split(b"\n")[:-1]), np.bool_, len(known))
        self.lines: Numbers = np.flatnonzero(known)
        self.others: Numbers = np.flatnonzero(~known)
        self._line_starts, self._line_ends = starts, ends
        self._starts, self._ends = starts, ends = starts[known], ends[known]
        self._terms = ends - len(" .\n")
        # One more, so that there is one to find though there is no known line.
        closed = np.append(np.flatnonzero(marks == ord(">")), (0, 0))
        place = np.searchsorted(closed[:-2], starts)
        subjects, predicates = closed[place], closed[place + 1]
        self._objects = predicates + len("> ")
        self.literal: Marks = marks[self._objects] == ord('"')
        quotes = np.append(np.flatnonzero(marks == ord('"')), 0)
        self._text_ends = np.where(self.literal, quotes[np.searchsorted(quotes[:-1], ends) - 1], self._terms - 1)
        self._marks = marks
        self.subject = Column(data, starts + 1, subjects)
        self.items: Numbers = self.subject.mapped(lambda iri: int(iri[_DIGITS:]), np.int64)
        self.predicate = Column(data, subjects + len("> <"), predicates)
        self.object = Column(data, self._objects, self._terms)
        self.suffix = Column(data, self._text_ends + 1, self._terms)

    def __len__(self) -> int:
        return len(self.lines)

    def other(self, line: int) -> bytes:
        """A line of the block, without its end."""
        return self._data[self._line_starts[line] : self._line_ends[line] - 1]

    def texts(self, rows: Numbers) -> list[str]:
        """The texts of the literals in these rows."""
        found: list[str] = _cut(self._data, self._objects[rows] + 1, self._text_ends[rows]).to_pylist()
        return found

    def targets(self, rows: Numbers) -> tuple[Numbers, list[str]]:
        """The entities that these rows, none with a literal, point to: the numbers of items, the IRIs of others."""
        starts, ends = self._objects[rows] + len("<"), self._terms[rows] - len(">")
        item = self._marks[starts + len(ENTITY)] == ord("Q")
        numbers = _cut(self._data, starts[item] + _DIGITS, ends[item]).cast(pa.int64()).to_numpy()
        return numbers.astype(np.int64), _cut(self._data, starts[~item], ends[~item]).to_pylist()

    def written(self, rows: Numbers) -> list[str]:
        """The lines of these rows, with their ends."""
        found: list[str] = _cut(self._data, self._starts[rows], self._ends[rows]).to_pylist()
        return found

    def joined(self, rows: Numbers) -> str:
        """The same as one text."""
        lines = _cut(self._data, self._starts[rows], self._ends[rows])
        return lines.buffers()[2].to_pybytes().decode() if len(rows) else ""


def _cut(data: bytes, starts: Numbers, ends: Numbers) -> pa.StringArray:
    """Pieces of the data, in their order, none overlapping another, as a dense array."""
    edges = np.empty(2 * len(starts), np.int32)
    edges[0::2], edges[1::2] = starts, ends
    between = pa.Array.from_buffers(
        pa.string(), max(len(edges) - 1, 0), [None, pa.py_buffer(edges), pa.py_buffer(data)]
    )  # fmt: skip
    # Every other one is what lies between two pieces.
    return between.take(pa.array(np.arange(0, len(edges), 2, dtype=np.int32)))


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
