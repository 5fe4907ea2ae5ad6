"""Converts RDF triples into graph statements: extracts names and selects Wikidata's statements by rank."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from atomr_local.indexing.graph_index.bulk_loading import Spool
from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.qualifiers import (
    NODE,
    PROP,
    PROP_QUALIFIER,
    PROP_STATEMENT,
    QUALIFIERS,
    Claim,
    best,
    qualifier_triples,
)
from atomr_local.indexing.graph_index.statements.terms import NAMING, LabelWords, iri_term, range_of, take_name
from atomr_local.indexing.graph_index.subset import Role, Subset
from atomr_local.language.properties import ENTITY, PROPERTY

Term = NamedNode | BlankNode | Literal | Triple
WIKIDATA = "http://www.wikidata.org/"
ONTOLOGY = "http://wikiba.se/ontology#"
ABOUT = "http://schema.org/about"
_BLANK = "urn:atomr:blank:"
_MEDIA = "http://commons.wikimedia.org/"
_UNKNOWN = (WIKIDATA + ".well-known/genid/", "https" + WIKIDATA[4:] + ".well-known/genid/")
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

    Attributes:
        item: whose plain statements were taken last.
        plain: those statements, as lines of N-Triples.
    """

    def __init__(self, names: NamesWriter, words: LabelWords, selection: Subset, sink: Spool, blank_scope: str) -> None:
        self._names = names
        self._words = words
        self._selection = selection
        self._sink = sink
        self._blanks = f"{_BLANK}{blank_scope}:"
        # The item that was last seen, its plain statements as lines, and its statements by their own nodes.
        self.item = ""
        self.plain: set[str] = set()
        self._owner = ""
        self._nodes: dict[str, Claim] = {}

    def take(self, triples: Iterable[Quad]) -> None:
        """Names into the name database, statements into the sink."""
        for triple in triples:
            subject = triple.subject
            if not isinstance(subject, NamedNode):
                if not self._selection.sliced:
                    self._plain_triple(subject, triple.predicate.value, triple.object)
                continue
            iri = subject.value
            if iri.startswith(WIKIDATA) or iri.startswith("https://www.wikidata.org/"):
                self._of_wikidata(iri, triple.predicate.value, triple.object)
            elif WIKI_PAGE.match(iri):
                if triple.predicate.value == ABOUT:
                    self._page(triple.object)
            elif not self._selection.sliced:
                self._plain_triple(subject, triple.predicate.value, triple.object)

    def state(self) -> dict[str, Any]:
        """What is held back because more may follow, as JSON values."""
        nodes = [
            [c.node, c.property, c.term, c.entity, c.value_range, c.rank, c.qualifiers] for c in self._nodes.values()
        ]  # fmt: skip
        return {"item": self.item, "plain": sorted(self.plain), "owner": self._owner, "nodes": nodes}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state` gave."""
        self.item, self.plain, self._owner = state["item"], set(state["plain"]), state["owner"]
        self._nodes = {
            node: Claim(node, pid, term, entity, value_range, rank, [(q, v) for q, v in qualifiers])
            for node, pid, term, entity, value_range, rank, qualifiers in state["nodes"]
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
            self._about_node(iri, int(match[1]), predicate, value)
            return
        match = PROPERTY_ENTITY.fullmatch(iri)
        if match is not None:
            if isinstance(value, Literal):
                self._about_property(PROPERTY + match[1], predicate, value)
            return
        match = _DATA_PAGE.fullmatch(iri)
        if match is not None and predicate == ONTOLOGY + "sitelinks" and isinstance(value, Literal):
            self._sitelinks(NamedNode(ENTITY + match[1]), value)

    def _about_item(self, iri: str, number: int, predicate: str, value: Term) -> None:
        role = self._selection.role(number)
        if role is Role.NONE:
            return
        if predicate.startswith(PROPERTY):
            pid = predicate[len(PROPERTY) :]
            if role is not Role.SUBJECT and not self._selection.keeps_of(role, pid):
                return
            self._plain_statement(iri, pid, value)
        elif isinstance(value, Literal) and self._naming(iri, predicate, value):
            pass
        elif predicate == ONTOLOGY + "sitelinks" and isinstance(value, Literal):
            self._sitelinks(NamedNode(iri), value)
        elif predicate.startswith((PROP, ONTOLOGY)) or _names_ontology(value):
            pass  # how Wikidata stores things, not what it knows
        elif not self._selection.sliced:
            self._plain_triple(NamedNode(iri), predicate, value)

    def _plain_statement(self, iri: str, pid: str, value: Term) -> None:
        found = self._value(pid, value)
        if found is None:
            return
        if iri != self.item:
            self.begin(iri)
        self._fact(iri, pid, *found)

    def _fact(self, iri: str, pid: str, term: str, entity: str | None, value_range: str) -> None:
        """Take in a statement of the item that is open, unless it was there already."""
        line = f"<{iri}> <{PROPERTY}{pid}> {term} .\n"
        if line not in self.plain:
            self.plain.add(line)
            self._names.statement(iri, PROPERTY + pid, entity, value_range)
            self._sink.fact(line)

    def _value(self, pid: str, value: Term) -> tuple[str, str | None, str] | None:
        """(term, the entity it is, kind of value), or None if it is unknown or not wanted."""
        if isinstance(value, Literal):
            return (str(value), None, range_of(value)) if self._selection.keeps(pid) else None
        if not isinstance(value, NamedNode) or not self._selection.keeps(pid):
            return None
        iri = value.value
        if iri.startswith(ENTITY):
            return f"<{iri}>", iri, "entities"
        if iri.startswith(_UNKNOWN) or (iri.startswith(_MEDIA) and self._selection.allowed is None):
            return None
        return f"<{iri}>", None, "texts"

    def _about_node(self, iri: str, number: int, predicate: str, value: Term) -> None:
        role = self._selection.role(number)
        if role < Role.LINKED:
            return
        owner = f"{ENTITY}Q{number}"
        if owner != self._owner:
            self._close_owner()
            self._owner = owner
        claim = self._nodes.get(iri)
        if claim is None:
            claim = self._nodes[iri] = Claim(iri, "", "", None, "texts")
        if predicate.startswith(PROP_STATEMENT):
            pid = predicate[len(PROP_STATEMENT) :]
            found = self._value(pid, value) if pid.startswith("P") and self._selection.keeps_of(role, pid) else None
            if found is not None:
                claim.property = pid
                claim.term, claim.entity, claim.value_range = found
        elif predicate.startswith(PROP_QUALIFIER):
            pid = predicate[len(PROP_QUALIFIER) :]
            if pid in QUALIFIERS and role is Role.SUBJECT and not _blank(value):
                claim.qualifiers.append((pid, str(value)))
        elif predicate == ONTOLOGY + "rank" and isinstance(value, NamedNode):
            claim.rank = _RANKS.get(value.value.removeprefix(ONTOLOGY), "normal")

    def _close_owner(self) -> None:
        """The statements of one item are complete: take the best of each property, and what is qualified."""
        claims = [claim for claim in self._nodes.values() if claim.property]
        if self._owner and claims:
            if self.item != self._owner:
                self.item = self._owner
                self.plain.clear()
            for claim in best(claims):
                self._fact(self._owner, claim.property, claim.term, claim.entity, claim.value_range)
            for claim in claims:
                for line in qualifier_triples(self._owner, claim):
                    self._sink.qualifier(line)
        self._owner = ""
        self._nodes.clear()

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
    return isinstance(value, BlankNode) or (isinstance(value, NamedNode) and value.value.startswith(_UNKNOWN))


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
