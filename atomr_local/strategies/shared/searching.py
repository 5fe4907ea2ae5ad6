"""Asks the sources what a model has written. The one way from a written query to the web."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from atomr_local.language.answer_key import answer_key
from atomr_local.reasoning.results import add_evidence
from atomr_local.reasoning.retrieval import Gathered
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.events import SourcesSelected
from atomr_local.sources.protocol import Evidence, Request, SourceName
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.outgoing import fit_for_web

Found = TypeVar("Found")
_LOCAL = (SourceName.TEXT, SourceName.GRAPH)


class SearchedOnce(Generic[Found]):
    """What the queries of one question have found. Each is searched once, in a step of its own."""

    def __init__(self, tools: Toolbox) -> None:
        self._tools = tools
        self._found: dict[str, list[Found]] = {}  # by query

    def found(self, parent: Step, query: str, label: str, search: Callable[[Step], list[Found]]) -> list[Found]:
        """What `search` finds in a step below `parent`; for a query that was searched before, what it found then."""
        key = answer_key(query)
        if key not in self._found:
            with self._tools.steps.open(query, parent.id, label) as below:
                self._found[key] = []
                self._found[key] = search(below)
        return self._found[key]


def searched(
    tools: Toolbox,
    node_id: int,
    request: Request,
    question: str,
    *,
    answers: Collection[str] = (),
    sources: Sequence[str] | None = None,
) -> Gathered:
    """What the sources have. The web is asked in words of the question and of the answers alone.

    Args:
        question: the whole question.
        answers: of earlier steps, as the user sees them.
        sources: only these, of those that the step may use; by default all.

    Raises:
        Cancelled: the question was cancelled.
    """
    permitted = tools.retriever.permitted(node_id)
    asked = permitted if sources is None else sources
    by_query: dict[str, list[str]] = {}
    for name in asked:
        query = request.query if name in _LOCAL else fit_for_web(request.query, question, answers)
        by_query.setdefault(query, []).append(name)
    merged = Gathered()
    for query, names in by_query.items():
        [found] = tools.retriever.gather(node_id, [replace(request, query=query)], sources=names)
        add_evidence(merged.evidence, found.evidence)
        merged.dropped += found.dropped
        merged.problems += found.problems
        if found.graph is not None:
            merged.graph, merged.graph_evidence = found.graph, found.graph_evidence
    if len(by_query) > 1:
        told = tuple(name for name in permitted if name in asked)
        tools.recorder.emit(SourcesSelected(node_id=node_id, sources=told, reason="set by the method"))
    return merged


def told(evidence: Sequence[Evidence]) -> str:
    """The titles of what was found, each once."""
    return "; ".join(dict.fromkeys(item.title for item in evidence)) or "nothing was found"
