"""How often entities occur in statements: noted with each commit, summed up at last, the same after a kill."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from pyoxigraph import RdfFormat, parse

from atomr_local.indexing.graph_index.names import writer as graph_counts
from atomr_local.indexing.graph_index.names.database import FILE
from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.statements.terms import (
    ALIAS,
    ALT_LABEL,
    DESCRIPTION,
    RDFS_LABEL,
    STATED,
    label_triples,
)
from atomr_local.language.properties import ENTITY


def counted(folder: Path) -> dict[str, int]:
    db = sqlite3.connect(folder / FILE)
    found = dict(db.execute("SELECT iri, statements FROM entity").fetchall())
    db.close()
    return found


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_what_is_noted_is_summed_up_whenever_it_is_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(graph_counts, "_MOST_NOTED", most)
    with NamesWriter(tmp_path) as names:
        names.name(f"{ENTITY}Q2", "two", 1)
        names.statements(np.array([1, 2, 1]), [f"{ENTITY}P5"], {})
        names.statements(np.array([999_999_999_999]), [], {})
        names.commit({})
        names.statements(np.array([2, 2, 1]), [], {})
        names.statement(f"{ENTITY}Q2", "p", f"{ENTITY}Q3", "entities")
        names.commit({})
    # What was not committed is lost with the process; what was is not.
    with NamesWriter(tmp_path) as names:
        names.statements(np.array([7]), [], {})
        names.flush()
    with NamesWriter(tmp_path) as names:
        names.choose({})
    expected = {f"{ENTITY}{name}": count for name, count in {"Q1": 3, "Q2": 4, "Q3": 1, "P5": 1}.items()}
    assert counted(tmp_path) == expected | {f"{ENTITY}Q999999999999": 1}
    NamesWriter(tmp_path).seal()
    db = sqlite3.connect(tmp_path / FILE)
    assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'noted'").fetchone() == (0,)
    db.close()


# Names as triples: what the parser reads back is what was written.

NAMES = ['says "hi"', "back\\slash", "two\nlines\r", '\\"', "Ünï ' <b> & \t", "plain"]


def test_labels_aliases_and_descriptions_are_read_back_as_they_were(tmp_path: Path) -> None:
    with NamesWriter(tmp_path) as names:
        for number, text in enumerate(NAMES):
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
    assert len(lines) == number == 4 * len(NAMES) + 1
    quads = list(parse("".join(lines).encode(), format=RdfFormat.N_TRIPLES))
    said = {(quad.subject.value, quad.predicate.value, quad.object.value, quad.object.language) for quad in quads}
    expected = {("http://example.org/nameless", DESCRIPTION, "a thing", "en")}
    for number, text in enumerate(NAMES):
        iri = f"http://example.org/{number}"
        expected |= {
            (iri, RDFS_LABEL, f"label {text}", "en"),
            (iri, ALT_LABEL, f"alias {text}", "en"),
            (iri, ALT_LABEL, f"other {text}", "en"),
            (iri, DESCRIPTION, f"about {text}", "en"),
        }
    assert said == expected
