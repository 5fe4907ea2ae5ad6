"""Finds facts as text for a strategy, and puts what was found into the trace."""

from __future__ import annotations

from dataclasses import replace

from atomr_local.reasoning.source_access import SourceAccess, SourcesAtHand
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Evidence, FactText


def fact_reader(at_hand: SourcesAtHand) -> FactReader | None:
    """A reader of the first source that has facts as text; None if none has."""
    access: SourceAccess[FactText] | None = at_hand.first(
        lambda one: one if isinstance(one, FactText) and not one.facts_missing else None
    )
    return FactReader(access) if access is not None else None


class FactReader:
    """Searches the facts of one source.

    Attributes:
        source: the name of the source.
        access: the way to it.
    """

    def __init__(self, access: SourceAccess[FactText]) -> None:
        self.source = access.source
        self.access = access

    def search(self, node_id: int, query: str, k: int) -> list[Evidence]:
        """The k facts that suit the words of the query best, best first, as evidence of the step; none if the step may
        not use the source.

        Raises:
            SourceError: the source failed.
            Cancelled: the question was cancelled.
        """
        access = self.access
        access.cancellation.check()
        if not access.may_use(node_id):
            return []
        with access.retrieval(node_id, query) as evidence:
            found = access.offer.facts(query, k, access.cancellation)
            lines = [replace(one, title=sanitize_line(one.title), text=sanitize_line(one.text)) for one in found]
            evidence.extend(access.recorder.take_in(lines))
        return evidence
