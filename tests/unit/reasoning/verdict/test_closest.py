"""The passages closest to a question, and the sentences of them that tell most."""

from __future__ import annotations

from typing import Any

import pytest

from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace
from atomr_local.reasoning.verdict.judge import AvailableSources, judge
from atomr_local.reasoning.verdict.reasons import also_close, closest

QUESTION = "Who signs the parking permit?"
PARKING = "The office opens at 9. Parking needs a permit. Ask the porter. The permit for parking is free."


def piece(name: str, text: str, source: str = "text", title: str = "House rules") -> EvidenceTrace:
    return EvidenceTrace(name, source, title, text, 1.0, QUESTION, {"file": "rules.pdf", "page": 2})


def node(node_id: int, *evidence: str, **given: Any) -> NodeTrace:
    parent = None if node_id == 0 else 0
    kind = "root" if node_id == 0 else "relate"
    return NodeTrace(node_id, parent, QUESTION, kind, QUESTION, evidence=list(evidence), outcome="not found", **given)


def trace(*nodes: NodeTrace, evidence: tuple[EvidenceTrace, ...], question: str = QUESTION) -> Trace:
    return Trace(question, "atomr", {}, nodes=list(nodes), evidence=list(evidence))


def told(found: Trace) -> list[list[str]]:
    texts = {item.id: item.text for item in found.evidence}
    return [[texts[item["evidence"]][slice(*span)] for span in item["spans"]] for item in closest(found)]


def test_the_sentences_that_share_most_with_the_question_tell() -> None:
    found = trace(node(0, "e1"), evidence=(piece("e1", PARKING),))
    assert told(found) == [["Parking needs a permit.", "The permit for parking is free."]]


def test_a_word_that_few_passages_hold_counts_for_more() -> None:
    others = tuple(piece(f"e{number}", f"Permit number {number}.") for number in range(2, 8))
    text = "Each permit is kept. A clerk signs letters."
    assert told(trace(node(0, "e1"), evidence=(piece("e1", text),)))[0] == text.replace(". ", ".|").split("|")
    found = trace(node(0, "e1", *(item.id for item in others)), evidence=(piece("e1", text), *others))
    assert told(found)[0] == ["A clerk signs letters."]


def test_what_was_found_for_the_question_as_asked_comes_first_and_three_are_enough() -> None:
    pieces = tuple(piece(f"e{number}", f"The permit number {number} is here.") for number in range(1, 6))
    found = trace(node(1, "e1", "e2"), node(0, "e4", "e3"), node(2, "e5"), evidence=pieces)
    assert [item["evidence"] for item in closest(found)] == ["e4", "e3", "e1"]


def test_what_a_step_quotes_comes_before_everything_with_its_own_spans() -> None:
    quote = {"evidence": "e2", "span": [4, 10]}
    pieces = (piece("e1", PARKING), piece("e2", "The porter is here."))
    found = trace(node(0, "e1"), node(1, "e2", quotes=[quote]), evidence=pieces)
    assert closest(found)[0] == {"evidence": "e2", "spans": [[4, 10]]}


def test_the_same_passage_is_shown_once_and_facts_of_the_graph_not_at_all() -> None:
    pieces = (piece("e1", PARKING), piece("e2", f"  {PARKING} "), piece("e3", "Ann — job: porter.", "graph"))
    assert [item["evidence"] for item in closest(trace(node(0, "e3", "e1", "e2"), evidence=pieces))] == ["e1"]


def test_a_passage_without_a_word_of_the_question_still_shows_a_sentence() -> None:
    assert told(trace(node(0, "e1"), evidence=(piece("e1", "\n Hens eat grain.\n\nThey drink."),))) == [
        ["Hens eat grain."]
    ]
    assert closest(trace(node(0), evidence=())) == ()
    assert closest(trace(node(0, "e1"), evidence=(piece("e1", "  \n"),))) == ()


def test_a_sentence_that_opens_a_list_is_shown_with_it() -> None:
    text = "For a parking permit bring:\npassport\ntwo photos\n\nThe office is closed on Sundays."
    assert told(trace(node(0, "e1"), evidence=(piece("e1", text),))) == [
        ["For a parking permit bring:\npassport\ntwo photos"]
    ]


def test_the_verdict_has_them_for_a_question_without_an_answer_and_for_no_other() -> None:
    lost = trace(node(0, "e1"), evidence=(piece("e1", PARKING),))
    assert [item["evidence"] for item in judge(lost, accept=0.5).closest] == ["e1"]
    assert judge(lost, accept=0.5, kind="nothing").closest == ()
    assert judge(lost, accept=0.5, retrieves=False).closest == ()
    answered = trace(node(0, "e1", answers=["Ann"], answer="Ann", method="direct_rag"), evidence=lost.evidence)  # type: ignore[arg-type]
    answered.nodes[0].outcome = "found"
    assert judge(answered, accept=0.5).closest == ()
    none = trace(node(0, "e1", reason="no value is earlier"), evidence=(piece("e1", PARKING),))
    none.nodes[0].outcome = "computed"
    assert judge(none, accept=0.5).closest == ()
    failed = trace(node(0, error={"title": "Source failed", "message": "gone"}), evidence=())
    failed.nodes[0].outcome = None
    assert judge(failed, accept=0.5).closest == ()


def test_the_web_is_no_advice_for_a_private_index() -> None:
    lost = trace(node(0, "e1"), evidence=(piece("e1", PARKING),))
    assert "web" in [item.kind for item in judge(lost, accept=0.5).advised]
    assert "web" not in [
        item.kind for item in judge(lost, accept=0.5, at_hand=lambda: AvailableSources(private=True)).advised
    ]


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ({"cited": ["e2"]}, ["e1", "e3"]),
        ({"quotes": [{"evidence": "e1", "span": [0, 10]}]}, ["e2", "e3"]),
        ({"cited": ["e4"]}, []),  # an article
        ({"cited": ["e1"], "method": "computed"}, []),
        ({}, []),
    ],
)
def test_beside_an_answer_from_documents_other_passages_of_them_are_close(
    given: dict[str, Any], near: list[str]
) -> None:
    article = EvidenceTrace("e4", "text", "Permit", "A permit is a paper.", 1.0, QUESTION, {})
    pieces = (*(piece(f"e{number}", f"The permit number {number} is here.") for number in range(1, 4)), article)
    root = node(0, "e1", "e2", "e3", "e4", **given)
    assert [item["evidence"] for item in also_close(trace(root, evidence=pieces), root)] == near
