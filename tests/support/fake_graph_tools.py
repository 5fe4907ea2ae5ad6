"""A graph of a few statements that a strategy can look around in, with facts as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atomr_local.sources.protocol import Evidence, Linked, PropertyOffer, QueryRows
from atomr_local.system.cancellation import Cancellation
from support.fake_facts import FakeFacts
from support.small_graph import BASE, entity_named, iri_of


class FakeGraphWithFacts(FakeFacts):
    """Links the names of its statements (subject, relation, object); a query gives what a test says for a relation."""

    def __init__(
        self,
        statements: Sequence[tuple[str, str, str]] = (),
        facts: Mapping[str, Sequence[Evidence] | Exception] | None = None,
        missing: str = "",
    ) -> None:
        super().__init__(facts, missing)
        self.statements = statements
        self.ran: list[str] = []
        self.error: Exception | None = None

    def link(self, name: str, number: int, question: str = "") -> tuple[Linked, ...]:
        name = name.strip("?!.,")
        known = {text for subject, _, value in self.statements for text in (subject, value)}
        return (Linked(entity_named(name)),)[:number] if name in known else ()

    def properties(self, iri: str, question: str = "") -> tuple[PropertyOffer, ...]:
        return tuple(
            PropertyOffer(iri_of(relation), relation, False, 1, (entity_named(value),))
            for subject, relation, value in self.statements
            if iri_of(subject) == iri
        )

    def label(self, iri: str) -> str:
        return iri.removeprefix(BASE).replace("_", " ")

    def query(
        self, sparql: str, cancellation: Cancellation, *, seconds: float = 5.0, most_rows: int = 200
    ) -> QueryRows:
        cancellation.check()
        self.ran.append(sparql)
        if self.error is not None:
            raise self.error
        found = [
            entity_named(value)
            for subject, relation, value in self.statements
            if iri_of(subject) in sparql and iri_of(relation) in sparql
        ]
        rows = tuple({"x": value.iri or ""} for value in found)
        return QueryRows(
            sparql, ("x",), rows, None, False, tuple(found), {value.iri or "": value.text for value in found}
        )
