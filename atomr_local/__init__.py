"""atomr-local: an offline-first local assistant whose answers can be checked.

from atomr_local import Assistant
with Assistant.open() as assistant:
    answer = assistant.answer("...")
    print(answer.text, answer.confidence)
    for event in assistant.stream("..."):
        ...

The names in `__all__` are the public interface: they change only with the version's first number.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atomr_local.answer import Answer, Step
    from atomr_local.assistant import Assistant
    from atomr_local.errors import AtomrError, Cancelled
    from atomr_local.reasoning.trace.events import (
        AnswerReady,
        Event,
        EvidenceFound,
        Finished,
        LeavesMachine,
        ModelCalled,
        NodeAdded,
        NodeFinished,
        NodeJudged,
        NodeStarted,
        PlanFragment,
        PlanReady,
        QuestionAsked,
        QuestionUnderstood,
        RetrievalStarted,
        SourcesSelected,
        StageChanged,
        TextGenerated,
        WarningRaised,
    )
    from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace
    from atomr_local.settings.schema import Settings

__all__ = [
    "Answer",
    "AnswerReady",
    "Assistant",
    "AtomrError",
    "Cancelled",
    "Event",
    "EvidenceFound",
    "EvidenceTrace",
    "Finished",
    "LeavesMachine",
    "ModelCalled",
    "NodeAdded",
    "NodeFinished",
    "NodeJudged",
    "NodeStarted",
    "NodeTrace",
    "PlanFragment",
    "PlanReady",
    "QuestionAsked",
    "QuestionUnderstood",
    "RetrievalStarted",
    "Settings",
    "SourcesSelected",
    "StageChanged",
    "Step",
    "TextGenerated",
    "Trace",
    "WarningRaised",
    "__version__",
]
__version__ = "0.1.0"
_ELSEWHERE = {
    "Answer": "answer",
    "Step": "answer",
    "Assistant": "assistant",
    "AtomrError": "errors",
    "Cancelled": "errors",
    "EvidenceTrace": "reasoning.trace.schema",
    "NodeTrace": "reasoning.trace.schema",
    "Trace": "reasoning.trace.schema",
    "Settings": "settings.schema",
}


def __getattr__(name: str) -> Any:
    """A public name, loaded on first use: importing the package stays light."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_ELSEWHERE.get(name, 'reasoning.trace.events')}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
