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
    from atomr_local.assistant.asked import Answer, QuestionOptions, Step, parse_plan
    from atomr_local.assistant.assistant import Assistant, Lookups
    from atomr_local.assistant.session import GraphRows
    from atomr_local.errors import (
        AtomrError,
        Cancelled,
        InputError,
        KnowledgeIndexError,
        MissingPartError,
        ModelError,
        PlanError,
        QueryError,
        SettingsError,
        SourceError,
    )
    from atomr_local.reasoning.conversation import Conversation, EarlierTurn
    from atomr_local.reasoning.revision import Revision
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
    from atomr_local.reasoning.trace.schema import (
        Departure,
        EvidenceTrace,
        Guess,
        LlmUse,
        NodeTrace,
        PlanTrace,
        Totals,
        Trace,
    )
    from atomr_local.settings.schema import Settings
    from atomr_local.sources.protocol import Evidence, Linked, Page, PropertyOffer, Retrieval, Sentence, Value
    from atomr_local.system.cancellation import Cancellation
    from atomr_local.tree.nodes import Node, Tree

__all__ = [
    "Answer",
    "AnswerReady",
    "Assistant",
    "AtomrError",
    "Cancellation",
    "Cancelled",
    "Conversation",
    "Departure",
    "EarlierTurn",
    "Event",
    "Evidence",
    "EvidenceFound",
    "EvidenceTrace",
    "Finished",
    "GraphRows",
    "Guess",
    "InputError",
    "KnowledgeIndexError",
    "LeavesMachine",
    "Linked",
    "LlmUse",
    "Lookups",
    "MissingPartError",
    "ModelCalled",
    "ModelError",
    "Node",
    "NodeAdded",
    "NodeFinished",
    "NodeJudged",
    "NodeStarted",
    "NodeTrace",
    "Page",
    "PlanError",
    "PlanFragment",
    "PlanReady",
    "PlanTrace",
    "PropertyOffer",
    "QueryError",
    "QuestionAsked",
    "QuestionOptions",
    "QuestionUnderstood",
    "Retrieval",
    "RetrievalStarted",
    "Revision",
    "Sentence",
    "Settings",
    "SettingsError",
    "SourceError",
    "SourcesSelected",
    "StageChanged",
    "Step",
    "TextGenerated",
    "Totals",
    "Trace",
    "Tree",
    "Value",
    "WarningRaised",
    "__version__",
    "parse_plan",
]
__version__ = "0.1.0"
# Where each is, but for the events.
_ELSEWHERE = {
    "Answer": "assistant.asked",
    "Step": "assistant.asked",
    "QuestionOptions": "assistant.asked",
    "parse_plan": "assistant.asked",
    "Assistant": "assistant.assistant",
    "Cancellation": "system.cancellation",
    "AtomrError": "errors",
    "Cancelled": "errors",
    "InputError": "errors",
    "KnowledgeIndexError": "errors",
    "MissingPartError": "errors",
    "ModelError": "errors",
    "PlanError": "errors",
    "QueryError": "errors",
    "SettingsError": "errors",
    "SourceError": "errors",
    "GraphRows": "assistant.session",
    "Lookups": "assistant.assistant",
    "Conversation": "reasoning.conversation",
    "EarlierTurn": "reasoning.conversation",
    "Revision": "reasoning.revision",
    "Departure": "reasoning.trace.schema",
    "EvidenceTrace": "reasoning.trace.schema",
    "Guess": "reasoning.trace.schema",
    "LlmUse": "reasoning.trace.schema",
    "NodeTrace": "reasoning.trace.schema",
    "PlanTrace": "reasoning.trace.schema",
    "Totals": "reasoning.trace.schema",
    "Trace": "reasoning.trace.schema",
    "Settings": "settings.schema",
    "Evidence": "sources.protocol",
    "Linked": "sources.protocol",
    "Page": "sources.protocol",
    "PropertyOffer": "sources.protocol",
    "Retrieval": "sources.protocol",
    "Sentence": "sources.protocol",
    "Value": "sources.protocol",
    "Node": "tree.nodes",
    "Tree": "tree.nodes",
}


def __getattr__(name: str) -> Any:
    """A public name, loaded on first use: importing the package stays light."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_ELSEWHERE.get(name, 'reasoning.trace.events')}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
