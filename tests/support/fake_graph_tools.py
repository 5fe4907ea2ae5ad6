"""A graph of a few statements that a strategy can look around in, with facts as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atomr_local.sources.protocol import Evidence, Linked, PropertyOffer, QueryRows, Value, ValueKind
from atomr_local.system.cancellation import Cancellation
from support.fake_facts import FakeFacts

BASE = "https://example.org/"


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
        return (Linked(_entity(name)),)[:number] if name in known else ()

    def properties(self, iri: str, question: str = "") -> tuple[PropertyOffer, ...]:
        return tuple(
            PropertyOffer(_iri(relation), relation, False, 1, (_entity(value),))
            for subject, relation, value in self.statements
            if _iri(subject) == iri
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
            _entity(value)
            for subject, relation, value in self.statements
            if _iri(subject) in sparql and _iri(relation) in sparql
        ]
        rows = tuple({"x": value.iri or ""} for value in found)
        return QueryRows(
            sparql, ("x",), rows, None, False, tuple(found), {value.iri or "": value.text for value in found}
        )


def _iri(text: str) -> str:
    return BASE + text.replace(" ", "_")


def _entity(text: str) -> Value:
    return Value(text, ValueKind.ENTITY, _iri(text), 1.0)
