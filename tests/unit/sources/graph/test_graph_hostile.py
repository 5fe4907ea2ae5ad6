"""Text from outside, whatever it holds, changes no query and raises nothing but SourceError."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.graph_world import Asker, world_fixture
from support.homes import at_home

from atomr_local.errors import SourceError
from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.knowledge_graph import bound
from atomr_local.sources.graph.sparql.process import run_query
from atomr_local.sources.protocol import Request, Value, ValueKind
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

HOSTILE = [
    'x" . ?s ?p ?o } #',
    "x> <a:b> ?o . } SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } #",
    "'; DROP TABLE entity; --",
    '" OR "1',
    "\\u003e \\ \\\\",
    "line\nbreak\ttab",
    "a\u202eb\x1b]0;title\x07",
    "NEAR(a b) * ^ key:x",
    "%s %n {0} ${x} [3]",
    "(((((",
    "😀 مرحبا 北京",
]


world = world_fixture()


@pytest.fixture(scope="module")
def ask(world: Asker) -> Asker:
    return Asker(GraphSource(world.source.graph, None))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """A graph of these labels, of entities and of properties."""
    facts = [
        {"s": label, "p": name, "o": value}
        for label in HOSTILE
        for name, value in (("father", f"{label} tail"), (label, "other"))
    ]
    with at_home(tmp_path_factory.mktemp("home")) as home:
        file = home / "facts.jsonl"
        file.write_text("\n".join(map(json.dumps, facts)))
        build_graph_index([file], "t")
        with closing(GraphSource.open(store.index_path("graph", "t"))) as source:
            yield Asker(source)


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_labels_through_the_whole_path(hostile: Asker, label: str) -> None:
    ask, tail = hostile, f"{label} tail"
    head = ask.search(label).values[0]
    assert head.text == label
    assert ask.relate(head, "father") == [tail]
    assert ask.relate(head, label) == ["other"]
    assert ask.request(Operator.FILTER, head, f"father is {tail}").decided
    evidence = ask.request(Operator.RELATE, head, "father").evidence[0]
    assert [
        dict(row) for row in run_query(ask.source.graph.directory, evidence.locator["sparql"]).rows
    ] == evidence.locator["rows"]


@pytest.mark.parametrize("operator", [*Operator, None])
def test_half_a_character_in_a_name_finds_nothing_and_raises_nothing(ask: Asker, operator: Operator | None) -> None:
    value = Value("Qwz\ud800kk")
    request = Request("Who is Qwz\ud800kk?", "Qwz\ud800kk", operator, (value, value))
    assert ask.source.retrieve(request, Cancellation()).values == ()
    assert ask.source.link("a\udc00b", 3, "x\ud800") == ()


_WORDS = "born after 1950 not and or between is a film of the Paris France capital least at million more than 0 - °C"
words = st.sampled_from([*_WORDS.split(), "(", ")", '"', "'", "<", ">", "}", "\\", "#", "\n", "?x"])
texts = st.one_of(st.text(max_size=40), st.lists(words, max_size=9).map(" ".join), st.sampled_from(HOSTILE))


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([*Operator, None]),
    st.lists(texts, max_size=3),
    texts,
    st.sampled_from([None, "Paris", "<>", "a b", ""]),
)
@example(Operator.FILTER, ["Paris", "and and and or or " * 5], "", None)
@example(Operator.FILTER, ["Paris", "not " * 30 + "a film"], "", None)
def test_any_request_is_answered_or_refused_as_a_source_error(
    ask: Asker, operator: Operator | None, arguments: list[str], question: str, iri: str | None
) -> None:
    values = tuple(Value(text, ValueKind.ENTITY if iri else ValueKind.TEXT, iri) for text in arguments)
    try:
        found = ask.source.retrieve(Request(question, " ".join(arguments), operator, values), Cancellation())
    except SourceError:
        return
    for score in (found.link_score, found.relation_score):
        assert score is None or 0 <= score <= 1
    if operator is Operator.FILTER:
        assert len(found.values) <= 1


@given(st.text(max_size=30))
def test_a_bound_iri_stays_within_its_brackets(text: str) -> None:
    for iri in (text, f"urn:x:{text}"):
        try:
            term = bound(iri)
        except SourceError:
            continue
        assert term == f"<{iri}>"
        assert not set(iri) & set('<>"{}|^`\\ \n\t\r')


def test_long_conditions_end_in_time(ask: Asker) -> None:
    for condition in ("a and " * 2000 + "b", "between " * 3000, "x" * 100_000, "1 or more " * 2000):
        ask.keeps("Paris", condition)
