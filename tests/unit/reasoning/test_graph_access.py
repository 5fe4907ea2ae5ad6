from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest
from support.fake_parts import FakeGraphSource, FakeSource, begun

from atomr_local.errors import Cancelled, QueryError, SourceError
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.source_access import GraphAccess, told
from atomr_local.reasoning.trace.events import Event, EvidenceFound, RetrievalStarted
from atomr_local.sources.protocol import Linked, PropertyOffer, QueryRows, Value, ValueKind
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import ROOT_ID

IRI = "https://example.org/paris"
ROWS = QueryRows(
    "SELECT ?x ?n", ("x", "n"), ({"x": IRI, "n": "7"}, {"n": "8"}), None, False,
    (Value("Pa\x1b[31mris", ValueKind.ENTITY, IRI),), {IRI: "Pa\x1b[31mris"},
)  # fmt: skip


class FakeGraph(FakeGraphSource):
    def __init__(self, found: QueryRows | Exception = ROWS) -> None:
        super().__init__()
        self.answer = found
        self.ran: list[tuple[str, float, int]] = []

    def link(self, name: str, number: int, question: str = "") -> tuple[Linked, ...]:
        return (Linked(Value(name, ValueKind.ENTITY, IRI, 0.9), "a \x1b[2Jcity"),)[:number]

    def entity_of(self, title: str, qid: str = "") -> Value | None:
        return Value(f"{title}\x07", ValueKind.ENTITY, IRI) if title == "Paris" else None

    def properties(self, iri: str, question: str = "") -> tuple[PropertyOffer, ...]:
        return (PropertyOffer("p", "capital\x1b[0m of", True, 1, (Value("France\x00"),)),)

    def label(self, iri: str) -> str:
        return "Par\x1b[1mis\n"

    def query(
        self, sparql: str, cancellation: Cancellation, *, seconds: float = 5.0, most_rows: int = 200
    ) -> QueryRows:
        cancellation.check()
        self.ran.append((sparql, seconds, most_rows))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


tools_of = partial(begun, "Which city?")


@pytest.mark.parametrize("asked", ["select ?x: Paris | mayor | ?x", ""])
def test_two_queries_that_read_alike_are_two_pieces_of_evidence(asked: str) -> None:
    """Two entities with one name: sketch and rows read alike, and only the queries tell them apart."""
    source = FakeGraph()
    tools = tools_of(source)
    assert tools.graph is not None
    for iri in (IRI, f"{IRI}_Texas", IRI):
        source.answer = QueryRows(f"SELECT ?x {{ <{iri}> <urn:p> ?x }}", ("x",), ({"x": "7"},))
        tools.graph.query(ROOT_ID, source.answer.sparql, asked=asked)
    known = tools.recorder.trace.evidence
    assert [item.id for item in known] == ["e1", "e2"] and len({item.text for item in known}) == 1
    assert [IRI + ">" in item.locator["sparql"] for item in known] == [True, False]


def access(tools: QuestionContext) -> GraphAccess:
    assert tools.graph is not None
    return tools.graph


def test_without_a_graph_there_is_no_access() -> None:
    assert tools_of(FakeSource("graph")).graph is None
    assert tools_of(FakeSource("text")).graph is None


def test_a_query_is_evidence_with_its_rows() -> None:
    events: list[Event] = []
    graph = FakeGraph()
    tools = tools_of(graph, events=events)
    queried = access(tools).query(ROOT_ID, "SELECT ?x ?n")
    assert graph.ran == [("SELECT ?x ?n", 5.0, 200)]
    assert queried.problem == ""
    assert [value.text for value in queried.values] == ["Paris"]
    assert queried.evidence is not None
    assert (queried.evidence.id, queried.evidence.title) == ("e1", "?x, ?n")
    assert queried.evidence.text == "x: Paris; n: 7. n: 8."
    assert queried.evidence.locator == {"sparql": "SELECT ?x ?n", "rows": [{"x": IRI, "n": "7"}, {"n": "8"}]}
    assert [event.query for event in events if isinstance(event, RetrievalStarted)] == ["SELECT ?x ?n"]
    assert tools.recorder.trace.totals.retrievals["graph"] == 1
    assert tools.recorder.trace.node(ROOT_ID).evidence == ["e1"]
    assert "\x1b" not in str(tools.recorder.trace)


def test_a_refused_query_is_told_and_its_retrieval_ends() -> None:
    events: list[Event] = []
    tools = tools_of(FakeGraph(QueryError("the query is not valid: \x1b[31mno")), events=events)
    queried = access(tools).query(ROOT_ID, "nonsense")
    assert (queried.evidence, queried.values, queried.problem) == (None, (), "the query is not valid: no")
    assert [event.evidence for event in events if isinstance(event, EvidenceFound)] == [()]


def test_a_failing_graph_and_a_cancelled_question() -> None:
    with pytest.raises(SourceError):
        access(tools_of(FakeGraph(SourceError("damaged")))).query(ROOT_ID, "ASK {}")
    cancellation = Cancellation()
    graph = access(tools_of(FakeGraph(), cancellation=cancellation))
    cancellation.cancel()
    for call in (
        lambda: graph.query(ROOT_ID, "ASK {}"), lambda: graph.link("Paris", 1), lambda: graph.entity_of("Paris"),
        lambda: graph.properties(IRI), lambda: graph.label(IRI),
    ):  # fmt: skip
        with pytest.raises(Cancelled):
            call()


def test_a_step_that_may_not_use_the_graph_runs_no_query() -> None:
    source = FakeGraph()
    graph = access(tools_of(source))
    graph.access.allowed = {ROOT_ID: frozenset({"text"})}
    assert graph.query(ROOT_ID, "ASK {}").problem == "the graph is not to be used in this step"
    assert source.ran == []


def test_what_is_looked_up_is_sanitised_and_no_retrieval() -> None:
    tools = tools_of(FakeGraph())
    graph = access(tools)
    assert graph.link("Paris", 1) == (Linked(Value("Paris", ValueKind.ENTITY, IRI, 0.9), "a city"),)
    assert graph.entity_of("Paris") == Value("Paris", ValueKind.ENTITY, IRI)
    assert graph.entity_of("Rome") is None
    assert graph.properties(IRI) == (PropertyOffer("p", "capital of", True, 1, (Value("France"),)),)
    assert graph.label(IRI) == "Paris"
    assert tools.recorder.trace.totals.retrievals["graph"] == 0


def test_rows_are_told_in_short_sentences() -> None:
    assert told(QueryRows("ASK", boolean=True)) == "Yes."
    assert told(QueryRows("ASK", boolean=False)) == "No."
    assert told(QueryRows("SELECT ?x", ("x",))) == "No rows."
    assert told(QueryRows("SELECT ?x", ("x",), ({"x": IRI}, {"x": "1889"}), labels={IRI: "Paris"})) == "Paris. 1889."
    many = tuple({"x": str(number)} for number in range(25))
    assert told(QueryRows("SELECT ?x", ("x",), many)).endswith("19. And 5 more.")
    assert told(QueryRows("SELECT ?x", ("x",), many, cut=True)).endswith("And at least 5 more.")
    assert told(QueryRows("SELECT ?x", ("x",), many[:2], cut=True)) == "0. 1. And more."


def test_queries_of_a_question_run_one_at_a_time() -> None:
    class Slow(FakeGraph):
        at_once = most = 0

        def query(self, *args: Any, **given: Any) -> QueryRows:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            time.sleep(0.01)
            self.at_once -= 1
            return super().query(*args, **given)

    source = Slow()
    graph = access(tools_of(source))
    run_each(lambda number: graph.query(ROOT_ID, f"SELECT ?x{number}"), range(4), 4)
    assert (source.most, len(source.ran)) == (1, 4)


def test_a_query_that_was_sketched_is_shown_by_its_sketch() -> None:
    events: list[Event] = []
    queried = access(tools_of(FakeGraph(), events=events)).query(
        ROOT_ID, "SELECT ?x", asked="select ?x: A | b | ?x\x1b[2J\n"
    )
    assert [event.query for event in events if isinstance(event, RetrievalStarted)] == ["select ?x: A | b | ?x"]
    assert queried.evidence is not None
    shown = (queried.evidence.title, queried.evidence.query, queried.evidence.locator["sketch"])
    assert shown == ("select ?x: A | b | ?x",) * 3
