"""An unsure step beside the other source: what makes it surer, what replaces it, and where nothing more is asked."""

from __future__ import annotations

from typing import Any

import pytest
from support.fake_parts import UNKNOWN, FakeBackbone, FakeSource, Run, Said, cancelling, entity, passages, reply, rows

from atomr_local.errors import Cancelled, ModelError, SourceError
from atomr_local.reasoning.confidence import Calibration, LogisticModel, LogisticTerm
from atomr_local.reasoning.trace.events import SourcesSelected
from atomr_local.sources.protocol import Retrieval
from atomr_local.system.cancellation import Cancellation

QUESTION = "Who is the father of Ann Lee?"
PLAN = '1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")'
FEATURES = {"rival": False, "beam": False, "guess": False, "page_alone": False, "ask_on": False, "other_source": True}
# A step is as probable as its reading or its relation, and surer or less sure by what the other source says.
STEP = LogisticModel(0.0, tuple(LogisticTerm(name, 1.0) for name in ("reading", "relation", "rival")))
CALIBRATION = Calibration(STEP, STEP, STEP)
BOB_OR_EVE = passages(("Ann Lee", "Bob had Ann."), ("Eve", "Eve had Ann."))


def run(*replies: Any, graph: Retrieval | Exception, text: Retrieval | Exception = BOB_OR_EVE, **given: Any) -> Run:
    sources = FakeSource("graph", {"Ann Lee father": graph}), FakeSource("text", {"Ann Lee father": text})
    given["features"] = FEATURES | given.get("features", {})
    settings = {"calibration": CALIBRATION} | given
    return Run(QUESTION, settings.pop("plan", PLAN), FakeBackbone(*replies), *sources, **settings)


def of_graph(name: str, relation: float) -> Retrieval:
    return rows("Ann Lee", entity(name), relation=relation)


def read(name: str, probability: float, place: int = 1) -> Said:
    return Said(reply(name, evidence=[place]), probability)


def test_what_both_say_is_surer_and_keeps_the_entity() -> None:
    made = run("graph", read("Bob", 0.7), graph=of_graph("Bob", 0.6))
    node = made.node(1)
    assert node.answers == ["Bob"] and node.entities == ["https://example.org/Bob"]
    assert node.signals["rival"] == 1.0 and node.signals["agree"] == 1.0
    assert node.confidence is not None and node.confidence > 0.8
    assert len(node.cited) == 2 and node.sources == ["graph", "text"]
    assert "Bob (0.60); the other source: Bob (0.70)" in node.dropped


def test_of_two_answers_the_surer_one_stands_less_sure_than_alone() -> None:
    made = run("graph", read("Eve", 0.9, 2), graph=of_graph("Bob", 0.6))
    assert made.result.texts == ("Eve",) and made.node(1).cited == ["e3"]
    assert made.node(1).signals["rival"] == 0.0
    made = run("graph", read("Eve", 0.55, 2), graph=of_graph("Bob", 0.6))
    assert made.result.texts == ("Bob",) and made.node(1).cited == ["e1"]
    assert made.node(1).signals["rival"] == 0.0
    assert "Bob (0.60); the other source: Eve (0.55)" in made.node(1).dropped


def test_an_answer_that_was_read_is_looked_up_in_the_graph_without_the_model() -> None:
    made = run("text", read("Eve", 0.6, 2), graph=of_graph("Eve", 0.4))
    node = made.node(1)
    assert (node.answers, node.entities, node.llm.calls) == (["Eve"], ["https://example.org/Eve"], 2)
    assert node.signals["rival"] == 1.0 and node.signals["reading"] == pytest.approx(0.6)
    made = run("text", read("Eve", 0.6, 2), graph=of_graph("Bob", 0.4))
    assert made.result.texts == ("Eve",) and made.node(1).signals["rival"] == 0.0
    made = run(read("Bob", 0.6), graph=Retrieval(linked=entity("Ann Lee"), link_score=1.0))
    assert made.result.texts == ("Bob",) and "rival" not in made.node(1).signals
    assert made.node(1).llm.calls == 1


@pytest.mark.parametrize("graph", [of_graph("Bob", 0.79), of_graph("Bob", 0.9)])
def test_what_is_sure_is_not_looked_up_again(graph: Retrieval) -> None:
    replies = [] if graph.relation_score == 0.9 else ["graph"]
    made = run(*replies, graph=graph)
    assert made.result.texts == ("Bob",) and "rival" not in made.node(1).signals


def test_off_nothing_more_is_asked_nor_without_a_calibration_of_steps() -> None:
    made = run("graph", graph=of_graph("Bob", 0.6), features={"other_source": False})
    assert "rival" not in made.node(1).signals and made.trace.totals.retrievals["text"] == 0


def test_where_the_other_source_has_nothing_fails_or_the_model_does_the_answer_stands() -> None:
    made = run("graph", UNKNOWN, graph=of_graph("Bob", 0.6))
    assert made.result.texts == ("Bob",) and "rival" not in made.node(1).signals
    made = run("graph", graph=of_graph("Bob", 0.6), text=SourceError("damaged"))
    assert made.result.texts == ("Bob",) and "rival" not in made.node(1).signals
    made = run("graph", ModelError("no"), graph=of_graph("Bob", 0.6))
    assert made.result.texts == ("Bob",) and any("not looked up" in note for note in made.node(1).dropped)


def test_with_too_few_calls_left_nothing_more_is_asked() -> None:
    made = run("graph", graph=of_graph("Bob", 0.6), limits={"calls": 5})
    assert made.result.texts == ("Bob",)
    assert "not looked up in the text as well: the question's model calls are used" in made.node(1).dropped


def test_the_title_of_a_page_and_a_step_that_may_not_use_the_other_source_are_left_alone() -> None:
    plan = '1. Who is Ann Lee? = Search("Ann Lee")'
    text = FakeSource("text", {"Ann Lee": passages(("Ann Lee", "Ann painted."))})
    graph = FakeSource("graph", {"Ann Lee": rows("Anna Li", entity("Anna Li"), link=0.4)})
    made = Run("Who is Ann Lee?", plan, FakeBackbone("text"), graph, text, features=FEATURES, calibration=CALIBRATION)
    assert made.node(1).answers == ["Ann Lee"] and "rival" not in made.node(1).signals


def test_the_trace_tells_both_sources_and_why() -> None:
    made = run("graph", read("Bob", 0.7), graph=of_graph("Bob", 0.6))
    last = [event for event in made.of_type(SourcesSelected) if event.node_id == 1][-1]
    assert (list(last.sources), last.reason) == (["graph", "text"], "the graph was not sure")


def test_cancelling_ends_the_question() -> None:
    cancellation = Cancellation()
    with pytest.raises(Cancelled):
        run("graph", cancelling(cancellation), graph=of_graph("Bob", 0.6), cancellation=cancellation)
