"""A graph of few facts that a test gives, whose queries give what the test says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atomr_local.sources.protocol import Linked, PropertyOffer, QueryRows, Value, ValueKind
from atomr_local.system.cancellation import Cancellation
from support.fake_parts import FakeGraphSource

Facts = Mapping[str, Sequence[tuple[str, str, bool]]]


def iri_of(name: str) -> str:
    return "urn:e:" + "".join(character for character in name if character.isalnum())


class FactsGraph(FakeGraphSource):
    """Entities with (label, IRI, inverse) of their properties, by name.

    Attributes:
        rows: what a query gives, by a text in it; no rows for others.
    """

    def __init__(self, facts: Facts, rows: Mapping[str, QueryRows | Exception] | None = None) -> None:
        super().__init__()
        self.known, self.rows = facts, rows or {}
        self.ran: list[str] = []
        self.samples: dict[str, str] = {}  # an entity that a property leads to, by the property's label
        self.iris: dict[str, str] = {}

    def entity(self, name: str) -> Value:
        return Value(name, ValueKind.ENTITY, self.iris.get(name, iri_of(name)), 1.0)

    def link(self, name: str, number: int, question: str = "") -> tuple[Linked, ...]:
        found = [known for known in self.known if known.casefold() == name.casefold().strip("?!. ")]
        return tuple(Linked(self.entity(known), "a thing") for known in found)[:number]

    def entity_of(self, title: str, qid: str = "") -> Value | None:
        return self.entity(title) if title in self.known else None

    def properties(self, iri: str, question: str = "") -> tuple[PropertyOffer, ...]:
        name = next((known for known in self.known if self.entity(known).iri == iri), "")
        return tuple(
            PropertyOffer(prop, label, inverse, 1, self._sample(label)) for label, prop, inverse in self.known[name]
        )

    def _sample(self, label: str) -> tuple[Value, ...]:
        return (self.entity(self.samples[label]),) if label in self.samples else ()

    def query(
        self, sparql: str, cancellation: Cancellation, *, seconds: float = 5.0, most_rows: int = 200
    ) -> QueryRows:
        cancellation.check()
        self.ran.append(sparql)
        for text, given in self.rows.items():
            if text in sparql:
                if isinstance(given, Exception):
                    raise given
                return given
        return QueryRows(sparql, ("x",))
