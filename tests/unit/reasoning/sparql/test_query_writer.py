"""From a question to a query and its rows: what is offered, what is written, and what happens where nothing fits."""

from __future__ import annotations

from typing import Any

import pytest
from support.fake_graph import FactsGraph, iri_of
from support.fake_parts import FakeBackbone, FakeSource, begun, toolbox

from atomr_local.errors import Cancelled, QueryError, SourceError
from atomr_local.reasoning.source_access import NO_ROWS
from atomr_local.reasoning.sparql.offer import MOST_PROPERTIES
from atomr_local.reasoning.sparql.writer import NO_SKETCH, NOTHING_OFFERED, QueryWriter, offer_lines
from atomr_local.sources.protocol import QueryRows, Value, ValueKind
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.system.cancellation import Cancellation

QUESTION = "How many moons does Mars have?"
ORBITS, SIZE = "urn:p:orbits", "urn:p:size"
FACTS = {
    "Mars": [("orbits", ORBITS, True), ("size", SIZE, False)],
    "Deimos": [("size", SIZE, False), ("discoverer", "urn:p:by", False)],
    "planet": [("instance of", "urn:p:is", True)],
}
SELECT, COUNT = "select ?x: ?x | orbits | Mars", "count ?x: ?x | orbits | Mars"
BIGGER = f"{SELECT}; ?x | size | ?y most ?y"
MOONS = QueryRows(
    "", ("x",), ({"x": iri_of("Deimos")},), values=(Value("Deimos", ValueKind.ENTITY, iri_of("Deimos")),),
    labels={iri_of("Deimos"): "Deimos"},
)  # fmt: skip
TWO = QueryRows("", ("count",), ({"count": "2"},), values=(Value("2"),))


def said(sketch: str) -> str:
    return f"Query: {sketch}"


def tools_of(
    *replies: Any, rows: dict[str, Any] | None = None, question: str = QUESTION, **given: Any
) -> QuestionContext:
    graph = given.pop("graph", None) or FactsGraph(FACTS, rows)
    return begun(question, graph, backbone=FakeBackbone(*replies), **given)


def writer(tools: QuestionContext) -> QueryWriter:
    assert tools.sparql is not None
    return tools.sparql


def test_without_a_graph_there_is_no_writer() -> None:
    assert toolbox(QUESTION, FakeBackbone(), FakeSource("graph")).sparql is None


def test_the_offer_has_names_with_properties_in_both_directions() -> None:
    graph = FactsGraph(FACTS)
    graph.samples = {"orbits": "Deimos"}
    offer = writer(tools_of(graph=graph)).offer(0, QUESTION)
    assert offer_lines(offer) == [
        "Mars: a thing", "?x | orbits | Mars", "Mars | size | ?x",
        "Further patterns, of what these lead to:", "?x | size | ?y", "?x | discoverer | ?y",
    ]  # fmt: skip
    assert offer.forms == ("select", "count"), "nobody asks for yes or no"


def test_the_offer_has_values_of_the_question_and_entities_of_earlier_answers() -> None:
    earlier = [Value("Deimos", ValueKind.ENTITY, iri_of("Deimos")), Value("12 May 1877", ValueKind.DATE)]
    offer = writer(tools_of()).offer(0, "Which planet was seen before 1610 by 3 million people?", earlier)
    assert [name.text for name in offer.names] == ["Deimos", "planet"]
    assert [value.text for value in offer.values] == ["1610", "3 million", "12 May 1877"]
    assert offer.values[0].date is not None and offer.values[0].number == 1610
    assert offer.values[1].date is None and offer.values[1].number == 3_000_000


def test_a_value_beside_an_entity_of_its_name_can_be_asked_for() -> None:
    facts = {"Orwell": [("year", "urn:p:year", False)], "1984": [("author", "urn:p:by", False)]}
    values = [Value("1984", ValueKind.ENTITY, iri_of("1984"))]
    tools = tools_of(said("ask: Orwell | year | 1984 (year)"), graph=FactsGraph(facts))
    offer = writer(tools).offer(0, "Did Orwell die in 1984?", values)
    assert ([name.text for name in offer.names], [one.text for one in offer.values]) == (
        ["1984", "Orwell"], ["1984 (year)"],
    )  # fmt: skip
    assert offer_lines(offer)[-1] == "Values: 1984 (year)"
    [sketch] = writer(tools).write(0, "Did Orwell die in 1984?", offer=offer)
    assert "FILTER(COALESCE(YEAR(?v1), ?v1 + 0) = 1984)" in sketch.sparql
    entity = QueryWriter.sketched(offer, "ask: Orwell | year | 1984")
    assert entity is not None and f"<{iri_of('1984')}>" in entity.sparql


def test_names_and_properties_are_few_and_homonyms_are_told_apart() -> None:
    many = {f"Name{place}": [(f"p{n}", f"urn:p:{n}", False) for n in range(30)] for place in range(6)}
    values = [Value("Same", ValueKind.ENTITY, iri_of(name)) for name in many]
    offer = writer(tools_of(graph=FactsGraph(many))).offer(0, "Which one?", values)
    assert [name.text for name in offer.names] == ["Same", "Same (2)", "Same (3)", "Same (4)"]
    assert all(len(name.properties) == MOST_PROPERTIES for name in offer.names)


def test_a_count_is_written_run_and_in_the_trace() -> None:
    tools = tools_of(said(COUNT), rows={"COUNT(DISTINCT ?x)": TWO})
    answer = writer(tools).answer(0, QUESTION)
    assert answer.sketch is not None and answer.sketch.text == COUNT and answer.sketch.logprob is not None
    assert [value.text for value in answer.values] == ["2"] and not answer.problem
    assert answer.queried is not None and answer.queried.evidence is not None
    evidence = answer.queried.evidence
    assert (evidence.title, evidence.query, evidence.locator["sketch"]) == (COUNT, COUNT, COUNT)
    assert evidence.locator["rows"] == [{"count": "2"}] and "COUNT(DISTINCT ?x)" in answer.sketch.sparql
    assert tools.recorder.trace.totals.retrievals["graph"] == 1


def test_no_rows_lead_to_one_second_sketch_without_the_failed_one() -> None:
    tools = tools_of(said(BIGGER), said(SELECT), rows={f"{iri_of('Mars')}> .\n}}": MOONS})
    answer = writer(tools).answer(0, QUESTION)
    assert [sketch.text for sketch in answer.tried] == [BIGGER, SELECT]
    assert [value.text for value in answer.values] == ["Deimos"]
    asked_anew = tools_of(said(BIGGER), said(BIGGER))
    answer = writer(asked_anew).answer(0, QUESTION)
    assert [sketch.text for sketch in answer.tried] == [BIGGER], "what failed cannot be written again"
    assert answer.problem == NO_ROWS and not answer.values
    [evidence] = asked_anew.recorder.trace.evidence
    assert evidence.text == "No rows."


def test_the_answer_of_an_ask_is_yes_or_no() -> None:
    rows = {"ASK": QueryRows("", boolean=False)}
    tools = tools_of(said("ask: Mars | size | ?x"), rows=rows, question="Is Mars big?")
    answer = writer(tools).answer(0, "Is Mars big?")
    assert [(value.text, value.kind) for value in answer.values] == [("no", ValueKind.BOOLEAN)]


@pytest.mark.parametrize("written", ["none", "DROP ALL", "", "select ?x: ?x | moon of | Mars"])
def test_none_and_what_is_no_query_is_none(written: str) -> None:
    tools = tools_of(said(written))
    answer = writer(tools).answer(0, QUESTION)
    assert (answer.problem, answer.sketch, answer.tried) == (NO_SKETCH, None, ())


def test_a_question_that_names_nothing_asks_no_model() -> None:
    assert writer(tools_of()).answer(0, "Who is it?").problem == NOTHING_OFFERED


def test_draws_give_each_sketch_once() -> None:
    tools = tools_of(*[said(text) for text in (SELECT, "none", COUNT, SELECT, "rubbish")])
    found = writer(tools).write(0, QUESTION, draws=5, temperature=0.7)
    assert [sketch.text for sketch in found] == [SELECT, COUNT]


def test_a_query_that_is_stopped_is_a_problem_and_a_second_one_is_tried() -> None:
    failure = QueryError("the query took longer than 5 seconds")
    tools = tools_of(said(BIGGER), said(COUNT), rows={"MAX": failure, "COUNT": TWO})
    answer = writer(tools).answer(0, QUESTION)
    assert len(answer.tried) == 2 and [value.text for value in answer.values] == ["2"]
    stopped = writer(tools_of(said(BIGGER), "none", rows={"MAX": failure})).answer(0, QUESTION)
    assert stopped.problem == failure.message


def test_a_failing_graph_and_a_cancelled_question() -> None:
    with pytest.raises(SourceError):
        writer(tools_of(said(COUNT), rows={"COUNT": SourceError("damaged")})).answer(0, QUESTION)
    cancellation = Cancellation()
    tools = tools_of(cancellation=cancellation)
    cancellation.cancel()
    with pytest.raises(Cancelled):
        writer(tools).answer(0, QUESTION)


def test_a_step_that_may_not_use_the_graph_is_offered_nothing() -> None:
    tools = tools_of()
    assert tools.graph is not None
    tools.graph.access.allowed = {0: frozenset({"text"})}
    assert writer(tools).answer(0, QUESTION).problem == NOTHING_OFFERED
