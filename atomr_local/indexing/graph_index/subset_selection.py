"""The passes over Wikidata dumps that find what a slice is made of, before anything is built.

Everything here only ever adds to sets, so that a pass that was killed may read some of its input twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from pyoxigraph import Literal, NamedNode, Quad

from atomr_local.indexing.graph_index.bulk_loading import NODE, OF, PROP_QUALIFIER, PROP_STATEMENT
from atomr_local.indexing.graph_index.statements.entities import claims_of
from atomr_local.indexing.graph_index.statements.terms import RDFS_LABEL, LabelWords
from atomr_local.indexing.graph_index.statements.triples import ABOUT, ITEM, ONTOLOGY, PROPERTY_ENTITY
from atomr_local.indexing.graph_index.subset import DATATYPES_LEFT_OUT, TYPE_IDS, Subset, Titles
from atomr_local.language.properties import ENTITY, PROPERTY

_OWNER = re.compile(re.escape(NODE) + r"[Qq]([1-9]\d{0,11})[-$].+|" + re.escape(ENTITY) + r"Q([1-9]\d{0,11})")
_LINE_OWNER = re.compile(rb"<" + re.escape(ENTITY).encode() + rb"(?:statement/)?[Qq]([1-9]\d{0,11})[->$]|<http")
_TYPE_CLAIMS = re.compile(rb'"(?:P31|P279)":\[(.*?)\](?:,"P\d+":\[\{"mainsnak"|\},"sitelinks"|\}\}|$)', re.DOTALL)
_ITEM_ID = re.compile(rb'"id":"Q([1-9]\d{0,11})"')
_TYPES_RDF = frozenset(prefix + pid for prefix in (PROPERTY, PROP_STATEMENT) for pid in TYPE_IDS)


class SubsetSelector:
    """Finds what the subjects of the selection point to, all classes, and the datatypes of properties."""

    def __init__(self, selection: Subset) -> None:
        self._selection = selection

    def triples(self, triples: Iterable[Quad]) -> None:
        selection = self._selection
        for triple in triples:
            value = triple.object
            if not isinstance(value, NamedNode) or not isinstance(triple.subject, NamedNode):
                continue
            predicate, iri = triple.predicate.value, value.value
            if predicate == ONTOLOGY + "propertyType":
                match = PROPERTY_ENTITY.fullmatch(triple.subject.value)
                if match is not None:
                    name = iri.removeprefix(ONTOLOGY)
                    selection.datatypes[match[1]] = DATATYPES_LEFT_OUT.get(name, name)
                continue
            target = ITEM.fullmatch(iri)
            if target is None:
                continue
            if predicate in _TYPES_RDF:
                selection.classes.add(int(target[1]))
            owner = _OWNER.fullmatch(triple.subject.value)
            if owner is not None and int(owner[1] or owner[2]) in selection.subjects and self._followed(predicate):
                selection.linked.add(int(target[1]))

    def _followed(self, predicate: str) -> bool:
        for prefix in (PROPERTY, PROP_STATEMENT):
            if predicate.startswith(prefix):
                return self._selection.keeps(predicate[len(prefix) :])
        return predicate == PROP_QUALIFIER + OF

    def line(self, line: bytes) -> bool:
        """Whether there is something to learn from a line of N-Triples."""
        if b"/P31>" in line or b"/P279>" in line or b"propertyType>" in line:
            return True
        owner = _LINE_OWNER.match(line)
        return owner is None or (owner[1] is not None and int(owner[1]) in self._selection.subjects)

    def wanted(self, identifier: str, line: bytes) -> bool:
        """Whether a line of a JSON dump has to be parsed; what it says of classes is taken from it in any case."""
        if identifier.startswith("P") or int(identifier[1:]) in self._selection.subjects:
            return True
        for claims in _TYPE_CLAIMS.findall(line):
            for number in _ITEM_ID.findall(claims):
                self._selection.classes.add(int(number))
        return False

    def entities(self, entities: Iterable[dict[str, Any]]) -> None:
        selection = self._selection
        for entity in entities:
            identifier = entity["id"]
            if identifier.startswith("M"):
                continue
            if identifier.startswith("P"):
                if isinstance(entity.get("datatype"), str):
                    selection.datatypes[identifier] = entity["datatype"]
                continue
            subject = int(identifier[1:]) in selection.subjects
            for claim in claims_of(entity):
                targets = [claim.entity or ""]
                if subject and selection.keeps(claim.property, claim.datatype):
                    targets += [term.strip("<>") for pid, term in claim.qualifiers if pid == OF]
                    for match in map(ITEM.fullmatch, [*targets, claim.unit]):
                        if match is not None:
                            selection.linked.add(int(match[1]))
                match = ITEM.fullmatch(targets[0])
                if match is not None and claim.property in TYPE_IDS:
                    selection.classes.add(int(match[1]))


class TitleMatcher:
    """Finds the entities of titles, by the pages about them and by their labels."""

    def __init__(self, titles: Titles, words: LabelWords) -> None:
        self._titles = titles
        self._language = words.language
        self._site = f"{words.language.replace('-', '_')}wiki"
        self._page = re.compile(
            rb"https?://" + re.escape(words.language).encode() + rb"\.wikipedia\.org/wiki/(.+)", re.IGNORECASE
        )
        text = rb'"((?:[^"\\]|\\.)*)"'
        tag = re.escape(self._language).encode()
        self._sitelink = re.compile(rb'"' + self._site.encode() + rb'":\{"site":"[^"]*","title":' + text)
        self._label = re.compile(rb'"' + tag + rb'":\{"language":"[^"]*","value":' + text)

    def triples(self, triples: Iterable[Quad]) -> None:
        for triple in triples:
            subject, value = triple.subject, triple.object
            if not isinstance(subject, NamedNode):
                continue
            if triple.predicate.value == ABOUT and isinstance(value, NamedNode):
                page, item = self._page.fullmatch(subject.value.encode()), ITEM.fullmatch(value.value)
                if page is not None and item is not None:
                    self._titles.page(unquote(page[1].decode()), int(item[1]))
            elif triple.predicate.value == RDFS_LABEL and isinstance(value, Literal):
                item = ITEM.fullmatch(subject.value)
                if item is not None and (value.language or "").casefold() in (self._language, "mul"):
                    self._titles.label(value.value, int(item[1]), 0)

    @staticmethod
    def line(line: bytes) -> bool:
        """Whether there is something to learn from a line of N-Triples."""
        return b"<http://schema.org/about>" in line or b"rdf-schema#label>" in line

    def wanted(self, identifier: str, line: bytes) -> bool:
        """Takes what it needs from a line of a JSON dump, so that it need not be parsed."""
        if identifier.startswith("P"):
            return False
        number = int(identifier[1:])
        page = _json_text(self._sitelink.search(line))
        if page:
            self._titles.page(page, number)
        start = line.find(b'"labels":')
        label = _json_text(self._label.search(line, start, line.find(b'"descriptions":', start))) if start >= 0 else ""
        if label:
            self._titles.label(label, number, line.count(b'"site":"'))
        return False

    def entities(self, entities: Iterable[dict[str, Any]]) -> None:
        for entity in entities:
            if not entity["id"].startswith("Q"):
                continue
            number = int(entity["id"][1:])
            page = entity["sitelinks"].get(self._site)
            if isinstance(page, dict) and isinstance(page.get("title"), str):
                self._titles.page(page["title"], number)
            for tag in (self._language, "mul"):
                label = entity["labels"].get(tag)
                if isinstance(label, dict) and isinstance(label.get("value"), str):
                    self._titles.label(label["value"], number, len(entity["sitelinks"]))
                    break


def _json_text(match: re.Match[bytes] | None) -> str:
    """The string that the match's first group writes in JSON; "" for none."""
    try:
        return str(json.loads(b'"' + match[1] + b'"')) if match is not None else ""
    except ValueError:
        return ""
