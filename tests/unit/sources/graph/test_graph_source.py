from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from support.graph_world import Asker, open_world, world_fixture

from atomr_local.errors import Cancelled, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.sources.graph import GraphSource, knowledge_graph
from atomr_local.sources.graph.sparql.process import run_query
from atomr_local.sources.protocol import Request, SourceName, Value, ValueKind
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

ask = world_fixture()


@pytest.mark.parametrize(
    ("name", "descriptor", "label"),
    [
        ("Paris", "", "Paris"),
        ("paris", "city in France", "Paris"),
        ("Paris", "mythological son of Priam", "Paris (mythology)"),
        ("Paris (Mythology)", "", "Paris (mythology)"),
        ("French Republic", "", "France"),
        ("FRANCE", "", "France"),
        ("Frence", "", "France"),
        ("Eifel Tower", "", "Eiffel Tower"),
        ("Marie Sklodowska Curie", "", "Marie Curie"),
        ("Irene Joliot Curie", "", "Irène Joliot-Curie"),
        ("Eiffel", "tower in Paris", "Eiffel Tower"),
        ("Hamlet", "1948 film", "Hamlet (1948 film)"),
        ("Hamlet", "play", "Hamlet"),
        ("Georgia", "US state", "Georgia (U.S. state)"),
        ("Georgia", "country", "Georgia"),
        ("U.K.", "", "United Kingdom"),
        ("J.R.R. Tolkien", "", "J. R. R. Tolkien"),
        ("Get Low", "song by Lil Jon", "Get Low (Lil Jon song)"),
        ("Get Low (Lil Jon Song)", "", "Get Low (Lil Jon song)"),
        ("Inception (2010 film)", "", "Inception"),
    ],
)
def test_search_links(ask: Asker, name: str, descriptor: str, label: str) -> None:
    found = ask.search(name, descriptor)
    assert [value.text for value in found.values] == [label]
    assert found.decided
    assert found.values[0].kind is ValueKind.ENTITY
    assert found.values[0].iri is not None
    assert 0 < (found.link_score or 0) <= 1


@pytest.mark.parametrize(
    "name",
    ["capital of France", "Berlin", "Curie", "the largest country", "Lisa Marie Curie-Smith", ".", "\x00"],
)
def test_search_leaves_alone_what_is_no_name_here(ask: Asker, name: str) -> None:
    found = ask.search(name)
    assert (found.values, found.decided) == ((), False)


def test_a_doubtful_link_scores_lower(ask: Asker) -> None:
    assert (ask.search("Frence").link_score or 0) < 0.85 < (ask.search("France").link_score or 0)


def test_search_evidence_can_be_read_and_run_again(ask: Asker) -> None:
    [evidence] = ask.search("Marie Curie").evidence
    assert evidence.source == SourceName.GRAPH
    assert "Marie Curie — date of birth: 7 November 1867." in evidence.text
    again = run_query(ask.source.graph.directory, evidence.locator["sparql"])
    assert list(again.rows) == evidence.locator["rows"] != []


def test_an_entity_that_is_known_is_taken_as_it_is(ask: Asker) -> None:
    troy = ask.search("Paris", "Troy").values[0]
    assert ask.request(Operator.SEARCH, troy).values[0].iri == troy.iri
    assert ask.relate(troy, "father") == ["Priam"]


@pytest.mark.parametrize(
    ("head", "relation", "question", "expected"),
    [
        ("France", "capital", "", ["Paris"]),
        ("Paris", "capital of", "", ["France"]),
        ("Paris", "is the capital of which country", "", ["France"]),
        ("Christopher Nolan", "films directed by", "", ["Dunkirk", "Inception"]),
        ("Christopher Nolan", "directed", "", ["Dunkirk", "Inception"]),
        ("Inception", "directed by", "", ["Christopher Nolan"]),
        ("Inception", "director of", "Who is the director of Inception?", ["Christopher Nolan"]),
        ("Inception", "release date", "", ["2010"]),
        ("Dunkirk", "when was it released", "", ["2017-07-21"]),
        ("Marie Curie", "birthplace", "", ["Warsaw"]),
        ("Marie Curie", "born", "Where was Marie Curie born?", ["Warsaw"]),
        ("Marie Curie", "born", "When was Marie Curie born?", ["7 November 1867"]),
        ("Marie Curie", "husband", "", ["Pierre Curie"]),
        ("Pierre Curie", "wife", "", ["Marie Curie"]),
        ("Marie Curie", "nationality", "", ["France", "Poland"]),
        ("Marie Curie", "country", "Which country is Marie Curie from?", ["France", "Poland"]),
        ("Pierre Curie", "child", "", ["Irène Joliot-Curie"]),
        ("Irène Joliot-Curie", "mother", "", ["Marie Curie"]),
        ("Irène Joliot-Curie", "father", "", ["Pierre Curie"]),
        ("Nobel Prize in Physics", "winners", "", ["Marie Curie"]),
        ("Eiffel Tower", "when was it built", "", ["31 March 1889"]),
        ("oxygen", "number of protons", "", ["8"]),
        ("Mars", "moons", "", ["Deimos", "Phobos"]),
        ("Spain", "neighbouring countries", "", ["France"]),
        ("France", "population of", "", ["68 million"]),
        ("France", "populaton", "", ["68 million"]),
    ],
)
def test_relate_follows_the_wording(ask: Asker, head: str, relation: str, question: str, expected: list[str]) -> None:
    assert ask.relate(head, relation, question) == expected


@pytest.mark.parametrize(
    "relation", ["president", "date of marriage", "borders on the moon", "mountain", "is", "of", "?"]
)
def test_relate_takes_nothing_that_is_only_spelt_alike(ask: Asker, relation: str) -> None:
    assert Asker(GraphSource(ask.source.graph, None)).relate("France", relation) == []


@pytest.mark.parametrize("relation", ["paternal grandfather", "aunt", "mother-in-law"])
def test_relate_does_not_pass_off_two_hops_as_one(ask: Asker, relation: str) -> None:
    found = ask.source._matcher.rank(relation)
    assert found == []


def test_relate_knows_that_nothing_is_stated(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "Pierre Curie", "date of death")
    assert (found.values, found.decided) == ((), True)


def test_a_head_is_not_taken_for_its_own_father(ask: Asker) -> None:
    # Pierre Curie is the value of "father" only: that must not answer who his father is.
    assert ask.relate("Pierre Curie", "father") == []


def test_values_carry_kinds_and_identities(ask: Asker) -> None:
    born = ask.request(Operator.RELATE, "Marie Curie", "date of birth").values[0]
    assert (born.kind, born.iri) == (ValueKind.DATE, None)
    assert ask.request(Operator.RELATE, "oxygen", "atomic number").values[0].kind is ValueKind.NUMBER
    spouse = ask.request(Operator.RELATE, "Marie Curie", "spouse").values[0]
    assert spouse.kind is ValueKind.ENTITY
    assert spouse.iri == ask.search("Pierre Curie").values[0].iri


def test_relate_evidence_can_be_run_again(ask: Asker) -> None:
    [evidence] = ask.request(Operator.RELATE, "Marie Curie", "award received").evidence
    assert evidence.text == "Marie Curie — award received: Nobel Prize in Chemistry, Nobel Prize in Physics."
    again = run_query(ask.source.graph.directory, evidence.locator["sparql"])
    assert list(again.rows) == evidence.locator["rows"]
    assert len(again.rows) == 2


@pytest.mark.parametrize("pair", [("Marie Curie", "Pierre Curie"), ("Pierre Curie", "Marie Curie")])
def test_relation_between_two_entities(ask: Asker, pair: tuple[str, str]) -> None:
    found = ask.request(Operator.RELATE, *pair)
    assert [(value.text, value.kind) for value in found.values] == [("spouse", ValueKind.RELATION)]
    assert found.decided


def test_no_relation_between_two_entities_is_an_answer(ask: Asker) -> None:
    tail = ask.search("Japan").values[0]
    found = ask.request(Operator.RELATE, "Marie Curie", tail)
    assert (found.values, found.decided) == ((), True)


@pytest.mark.parametrize(
    ("entity", "condition", "expected"),
    [
        ("France", "located in Europe", True),
        ("Japan", "is located in Europe", False),
        ("Eiffel Tower", "located in Europe", True),
        ("Eiffel Tower", "is in Paris", True),
        ("Marie Curie", "is female", True),
        ("Marie Curie", "is a woman", True),
        ("Pierre Curie", "is female", False),
        ("Pierre Curie", "is not female", True),
        ("Marie Curie", "born after 1860", True),
        ("Pierre Curie", "born after 1860", False),
        ("Pierre Curie", "not born after 1860", True),
        ("Pierre Curie", "who wasn't born after 1860", True),
        ("Marie Curie", "born in the 19th century", True),
        ("Marie Curie", "date of birth is before January 1, 1900", True),
        ("France", "population over 50 million", True),
        ("France", "population over 2000", True),
        ("Spain", "more than 50 million inhabitants", False),
        ("France", "area of at least 600,000 km²", True),
        ("Inception", "is a film", True),
        ("Paris", "is a film", False),
        ("Paris", "is a settlement", True),
        ("Marie Curie", "is a scientist", True),
        ("Inception", "directed by Christopher Nolan", True),
        ("Inception", "released before 2011 and directed by Nolan", True),
        ("Inception", "is a film and released after 2011", False),
        ("Inception", "released before 1900 or after 2005", True),
        ("Dunkirk", "released in the 2010s", True),
        ("Dunkirk", "released in 2016", False),
        ("Marie Curie", "has won at least 2 awards", True),
        ("Marie Curie", "has won more than 2 awards", False),
        ("Marie Curie", "won the Nobel Prize in Physics", True),
        ("Marie Curie", "has children", True),
        ("Marie Curie", "is French", True),
        ("Marie Curie", "from Japan", False),
        ("Eiffel Tower", "taller than 300 m", True),
        ("Eiffel Tower", "taller than 1 km", False),
        ("Eiffel Tower", "built between 1880 and 1890", True),
        ("Tokyo", "capital of France", False),
        ("Paris", "is the capital of France", True),
        ("oxygen", "atomic number < 10", True),
        ("France", "European country", True),
        ("Japan", "country in Europe", False),
        ("Japan", "largest population", None),
        ("Marie Curie", "is the oldest", None),
        ("Marie Curie", "is a happy person", None),
        ("Marie Curie", "died after 1900", None),
        ("Nobody Here", "is a film", None),
    ],
)
def test_filter(ask: Asker, entity: str, condition: str, expected: bool | None) -> None:
    assert ask.keeps(entity, condition) is expected


def test_filter_shows_its_computation_and_query(ask: Asker) -> None:
    [evidence] = ask.request(Operator.FILTER, "Eiffel Tower", "taller than 300 m").evidence
    assert evidence.text == "Eiffel Tower — height: 330 m; 330 m > 300 m: yes."
    again = run_query(ask.source.graph.directory, evidence.locator["sparql"])
    assert list(again.rows) == evidence.locator["rows"] == [{"value": "330"}]


def test_direct_rag_gives_facts_on_what_the_question_names(ask: Asker) -> None:
    found = ask.request(None, question="Was Marie Curie born before the Eiffel Tower was built?")
    assert {evidence.title for evidence in found.evidence} == {"Marie Curie", "Eiffel Tower"}
    assert found.values == ()


def test_direct_rag_looks_for_what_the_query_names(ask: Asker) -> None:
    request = Request("Was Marie Curie born before the Eiffel Tower was built?", "When was Marie Curie born?")
    assert [item.title for item in ask.source.retrieve(request, Cancellation()).evidence] == ["Marie Curie"]


def test_rows_are_capped_and_it_is_said(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge_graph, "VALUE_LIMIT", 1)
    found = ask.request(Operator.RELATE, "Mars", "has moon")
    assert len(found.values) == 1
    assert "left out" in found.dropped[0]


def test_many_threads_may_ask_at_once(ask: Asker) -> None:
    wrong: list[object] = []

    def work() -> None:
        for _ in range(30):
            if ask.relate("Marie Curie", "spouse") != ["Pierre Curie"] or ask.keeps("Paris", "is a film") is not False:
                wrong.append(threading.current_thread())

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_cancelled_requests_stop(ask: Asker) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        ask.source.retrieve(Request("q", "q", Operator.SEARCH, (Value("Paris"),)), cancellation)


OTHERS = """The Rack | director | Emile Chautard
Émile Chautard | date of death | 24 April 1934
Lincoln | director | Steven Spielberg
Abraham Lincoln | instance of | human
Abraham Lincoln | date of birth | 12 February 1809
Road to Lincoln | date of birth | 1 January 1900
Heat | director | Michael Mann
Ann Heat | date of birth | 1 May 1900
Bob Heat | date of birth | 1 May 1901
Ann | date of birth | 1950
Ann | date of birth | 2 March 1950"""
others = world_fixture(OTHERS)


def test_facts_under_an_unresolved_namesake_are_found(others: Asker) -> None:
    director = others.request(Operator.RELATE, "The Rack", "director").values[0]
    assert others.relate(director, "date of death") == ["24 April 1934"]


def test_of_a_last_name_its_only_bearer_is_asked_for_what_the_entity_of_that_name_lacks(others: Asker) -> None:
    film = others.request(Operator.SEARCH, "Lincoln").values[0]
    assert film.iri is not None
    assert others.relate(film, "date of birth") == ["12 February 1809"]
    assert others.relate(film, "director") == ["Steven Spielberg"]
    assert (others.request(Operator.RELATE, film, "date of birth").link_score or 1.0) < 0.9


def test_of_several_bearers_of_a_last_name_none_stands_for_it(others: Asker) -> None:
    film = others.request(Operator.SEARCH, "Heat").values[0]
    assert others.relate(film, "director") == ["Michael Mann"]
    assert others.relate(film, "date of birth") == []


def test_the_more_precise_date_stands_for_both(others: Asker) -> None:
    assert others.relate("Ann", "date of birth") == ["2 March 1950"]


def test_the_embedder_decides_where_words_do_not(ask: Asker) -> None:
    class FakeEmbedder:
        identity, dimensions = "fake", 2

        def encode(self, texts: list[str]) -> object:
            return np.array([[1.0, 0.0] if text in ("stature in metres", "height") else [0.0, 1.0] for text in texts])

    loaded: list[FakeEmbedder] = []

    def provide() -> FakeEmbedder:
        loaded.append(FakeEmbedder())
        return loaded[-1]

    source = Asker(GraphSource(ask.source.graph, provide))  # type: ignore[arg-type]
    assert source.relate("Eiffel Tower", "inception") == ["31 March 1889"]
    assert loaded == []
    assert source.relate("Eiffel Tower", "stature in metres") == ["330 m"]
    assert source.relate("Eiffel Tower", "favourite colour") == []
    assert loaded != []


def test_an_index_that_is_not_whole_is_told(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeIndexError):
        GraphSource.open(tmp_path / "nothing")
    open_world(tmp_path).close()
    directory = store.index_path("graph", "world")
    current = next((directory / "oxigraph").glob("CURRENT"))
    current.write_bytes(b"damaged")
    with pytest.raises(KnowledgeIndexError, match="cannot be opened") as caught:
        GraphSource.open(directory)
    assert "build it again: atomr graph build" in caught.value.hint
    assert str(directory) not in caught.value.message.partition("cannot be opened")[2]
    (directory / "names.sqlite").unlink()
    with pytest.raises(KnowledgeIndexError, match=r"names\.sqlite"):
        GraphSource.open(directory)
