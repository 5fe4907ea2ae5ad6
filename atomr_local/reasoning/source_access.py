"""How a tool that works on one source gets to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from atomr_local.cancellation import Cancellation
from atomr_local.reasoning.retrieval import may_use
from atomr_local.reasoning.trace.events import EvidenceFound, RetrievalStarted
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.sources.protocol import Evidence, KnowledgeSource

Offer = TypeVar("Offer")


@dataclass
class SourceAccess(Generic[Offer]):
    """One source, for one question.

    Attributes:
        source: its name.
        offer: the source as what it offers.
        allowed: by node, the only sources that it may use; a node without an entry may use all.
    """

    source: str
    offer: Offer
    recorder: Recorder
    cancellation: Cancellation
    allowed: Mapping[int, frozenset[str]]

    def may_use(self, node_id: int) -> bool:
        """Whether the step may use the source."""
        return may_use(self.allowed, node_id, self.source)

    @contextmanager
    def retrieval(self, node_id: int, query: str) -> Iterator[list[Evidence]]:
        """Tell the beginning and the end of a retrieval; what is put into the list was found by it."""
        self.recorder.emit(RetrievalStarted(node_id=node_id, source=self.source, query=query))
        found: list[Evidence] = []
        try:
            yield found
        finally:
            self.recorder.emit(EvidenceFound(node_id=node_id, source=self.source, evidence=tuple(found)))


@dataclass
class SourcesAtHand:
    """The sources of one question, by name; see :class:`SourceAccess`."""

    sources: Mapping[str, KnowledgeSource]
    recorder: Recorder
    cancellation: Cancellation
    allowed: Mapping[int, frozenset[str]]

    def first(self, fits: Callable[[KnowledgeSource], Offer | None]) -> SourceAccess[Offer] | None:
        """Access to the first source that fits; None if none does.

        Args:
            fits: the source as what it offers; None if it does not offer it.
        """
        for name, source in self.sources.items():
            if (offer := fits(source)) is not None:
                return SourceAccess(str(name), offer, self.recorder, self.cancellation, self.allowed)
        return None
