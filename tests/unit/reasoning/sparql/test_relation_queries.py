"""A query is written where the graph knows the entity and not surely the relation; and where none may be."""

from __future__ import annotations

from typing import Any

import pytest
from support.fake_graph import FactsGraph, iri_of
from support.fake_parts import FakeBackbone, FakeSource, Run, Said, cancelling, passages, reply, rows

from atomr_local.errors import Cancelled, ModelError, QueryError
from atomr_local.reasoning.trace.events import ModelCalled, SourcesSelected
from atomr_local.sources.protocol import QueryRows, Retrieval, Value, ValueKind
from atomr_local.system.cancellation import Cancellation

QUESTION = "Who is the father of Ann Lee?"
PLAN = '1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")'
ANN = Value("Ann Lee", ValueKind.ENTITY, iri_of("Ann Lee"))
FATHER, BORN = "urn:p:father", "urn:p:born"
FACTS = {"Ann Lee": [("father", FATHER, False), ("born", BORN, False)], "Bob": [("town", "urn:p:town", False)]}
SKETCH = "select ?x: Ann Lee | father | ?x"
TEXT = FakeSource("text", {"Ann Lee father": passages(("Ann Lee", "Eve and Ann."))})


def value(name: str) -> Value:
    return Value(name, ValueKind.ENTITY, iri_of(name))


def query_rows(*names: str, cut: bool = False) -> QueryRows:
    values = tuple(value(name) for name in names)
    return QueryRows(
        "", ("x",), tuple({"x": one.iri or ""} for one in values), cut=cut, values=values,
        labels={one.iri or "": one.text for one in values},
    )  # fmt: skip


def unsure(*values: Value, link: float = 1.0, relation: float = 0.3, linked: Value | None = ANN) -> Retrieval:
    found = rows("Ann Lee", *values)
    return Retrieval(found.evidence if values else (), values, link, relation, bool(values), linked=linked)


def asked(*replies: Any, found: Retrieval, gives: Any = None, text: FakeSource | None = TEXT, **given: Any) -> Run:
    graph = FactsGraph(FACTS, {FATHER: query_rows("Bob") if gives is None else gives})
    graph.found = {"Ann Lee father": found}
    features = {"rival": False, "beam": False, "guess": False, "page_alone": False, "write_queries": True}
    given["features"] = features | given.get("features", {})
    sources = (graph,) if text is None else (graph, text)
    return Run(given.pop("question", QUESTION), given.pop("plan", PLAN), FakeBackbone(*replies), *sources, **given)


def purposes(run: Run) -> list[str]:
    return [event.purpose for event in run.of_type(ModelCalled)]


def test_where_nothing_was_found_the_models_choice_among_the_properties_is_the_answer() -> None:
    run = asked(Said(f"Query: {SKETCH}", 0.95), found=unsure())
    assert run.result.texts == ("Bob",)
    node = run.node(1)
    assert (node.method, node.sources, node.entities) == ("operator", ["graph"], [iri_of("Bob")])
    assert node.signals["relation"] == pytest.approx(0.95)
    [cited] = [item for item in run.trace.evidence if item.id in node.cited]
    assert cited.locator["sketch"] == SKETCH and cited.text == "Bob."
    assert purposes(run) == ["query"]


def test_only_the_linked_entity_and_one_hop_are_offered() -> None:
    backbone = FakeBackbone(Said(f"Query: {SKETCH}", 0.95))
    graph = FactsGraph(FACTS, {FATHER: query_rows("Bob")})
    graph.samples = {"father": "Bob"}
    graph.found = {"Ann Lee father": unsure()}
    features = {"rival": False, "beam": False, "guess": False, "page_alone": False, "write_queries": True}
    Run("Who is the father of Ann Lee, Bob?", PLAN, backbone, graph, features=features)
    assert backbone.asked[0].splitlines()[1:] == ["Ann Lee:", "Ann Lee | father | ?x", "Ann Lee | born | ?x"]
    assert backbone.grammars[0] is not None and '"ask' not in backbone.grammars[0]


def test_a_choice_that_is_not_sure_is_evidence_to_read_beside_the_passages() -> None:
    run = asked(
        Said(f"Query: {SKETCH}", 0.2), "text, graph", Said(reply("Bob", evidence=[1]), 0.9), found=unsure(),
    )  # fmt: skip
    assert purposes(run)[:3] == ["query", "choose sources", "read"]
    assert run.result.texts == ("Bob",) and run.node(1).signals["reading"] == pytest.approx(0.9)
    assert any("by a written query: Bob (0.20)" in note for note in run.node(1).dropped)


def test_of_two_unsure_answers_of_the_graph_the_surer_one_stands_and_equal_ones_are_as_sure_as_the_surer() -> None:
    run = asked(Said(f"Query: {SKETCH}", 0.55), "graph", found=unsure(value("Eve"), relation=0.6))
    assert run.result.texts == ("Eve",) and run.node(1).signals["relation"] == pytest.approx(0.6)
    run = asked(Said(f"Query: {SKETCH}", 0.7), "graph", found=unsure(value("Eve"), relation=0.6))
    assert run.result.texts == ("Bob",) and run.node(1).signals["relation"] == pytest.approx(0.7)
    run = asked(Said(f"Query: {SKETCH}", 0.9), found=unsure(value("Bob"), relation=0.6))
    assert run.result.texts == ("Bob",) and run.node(1).signals["relation"] == pytest.approx(0.9)


@pytest.mark.parametrize(
    "found",
    [
        unsure(value("Eve"), relation=0.9),
        unsure(relation=0.9),
        unsure(link=0.5),
        unsure(linked=None),
        unsure(linked=Value("Ann Lee")),
    ],
    ids=["relation sure", "relation sure, no value", "link too weak", "not linked", "no entity"],
)
def test_nothing_is_asked_where_the_relation_is_sure_or_the_entity_is_not_known(found: Retrieval) -> None:
    run = asked(
        *([] if found.values else [reply("Eve", evidence=[1])]), found=found, text=TEXT if not found.values else None
    )
    assert "query" not in purposes(run) and run.result.texts == ("Eve",)


def test_off_nothing_is_asked() -> None:
    run = asked(reply("Eve", evidence=[1]), found=unsure(), features={"write_queries": False})
    assert "query" not in purposes(run) and run.result.texts == ("Eve",)


@pytest.mark.parametrize(
    ("gives", "question"),
    [
        (query_rows("Bob", cut=True), QUESTION),
        (QueryRows("", ("x",), ({"x": "1900"},), values=(Value("12 May 1900", ValueKind.DATE),)), QUESTION),
    ],
    ids=["more rows than the limit", "a date for a person"],
)
def test_an_answer_that_cannot_be_right_is_noted_and_not_used(gives: QueryRows, question: str) -> None:
    run = asked(Said(f"Query: {SKETCH}", 0.95), reply("Eve", evidence=[1]), found=unsure(), gives=gives)
    assert run.result.texts == ("Eve",)


def test_no_choice_no_rows_and_a_failed_query_leave_what_there_was() -> None:
    run = asked("Query: none", reply("Eve", evidence=[1]), found=unsure())
    assert run.result.texts == ("Eve",)
    twice = [f"Query: {SKETCH}", "Query: none"]
    run = asked(*twice, reply("Eve", evidence=[1]), found=unsure(), gives=query_rows())
    assert run.result.texts == ("Eve",) and purposes(run).count("query") == 2
    failing = QueryError("too slow")
    run = asked(*twice, reply("Eve", evidence=[1]), found=unsure(), gives=failing)
    assert run.result.texts == ("Eve",)
    run = asked(ModelError("no"), reply("Eve", evidence=[1]), found=unsure())
    assert run.result.texts == ("Eve",)


def test_a_step_about_several_entities_writes_none() -> None:
    plan = '1. Who? = Search("Ann Lee")\n2. Who is the father of [1]? = Relate([1], "father")\n'
    graph = FactsGraph(FACTS)
    graph.found = {"Ann Lee": rows("Ann Lee", ANN, value("Bob"))}
    features = {"rival": False, "beam": False, "guess": False, "page_alone": False, "write_queries": True}
    run = Run(QUESTION, plan, FakeBackbone(reply(), reply()), graph, features=features)
    assert purposes(run) == ["combine", "closed book"] and not run.result.values


def test_with_too_few_calls_left_none_is_written() -> None:
    run = asked(reply("Eve", evidence=[1]), found=unsure(), limits={"calls": 1})
    assert run.result.texts == ("Eve",) and "query" not in purposes(run)


def test_cancelling_ends_the_question() -> None:
    cancellation = Cancellation()
    with pytest.raises(Cancelled):
        asked(cancelling(cancellation), found=unsure(), cancellation=cancellation)


def test_the_sources_are_chosen_after_the_query() -> None:
    run = asked(Said(f"Query: {SKETCH}", 0.95), found=unsure())
    [selected] = [event for event in run.of_type(SourcesSelected) if event.node_id == 1]
    assert selected.reason == "rule: the graph links entity and relation surely"
