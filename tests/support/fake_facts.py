"""A source whose facts a test gives by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atomr_local.sources.protocol import Evidence, SourceName
from atomr_local.system.cancellation import Cancellation
from support.fake_parts import FakeGraphSource


def fact(subject: str, relation: str, value: str, score: float = 1.0) -> Evidence:
    row = {"subject": f"urn:{subject}", "property": f"urn:{relation}", "object": value}
    locator = {"sparql": f"SELECT {subject} {relation} {value}", "rows": [row]}
    return Evidence(SourceName.GRAPH, subject, f"{subject} — {relation}: {value}.", score, "", locator)


class FakeFacts(FakeGraphSource):
    """Facts by query, best first; an exception is raised, an unknown query finds nothing."""

    def __init__(self, found: Mapping[str, Sequence[Evidence] | Exception] | None = None, missing: str = "") -> None:
        super().__init__()
        self.by_query = dict(found or {})
        self.facts_missing = missing
        self.searched: list[tuple[str, int]] = []

    def facts(self, query: str, number: int, cancellation: Cancellation) -> tuple[Evidence, ...]:
        cancellation.check()
        self.searched.append((query, number))
        given = self.by_query.get(query, ())
        if isinstance(given, Exception):
            raise given
        return tuple(given[:number])
