"""The parts of an answer, which every client tells in its own marks."""

from __future__ import annotations

from support.history_fakes import a_trace
from support.quoting_traces import closest_trace, quotation_trace, quoting_trace

from atomr_local.reasoning.trace.schema import EvidenceTrace, Guess, NodeTrace
from atomr_local.reasoning.trace.telling import gathered, pieces, places, remarks, told_answer


def test_an_answer_is_told_with_the_passages_that_it_quotes() -> None:
    assert [part.role for part in told_answer(a_trace())] == ["answer"]
    assert [part.role for part in told_answer(quoting_trace())] == ["answer", "passages"]
    [quotation] = told_answer(quotation_trace())
    assert (quotation.role, quotation.source) == ("quotation", "Permits (permits.pdf, p. 4, Fees)")


def test_below_an_answer_stand_other_passages_that_are_close() -> None:
    trace = quotation_trace()
    trace.closest = [{"evidence": "e2", "spans": [[0, 17]]}]
    near = list(told_answer(trace))[1]
    assert (near.role, near.text) == ("passages", "Also close in your documents")
    assert near.passages[0].source == "Permits (other.md, line 7)"


def test_without_an_answer_the_reason_comes_first_and_the_guess_last() -> None:
    trace = closest_trace()
    trace.guess = Guess(["cash"], 0.2, "model")
    parts = list(told_answer(trace, "plain"))
    assert [part.role for part in parts] == ["not found", "passages", "advice", "guess"]
    assert parts[0].line == "Not found: Nothing in the text says it."
    assert parts[1].text == "Not answered; closest in your documents"
    assert parts[2].items[0] == "Turn web search on: /web on."
    assert parts[3].line == "A guess from the model's own knowledge, not an answer: cash"


def test_an_earlier_version_said_in_the_answer_that_there_is_none() -> None:
    trace = a_trace(status="unknown", answer="Unknown", answers=[])
    assert [(part.role, part.text) for part in told_answer(trace)] == [("answer", "Unknown")]


def test_only_what_there_is_to_remark_of_a_step_is_told() -> None:
    step = NodeTrace(
        1, 0, "Who?", "search", answer="Ann", answers=["Ann"], method="computed", computation="answer of [5]"
    )
    assert remarks(step, given=True) == {"computed": "taken from step 5", "own": "✎ your answer"}
    step = NodeTrace(1, 0, "Who?", "search", answer="Ann", answers=["Ann"], cited=["e1"], supported=False)
    assert remarks(step, given=False) == {"doubt": "the cited passage does not contain this answer"}


def test_evidence_is_told_in_the_order_asked_for_with_its_places() -> None:
    found = pieces(a_trace(), ["e3", "e9", "e1"])
    assert [item.id for item in found] == ["e3", "e1"]
    assert list(places(found[1])) == [("passage ", "frankenstein#0"), ("characters ", "0–24"), ("section ", "History")]
    assert list(places(EvidenceTrace("e1", "text", "", "", 0.0, "", {"passage": 4, "span": None}))) == [
        ("passage ", "4")
    ]


def test_a_warning_is_told_once_with_the_steps_that_met_it() -> None:
    assert gathered(["step 1: lost", "old", "step 3: lost", "step 1: lost"]) == ["steps 1, 3: lost", "old"]
    assert gathered(["step 1: lost", "step 1: lost"]) == ["step 1: lost"]
