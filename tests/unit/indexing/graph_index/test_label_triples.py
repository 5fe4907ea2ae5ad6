"""The names of a build as triples: what the parser reads back is what was written."""

from __future__ import annotations

from pathlib import Path

from pyoxigraph import RdfFormat, parse

from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.statements.terms import (
    ALIAS,
    ALT_LABEL,
    DESCRIPTION,
    RDFS_LABEL,
    STATED,
    label_triples,
)

TEXTS = ['says "hi"', "back\\slash", "two\nlines\r", '\\"', "Ünï ' <b> & \t", "plain"]


def test_labels_aliases_and_descriptions_are_read_back_as_they_were(tmp_path: Path) -> None:
    with NamesWriter(tmp_path) as names:
        for number, text in enumerate(TEXTS):
            iri = f"http://example.org/{number}"
            names.name(iri, f"label {text}", STATED)
            names.name(iri, f"alias {text}", ALIAS)
            names.name(iri, f"other {text}", ALIAS)
            names.description(iri, f"about {text}")
        names.description("http://example.org/nameless", "a thing")
        names.statement("http://example.org/silent", "http://example.org/p", None, "texts")
        names.choose({})
        found = list(label_triples(names, "en"))
        rest = list(label_triples(names, "en", after=found[2][0]))
        number = names.label_triples()
    assert rest == found[3:]
    lines = [line for _, several in found for line in several]
    assert len(lines) == number == 4 * len(TEXTS) + 1
    quads = list(parse("".join(lines).encode(), format=RdfFormat.N_TRIPLES))
    said = {(quad.subject.value, quad.predicate.value, quad.object.value, quad.object.language) for quad in quads}
    expected = {("http://example.org/nameless", DESCRIPTION, "a thing", "en")}
    for number, text in enumerate(TEXTS):
        iri = f"http://example.org/{number}"
        expected |= {
            (iri, RDFS_LABEL, f"label {text}", "en"),
            (iri, ALT_LABEL, f"alias {text}", "en"),
            (iri, ALT_LABEL, f"other {text}", "en"),
            (iri, DESCRIPTION, f"about {text}", "en"),
        }
    assert said == expected
