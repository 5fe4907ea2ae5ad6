"""Questions made from what the indexes in use hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.graph_world import open_world

from atomr_local.sources.example_questions import example_questions, graph_questions, text_questions
from atomr_local.sources.graph import GraphSource


@pytest.fixture
def world(own_home: Path) -> GraphSource:
    return open_world(own_home)


def test_of_a_graph_they_ask_for_common_properties_of_its_entities(world: GraphSource) -> None:
    found = example_questions({"graph": world}, {"graph": "world", "text": "starter"})
    assert found is not None
    assert 4 <= len(found) <= 8
    assert {"What is the capital of Spain?", "Who is the father of Irène Joliot-Curie?"} <= set(found)
    assert len(set(found)) == len(found)


def test_of_the_starter_none_are_made(world: GraphSource) -> None:
    assert example_questions({"graph": world}, {"graph": "starter", "text": ""}) is None


def test_a_source_that_is_off_gives_none(world: GraphSource) -> None:
    assert example_questions({}, {"graph": "world", "text": "mine"}) is None


def test_no_question_asks_for_what_has_many_values(own_home: Path) -> None:
    many = "\n".join(f"Saga | director | Person {number}" for number in range(5))
    found = graph_questions(open_world(own_home, many + "\nPetra | director | Hans Schwarz").graph, 8)
    assert found == ["Who is the director of Petra?"]


def test_names_that_no_question_can_hold_are_left_out_and_the_rest_is_clean(own_home: Path) -> None:
    lines = f"\x1b[2JEvil\u202e film | director | A\n{'W' * 90} | author | B\nQ42 | capital | C"
    assert graph_questions(open_world(own_home, lines).graph, 8) == ["Who is the director of Evil film?"]


def test_of_texts_they_ask_after_their_titles() -> None:
    titles = ["Vienna", "List of rivers", "1912", "Help:Contents", "Vienna", "\x1b[31mGraz", "Linz"]
    assert text_questions(titles, 2) == ["Who or what is Vienna?", "Who or what is Graz?"]
