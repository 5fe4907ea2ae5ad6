"""A trace as a question leaves it, with evidence of every kind."""

from __future__ import annotations

from typing import Any

from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, PlanTrace, Trace

ESCAPES = "\x1b[31m\x1b]8;;http://evil.example\x07\u202e"


def a_trace(question: str = "Who is the mother of the author of Frankenstein?", **changed: Any) -> Trace:
    fields: dict[str, Any] = {
        "strategy": "atomr",
        "settings": {"model": "starter", "sources": ["text", "graph"], "web": False},
        "status": "answered",
        "answer": "The answer is Mary Wollstonecraft.",
        "answers": ["Mary Wollstonecraft"],
        "confidence": 0.5,
        "plan": PlanTrace('1. Who? = Search("Frankenstein")', "model", 1),
        "nodes": [
            NodeTrace(0, None, question, "root", question, answer="Mary Wollstonecraft", cited=["e2"], evidence=["e2"],
                      method="child", supported=True),
            NodeTrace(1, 0, "Who wrote it?", "search", "Who wrote it?", ["Frankenstein"], answer="Mary Shelley",
                      cited=["e1", "e3"], evidence=["e1", "e3"], method="operator", supported=False),
            NodeTrace(2, 0, "Which was first?", "parent", answer="", method="symbolic", computation="1797 < 1818"),
        ],
        "evidence": [
            EvidenceTrace("e1", "text", "Frankenstein", "A novel by Mary Shelley.", 0.5, "q",
                          {"passage": "frankenstein#0", "span": [0, 24], "section": "History"}),
            EvidenceTrace("e2", "graph", "Mary Shelley", "mother: Mary Wollstonecraft.", 1.0, "q",
                          {"sparql": "SELECT ?x {\n  ?x ?p ?o\n}", "rows": [{"x": "Mary Wollstonecraft"}]}),
            EvidenceTrace("e3", "web", "A page", "Shelley wrote it.", 0.1, "q",
                          {"url": "https://example.org/a", "retrieved_at": "2026-01-02T03:04:05+00:00"}),
            EvidenceTrace("e4", "text", "Other", "Never cited.", 0.1, "q", {"passage": 4, "span": None}),
        ],
        "warnings": ["a warning"],
    }  # fmt: skip
    return Trace(question=question, **(fields | changed))
