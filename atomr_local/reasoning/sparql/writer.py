"""Has the model sketch a query over what the graph offers for a question, and runs the query that is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atomr_local.reasoning.asking.forms import Form, worked_examples
from atomr_local.reasoning.asking.writer import Writer, Written
from atomr_local.reasoning.graph_access import NO_ROWS, GraphAccess, Queried
from atomr_local.reasoning.sparql.offer import Offer, OfferedName, offered
from atomr_local.reasoning.sparql.query_text import sparql_of
from atomr_local.reasoning.sparql.sketches import NONE, Sketches, SketchField, X, Y
from atomr_local.sources.protocol import Value, ValueKind

_PACKAGE = "atomr_local.reasoning.sparql"
QUERY = "Query"
NOTHING_OFFERED = "the graph knows nothing that the question names"
NO_SKETCH = "no query was written"


@dataclass(frozen=True)
class Sketch:
    """What the model chose, and the query that was made of it.

    Attributes:
        logprob: mean log-probability of the sketch's tokens; None if unknown.
    """

    text: str
    sparql: str
    logprob: float | None


@dataclass(frozen=True)
class QueryAnswer:
    """What came of a question to the graph.

    Attributes:
        sketch: the last one that was run; None if there is none.
        queried: what it gave.
        problem: why there is no answer, in words; empty if there is one.
        tried: every sketch that was run, in order.
    """

    sketch: Sketch | None
    queried: Queried | None
    problem: str
    tried: tuple[Sketch, ...] = ()

    @property
    def values(self) -> tuple[Value, ...]:
        """The answer; that of an `ask` is yes or no."""
        return values_of(self.queried) if self.queried is not None else ()


class QueryWriter:
    """Writes queries for steps of one question. Thread-safe.

    Raises (all methods):
        SourceError: the graph failed.
        ModelError: the model failed, or the prompt has no room.
        CallLimitError: the question has used up its calls.
        Cancelled: the question was cancelled.
    """

    def __init__(self, graph: GraphAccess, writer: Writer) -> None:
        self._graph = graph
        self._writer = writer

    def offer(self, node_id: int, question: str, values: Sequence[Value] = ()) -> Offer:
        """What a query for the question may hold; nothing where the step may not use the graph.

        Args:
            values: answers of earlier steps.
        """
        return offered(self._graph, question, values) if self._graph.may_use(node_id) else Offer()

    def write(
        self,
        node_id: int,
        question: str,
        *,
        values: Sequence[Value] = (),
        offer: Offer | None = None,
        draws: int = 1,
        temperature: float = 0.0,
        without: Sequence[str] = (),
    ) -> list[Sketch]:
        """The sketches that were written, each once; none where the model found that nothing fits.

        Args:
            draws: samples, where there is a temperature.
            without: texts of sketches that are not to be written again.
        """
        offer = self.offer(node_id, question, values) if offer is None else offer
        if offer.empty:
            return []
        sketches = Sketches(offer, without)
        form = Form(_PACKAGE, "sparql", (SketchField(QUERY, sketches),), worked_examples(_PACKAGE, "sparql_examples"))
        written = self._writer.write(
            node_id, "query", form, draws=draws, temperature=temperature, question=question, offer=offer_lines(offer)
        )
        found: dict[str, Sketch] = {}
        for one in written:
            for sketch in _sketches_of(one, sketches):
                found.setdefault(sketch.text, sketch)
        return list(found.values())

    @staticmethod
    def sketched(offer: Offer, text: str) -> Sketch | None:
        """The sketch that a person has written; None if it is none of what is offered."""
        chosen = Sketches(offer).read(text)
        return Sketch(text, sparql_of(chosen), None) if chosen is not None else None

    def run(self, node_id: int, sketch: Sketch) -> Queried:
        """Run the sketch's query; its rows are evidence."""
        return self._graph.query(node_id, sketch.sparql, asked=sketch.text)

    def answer(
        self,
        node_id: int,
        question: str,
        *,
        values: Sequence[Value] = (),
        offer: Offer | None = None,
        draws: int = 1,
        temperature: float = 0.0,
    ) -> QueryAnswer:
        """Write and run: the first sketch with rows. Where none has any, the model writes once more, without those.

        Args:
            values: answers of earlier steps.
            offer: what the query may hold; by default what there is for the question and the values.
        """
        offer = self.offer(node_id, question, values) if offer is None else offer
        if offer.empty:
            return QueryAnswer(None, None, NOTHING_OFFERED)
        tried, queried, problem = list[Sketch](), None, NO_SKETCH
        for again in (False, True):
            if again and not tried:
                break
            sketches = self.write(
                node_id,
                question,
                offer=offer,
                draws=1 if again else draws,
                temperature=0.0 if again else temperature,
                without=[sketch.text for sketch in tried],
            )
            for sketch in sketches:
                tried.append(sketch)
                queried = self.run(node_id, sketch)
                problem = queried.problem or ("" if has_rows(queried) else NO_ROWS)
                if not problem:
                    return QueryAnswer(sketch, queried, "", tuple(tried))
        return QueryAnswer(tried[-1] if tried else None, queried, problem, tuple(tried))


def has_rows(queried: Queried) -> bool:
    """Whether the query gave anything; an `ask` always does."""
    return queried.found is not None and (queried.found.boolean is not None or bool(queried.found.rows))


def values_of(queried: Queried) -> tuple[Value, ...]:
    """What a query gave, as an answer: yes and no for an `ask`."""
    if queried.found is not None and queried.found.boolean is not None:
        return (Value("yes" if queried.found.boolean else "no", ValueKind.BOOLEAN),)
    return queried.values


def offer_lines(offer: Offer) -> list[str]:
    """The offer as the prompt shows it: every pattern that may be written."""
    lines = [line for name in offer.names for line in _name_lines(name)]
    beyond = [f"{X} | {prop.text} | {Y}" for prop in offer.beyond]
    if beyond:
        lines += ["Further patterns, of what these lead to:", *beyond]
    if offer.values:
        lines.append(f"Values: {', '.join(value.text for value in offer.values)}")
    return lines


def _name_lines(name: OfferedName) -> list[str]:
    head = f"{name.text}: {name.description}" if name.description else f"{name.text}:"
    return [head, *(_way(name.text, prop.text, inverse=prop.inverse) for prop in name.properties)]


def _way(name: str, prop: str, *, inverse: bool) -> str:
    return f"{X} | {prop} | {name}" if inverse else f"{name} | {prop} | {X}"


def _sketches_of(written: Written, sketches: Sketches) -> list[Sketch]:
    text = written[QUERY]
    chosen = sketches.read(text) if text and text != NONE else None
    return [Sketch(text, sparql_of(chosen), written.logprob(QUERY))] if chosen is not None else []
