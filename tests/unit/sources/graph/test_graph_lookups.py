from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.graph_world import Asker, open_world, world_fixture

from atomr_local.errors import SourceError
from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph import source as lookups
from atomr_local.sources.protocol import GraphTools, PropertyOffer, QuerySession, ValueKind
from atomr_local.system.cancellation import Cancellation

world = world_fixture()


@pytest.fixture(scope="module")
def graph(world: Asker) -> GraphSource:
    return world.source


@pytest.fixture(scope="module")
def session(graph: GraphSource) -> Iterator[QuerySession]:
    with closing(graph.query_session()) as opened:
        yield opened


def iri_of(graph: GraphSource, name: str) -> str:
    entity = graph.entity_of(name)
    assert entity is not None
    assert entity.iri is not None
    return entity.iri


def offers(graph: GraphSource, name: str, question: str = "") -> list[PropertyOffer]:
    return list(graph.properties(iri_of(graph, name), question))


def property_iri(graph: GraphSource, name: str, label: str) -> str:
    return next(offer.iri for offer in offers(graph, name) if offer.label == label)


def test_a_name_is_linked_to_what_it_may_mean(graph: GraphSource) -> None:
    assert isinstance(graph, GraphTools)
    found = graph.link("Paris", 4)
    assert {item.entity.text for item in found} == {"Paris", "Paris (mythology)"}
    [myth] = graph.link("Paris (mythology)", 1)
    assert (myth.entity.text, myth.description) == ("Paris (mythology)", "son of Priam, king of Troy")
    assert myth.entity.iri
    assert myth.entity.score
    assert [item.entity.text for item in graph.link("Mari Curie", 2)] == ["Marie Curie"]
    assert graph.link("zzqqy", 4) == graph.link("Paris", 0) == graph.link("", 3) == ()


def test_the_entity_of_a_page_has_its_whole_name(graph: GraphSource) -> None:
    for title in ("Hamlet", "Hamlet (1948 film)", "Marie Curie", "irène joliot-curie"):
        entity = graph.entity_of(title)
        assert entity is not None
        assert entity.text.casefold() == title.casefold()
        assert entity.kind is ValueKind.ENTITY
    assert graph.entity_of("Hamlet (1990 film)") is None
    assert graph.entity_of("Curie") is None
    assert graph.entity_of("Marie Curie", "Q'> ; DROP") == graph.entity_of("Marie Curie", "Q99") is not None


def test_a_page_with_a_wikidata_id_leads_to_it_and_one_with_a_qualifier_by_description(tmp_path: Path) -> None:
    label, description = "http://www.w3.org/2000/01/rdf-schema#label", "http://schema.org/description"
    file = tmp_path / "facts.nt"
    file.write_text(
        "".join(
            f'<http://www.wikidata.org/entity/{qid}> <{label}> "Hamlet"@en .\n'
            f'<http://www.wikidata.org/entity/{qid}> <{description}> "{said}"@en .\n'
            f"<http://www.wikidata.org/entity/{qid}> <http://www.wikidata.org/prop/direct/P50> "
            "<http://www.wikidata.org/entity/Q692> .\n"
            for qid, said in (("Q41567", "play by William Shakespeare"), ("Q42", "British film, made in 1948"))
        )
    )
    build_graph_index([file], "wikidata")
    source = GraphSource.open(store.index_path("graph", "wikidata"))
    found = [source.entity_of("Some other title", "Q42"), source.entity_of("Hamlet (1948 film)")]
    assert [entity and entity.iri for entity in found] == ["http://www.wikidata.org/entity/Q42"] * 2
    assert source.entity_of("Hamlet (1990 film)") is None
    assert source.entity_of("Nothing", "Q43") is None


def test_properties_come_forward_and_inverse_with_labels_counts_and_values(graph: GraphSource) -> None:
    curie = {(offer.label, offer.inverse): offer for offer in offers(graph, "Marie Curie")}
    award = curie["award received", False]
    assert award.count == 2
    assert {value.text for value in award.values} == {"Nobel Prize in Physics", "Nobel Prize in Chemistry"}
    assert all(value.iri for value in award.values)
    assert [value.text for value in curie["date of birth", False].values] == ["7 November 1867"]
    nolan = offers(graph, "Christopher Nolan")
    assert [(offer.label, offer.inverse, offer.count) for offer in nolan] == [("director", True, 2)]
    assert {value.text for value in nolan[0].values} == {"Inception", "Dunkirk"}


def test_what_the_question_asks_for_is_offered_first(graph: GraphSource) -> None:
    assert offers(graph, "France", "What is the capital of France?")[0].label == "capital"
    assert offers(graph, "France", "How many people live in France, what is its population?")[0].label == "population"
    assert [offer.inverse for offer in offers(graph, "Paris")] == sorted(
        offer.inverse for offer in offers(graph, "Paris")
    ), "without a question the entity's own first"


def test_no_property_is_missed_where_statements_are_too_many_to_read(
    graph: GraphSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {(offer.label, offer.inverse) for offer in offers(graph, "Marie Curie")}
    monkeypatch.setattr(lookups, "_READ", 2)
    cut = offers(graph, "Marie Curie")
    assert {(offer.label, offer.inverse) for offer in cut} == whole
    assert all(offer.count >= 1 for offer in cut)


def test_labels_of_entities_and_properties(graph: GraphSource) -> None:
    assert graph.label(iri_of(graph, "Paris")) == "Paris"
    assert graph.label(property_iri(graph, "France", "capital")) == "capital"
    assert graph.label("https://example.org/unknown_thing")


def test_an_iri_that_is_none_is_refused(graph: GraphSource) -> None:
    for hostile in ("not an iri", "https://example.org/> ?p ?o } #", ""):
        with pytest.raises(SourceError):
            graph.properties(hostile)
    assert graph.properties("https://example.org/unknown") == ()


def test_a_query_gives_rows_and_values_with_labels(graph: GraphSource, session: QuerySession) -> None:
    director = property_iri(graph, "Inception", "director")
    sparql = f"SELECT ?film ?who WHERE {{ ?film <{director}> ?who }} ORDER BY ?film"
    found = session.query(sparql, Cancellation())
    assert found.columns == ("film", "who")
    assert {value.text for value in found.values} == {"Dunkirk", "Inception"}
    assert all(value.kind is ValueKind.ENTITY and value.iri for value in found.values)
    assert len(found.rows) == 2
    assert not found.cut
    assert {found.labels[row["who"]] for row in found.rows} == {"Christopher Nolan"}
    [of] = session.query(f"SELECT ?p WHERE {{ ?x ?p ?y FILTER(?p = <{director}>) }} LIMIT 1", Cancellation()).values
    assert (of.text, of.kind, of.iri) == ("director", ValueKind.RELATION, director)
    count = session.query(f"SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ ?x <{director}> ?y }}", Cancellation())
    assert [value.text for value in count.values] == ["2"]
    assert session.query(f"ASK {{ ?x <{director}> ?y }}", Cancellation()).boolean is True
    limited = session.query("SELECT ?s WHERE { ?s ?p ?o }", Cancellation(), most_rows=3)
    assert (len(limited.rows), limited.cut) == (3, True)
    assert session.query("SELECT ?s WHERE { ?s <https://example.org/none> ?o }", Cancellation()).rows == ()


def test_values_of_one_entity_are_written_as_the_source_has_them(graph: GraphSource, session: QuerySession) -> None:
    tower, height = iri_of(graph, "Eiffel Tower"), property_iri(graph, "Eiffel Tower", "height")
    inception = property_iri(graph, "Eiffel Tower", "inception")
    found = session.query(f"SELECT DISTINCT ?x WHERE {{\n  <{tower}> <{height}> ?x .\n}}", Cancellation())
    assert found.rows == ({"x": "330"},)
    assert [(value.text, value.kind) for value in found.values] == [("330 m", ValueKind.NUMBER)]
    assert found.labels == {"330": "330 m"}
    [day] = session.query(f"SELECT ?x WHERE {{\n  <{tower}> <{inception}> ?x .\n}}", Cancellation()).values
    assert (day.text, day.kind) == ("31 March 1889", ValueKind.DATE)
    # Not a property of one entity: as it stands.
    [plain] = session.query(f"SELECT ?y WHERE {{ ?x <{height}> ?y }}", Cancellation()).values
    assert (plain.text, plain.kind) == ("330", ValueKind.TEXT)


def test_a_closed_graph_is_an_error_of_the_source(tmp_path: Path) -> None:
    source = open_world(tmp_path)
    iri = iri_of(source, "France")
    source.close()
    for call in (lambda: source.link("France", 1), lambda: source.properties(iri), lambda: source.entity_of("France")):
        with pytest.raises(SourceError):
            call()
