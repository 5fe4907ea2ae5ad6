"""What the graph says beside values: their types, the entity that was meant, and what is known of it."""

from __future__ import annotations

import pytest
from support.graph_world import Asker, world_fixture

from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.entity_sets import asked_type
from atomr_local.sources.protocol import MOST_NEAR, Value, ValueKind
from atomr_local.tree.nodes import Operator

ask = world_fixture()


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("Marie Curie", {"person"}),
        ("France", {"place"}),
        ("Inception", {"work"}),
        ("Hamlet (1948 film)", {"work"}),
        ("Eiffel Tower", {"place"}),
    ],
)
def test_type_of_an_entity(ask: Asker, name: str, types: set[str]) -> None:
    [found] = ask.search(name).values
    assert ask.source.types.of_entity(found.iri or "") == types


def test_fit_of_values_to_what_is_asked(ask: Asker) -> None:
    types = ask.source.types
    [curie] = ask.search("Marie Curie").values
    born = Value("7 November 1867", ValueKind.DATE)
    assert types.fit([curie], "person") == 1.0
    assert types.fit([curie, born], "person") == 0.5
    assert types.fit([curie], "place") == 0.0
    assert types.fit([born], "year") == pytest.approx(0.7)
    assert types.fit([Value("330 m", ValueKind.TEXT)], "quantity") == 1.0
    assert types.fit([Value("no digits here", ValueKind.TEXT)], "person") is None  # nothing is known of its type
    assert types.fit([born], "thing") is None  # anything may be a thing
    assert types.fit([born], "") is None


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Who is it?", "person"),
        ("When was it built?", "date"),
        ("How tall is it?", "quantity"),
        ("Tell me about it", "summary"),
        ("", ""),
    ],
)
def test_type_asked_for(question: str, asked: str) -> None:
    assert asked_type(question) == asked


def test_a_relation_tells_the_fit_of_its_values(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "Inception", "director", question="Who directed Inception?")
    assert (found.type_fit, found.near) == (1.0, ())
    assert found.linked is not None
    assert found.linked.text == "Inception"


def test_what_is_held_instead_is_told(ask: Asker) -> None:
    words_only = Asker(GraphSource(ask.source.graph, None))
    found = words_only.request(Operator.RELATE, "Marie Curie", "favourite colour")
    assert found.values == ()
    assert found.linked is not None
    assert found.linked.text == "Marie Curie"
    assert "date of birth" in found.near
    assert len(found.near) <= MOST_NEAR


def test_nothing_is_linked_where_the_name_is_unknown(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "Zzyzx Qwerty", "director")
    assert (found.linked, found.near) == (None, ())
