"""What an entity does not have is not answered with something else that it has."""

from __future__ import annotations

import math

import pytest
from support.graph_world import Asker, world_fixture
from support.starter_parts import starter_embedder

from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.properties.selection import (
    LEXICAL_FEATURES,
    SEMANTIC_FEATURES,
    match_model,
    score_properties,
)
from atomr_local.tree.nodes import Operator

WORLD = """
Louvre | instance of | museum
Louvre | inception | 1793
Louvre | location | Paris
Louvre | country | France
Louvre | architect | Pierre Lescot
Ada Byron | instance of | human
Ada Byron | date of birth | 10 December 1815
Ada Byron | place of birth | London
Ada Byron | father | Lord Byron
Ada Byron | spouse | William King
Ada Byron | field of work | mathematics
Ada Byron | date of death | 27 November 1852
Emma | instance of | novel
Emma | author | Jane Austen
Emma | publication date | 1815
Emma | country of origin | England
Nile | instance of | river
Nile | length | 6650 km
Nile | mouth of the watercourse | Mediterranean Sea
Ally Byron | father | Ada Byron
"""


opened = world_fixture(WORLD)


@pytest.fixture(scope="module")
def world(opened: Asker) -> GraphSource:
    return opened.source


@pytest.fixture(scope="module", params=["words", "meaning"])
def ask(request: pytest.FixtureRequest, world: GraphSource) -> Asker:
    if request.param == "words":
        return Asker(GraphSource(world.graph))
    embedder = starter_embedder()
    return Asker(GraphSource(world.graph, lambda: embedder))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "relation", "question"),
    [
        ("Louvre", "number of visitors", "How many people visit the Louvre each year?"),
        ("Louvre", "director", "Who is the director of the Louvre?"),
        ("Louvre", "height", "How tall is the Louvre?"),
        ("Ada Byron", "mother", "Who was the mother of Ada Byron?"),
        ("Ada Byron", "place of death", "Where did Ada Byron die?"),
        ("Ada Byron", "cause of death", "What did Ada Byron die of?"),
        ("Ada Byron", "favourite colour", "What was Ada Byron's favourite colour?"),
        ("Ada Byron", "salary", "What was the salary of Ada Byron?"),
        ("Emma", "publisher", "Who published Emma?"),
        ("Emma", "number of pages", "How many pages has Emma?"),
        ("Emma", "illustrator", "Who illustrated Emma?"),
        ("Nile", "depth", "How deep is the Nile?"),
        ("Nile", "source", "Where does the Nile rise?"),
    ],
)
def test_a_role_that_is_not_there_is_not_filled_by_another(ask: Asker, head: str, relation: str, question: str) -> None:
    found = ask.request(Operator.RELATE, head, relation, question=question)
    assert found.values == ()
    assert found.linked is not None
    assert found.near


@pytest.mark.parametrize(
    ("head", "relation", "question", "expected"),
    [
        ("Louvre", "architect", "Who was the architect of the Louvre?", "Pierre Lescot"),
        ("Louvre", "founding year", "When was the Louvre founded?", "1793"),
        ("Ada Byron", "birthplace", "Where was Ada Byron born?", "London"),
        ("Ada Byron", "husband", "Whom did Ada Byron marry?", "William King"),
        ("Ada Byron", "birth date", "When was Ada Byron born?", "10 December 1815"),
        ("Emma", "written by", "Can you tell me who wrote Emma?", "Jane Austen"),
        ("Emma", "autor", "who is the autor of emma", "Jane Austen"),
        ("Nile", "length", "How long is the Nile?", "6650 km"),
    ],
)
def test_what_is_there_is_found_and_sure(ask: Asker, head: str, relation: str, question: str, expected: str) -> None:
    found = ask.request(Operator.RELATE, head, relation, question=question)
    assert [value.text for value in found.values] == [expected]
    assert 0.5 <= (found.relation_score or 0) <= 1


def test_probabilities_tell_the_asked_from_the_others(world: GraphSource) -> None:
    matcher = world._matcher
    row = world.linker.link("Ada Byron")[0].entity
    own = [(statement.property, False) for statement in world.graph.statements(row.iri)]
    found = score_properties(matcher, "father", "Who was the father of Ada Byron?", "Ada Byron", own, semantic=False)
    assert world.graph.property_label(found[0].match.property) == "father"
    assert found[0].probability > 0.9 > 0.1 > found[1].probability
    assert set(found[0].features) == set(LEXICAL_FEATURES)


def test_the_model_is_whole() -> None:
    model = match_model()
    for features, names in ((LEXICAL_FEATURES, model.lexical), (SEMANTIC_FEATURES, model.semantic)):
        intercept, weighed = names
        assert math.isfinite(intercept)
        assert {one for one, _, _ in weighed} <= set(features)
        assert {other for _, other, _ in weighed} <= {*features, ""}
        assert all(math.isfinite(weight) for _, _, weight in weighed)
    assert 0 < model.accept < model.sure < 1
    empty = dict.fromkeys(LEXICAL_FEATURES, 0.0)
    assert 0 <= model.probability(empty) < 0.5  # nothing agrees
    assert 0 <= model.probability(dict.fromkeys(LEXICAL_FEATURES, 1e9)) <= 1  # no overflow
