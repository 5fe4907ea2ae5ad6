"""HumanIQ: tools over text and graph, led by worked processes; the two sources verify each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from support.fake_pages import FakePages
from support.fake_parts import UNKNOWN, FakeBackbone, FakeSource, Said, reply
from support.small_graph import FakeGraphTools
from support.strategy_scripts import act, asked, told

from atomr_local.errors import InputError, QueryError, SourceError
from atomr_local.models.protocol import Prompt
from atomr_local.reasoning.results import Result, text_values
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.strategies.humaniq import (
    CLOSED_TASKS,
    OF_NONE,
    OWN_ALONE,
    STEPS_USED,
    UNTOLD,
    Side,
    agreement,
    independent,
)
from atomr_local.strategies.shared.closing import same
from atomr_local.strategies.shared.loop import NO_ACTION
from atomr_local.strategies.shared.tools import NOT_ON_PAGE

QUESTION = "Who is the mother of the director of Emma Road?"
PAGES: dict[str, Sequence[str]] = {
    "Emma Road": ("Emma Road is a film by Ann Lee.", "It won."),
    "Ann Lee": ("Ann Lee is a director.", "She is the daughter of Eve Lee."),
}
FACTS = {"Emma Road": {"director": ["Ann Lee"]}, "Ann Lee": {"mother": ["Eve Lee"], "country": []}}


def queried(sketch: str) -> str:
    return f"Query: {sketch}"


MOTHER = queried("select ?x: Ann Lee | mother | ?x")
TEXT = (
    act("search", "Emma Road", "The film first."),
    act("read", "Emma Road | Who directed it?"), reply("Ann Lee", evidence=[1]),
    act("search", "Ann Lee"),
    act("read", "Ann Lee | Who is her mother?"), reply("Eve Lee", evidence=[1]),
)  # fmt: skip
GRAPH = (act("id", "Ann Lee"), act("query", "Ann Lee | Who is the mother of Ann Lee?"), MOTHER, act("run", "query 1"))
END = (act("finish", "Eve Lee | Eve Lee", "Both say so."), reply("Eve Lee"))
FINAL = Said("Answer: Eve Lee", 0.8)


def run(backbone: FakeBackbone, *sources: FakeSource, **given: Any) -> tuple[Result, Trace]:
    at_hand = sources or (FakePages(PAGES), FakeGraphTools(FACTS))
    return asked("humaniq", QUESTION, backbone, *at_hand, **{"examples": 0} | given)


def test_the_published_path_found_in_the_text_and_verified_in_the_graph() -> None:
    graph, backbone = FakeGraphTools(FACTS), FakeBackbone(*TEXT, *GRAPH, *END, FINAL)
    result, trace = run(backbone, FakePages(PAGES), graph)
    assert told(trace) == [
        ("search[Emma Road]", "1. Emma Road: Emma Road is a film by Ann Lee. 2. Ann Lee: Ann Lee is a director."),
        ("read[Emma Road | Who directed it?]", "Emma Road: Ann Lee"),
        ("search[Ann Lee]", "1. Ann Lee: Ann Lee is a director. 2. Emma Road: Emma Road is a film by Ann Lee."),
        ("read[Ann Lee | Who is her mother?]", "Ann Lee: Eve Lee"),
        ("id[Ann Lee]", "Ann Lee is Ann_Lee, with mother, country"),
        ("query[Ann Lee | Who is the mother of Ann Lee?]", "query 1: select ?x: Ann Lee | mother | ?x"),
        ("run[query 1]", "Eve Lee."),
        ("finish[Eve Lee | Eve Lee]", ""),
    ]
    assert len(graph.ran) == 1 and (result.texts, result.method) == (("Eve Lee",), "tool")
    root = trace.node(0)
    assert root.supported and {item.source for item in trace.evidence if item.id in root.cited} == {"text", "graph"}
    assert [(one["origin"], one["answer"]) for one in root.candidates] == [
        ("text", "Eve Lee"), ("graph", "Eve Lee"), ("model", "Eve Lee"),
    ]  # fmt: skip
    assert root.dropped[0] == "the text, the graph and the model's own knowledge agree"
    assert math.isclose(root.confidence or 0, (0.8 + 3 / 3) / 2)
    acts = [grammar or "" for grammar in backbone.grammars if "Action: " in (grammar or "")]
    offers = [{tool for tool in ("search", "read", "id", "query", "run", "label", "finish") if f'"{tool}"' in one}
              for one in acts]  # fmt: skip
    assert offers[0] == {"search", "finish"}, "only names that were seen can be inputs"
    assert offers[1] == {"search", "read", "id", "finish"}
    assert "query" not in offers[4] and {"query", "label"} <= offers[5] and "run" not in offers[5]
    assert "run" in offers[6]


def test_what_the_text_says_is_verified_by_the_graph_where_the_model_leaves_that_out() -> None:
    end = act("finish", "Eve Lee | none")
    result, trace = run(FakeBackbone(*TEXT, end, MOTHER, reply("Bob"), FINAL))
    steps = [node for node in trace.nodes if node.label == "verify"]
    assert [(node.action or {})["name"] for node in steps] == ["id", "query", "run"]
    assert trace.node(0).dropped[0] == "the text and the graph agree; the model's own knowledge says Bob"
    assert math.isclose(result.confidence or 0, (0.8 + 2 / 3) / 2)


def test_and_the_other_way_round() -> None:
    path = (
        act("search", "Emma Road"),
        act("id", "Ann Lee"),
        act("query", "Ann Lee | Who?"),
        MOTHER,
        act("run", "query 1"),
    )
    _, trace = run(FakeBackbone(*path, act("finish", "none | Eve Lee"), UNKNOWN, reply("Eve Lee"), UNKNOWN, FINAL))
    steps = [node for node in trace.nodes if node.label == "verify"]
    assert [(node.action or {})["name"] for node in steps] == ["search", "read", "read"]
    assert trace.node(0).dropped[0] == "the text and the graph agree"


def test_disagreement_is_said() -> None:
    end = act("finish", "Bob | Eve Lee")
    result, trace = run(FakeBackbone(*TEXT, *GRAPH, end, UNKNOWN, Said("Answer: Bob", 0.9)))
    assert trace.node(0).dropped[0] == "disagreement: the answer is that of the text; the graph says Eve Lee"
    assert math.isclose(result.confidence or 0, (0.9 + 1 / 3) / 2)


def test_an_answer_of_a_source_that_gave_none_is_left_out() -> None:
    result, trace = run(FakeBackbone(act("finish", "Eve Lee | Eve Lee"), reply("Ann")))
    assert (result.texts, result.method) == (("Ann",), "closed_book")
    assert {OWN_ALONE, UNTOLD.format("text"), UNTOLD.format("graph")} <= set(trace.node(0).dropped)


def test_unknown() -> None:
    path = (act("search", "Emma Road"), act("read", "Emma Road | Who?"), UNKNOWN, act("finish", "none | none"))
    result, trace = run(FakeBackbone(*path, UNKNOWN))
    assert result.values == () and told(trace)[1][1] == f"Emma Road: {NOT_ON_PAGE}"


def test_nothing_retrieved() -> None:
    path = (act("search", "Emma Road"), act("finish", "none | none"))
    result, trace = run(FakeBackbone(*path, UNKNOWN), FakePages({}), FakeGraphTools({}))
    assert result.values == () and told(trace)[0][1] == "no page like “Emma Road”" and trace.evidence == []


def test_without_a_graph_its_tools_are_not_offered() -> None:
    backbone = FakeBackbone(*TEXT, act("finish", "Eve Lee | none"), UNKNOWN, FINAL)
    result, trace = run(backbone, FakePages(PAGES))
    assert '"query"' not in (backbone.grammars[-3] or "") and result.texts == ("Eve Lee",)
    assert trace.node(0).dropped[0] == "the text alone answers: nothing verifies it"


def test_a_source_that_fails_is_an_observation() -> None:
    pages, graph = FakePages(PAGES), FakeGraphTools(FACTS)
    graph.error = QueryError("took too long")
    end = act("finish", "Eve Lee | none")
    result, trace = run(FakeBackbone(*TEXT, *GRAPH, end, UNKNOWN, FINAL), pages, graph)
    assert told(trace)[6] == ("run[query 1]", "took too long") and result.texts == ("Eve Lee",)
    pages.error = SourceError("broken")
    _, trace = run(FakeBackbone(act("search", "Emma Road"), act("finish", "none | none"), UNKNOWN), pages, graph)
    assert told(trace)[0][1] == "this failed: broken"


def test_the_limit_of_steps() -> None:
    result, trace = run(FakeBackbone(*TEXT[:3], UNKNOWN, FINAL_ANN), steps=2)
    assert "no answer in 2 rounds" in trace.node(0).dropped
    assert result.texts == ("Ann Lee",), "what was read last stands"
    assert len(told(trace)) == 2 and STEPS_USED.format(2) in trace.node(0).dropped, "nothing is left to verify with"


def test_what_verifies_is_counted_as_well() -> None:
    """The rounds take five of seven: the graph's entity is found and a query written, which is not run any more."""
    end = act("finish", "Eve Lee | none")
    _, trace = run(FakeBackbone(*TEXT, end, MOTHER, UNKNOWN, FINAL), steps=7)
    assert [name.partition("[")[0] for name, _ in told(trace)[5:]] == ["id", "query"]
    assert STEPS_USED.format(7) in trace.node(0).dropped


@pytest.mark.parametrize(("steps", "uses"), [(1, 1), (4, 4), (12, 6)])
def test_the_fixed_order_keeps_to_the_steps(steps: int, uses: int) -> None:
    replies = (UNKNOWN, reply("Eve Lee", evidence=[1]), MOTHER, UNKNOWN, FINAL)
    backbone = FakeBackbone(*(replies if steps > 4 else [UNKNOWN] if steps == 1 else [*replies[:2], *replies[3:]]))
    _, trace = run(backbone, workflow="static", steps=steps)
    assert len(told(trace)) == uses
    assert (STEPS_USED.format(steps) in trace.node(0).dropped) is (steps < 6)


def test_an_answer_that_only_the_other_source_gave_is_no_agreement() -> None:
    """The model ends with the text's answer for both; no row of the graph has it."""
    graph = (act("id", "Ann Lee"), act("query", "Ann Lee | What?"), queried("select ?x: Ann Lee | award | ?x"),
             act("run", "query 1"))  # fmt: skip
    facts = {**FACTS, "Ann Lee": {"award": ["Golden Road"]}}
    backbone = FakeBackbone(*TEXT, *graph, *END, FINAL)
    result, trace = run(backbone, FakePages(PAGES), FakeGraphTools(facts))
    assert trace.node(0).dropped[0] == (
        "the text and the model's own knowledge agree; the graph says the same, but rests on the text"
    )
    assert math.isclose(result.confidence or 0, (0.8 + 2 / 3) / 2)


def test_which_of_two_that_lean_on_each_other_counts() -> None:
    values = text_values(["A"])
    sides = [Side("text", values, leans=True), Side("graph", values, leans=True), Side("model", values)]
    assert [side.origin for side in independent(sides)] == ["text", "model"]
    assert [side.origin for side in independent(sides[1:2])] == ["graph"]


MOTHER_OF_FILM = queried("none")
FINAL_ANN = Said("Answer: Ann Lee", 0.5)


def test_a_repeated_step_is_told_and_ends_the_rounds() -> None:
    _, trace = run(FakeBackbone(*[act("search", "Emma Road")] * 3, UNKNOWN))
    assert told(trace)[1][1] == "already tried in round 1"
    assert any("repeated" in note for note in trace.node(0).dropped)


def test_output_that_fits_no_form() -> None:
    """A server without grammars: an input that was never seen, prose, and no action at all."""
    replies = ("I do not know.", "Maybe?", "Thought: so\nAction: search[Emma Road]", act("read", "Rome | Who?"), *TEXT[1:3],
               act("finish", "Ann Lee"), MOTHER_OF_FILM, UNKNOWN, "hm")  # fmt: skip
    result, trace = run(FakeBackbone(*replies))
    assert trace.node(1).observation == NO_ACTION
    assert any("Rome" in note for note in trace.node(3).dropped)
    assert [name for name, _ in told(trace)][:2] == ["search[Emma Road]", "read[Emma Road | Who directed it?]"]
    assert result.texts == ("hm",) and OF_NONE in trace.node(0).dropped


def test_static_uses_the_tools_in_a_fixed_order() -> None:
    replies = (UNKNOWN, reply("Eve Lee", evidence=[1]), MOTHER, UNKNOWN, FINAL)
    _, trace = run(FakeBackbone(*replies), workflow="static")
    assert [name.partition("[")[0] for name, _ in told(trace)] == ["search", "read", "read", "id", "query", "run"]
    assert trace.node(0).dropped[0] == "the text and the graph agree"


def test_the_graph_is_asked_about_the_page_of_the_question_where_the_text_has_nothing() -> None:
    replies = (UNKNOWN, UNKNOWN, queried("none"), UNKNOWN)
    _, trace = run(FakeBackbone(*replies), workflow="static")
    assert told(trace)[3][0] == "id[Emma Road]", "not about the page that was not read"


def test_late_brings_both_together_in_the_end_only() -> None:
    replies = (reply("Eve Lee", evidence=[1]), queried("select ?x: Emma Road | director | ?x"), UNKNOWN, FINAL)
    _, trace = run(FakeBackbone(*replies), workflow="late")
    assert told(trace)[2][0] == "id[Emma Road]", "the question's own name, not a page that the text led to"


def test_a_query_without_rows_is_written_once_more() -> None:
    replies = (queried("select ?x: Ann Lee | country | ?x"), MOTHER, UNKNOWN, FINAL)
    backbone = FakeBackbone(*TEXT, act("finish", "Eve Lee | none"), *replies)
    _, trace = run(backbone)
    runs = [told_of for name, told_of in told(trace) if name.startswith("run")]
    assert runs == ["no rows", "Eve Lee."]


def test_a_model_of_closed_tasks_alone() -> None:
    replies = (reply("Eve Lee", evidence=[1]), queried("none"), UNKNOWN)
    result, trace = run(FakeBackbone(*[_lean(text) for text in replies]), style="lean")
    assert CLOSED_TASKS in trace.node(0).dropped and result.texts == ("Eve Lee",)


def _lean(text: str) -> Callable[[Prompt], str] | str:
    """The closed tasks answer in lines."""
    return {UNKNOWN: "Unknown"}.get(text, "Eve Lee [1]" if "Eve" in text else text)


def test_three_shipped_processes_are_shown() -> None:
    backbone = FakeBackbone(act("finish", "none | none"), UNKNOWN)
    _, trace = run(backbone, examples=3, limits={"example_tokens": 100_000})
    assert trace.node(1).label == "examples" and trace.node(1).observation.count("?") == 3
    assert sum(turn.content.startswith("Question: ") for turn in backbone.prompts[0].static) == 3


def test_it_needs_pages() -> None:
    with pytest.raises(InputError, match="needs pages"):
        run(FakeBackbone(), FakeGraphTools(FACTS))


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (["Eve Lee"], ["eve lee."], True), (["3 May 1901"], ["1901-05-03"], True), (["A", "B"], ["B", "A"], True),
        (["A, B and C"], ["C", "A", "B"], True), (["A"], ["A", "B"], False), (["Eve"], ["Eve Lee"], False),
        (["yes"], ["no"], False), (["2,850 km"], ["2850 kilometres"], True),
    ],
)  # fmt: skip
def test_which_answers_are_the_same(one: list[str], other: list[str], equal: bool) -> None:
    assert same(text_values(one), text_values(other)) is equal


def test_no_agreement_in_words() -> None:
    sides = [Side("text", text_values(["A"])), Side("graph", text_values(["B"])), Side("model")]
    assert agreement(sides, text_values(["C"])) == "no agreement: the text says A; the graph says B"
