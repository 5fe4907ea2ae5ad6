"""Which passage states a fact: kept as RDF reification (RDF 1.1 Semantics, appendix D.1) beside the qualifiers, with
Dublin Core's title and source, and PROV's value for the sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from atomr_local.indexing.graph_index.statements.terms import literal_term
from atomr_local.indexing.readers.facts.json_lines import Stated

STATEMENT = "urn:atomr:stated:"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
SUBJECT, PREDICATE, OBJECT = _RDF + "subject", _RDF + "predicate", _RDF + "object"
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
    for name, term in zip((SUBJECT, PREDICATE, OBJECT), triple, strict=True):
        yield f"{node} <{name}> {term} .\n"
    for name, text in told.items():
        if text:
            yield f"{node} <{name}> {literal_term(text)} .\n"
