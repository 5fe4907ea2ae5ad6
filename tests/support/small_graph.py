"""A graph to look around in, of a few triples that a test gives; queries are answered with what the test names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atomr_local.sources.protocol import Linked, PropertyOffer, QueryRows, Value, ValueKind
from atomr_local.system.cancellation import Cancellation
from support.fake_parts import FakeGraphSource

BASE = "https://example.org/"


def iri_of(name: str) -> str:
    return BASE + name.replace(" ", "_")


def entity_named(name: str) -> Value:
    return Value(name, ValueKind.ENTITY, iri_of(name), 1.0)


class FakeGraphTools(FakeGraphSource):
    """Entities with the values of their properties.

    Attributes:
        ran: the queries.
        error: raised by every query, if set.
    """

    def __init__(self, facts: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        super().__init__()
        self.known = facts
        self.ran: list[str] = []
        self.error: Exception | None = None

    def link(self, name: str, number: int, question: str = "") -> tuple[Linked, ...]:
        return (Linked(entity_named(name)),)[:number] if name in self.known else ()

    def entity_of(self, title: str, qid: str = "") -> Value | None:
        return entity_named(title) if title in self.known else None

    def properties(self, iri: str, question: str = "") -> tuple[PropertyOffer, ...]:
        known = self.known.get(iri.removeprefix(BASE).replace("_", " "), {})
        return tuple(PropertyOffer(iri_of(name), name, False, len(found)) for name, found in known.items())

    def label(self, iri: str) -> str:
        return iri.removeprefix(BASE).replace("_", " ")

    def query(
        self, sparql: str, cancellation: Cancellation, *, seconds: float = 5.0, most_rows: int = 200
    ) -> QueryRows:
        self.ran.append(sparql)
        cancellation.check()
        if self.error is not None:
            raise self.error
        found = [
            value
            for name, known in self.known.items()
            for prop, values in known.items()
            for value in values
            if f"<{iri_of(name)}> <{iri_of(prop)}>" in sparql
        ]
        if sparql.startswith("ASK"):
            return QueryRows(sparql, boolean=bool(found))
        values = tuple(entity_named(value) for value in found)
        labels = {value.iri: value.text for value in values if value.iri}
        return QueryRows(
            sparql, ("x",), tuple({"x": value.iri or ""} for value in values), values=values, labels=labels
        )
