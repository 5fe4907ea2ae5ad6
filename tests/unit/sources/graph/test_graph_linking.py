"""Names as people write them: slips of the pen, no capitals, a class or a place beside the name, namesakes."""

from __future__ import annotations

import pytest
from support.graph_world import Asker, world_fixture

from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.linking import one_slip_away, parted, similarity
from atomr_local.tree.nodes import Operator

WORLD = """
Nile | instance of | river
Nile | mouth of the watercourse | Mediterranean Sea
Niger (river) | instance of | river
Louvre | instance of | museum
Louvre | location | Paris
Paris | instance of | city
Paris | country | France
France | instance of | country
France | capital | Paris
Portland (Oregon) | instance of | city
Portland (Oregon) | located in the administrative territorial entity | Oregon
Portland (Maine) | instance of | city
Portland (Maine) | located in the administrative territorial entity | Maine
Portland (Maine) | population | 68408
Akira Kurosawa | instance of | human
Rashomon | instance of | film
Rashomon | director | Akira Kurosawa
Ran | instance of | film
Ran | director | Akira Kurosawa
Ran | screenwriter | Akira Kurosawa
Drunken Angel | instance of | play
Drunken Angel | director | Akira Kurosawa
Something Like an Autobiography | instance of | book
Something Like an Autobiography | author | Akira Kurosawa
Marie Curie | instance of | human
Pierre Curie | instance of | human
Mercury (planet) | instance of | planet
Mercury (planet) | diameter | 4880 km
Mercury (element) | instance of | chemical element
Mercury (element) | atomic number | 80
Titan | instance of | moon
Titan | parent astronomical body | Saturn
Rhea | instance of | moon
Rhea | parent astronomical body | Saturn
Saturn | instance of | planet
John Smith (poet) | date of birth | 1662
John Smith (priest) | date of birth | 1747
"""


ask = world_fixture(WORLD)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("nile river", "Nile"),
        ("the River Nile", "Nile"),
        ("Louvre museum", "Louvre"),
        ("Paris, France", "Paris"),
        ("Portland, Oregon", "Portland (Oregon)"),
        ("portland, maine", "Portland (Maine)"),
        ("planet mercury", "Mercury (planet)"),
        ("Frnace", "France"),
        ("Farnce", "France"),
        ("Akira Kurasawa", "Akira Kurosawa"),
        ("Kurosawa", "Akira Kurosawa"),
        ("Akira Kurosawa's", "Akira Kurosawa"),
    ],
)
def test_names_as_people_write_them(ask: Asker, name: str, label: str) -> None:
    assert [value.text for value in ask.search(name).values] == [label]


@pytest.mark.parametrize(
    "name",
    ["Portland, Texas", "Curie", "Paris museum", "Louvre, Berlin", "Nil", "Kurosawa film", "Rum", "Saturn company"],
)
def test_what_is_no_name_here_is_left_alone(ask: Asker, name: str) -> None:
    assert ask.search(name).values == ()


def test_a_surname_alone_is_less_sure_than_a_name(ask: Asker) -> None:
    assert 0.6 < (ask.search("Kurosawa").link_score or 0) < 0.8 < (ask.search("Akira Kurosawa").link_score or 0)


def test_what_is_asked_for_tells_namesakes_apart(ask: Asker) -> None:
    guess = ask.search("Mercury")
    planet = ask.request(Operator.RELATE, "Mercury", "diameter")
    element = ask.request(Operator.RELATE, "Mercury", "atomic number")
    assert [value.text for value in planet.values] == ["4880 km"]
    assert [value.text for value in element.values] == ["80"]
    assert (guess.link_score or 0) < 0.8 < min(planet.link_score or 0, element.link_score or 0)
    assert planet.dropped == element.dropped == ()


def test_a_namesake_that_its_qualifier_tells_apart_lends_no_facts(ask: Asker) -> None:
    assert ask.relate("Portland (Oregon)", "population") == []
    assert ask.relate("Portland (Maine)", "population") == ["68408"]


def test_namesakes_that_both_have_what_is_asked_for_are_told(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "John Smith", "date of birth")
    assert (found.link_score or 0) < 0.8
    [note] = found.dropped
    assert "John Smith (poet)" in note
    assert "John Smith (priest)" in note


@pytest.mark.parametrize(
    ("head", "wording", "expected"),
    [
        ("Saturn", "moons", ["Rhea", "Titan"]),
        ("Akira Kurosawa", "films", ["Ran", "Rashomon"]),
        ("Akira Kurosawa", "books", ["Something Like an Autobiography"]),
        ("Paris", "museums", ["Louvre"]),
    ],
)
def test_a_class_asks_for_its_members(ask: Asker, head: str, wording: str, expected: list[str]) -> None:
    assert ask.relate(head, wording) == expected


def test_a_class_without_members_there_gives_nothing(ask: Asker) -> None:
    assert Asker(GraphSource(ask.source.graph)).relate("Paris", "rivers") == []


def test_one_slip_away() -> None:
    assert "france" in one_slip_away("frnace")
    assert "france" in one_slip_away("frane")
    assert "france" in one_slip_away("frannce")
    assert "france" in one_slip_away("frange")
    assert one_slip_away("rum") == []  # three letters mean anything
    assert one_slip_away("a name of many words") == []
    assert "1984" not in one_slip_away("1983")  # no slip of the pen: another year


def test_parted() -> None:
    assert ("Portland", "Oregon", True) in list(parted("Portland, Oregon"))
    assert ("Nile", "river", False) in list(parted("the Nile river"))
    assert ("Emma", "", False) in list(parted("Emma's"))
    assert list(parted("Emma")) == []


def test_numbers_are_never_alike() -> None:
    assert similarity("apollo 11", "apollo 12") == 0.0
    assert similarity("louis xvii of france", "louis xviii of france") == 0.0
    assert similarity("leonardo da vinchi", "leonardo da vinci") > 0.8
