"""Entities with more values of a property than are read: what is counted is right, and what was not read is said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.graph_world import Asker, open_world

from atomr_local.sources.graph.knowledge_graph import ROW_LIMIT, VALUE_LIMIT
from atomr_local.tree.nodes import Operator

FILMS, SERIES, WINNERS, SONGS = 2_050, 40, 2_100, 350


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    lines = ["Ann Hub | instance of | human", "Ann Hub | date of birth | 1950-03-02", "Cy Small | instance of | human"]
    for number in range(FILMS + SERIES):
        lines.append(f"Film {number} | director | Ann Hub")
        lines.append(f"Film {number} | instance of | {'film' if number < FILMS else 'television series'}")
    lines += [f"Big Prize | winner | Person {number}" for number in range(WINNERS)]
    lines += ["Big Prize | inception | 1950-01-01", "Big Prize | country | Norway"]
    lines += [f"Song {number} | performer | Cy Small" for number in range(SONGS)]
    home = tmp_path_factory.mktemp("hubs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(home))
        source = open_world(home, "\n".join(lines))
    yield Asker(source)
    source.close()


def test_more_values_than_are_read_are_counted_in_the_store(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "Ann Hub", "films directed", question="How many films did Ann Hub direct?")
    assert [value.text for value in found.values] == [str(FILMS)]
    assert f"{FILMS} in all, without {SERIES} not of the kind 'film'" in found.evidence[-1].text
    assert "COUNT" in found.evidence[-1].locator["sparql"]
    assert found.dropped == (
        f"of {FILMS + SERIES} values of director the first {VALUE_LIMIT} were read; all were counted",
    )
    assert ask.relate("Ann Hub", "films directed", "How many works did Ann Hub direct?") == [str(FILMS + SERIES)]


def test_values_forward_are_counted_too(ask: Asker) -> None:
    assert ask.relate("Big Prize", "winner", "How many winners does the Big Prize have?") == [str(WINNERS)]


def test_hundreds_of_values_are_all_read_and_evidence_shows_some(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "Cy Small", "songs performed", question="Which songs did Cy Small perform?")
    assert len(found.values) == SONGS and found.dropped == ()
    assert len(found.evidence[0].locator["rows"]) == ROW_LIMIT
    assert ask.relate("Cy Small", "performer", "How many songs did Cy Small perform?") == [str(SONGS)]


def test_a_list_that_was_not_read_to_its_end_says_so(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "Big Prize", "winner", question="Who won the Big Prize?")
    assert len(found.values) == VALUE_LIMIT
    assert found.dropped == (f"more than {VALUE_LIMIT} values of winner; the rest were left out",)


def test_members_of_a_class_are_counted_in_the_store(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "Ann Hub", "films", question="How many films did Ann Hub make?")
    assert [value.text for value in found.values] == [str(FILMS)]
    assert found.dropped == (f"of {FILMS} the first {VALUE_LIMIT} were read; all were counted",)


def test_what_else_a_hub_has_is_seen_beside_its_many_values(ask: Asker) -> None:
    graph = ask.source.graph
    iri = ask.search("Big Prize").values[0].iri or ""
    labels = {graph.property_label(prop) for prop in graph.properties_of(iri)}
    assert labels == {"winner", "inception", "country"}
    assert ask.relate("Big Prize", "country", "What country is the Big Prize from?") == ["Norway"]
    assert {graph.property_label(fact.property) for fact in graph.main_facts(iri)} == labels


def test_filter_asks_the_store_for_a_value_that_was_not_read(ask: Asker) -> None:
    for number in (0, WINNERS // 2, WINNERS - 1):
        assert ask.keeps("Big Prize", f"winner is Person {number}") is True
        assert ask.keeps("Ann Hub", f"director of Film {min(number, FILMS - 1)}") is True
    assert ask.keeps("Big Prize", "winner is Ann Hub") is False
    assert ask.keeps("Big Prize", "winner is Nobody Known") is None
    assert ask.keeps("Big Prize", "Norway") is True


def test_filter_compares_the_number_of_all_values(ask: Asker) -> None:
    assert ask.keeps("Big Prize", f"more than {WINNERS - 1} winners") is True
    assert ask.keeps("Big Prize", f"more than {WINNERS} winners") is False
    assert ask.keeps("Big Prize", "after 1940") is True
