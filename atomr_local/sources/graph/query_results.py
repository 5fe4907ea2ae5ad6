"""The rows of a query, as terms and as the evidence shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from atomr_local.indexing.graph_index.statements.terms import XSD, literal_text
from atomr_local.sources.protocol import Evidence, SourceName, Value, ValueKind

if TYPE_CHECKING:
    from pyoxigraph import BlankNode, Literal, NamedNode, Triple

    Term = NamedNode | BlankNode | Literal | Triple

ROW_LIMIT = 200  # rows that evidence shows
_KIND_OF_DATATYPE = {
    **dict.fromkeys(("date", "dateTime", "gYear", "gYearMonth"), ValueKind.DATE),
    **dict.fromkeys(("decimal", "integer", "double", "float", "int", "long", "nonNegativeInteger"), ValueKind.NUMBER),
    "boolean": ValueKind.BOOLEAN,
}


@dataclass(frozen=True, slots=True)
class SelectResult:
    """A query as it was run, and its rows as terms.

    Attributes:
        cut: there are more rows.
        values: IRI and label of each row's ?value, where labels were asked for; None and "" for what has none.
    """

    sparql: str
    terms: tuple[dict[str, Term], ...]
    cut: bool = False
    values: tuple[tuple[str | None, str], ...] = ()

    @property
    def rows(self) -> list[dict[str, str]]:
        """The rows as text, as evidence shows them."""
        return self._rows(len(self.terms))

    def evidence(self, title: str, text: str, score: float, query: str) -> Evidence:
        """A piece of evidence: sentences, and this query that they come from."""
        return Evidence(
            SourceName.GRAPH, title, text, score, query, {"sparql": self.sparql, "rows": self._rows(ROW_LIMIT)}
        )

    def only(self, places: Sequence[int]) -> SelectResult:
        """The query with these of its rows alone."""
        values = tuple(self.values[i] for i in places) if self.values else ()
        return replace(self, terms=tuple(self.terms[i] for i in places), values=values)

    def _rows(self, limit: int) -> list[dict[str, str]]:
        rows = [{name: term_text(term) for name, term in row.items()} for row in self.terms[:limit]]
        for row, (_, label) in zip(rows, self.values, strict=False):
            if label:
                row["valueLabel"] = label
        return rows


def term_text(term: Term) -> str:
    """A term as evidence rows show it: an IRI or a lexical form."""
    value = getattr(term, "value", None)
    return value if isinstance(value, str) else str(term)


def literal_value(term: Term, written: str | None, score: float | None) -> Value:
    """A literal as an answer value, as the source wrote it where that is known."""
    datatype = getattr(getattr(term, "datatype", None), "value", "")
    kind = _KIND_OF_DATATYPE.get(datatype.removeprefix(XSD), ValueKind.TEXT)
    return Value(written or literal_text(term_text(term), datatype), kind, None, score)
