"""The answer as a program and a notebook see it."""

from __future__ import annotations

import json

import pytest
from support.quoting_traces import closest_trace, quotation_trace, quoting_trace

from atomr_local import Answer, EvidenceTrace, NodeTrace, Trace
from atomr_local.reasoning.trace.schema import Guess

HOSTILE = '<script>alert("x")</script>\x1b[31m'


def trace_of(**changes: object) -> Trace:
    found = Trace("Who was the mother of Ann?", "atomr", {})
    found.status, found.answer, found.answers, found.confidence = "answered", "The answer is Eve.", ["Eve"], 0.81
    found.nodes = [
        NodeTrace(0, None, found.question, "root", answer="Eve", answers=["Eve"], cited=["e2"]),
        NodeTrace(1, 0, "Who is Ann?", "leaf", answer="Ann", answers=["Ann"], cited=["e1"]),
        NodeTrace(2, 0, "Who was the mother of [1]?", "leaf", resolved_question="Who was the mother of Ann?"),
        NodeTrace(3, 2, "What is a mother?", "leaf"),
    ]
    found.evidence = [
        EvidenceTrace("e1", "text", "Ann", "Ann is a baker.", 0.9, "Ann", {"file": "people.pdf", "page": 3}),
        EvidenceTrace("e2", "graph", "Eve", "Eve — child: Ann.", 0.9, "Ann", {}),
        EvidenceTrace("e3", "text", "Bob", "Nobody cites Bob.", 0.1, "Ann", {}),
    ]
    for name, value in changes.items():
        setattr(found, name, value)
    return found


def test_the_tree_hangs_together_as_in_the_trace() -> None:
    tree = Answer(trace_of()).tree
    assert tree is not None
    assert [step.node.id for step in tree.walk()] == [0, 1, 2, 3]
    assert [step.node.id for step in tree.children] == [1, 2]
    assert Answer(trace_of(nodes=[])).tree is None


def test_the_evidence_is_what_a_step_cites() -> None:
    assert [item.id for item in Answer(trace_of()).evidence] == ["e1", "e2"]


def test_export_is_markdown_or_the_trace() -> None:
    answer = Answer(trace_of())
    assert "# Who was the mother of Ann?" in answer.export()
    assert json.loads(answer.export("json"))["answers"] == ["Eve"]
    with pytest.raises(ValueError, match="markdown or json"):
        answer.export("pdf")  # type: ignore[arg-type]


def test_a_notebook_shows_answer_tree_and_evidence() -> None:
    shown = Answer(trace_of())._repr_html_()
    for expected in ("The answer is Eve. [2] <em>", "Who is Ann? → Ann [1]", "people.pdf, p. 3", "Eve — child: Ann."):
        assert expected in shown
    assert "Bob" not in shown


def test_a_notebook_says_why_there_is_no_answer() -> None:
    guess = Guess(["Eve"], 0.2)
    shown = Answer(
        trace_of(status="unknown", answer="", answers=[], reason="No source says it.", advice=["Add one."], guess=guess)
    )._repr_html_()
    assert "No source says it." in shown
    assert "<li>Add one.</li>" in shown
    assert "A guess, not an answer: Eve" in shown


def test_nothing_from_outside_acts_in_a_notebook() -> None:
    hostile = trace_of(question=HOSTILE, answer=HOSTILE, answers=[HOSTILE], reason=HOSTILE, advice=[HOSTILE])
    hostile.nodes[1] = NodeTrace(1, 0, HOSTILE, "leaf", answer=HOSTILE, answers=[HOSTILE], cited=["e1"])
    hostile.evidence[0] = EvidenceTrace("e1", HOSTILE, HOSTILE, HOSTILE, 0.9, HOSTILE, {"file": HOSTILE})
    for status in ("answered", "unknown"):
        hostile.status = status
        shown = Answer(hostile)._repr_html_()
        assert "<script" not in shown
        assert "\x1b" not in shown
        assert "&lt;script&gt;" in shown


def test_long_evidence_is_cut_and_much_of_it_counted() -> None:
    many = trace_of()
    many.evidence = [EvidenceTrace(f"e{n}", "text", "T", "word " * 1000, 1.0, "q", {}) for n in range(40)]
    many.nodes[0].cited = [item.id for item in many.evidence]
    shown = Answer(many)._repr_html_()
    assert "and 10 more" in shown
    assert len(shown) < 60_000


def test_a_notebook_shows_the_passages() -> None:
    value, quotation, lost = (Answer(make())._repr_html_() for make in (quoting_trace, quotation_trace, closest_trace))
    assert "9 to 17. <mark>Permits are paid in cash.</mark><br>Bring the following: …<footer>Permits (perm" in value
    assert "<blockquote>Bring the following:<br>passport<br>two photos</blockquote>" in quotation
    assert "<strong>Not answered; closest in your documents</strong>" in lost
    assert "<script" not in Answer(closest_trace(HOSTILE * 9, HOSTILE))._repr_html_()
    assert Answer(closest_trace()).advice[0] == "Search the web too, if the server allows it."
