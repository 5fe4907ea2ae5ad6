"""The answer to the whole question as a sentence, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.errors import AtomrError
from atomr_local.language.is_question import Kind
from atomr_local.reasoning.reading.topic_pages import is_sentence
from atomr_local.reasoning.trace.events import AnswerReady, WarningRaised
from atomr_local.reasoning.trace.schema import Basis, Trace
from atomr_local.reasoning.verdict.judge import AnswerVerdict
from atomr_local.tree.nodes import ROOT_ID

_FAILED = "The question could not be answered."


def planned_kind(trace: Trace) -> Kind:
    """What the input is, as the plan understands it."""
    kind = (trace.expects or {}).get("type")
    if trace.nodes and trace.node(ROOT_ID).answers:
        return "question"  # the name of a page is a topic
    return kind if kind in ("nothing", "language") else "question"


def conclusion(trace: Trace, verdict: AnswerVerdict) -> AnswerReady:
    """The root's answer as a sentence, or the verdict on a question without an answer."""
    if verdict.status != "answered":
        return AnswerReady(
            status=verdict.status,
            answer="" if verdict.status == "unknown" else _FAILED,
            reason=verdict.reason,
            advice=verdict.advice,
            guess=verdict.guess,
        )
    root = trace.node(ROOT_ID)
    basis: Basis = "model" if root.method == "closed_book" or root.outcome == "memory" else "evidence"
    return AnswerReady(
        status="answered",
        answer=_sentence(root.answers, basis),
        answers=tuple(root.answers),
        confidence=root.confidence,
        basis=basis,
    )


def _sentence(answers: Sequence[str], basis: Basis) -> str:
    *others, last = answers
    listed = f"{', '.join(others)} and {last}" if others else last
    if basis == "model":
        return f"From the model's own knowledge, not from evidence: {listed.removesuffix('.')}."
    if listed.casefold() in {"yes", "no"}:
        return f"{listed.capitalize()}."
    if not others and is_sentence(last):
        return last
    return f"The answer is {listed}." if not others else f"The answers are {listed}."


def failure(error: BaseException) -> tuple[WarningRaised, AnswerReady]:
    """The events for a question that failed. An error that is not an AtomrError is an internal one."""
    if not isinstance(error, AtomrError):
        error = AtomrError(f"{type(error).__name__}: {error}", title="Internal error")
    return WarningRaised(message=error.in_full()), AnswerReady(status="failed", answer=_FAILED)
