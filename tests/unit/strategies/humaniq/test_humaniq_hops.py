"""HumanIQ hop by hop, for a model that has learnt to ask on: each question of one hop goes to the text and to the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.fake_pages import FakePages
from support.fake_parts import FakeBackbone, FakeSource, toolbox
from support.small_graph import FakeGraphTools
from support.strategy_scripts import asked, told

from atomr_local.errors import QueryError, SourceError
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.strategies.humaniq import CLOSED_TASKS, OWN_ALONE, STEPS_USED, HumanIQOptions
from atomr_local.strategies.registry import find_strategy
from atomr_local.strategies.shared.closing import CALLS_USED

QUESTION = "Who is the mother of the director of Emma Road?"
PAGES: dict[str, Sequence[str]] = {
    "Emma Road": ("Emma Road is a film by Ann Lee.", "It won."),
    "Ann Lee": ("Ann Lee is a director.", "She is the daughter of Eve Lee."),
}
FACTS = {"Emma Road": {"director": ["Ann Lee"]}, "Ann Lee": {"mother": ["Eve Lee"]}}
FIRST, SECOND = "Who directed Emma Road?", "Who is the mother of Ann Lee?"
DIRECTOR = "Query: select ?x: Emma Road | director | ?x"
MOTHER = "Query: select ?x: Ann Lee | mother | ?x"
NO_QUERY = "Query: none"
HOP_1, HOP_2 = (FIRST, "Ann Lee [1]", DIRECTOR), (SECOND, "Eve Lee [1]", MOTHER)
# That there is no further question; what the model makes of the answers of the text, and of the graph; its own.
END = ("Done", "Eve Lee", "Eve Lee", "Unknown")


def run(backbone: FakeBackbone, *sources: FakeSource, **given: Any) -> tuple[Result, Trace]:
    at_hand = sources or (FakePages(PAGES), FakeGraphTools(FACTS))
    return asked("humaniq", QUESTION, backbone, *at_hand, style="lean", knows_next=True, **{"examples": 0} | given)


def test_the_published_path_each_hop_found_in_the_text_and_verified_in_the_graph() -> None:
    graph = FakeGraphTools(FACTS)
    backbone = FakeBackbone(*HOP_1, *HOP_2, *END)
    result, trace = run(backbone, FakePages(PAGES), graph)
    assert [name for name, _ in told(trace)] == [
        "search[Emma Road]", f"read[Emma Road | {FIRST}]", "id[Emma Road]", f"query[Emma Road | {FIRST}]",
        "run[query 1]", "search[Ann Lee]", f"read[Ann Lee | {SECOND}]", "id[Ann Lee]", f"query[Ann Lee | {SECOND}]",
        "run[query 2]",
    ]  # fmt: skip
    assert [node.question for node in trace.nodes[1:]] == [FIRST] * 5 + [SECOND] * 5
    assert len(graph.ran) == 2 and (result.texts, result.method) == (("Eve Lee",), "tool")
    root = trace.node(0)
    assert root.dropped[:2] == ["the text and the graph agree", CLOSED_TASKS]
    assert {item.source for item in trace.evidence if item.id in root.cited} == {"text", "graph"}
    assert [(one["origin"], one["answer"]) for one in root.candidates][:2] == [
        ("text", "Eve Lee"),
        ("graph", "Eve Lee"),
    ]
    # The answer to a hop stands before the next question is asked; the model sees no passage for that.
    assert "Ann Lee" in backbone.asked[3] and "film by" not in backbone.asked[3]


def test_a_graph_that_answers_what_the_text_does_not_leads_on() -> None:
    pages = {"Emma Road": ("Emma Road is a film.",), "Ann Lee": PAGES["Ann Lee"]}
    unread = (FIRST, "Unknown", "Unknown", DIRECTOR)  # of the page, and of the one like it
    result, trace = run(FakeBackbone(*unread, *HOP_2, *END), FakePages(pages), FakeGraphTools(FACTS))
    assert result.texts == ("Eve Lee",)
    # The text was only asked about Ann Lee because the graph had named her.
    told = "the graph alone answers: the text says the same, but rests on the graph"
    assert trace.node(0).dropped[0] == told
    assert result.confidence == 1 / 3


def test_a_source_that_was_led_on_by_another_answer_confirms_nothing() -> None:
    """The graph knows another director: what it says of the text's director is no second opinion on the question."""
    facts = {"Emma Road": {"director": ["Bob"]}, "Ann Lee": {"mother": ["Eve Lee"]}}
    result, trace = run(FakeBackbone(*HOP_1, *HOP_2, *END), FakePages(PAGES), FakeGraphTools(facts))
    assert result.texts == ("Eve Lee",) and result.confidence == 1 / 3
    assert trace.node(0).dropped[0] == "the text alone answers: the graph says the same, but rests on the text"


def test_a_source_that_says_more_still_stands_by_itself() -> None:
    facts = {"Emma Road": {"director": ["Ann Lee", "Bob"]}, "Ann Lee": {"mother": ["Eve Lee"]}}
    result, trace = run(FakeBackbone(*HOP_1, *HOP_2, *END), FakePages(PAGES), FakeGraphTools(facts))
    assert trace.node(0).dropped[0] == "the text and the graph agree" and result.confidence == 2 / 3


@pytest.mark.parametrize(
    ("steps", "replies", "answer"),
    [
        (1, (FIRST, "Unknown"), ()),
        (2, (FIRST, "Ann Lee [1]", "Unknown"), ("Ann Lee",)),
        (7, (*HOP_1, SECOND, "Eve Lee [1]", "Eve Lee", "Unknown"), ("Eve Lee",)),
    ],
)
def test_every_use_of_a_tool_is_counted(steps: int, replies: tuple[str, ...], answer: tuple[str, ...]) -> None:
    result, trace = run(FakeBackbone(*replies), steps=steps)
    assert len(told(trace)) == steps and result.texts == answer
    assert STEPS_USED.format(steps) in trace.node(0).dropped


def test_the_same_query_may_be_written_for_a_later_hop() -> None:
    """It gave rows: only sketches that gave none are left out of what can be written."""
    later = "Which person was the director of Emma Road?"
    replies = (*HOP_1, later, "Ann Lee [1]", DIRECTOR, "Done", "Ann Lee", "Ann Lee", "Unknown")
    result, trace = run(FakeBackbone(*replies))
    assert [seen for name, seen in told(trace) if name.startswith("run")] == ["Ann Lee."] * 2
    assert result.texts == ("Ann Lee",)


def test_a_single_hop_is_not_combined() -> None:
    replies = (FIRST, "Ann Lee [1]", DIRECTOR, "Done", "Unknown")
    result, trace = run(FakeBackbone(*replies))
    assert result.texts == ("Ann Lee",)
    assert trace.node(0).dropped[0] == "the text and the graph agree"


def test_without_a_question_to_ask_the_question_itself_goes_to_both() -> None:
    replies = ("Done", "Unknown", "Eve Lee [1]", NO_QUERY, "Unknown")
    result, trace = run(FakeBackbone(*replies))
    assert {node.question for node in trace.nodes} == {QUESTION}
    assert result.texts == ("Eve Lee",)


def test_unknown() -> None:
    """A hop that neither source answers ends the hops: what comes after it would rest on nothing."""
    result, trace = run(FakeBackbone(FIRST, "Unknown", "Unknown", NO_QUERY, "Unknown"))
    assert result.values == () and trace.node(0).confidence is None
    assert [node.question for node in trace.nodes[1:]] == [FIRST] * 5


def test_unknown_at_the_second_hop() -> None:
    result, trace = run(FakeBackbone(*HOP_1, SECOND, "Unknown", "Unknown", NO_QUERY, "Unknown"))
    assert result.values == (), "the answer to the first hop is none to the question"
    assert trace.evidence, "what was found is shown"


def test_nothing_retrieved() -> None:
    result, trace = run(FakeBackbone(FIRST, "Unknown"), FakePages({}), FakeGraphTools({}))
    assert result.values == () and trace.evidence == []
    assert told(trace)[0] == ("search[Emma Road]", "no page like “Emma Road”")


def test_what_the_sources_do_not_know_the_model_may() -> None:
    result, trace = run(FakeBackbone(FIRST, "Eve Lee"), FakePages({}), FakeGraphTools({}))
    assert (result.texts, result.method) == (("Eve Lee",), "closed_book")
    assert OWN_ALONE in trace.node(0).dropped


def test_a_graph_that_fails_leaves_the_answer_to_the_text() -> None:
    graph = FakeGraphTools(FACTS)
    graph.error = QueryError("took too long")
    replies = (FIRST, "Ann Lee [1]", DIRECTOR, NO_QUERY, SECOND, "Eve Lee [1]", MOTHER, NO_QUERY)
    result, trace = run(FakeBackbone(*replies, "Done", "Eve Lee", "Unknown"), FakePages(PAGES), graph, steps=20)
    assert [seen for name, seen in told(trace) if name.startswith("run")] == ["took too long"] * 2
    assert result.texts == ("Eve Lee",)
    assert trace.node(0).dropped[0] == "the text alone answers: nothing verifies it"


def test_a_text_that_fails_leaves_the_answer_to_the_graph() -> None:
    pages = FakePages(PAGES)
    pages.error = SourceError("broken")
    result, trace = run(FakeBackbone(FIRST, DIRECTOR, SECOND, MOTHER, *END[:2], END[3]), pages, FakeGraphTools(FACTS))
    assert result.texts == ("Eve Lee",)
    assert trace.node(0).dropped[0] == "the graph alone answers: nothing verifies it"
    failed = [node for node in trace.nodes if node.error is not None]
    assert {node.question for node in failed} == {FIRST, SECOND}
    assert {(node.error or {})["message"] for node in failed} == {"broken"}


def test_the_limit_of_hops() -> None:
    others = [f"Who directed Emma Road in year {number}?" for number in range(1, 5)]
    replies = [text for asked in others for text in (asked, "Ann Lee [1]", NO_QUERY)]
    result, trace = run(FakeBackbone(*replies, "Ann Lee", "Unknown"), steps=30)
    assert [*dict.fromkeys(node.question for node in trace.nodes[1:])] == others, "no fifth is asked for"
    assert result.texts == ("Ann Lee",)


def test_a_question_that_is_repeated_ends_the_hops() -> None:
    result, trace = run(FakeBackbone(*HOP_1, FIRST, "Unknown"))
    assert len(told(trace)) == 5 and result.texts == ("Ann Lee",)


def test_output_that_fits_no_form() -> None:
    """Without a grammar: blank readings, and prose for a query."""
    replies = (FIRST, "\n", "", "Maybe a query?", "Unknown")
    result, trace = run(FakeBackbone(*replies))
    assert result.values == ()
    assert not any(name.startswith("run") for name, _ in told(trace))


@pytest.mark.parametrize("calls", range(1, len((*HOP_1, *HOP_2, *END))))
def test_what_was_found_before_the_calls_end_stands(calls: int) -> None:
    replies = [*HOP_1, *HOP_2, *END]
    backbone = FakeBackbone(*replies[:calls], *["Eve Lee"] * 10)
    options = HumanIQOptions(examples=0)
    tools = toolbox(
        QUESTION, backbone, FakePages(PAGES), FakeGraphTools(FACTS), options=options, style="lean", knows_next=True,
        limits={"calls": calls},
    )  # fmt: skip
    result = find_strategy("humaniq").run(QUESTION, None, "model", tools)
    assert (CALLS_USED in tools.recorder.trace.node(0).dropped) is (calls < 7), "all hops were asked for with seven"
    assert result.texts in (("Ann Lee",), ("Eve Lee",))
    assert result.method == ("closed_book" if calls in (1, 4) else "tool"), "the hop that has no answer is the last"
