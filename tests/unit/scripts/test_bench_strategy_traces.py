"""The checks of the strategies' traces: each finds what it is there for, and nothing in a trace that holds."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import strategy_traces as traces
from support.grown_steps import grown_trace

from atomr_local.assistant.session import GraphRows
from atomr_local.errors import QueryError
from atomr_local.reasoning.trace.schema import EvidenceTrace, Trace
from atomr_local.sources.protocol import Page, Sentence

ROWS = GraphRows(("value",), [("urn:a",), ("urn:b",)], False, 0.1)


def with_query(rows: list[dict[str, str]], text: str = "a, b.") -> Trace:
    trace = grown_trace()
    trace.evidence.append(EvidenceTrace("e9", "graph", "", text, 1.0, "", {"sparql": "SELECT …", "rows": rows}))
    return trace


def test_a_trace_that_holds_has_no_problems() -> None:
    trace = grown_trace()
    assert trace.status == "answered"
    assert [*traces.ended(trace, "react", 88), *traces.citations(trace), *traces.files(trace)] == []
    assert list(traces.differences(trace, grown_trace())) == []
    assert list(traces.queries(with_query([{"value": "urn:b"}, {"value": "urn:a"}]), lambda _: ROWS)) == []


def test_an_end_beyond_the_limits_is_told() -> None:
    trace = grown_trace()
    trace.status, trace.totals.llm_calls = "failed", 89
    trace.nodes[1].error = {"title": "", "message": "no room"}
    told = " ".join(traces.ended(trace, "rag", 88))
    assert all(words in told for words in ("'react'", "failed", "89 calls", "step 1 failed: no room"))


def test_citations_that_lead_nowhere_are_told() -> None:
    trace = grown_trace()
    trace.nodes[1].cited.append("e7")
    trace.nodes[2].evidence.append("e8")
    told = list(traces.citations(trace))
    assert len(told) == 2 and "e7" in told[0] and "e8" in told[1]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda trace: trace.answers.append("Graz"), "answers"),
        (lambda trace: setattr(trace.nodes[1], "thought", "Other."), "thought"),
        (lambda trace: trace.nodes[-1].cited.clear(), "cited"),
        (lambda trace: trace.nodes.pop(), "steps"),
        (lambda trace: setattr(trace.nodes[1], "confidence", 0.123), "confidence"),
        (lambda trace: trace.nodes[1].dropped.append("a note"), "dropped"),
        (lambda trace: trace.nodes[1].signals.update(reading=0.123), "signals"),
    ],
)
def test_another_trace_of_the_same_question_is_told(change: Callable[[Trace], object], told: str) -> None:
    again = copy.deepcopy(grown_trace())
    change(again)
    [problem] = traces.differences(grown_trace(), again)
    assert told in problem


def test_more_rounds_or_steps_than_the_method_has_are_told() -> None:
    trace = grown_trace()
    for number in range(8):
        trace.nodes.append(copy.deepcopy(trace.nodes[1]))
        trace.nodes[-1].label, trace.nodes[-1].action = f"round {number}", {"name": "search", "input": "x"}
    assert "more than rounds = 7" in " ".join(traces.bounds(trace))
    trace.strategy = "humaniq"
    assert list(traces.bounds(trace)) == []
    trace.nodes += trace.nodes[-8:]
    assert "more than steps = 12" in " ".join(traces.bounds(trace))
    trace.strategy = "rag"
    assert list(traces.bounds(trace)) == []


def test_passages_that_the_index_does_not_have_are_told() -> None:
    trace = grown_trace()
    pages = {"Page": Page("Page", (Sentence("It is told.", "p1", 0, 11), Sentence("So it is.", "p2", 12, 21)))}
    given = [
        ("Page", "It is told. So it is.", "p1"),
        ("Page", "Other.", "p1"),
        ("Page", "So it is.", "p9"),
        ("No", "x", "p1"),
    ]
    trace.evidence = [
        EvidenceTrace(f"e{number}", "text", title, text, 1.0, "", {"passage": passage})
        for number, (title, text, passage) in enumerate(given, 1)
    ]
    told = list(traces.passages(trace, pages.get))
    assert [one.split()[0] for one in told] == ["e2", "e3", "e4"]


def test_queries_that_give_other_rows_or_none_are_told() -> None:
    def refused(_: str) -> GraphRows:
        raise QueryError("it took too long")

    trace = with_query([{"value": "urn:a"}])
    assert "2 of value" in " ".join(traces.queries(trace, lambda _: ROWS))
    assert "it took too long" in " ".join(traces.queries(trace, refused))


@pytest.mark.parametrize(("text", "held"), [("Yes.", True), ("No.", False)])
def test_an_ask_is_compared_by_its_answer(text: str, held: bool) -> None:
    found = GraphRows(("answer",), [("yes",)], False, 0.1)
    assert (not list(traces.queries(with_query([], text), lambda _: found))) is held


def test_the_table_counts_what_does_not_hold() -> None:
    results = [
        traces.Checked("react", "Q?", grown_trace(), ("it broke",)),
        traces.Checked("rag", "Q?", grown_trace(), ()),
    ]
    assert [line.split("|")[-2].strip() for line in traces.table(results).splitlines()[2:]] == ["1", "0"]
