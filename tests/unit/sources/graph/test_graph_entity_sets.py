"""Operators over several entities of a graph: one query, each result its own; and classes named in the plural."""

from __future__ import annotations

import pytest
from support.graph_world import Asker, queries_noted, world_fixture

from atomr_local.sources.graph import GraphSource, entity_sets
from atomr_local.sources.protocol import Request, Retrieval, Value
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

NORTH = """
Denmark | instance of | country
Denmark | continent | Europe
Denmark | population | 5,900,000
Norway | instance of | country
Norway | continent | Europe
Norway | population | 5,550,203
Sweden | instance of | country
Sweden | continent | Europe
Sweden | population | 10,500,000
Sweden | capital | Stockholm
Sweden | shares border with | Norway
Sweden | shares border with | Denmark
Iceland | instance of | country
Iceland | continent | Europe
Danube | instance of | river
Danube | continent | Europe
Turkey | instance of | country
Turkey | continent | Asia
Turkey | continent | Europe
Mount Ararat | instance of | mountain
Mount Ararat | country | Turkey
Mount Ararat | continent | Asia
Galdhøpiggen | instance of | mountain
Galdhøpiggen | country | Norway
Vättern | instance of | reservoir lake
reservoir lake | subclass of | lake
Vättern | country | Sweden
Mjøsa | instance of | lake
Mjøsa | country | Norway
Stockholm | instance of | city
Stockholm | country | Sweden
Persona | instance of | film
Persona | director | Ingmar Bergman
Winter Light | instance of | film
Winter Light | director | Ingmar Bergman
Winter Light | cast member | Max von Sydow
Bergman Island | instance of | film
Bergman Island | cast member | Ingmar Bergman
The Magic Lantern | instance of | book
The Magic Lantern | author | Ingmar Bergman
Guernica | creator | Pablo Picasso
Guernica | instance of | painting
Water Lilies | creator | Claude Monet
Self-Portrait | creator | Frida Kahlo
Sunrise | creator | Nobody Known
Pablo Picasso | country of citizenship | Spain
Pablo Picasso | sex or gender | male
Claude Monet | country of citizenship | France
Frida Kahlo | sex or gender | female
Frida Kahlo | influenced by | Pablo Picasso
Spain | instance of | country
France | instance of | country
Kenya | official language | English
Mali | official language | French
"""
NAMES = ("Denmark", "Norway", "Sweden", "Iceland")


ask = world_fixture(NORTH)


@pytest.fixture(scope="module")
def north(ask: Asker) -> GraphSource:
    return ask.source


def entity(source: GraphSource, name: str) -> Value:
    found = source.retrieve(Request("", name, Operator.SEARCH, (Value(name),)), Cancellation())
    return found.values[0]


def of_set(source: GraphSource, operator: Operator, second: str, question: str = "") -> list[Retrieval]:
    heads = [entity(source, name) for name in NAMES]
    requests = [Request(question, f"{head.text} {second}", operator, (head, Value(second))) for head in heads]
    return source.retrieve_set(requests, Cancellation())


def test_a_relation_of_several_entities_is_one_query_and_each_keeps_its_values(
    north: GraphSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = [entity(north, name) for name in NAMES]
    asked = queries_noted(monkeypatch)
    requests = [Request("", "q", Operator.RELATE, (head, Value("population"))) for head in heads]
    found = north.retrieve_set(requests, Cancellation())
    assert [[value.text for value in one.values] for one in found] == [["5,900,000"], ["5,550,203"], ["10,500,000"], []]
    assert len(asked) == 1 and asked[0].count("urn:") + asked[0].count("http") >= len(NAMES)
    first, *others = [one.evidence for one in found if one.values]
    assert len(first) == 1 and all(evidence == first for evidence in others)  # one piece, that all of them share
    assert first[0].title == "Denmark, Norway, Sweden"
    assert "Norway — population: 5,550,203." in first[0].text
    assert len(first[0].locator["rows"]) == 3
    assert "VALUES ?head" in first[0].locator["sparql"]


def test_what_a_set_gives_is_what_each_entity_gives_alone(north: GraphSource) -> None:
    for operator, second in (
        (Operator.RELATE, "shares border with"),
        (Operator.RELATE, "capital"),
        (Operator.FILTER, "population more than six million"),
        (Operator.FILTER, "shares border with Norway"),
        (Operator.FILTER, "a country"),
        (Operator.FILTER, "country in Europe"),
    ):
        together = of_set(north, operator, second)
        for name, one in zip(NAMES, together, strict=True):
            alone = north.retrieve(
                Request("", f"{name} {second}", operator, (entity(north, name), Value(second))), Cancellation()
            )
            assert (one.values, one.decided, one.relation_score) == (alone.values, alone.decided, alone.relation_score)


def test_a_condition_over_a_set_keeps_those_that_satisfy_it(
    north: GraphSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = [entity(north, name) for name in NAMES]
    asked = queries_noted(monkeypatch)
    condition = Value("more than six million people")
    found = north.retrieve_set([Request("", "q", Operator.FILTER, (h, condition)) for h in heads], Cancellation())
    assert [value.text for one in found for value in one.values] == ["Sweden"]
    assert [one.decided for one in found] == [True, True, True, False]
    assert all("VALUES ?head" in query for query in asked)
    assert len(asked) == len(set(asked)) < len(NAMES) + 1  # one for each property that is looked at, not one a country


def test_more_rows_than_one_query_may_give_are_read_one_entity_at_a_time(
    north: GraphSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity_sets, "_MOST_ROWS", 1)
    found = of_set(north, Operator.RELATE, "population")
    assert [len(one.values) for one in found] == [1, 1, 1, 0]


def test_a_relation_that_nobody_of_a_large_set_has_is_not_looked_up_for_all(
    north: GraphSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity_sets, "_FUTILE", 2)
    found = of_set(GraphSource(north.graph), Operator.RELATE, "favourite colour")
    assert [one.dropped for one in found] == [(), (), *[("not looked up: the first 2 of 4 have none",)] * 2]


def relate(source: GraphSource, head: str, relation: str) -> Retrieval:
    return source.retrieve(Request("", "", Operator.RELATE, (Value(head), Value(relation))), Cancellation())


def test_values_of_another_class_than_the_one_named_are_left_out_and_it_is_said(north: GraphSource) -> None:
    found = relate(north, "Europe", "countries")
    assert [value.text for value in found.values] == ["Denmark", "Iceland", "Norway", "Sweden", "Turkey"]
    assert found.dropped == ("left out, each is no country: Danube",)
    assert len(relate(north, "Sweden", "neighbours").values) == 2  # "neighbours" names no class


def test_things_of_a_class_that_lie_in_the_head(north: GraphSource) -> None:
    found = relate(north, "Sweden", "lakes")
    assert ([value.text for value in found.values], found.decided) == (["Vättern"], True)  # a kind of lake
    assert [value.text for value in relate(north, "Europe", "highest mountains").values] == ["Galdhøpiggen"]
    assert [value.text for value in relate(north, "Europe", "lakes").values] == ["Mjøsa", "Vättern"]
    by_words = GraphSource(north.graph)
    assert relate(by_words, "Iceland", "lakes").values == ()
    assert relate(by_words, "Sweden", "opera houses").values == ()


def test_things_of_a_class_that_have_the_head_as_a_value_by_the_property_that_is_asked_for(north: GraphSource) -> None:
    def films(question: str) -> list[str]:
        request = Request(question, "", Operator.RELATE, (Value("Ingmar Bergman"), Value("films")))
        return [value.text for value in north.retrieve(request, Cancellation()).values]

    assert films("Which films did Ingmar Bergman direct?") == ["Persona", "Winter Light"]
    assert films("Which films have Ingmar Bergman as a cast member?") == ["Bergman Island"]
    assert films("") == ["Persona", "Winter Light"]  # the most
    number = Request(
        "How many films did Ingmar Bergman direct?", "", Operator.RELATE, (Value("Ingmar Bergman"), Value("films"))
    )
    assert [value.text for value in north.retrieve(number, Cancellation()).values] == ["2"]
    assert [value.text for value in relate(north, "Max von Sydow", "films").values] == ["Winter Light"]


def test_a_condition_on_what_the_value_of_a_relation_is(ask: Asker) -> None:
    keeps = ask.keeps
    spanish = [keeps(work, "creator is Spanish") for work in ("Guernica", "Water Lilies", "Sunrise")]
    assert spanish == [True, False, None]
    assert [keeps(work, "creator is a woman") for work in ("Self-Portrait", "Guernica")] == [True, False]
    assert keeps("Self-Portrait", "creator is Pablo Picasso") is False
    assert [keeps(country, "official language is French") for country in ("Mali", "Kenya")] == [True, False]
