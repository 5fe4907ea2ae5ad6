"""A node's result as the event that reports it."""

from __future__ import annotations

from atomr_local.reasoning.reading.citation_verification import supported
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.events import NodeFinished
from atomr_local.reasoning.trace.recorder import Recorder


def node_finished(
    recorder: Recorder, node_id: int, result: Result, *, supported: bool | None, seconds: float
) -> NodeFinished:
    """The event, not emitted yet.

    Args:
        supported: the result of the citation check.
        seconds: the node's wall-clock time.
    """
    return NodeFinished.from_fields(
        node_id,
        result,
        answers=result.texts,
        evidence=tuple(dict.fromkeys(item.id for item in result.evidence)),
        supported=supported,
        seconds=round(seconds, 3),
        llm=recorder.use_of(node_id),
    )


def citations_hold(result: Result) -> bool | None:
    """The citation check; None for a result that no passage spells out."""
    if result.computed or result.method == "closed_book":
        return None
    by_id = {item.id: item for item in result.evidence}
    return supported(result.texts, [by_id[item] for item in result.cited if item in by_id])
