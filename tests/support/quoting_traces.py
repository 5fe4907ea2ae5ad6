"""Traces whose answers quote passages, and one of a question without an answer that has passages close to it."""

from __future__ import annotations

from typing import Any

from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, PlanTrace, Trace
from atomr_local.reasoning.trace.telling import Advice

LIST = "Bring the following:\npassport\ntwo photos"
TEXT = f"The office is open from 9 to 17. Permits are paid in cash.\n{LIST}\n\nParking is free."
QUESTION = "What do I bring for a permit?"


def span(part: str) -> list[int]:
    """Where the part stands in TEXT."""
    start = TEXT.index(part)
    return [start, start + len(part)]


def quoting_trace(text: str = TEXT, title: str = "Permits") -> Trace:
    """A value, with the sentence that tells it."""
    quotes = [{"evidence": "e1", "span": span("Permits are paid in cash.")}]
    return _trace(text, title, status="answered", answer="The answer is cash.", answers=["cash"], confidence=0.9,
                  answer_kind="value", quotes=quotes)  # fmt: skip


def quotation_trace(text: str = TEXT, title: str = "Permits", answer: str = LIST) -> Trace:
    """Lines of a passage as they stand there."""
    quotes = [{"evidence": "e1", "span": span(LIST)}]
    return _trace(text, title, status="answered", answer=answer, answers=[answer], confidence=0.9,
                  answer_kind="quotation", quotes=quotes)  # fmt: skip


def closest_trace(text: str = TEXT, title: str = "Permits") -> Trace:
    """No answer: two passages come close to it."""
    advised = [Advice("web"), Advice("sources", ("graph",), ("--sources text,graph",)), Advice("knowledge")]
    closest = [
        {"evidence": "e1", "spans": [span("Permits are paid in cash.")]},
        {"evidence": "e2", "spans": [[0, 17]]},
    ]
    return _trace(text, title, status="unknown", reason="Nothing in the text says it.", closest=closest,
                  advice=["Turn web search on: --web."], advised=[item.to_dict() for item in advised])  # fmt: skip


def _trace(text: str, title: str, *, quotes: Any = (), **given: Any) -> Trace:
    answers = list(given.get("answers", ()))
    root = NodeTrace(0, None, QUESTION, "root", QUESTION, answer=", ".join(answers) or "Unknown", answers=answers,
                     evidence=["e1", "e2"], cited=["e1"] if answers else [], quotes=list(quotes), sources=["text"],
                     method="direct_rag" if answers else None, outcome="found" if answers else "not found")  # fmt: skip
    evidence = [
        EvidenceTrace("e1", "text", title, text, 0.9, "q", {"file": "permits.pdf", "page": 4, "heading": "Fees"}),
        EvidenceTrace("e2", "text", title, "Permits are nice.", 0.8, "q", {"file": "other.md", "line": 7}),
    ]
    plan = PlanTrace("", "fallback", 0)
    return Trace(QUESTION, "atomr", {}, plan=plan, nodes=[root], evidence=evidence, id="t1", **given)
