"""What can be told without a model: why a question would be no good."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from atomr_local.evaluation.gold_chain import mentions
from atomr_local.language.names import base_key, split_qualifier, words
from atomr_local.question_making.composing import Composed
from atomr_local.question_making.hops import Candidate
from atomr_local.question_making.knowledge import Knowledge


class Reason(StrEnum):
    """Why a candidate is dropped, in the order of the checks."""

    CIRCULAR = "circular"
    BRIDGE_LEAK = "bridge leak"
    ANSWER_LEAK = "answer leak"
    AMBIGUOUS = "bridge ambiguous"
    GRAPH_ALONE = "answered by the graph alone"
    CLOSED_BOOK = "answered closed-book"
    NOT_BOTH = "not answered by both"
    TEXT_ALONE = "answered by text alone"
    WEB_ALONE = "answered by the web alone"


def first_problem(composed: Composed, knowledge: Knowledge) -> tuple[Reason, str] | None:
    """The first reason against a question, with a word about it; None if there is none."""
    candidate = composed.candidate
    if is_circular(candidate):
        return Reason.CIRCULAR, f"the answer is {composed.answers[0]}"
    if leaked := leaks(composed.question, candidate.names):
        return Reason.BRIDGE_LEAK, leaked
    if leaked := answer_leak(composed.question, composed.answers):
        return Reason.ANSWER_LEAK, leaked
    if candidate.doubt:
        return Reason.AMBIGUOUS, candidate.doubt
    return None if candidate.counted else _enough_alone(composed, knowledge)


def _enough_alone(composed: Composed, knowledge: Knowledge) -> tuple[Reason, str] | None:
    """What tells the answer of what the question names, without the bridge."""
    candidate = composed.candidate
    head = candidate.first.head
    if "text" in candidate.sides:
        texts = knowledge.pages([head])
        told = next((answer for answer in composed.answers for text in texts if mentions(text, answer)), "")
        if told:
            return Reason.TEXT_ALONE, f"the page of {head} says {told}"
        if candidate.second.source == "text" and any(
            mentions(text, split_qualifier(head)[0]) for text in knowledge.pages(candidate.names[:1])
        ):
            return Reason.TEXT_ALONE, f"the page that says the answer names {head}"
    if "graph" in candidate.sides:
        starts = knowledge.entities(head)
        if any(knowledge.joined(start, composed.answers) for start in starts[:3]):
            return Reason.GRAPH_ALONE, "a path of at most two triples"
    return None


def is_circular(candidate: Candidate) -> bool:
    """Whether the answer is what the question names, or the bridge itself."""
    known = {base_key(name) for name in (candidate.first.head, *candidate.names)}
    return not candidate.counted and any(base_key(answer) in known for answer in candidate.answers)


def answer_leak(question: str, answers: Iterable[str]) -> str:
    """The first of the answers that the question says, or says the kind of: "film director" of a director; "" if
    none."""
    given = list(answers)
    asked = set(words(question))
    kinds = (answer for answer in given if answer == answer.casefold() and asked.intersection(words(answer)[-1:]))
    return leaks(question, given) or next(kinds, "")


def leaks(question: str, names: Iterable[str]) -> str:
    """The first of the names that stands in the question, or all of whose words do; "" if none does."""
    asked = set(words(question))
    for name in names:
        if mentions(question, name) or (set(words(base_key(name))) <= asked and words(base_key(name))):
            return name
    return ""
