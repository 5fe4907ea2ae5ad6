"""Entities with very many values of a property: up to ten thousand are all read, in pages and only as far as somebody
needs them; beyond that what is counted is right, and what was not read is said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph_world import Asker, open_world, queries_noted
from support.homes import at_home

from atomr_local.errors import Cancelled
from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.filter import ValueCheck
from atomr_local.sources.graph.knowledge_graph import FIRST_PAGE, ROW_LIMIT, VALUE_LIMIT, KnowledgeGraph, SelectResult
from atomr_local.sources.protocol import Request, Value, ValueKind
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

FILMS, SERIES, WINNERS, SONGS, LEVELS = VALUE_LIMIT - 40, 40, VALUE_LIMIT + 100, 1_600, 700


def asker_of(home: Path, lines: list[str]) -> Iterator[Asker]:
    """Asks a world of these facts, and closes it at the end."""
    with at_home(home):
        source = open_world(home, "\n".join(lines))
    yield Asker(source)
    source.close()


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    lines = ["Ann Hub | instance of | human", "Ann Hub | date of birth | 1950-03-02", "Cy Small | instance of | human"]
    for number in range(FILMS + SERIES):
        lines.append(f"Film {number} | director | Ann Hub")
        lines.append(f"Film {number} | instance of | {'film' if number < FILMS else 'television series'}")
    lines += [f"Big Prize | winner | Person {number}" for number in range(WINNERS)]
    lines += ["Big Prize | inception | 1950-01-01", "Big Prize | country | Norway"]
    lines += [f"Song {number} | performer | Cy Small" for number in range(SONGS)]
    lines += [f"Gauge | height | {number} m" for number in range(LEVELS)]
    lines += [f"Gauge | inception | {1000 + number}" for number in range(LEVELS)] + ["Gauge | inception | 1200-05-06"]
    yield from asker_of(tmp_path_factory.mktemp("hubs"), lines)


@pytest.fixture
def queries(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that the graph runs from here on."""
    return queries_noted(monkeypatch)


def property_of(ask: Asker, name: str, label: str, *, inverse: bool = False) -> tuple[str, str]:
    """The IRIs of an entity and one of its properties."""
    graph = ask.source.graph
    iri = ask.search(name).values[0].iri or ""
    [prop] = [one for one in graph.properties_of(iri, inverse=inverse) if graph.property_label(one) == label]
    return iri, prop


def test_ten_thousand_values_are_all_read_and_evidence_shows_some(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "Ann Hub", "films directed", question="Which films did Ann Hub direct?")
    assert [value.text for value in found.values] == sorted(f"Film {number}" for number in range(FILMS))
    assert len({value.iri for value in found.values}) == FILMS
    [note] = found.dropped
    assert note.startswith("left out, each is no film: ") and note.endswith(f" and {SERIES - 5} more")
    assert len(found.evidence[0].locator["rows"]) == ROW_LIMIT
    assert f"and {FILMS + SERIES - 12} more" in found.evidence[0].text


def test_values_of_another_class_are_told_apart_in_the_store(ask: Asker, queries: list[str]) -> None:
    ask.request(Operator.RELATE, "Ann Hub", "films directed", question="Which films did Ann Hub direct?")
    looked_at = [query for query in queries if "?type" in query and "VALUES ?value" in query]
    assert len(looked_at) == 1 and looked_at[0].count("<urn:atomr:entity:Film%20") == SERIES


def test_a_list_that_was_not_read_to_its_end_says_so(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "Big Prize", "winner", question="Who won the Big Prize?")
    assert len(found.values) == VALUE_LIMIT
    assert found.dropped == (f"more than {VALUE_LIMIT} values of winner; the rest were left out",)


@pytest.mark.parametrize(
    ("name", "label", "inverse", "number", "cut"),
    [
        ("Cy Small", "performer", True, SONGS, False),
        ("Ann Hub", "director", True, VALUE_LIMIT, False),
        ("Big Prize", "winner", False, VALUE_LIMIT, True),
        ("Gauge", "height", False, LEVELS, False),
        ("Big Prize", "country", False, 1, False),
    ],
)
def test_pages_are_the_whole_list_in_parts(
    ask: Asker, name: str, label: str, inverse: bool, number: int, cut: bool
) -> None:
    graph = ask.source.graph
    iri, prop = property_of(ask, name, label, inverse=inverse)
    pages = list(graph.value_pages(iri, prop, inverse=inverse))
    whole = graph.values(iri, prop, inverse=inverse)
    rows = [row for page in pages for row in page.rows]
    assert rows == whole.rows and len(rows) == len({row["value"] for row in rows}) == number
    assert whole.cut is cut and [page.cut for page in pages] == [True] * (len(pages) - 1) + [cut]
    assert len(pages[0].terms) == min(FIRST_PAGE, number)
    assert {page.sparql for page in pages} == {whole.sparql}


def test_an_entity_without_values_has_one_empty_page(ask: Asker) -> None:
    iri, prop = property_of(ask, "Big Prize", "winner")
    [page] = ask.source.graph.value_pages(iri, prop, inverse=True)
    assert page.terms == () and not page.cut


def test_a_page_is_read_when_it_is_asked_for(ask: Asker, queries: list[str]) -> None:
    iri, prop = property_of(ask, "Big Prize", "winner")
    queries.clear()
    pages = ask.source.graph.value_pages(iri, prop)
    assert queries == []
    next(pages)
    next(pages)
    assert [query.rsplit("\n", 1)[1] for query in queries] == ["OFFSET 0", f"OFFSET {FIRST_PAGE}"]


def test_reading_is_cancelled_between_pages(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    cancellation = Cancellation()
    run: list[str] = []
    select = KnowledgeGraph.select

    def cancelling(graph: KnowledgeGraph, query: str, limit: int | None = None) -> SelectResult:
        if "OFFSET" in query:
            run.append(query)
            cancellation.cancel()
        return select(graph, query, limit)

    monkeypatch.setattr(KnowledgeGraph, "select", cancelling)
    arguments = (Value("Big Prize"), Value("winner"))
    with pytest.raises(Cancelled):
        ask.source.retrieve(Request("Who won the Big Prize?", "", Operator.RELATE, arguments), cancellation)
    assert len(run) == 1


def test_values_are_as_one_by_one(ask: Asker) -> None:
    graph = ask.source.graph
    for name, label in (("Big Prize", "winner"), ("Gauge", "height"), ("Gauge", "inception")):
        iri, prop = property_of(ask, name, label)
        answer = graph.first_values(iri, prop)
        singly = [graph.value(statement, 0.5) for statement in graph.statements(iri, prop, limit=FIRST_PAGE)]
        assert graph.answer_values(answer, iri, prop, score=0.5) == singly
        assert len(singly) == FIRST_PAGE


def test_of_many_dates_the_less_precise_one_is_left_out(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "Gauge", "inception", question="When was the Gauge founded?")
    years = [str(1000 + number) for number in range(LEVELS) if number != 200]
    assert [value.text for value in found.values] == sorted([*years, "1200-05-06"])
    assert {value.kind for value in found.values} == {ValueKind.DATE}


def test_a_hub_is_counted_in_the_store(ask: Asker, queries: list[str]) -> None:
    found = ask.request(Operator.RELATE, "Ann Hub", "films directed", question="How many films did Ann Hub direct?")
    assert [value.text for value in found.values] == [str(FILMS)]
    assert f"{FILMS} in all, without {SERIES} not of the kind 'film'" in found.evidence[-1].text
    assert "COUNT" in found.evidence[-1].locator["sparql"]
    assert found.dropped == (
        f"of {FILMS + SERIES} values of director the first {FIRST_PAGE} were read; all were counted",
    )
    assert sum("OFFSET" in query for query in queries) == 1


@pytest.mark.parametrize(
    ("head", "relation", "question", "expected"),
    [
        ("Big Prize", "winner", "How many winners does the Big Prize have?", [str(WINNERS)]),
        ("Cy Small", "performer", "How many songs did Cy Small perform?", [str(SONGS)]),
        ("Ann Hub", "films directed", "How many works did Ann Hub direct?", [str(FILMS + SERIES)]),
        # numbers are no things that are counted
        ("Gauge", "height", "How many heights does the Gauge have?", [f"{number} m" for number in range(LEVELS)]),
        ("Ann Hub", "films", "Which films did Ann Hub make?", [f"Film {number}" for number in range(FILMS)]),
    ],
)
def test_what_is_counted_and_what_is_read(
    ask: Asker, head: str, relation: str, question: str, expected: list[str]
) -> None:
    assert sorted(ask.relate(head, relation, question)) == sorted(expected)


def test_members_of_a_class_are_counted_in_the_store(ask: Asker) -> None:
    found = ask.request(Operator.RELATE, "Ann Hub", "films", question="How many films did Ann Hub make?")
    assert [value.text for value in found.values] == [str(FILMS)]
    assert found.dropped == (f"of {FILMS} the first {FIRST_PAGE} were read; all were counted",)


def test_what_else_a_hub_has_is_seen_beside_its_many_values(ask: Asker) -> None:
    graph = ask.source.graph
    iri = ask.search("Big Prize").values[0].iri or ""
    labels = {graph.property_label(prop) for prop in graph.properties_of(iri)}
    assert labels == {"winner", "inception", "country"}
    assert ask.relate("Big Prize", "country", "What country is the Big Prize from?") == ["Norway"]
    assert {graph.property_label(fact.property) for fact in graph.main_facts(iri)} == labels


@pytest.mark.parametrize("most", [20_000, 1_000])
def test_of_many_properties_those_of_a_hub_are_read_or_asked_for(
    ask: Asker, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    from atomr_local.sources.graph import knowledge_graph

    monkeypatch.setattr(knowledge_graph, "_MANY_PROPERTIES", 2)
    monkeypatch.setattr(knowledge_graph, "_MOST_COUNTED", most)
    graph = ask.source.graph
    for name, inverse, labels in (
        ("Big Prize", False, {"winner", "inception", "country"}),
        ("Ann Hub", True, {"director"}),
        ("film", True, {"instance of"}),
    ):
        iri = ask.search(name).values[0].iri or ""
        read = graph._read_properties(iri, inverse)
        assert {graph.property_label(prop) for prop in read} == labels


def test_filter_asks_the_store_for_a_value_that_was_not_read(ask: Asker) -> None:
    for number in (0, WINNERS // 2, WINNERS - 1):
        assert ask.keeps("Big Prize", f"winner is Person {number}") is True
        assert ask.keeps("Ann Hub", f"director of Film {min(number, FILMS - 1)}") is True
    assert ask.keeps("Big Prize", "winner is Ann Hub") is False
    assert ask.keeps("Big Prize", "winner is Nobody Known") is False  # the names tell, though not all values are read
    assert ask.keeps("Big Prize", "Norway") is True
    assert ask.keeps("Ann Hub", "director of Nobody Known") is False


NAMED = (
    "Moss", "a Moss", "The Moss", "Ivy Moss", "Mosses", "Oss", "Larch", "the Larch", "Fern Larch", "Twin", "Person 12",
    "Denmark", "Danish", "Dane", "Spain", "Spanish", "female", "woman", "X", "Nobody", "y", "100% Wool", '"Quoted"',
)  # fmt: skip


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """A hub whose values are called in every way that counts, as values and as others."""
    lines = [f"Club | member | Person {number}" for number in range(FIRST_PAGE * 3)]
    members = ("Ivy Moss", "The Larch", "Denmark", "woman", "Zed X", "100% Wool", '"Quoted"')
    lines += [f"Club | member | {name}" for name in members]
    others = ("Moss", "Rory Oss", "Fern Larch", "Danish", "Spain", "female", "Nobody", "Sue Nobody")
    lines += [f"{name} | instance of | thing" for name in others]
    yield from asker_of(tmp_path_factory.mktemp("named"), lines)


def test_names_decide_as_reading_all_values_does(
    named: Asker, queries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_names = {name: named.keeps("Club", f"member is {name}") for name in NAMED}
    read = sum("OFFSET" in query for query in queries)
    monkeypatch.setattr(ValueCheck, "_named_so", lambda *_: None)
    assert {name: named.keeps("Club", f"member is {name}") for name in NAMED} == by_names
    assert by_names["Moss"] is by_names["Larch"] is by_names["Danish"] is by_names["female"] is True
    assert by_names["Nobody"] is by_names["Oss"] is by_names["Spanish"] is by_names["Fern Larch"] is False
    assert read <= len(NAMED) * 2 + 4  # first pages; "y" is too short to be looked for as a surname


def test_a_value_that_a_hub_lacks_is_not_looked_for_among_its_values(ask: Asker, queries: list[str]) -> None:
    for condition in ("winner is Ann Hub", "winner is Nobody Known"):
        queries.clear()
        assert ask.keeps("Big Prize", condition) is False
        assert sum("OFFSET" in query for query in queries) == 1


def test_as_a_source_writes_a_value_counts_too(tmp_path: Path) -> None:
    """What stands in the source beside the label of the entity."""
    facts = [{"s": "Club", "p": "member", "o": f"Person {number}", "o_qid": f"Q{number + 1}"} for number in range(700)]
    facts.append({"s": "Club", "p": "member", "o": "Old Hat", "o_qid": "Q2000"})
    facts += [{"s": "New Cap", "s_qid": "Q2000", "p": "instance of", "o": "hat"}] * 3
    lines = tmp_path / "facts.jsonl"
    lines.write_text("\n".join(map(json.dumps, facts)))
    build_graph_index([lines], "clubs")
    source = GraphSource.open(store.index_path("graph", "clubs"), None)
    asker = Asker(source)
    try:
        for name in ("Old Hat", "Hat", "New Cap", "Person 650"):
            assert asker.keeps("Club", f"member is {name}") is True, name
        assert asker.keeps("Club", "member is Old Coat") is False
    finally:
        source.close()


def test_filter_reads_up_to_the_value_that_is_meant(ask: Asker, queries: list[str]) -> None:
    assert ask.keeps("Gauge", "height more than 4 m") is True
    assert sum("OFFSET" in query for query in queries) == 1
    queries.clear()
    assert ask.keeps("Gauge", f"height more than {LEVELS - 1} m") is False
    assert sum("OFFSET" in query for query in queries) == 2


def test_filter_compares_the_number_of_all_values(ask: Asker) -> None:
    assert ask.keeps("Big Prize", f"more than {WINNERS - 1} winners") is True
    assert ask.keeps("Big Prize", f"more than {WINNERS} winners") is False
    assert ask.keeps("Big Prize", "after 1940") is True
