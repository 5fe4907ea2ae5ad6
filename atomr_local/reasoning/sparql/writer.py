"""Has the model sketch a query over what the graph offers for a question, and runs the query that is made of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.answer_selection import agree
from atomr_local.reasoning.asking.asking import Asking
from atomr_local.reasoning.asking.forms import Form, worked_examples
from atomr_local.reasoning.asking.writer import Writer
from atomr_local.reasoning.reading.checks import misfit
from atomr_local.reasoning.retrieval import LINKED, SURE_RELATION, SourceResults
from atomr_local.reasoning.source_access import NO_ROWS, GraphAccess, Queried
from atomr_local.reasoning.sparql.offer import QueryVocabulary, offered
from atomr_local.reasoning.sparql.sketches import NONE, Sketches, SketchField, X, Y, sparql_of
from atomr_local.sources.protocol import Request, Retrieval, Value, ValueKind
from atomr_local.tree.nodes import Operator

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

    def offer(self, node_id: int, question: str, values: Sequence[Value] = ()) -> QueryVocabulary:
        """What a query for the question may hold; nothing where the step may not use the graph.

        Args:
            values: answers of earlier steps.
        """
        return offered(self._graph, question, values) if self._graph.may_use(node_id) else QueryVocabulary()

    def write(
        self,
        node_id: int,
        question: str,
        *,
        values: Sequence[Value] = (),
        offer: QueryVocabulary | None = None,
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
            text = one[QUERY]
            if text and text != NONE and (chosen := sketches.read(text)) is not None:
                found.setdefault(text, Sketch(text, sparql_of(chosen), one.logprob(QUERY)))
        return list(found.values())

    @staticmethod
    def sketched(offer: QueryVocabulary, text: str) -> Sketch | None:
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
        offer: QueryVocabulary | None = None,
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


def offer_lines(offer: QueryVocabulary) -> list[str]:
    """The offer as the prompt shows it: every pattern that may be written."""
    lines: list[str] = []
    for name in offer.names:
        lines.append(f"{name.text}: {name.description}" if name.description else f"{name.text}:")
        for prop in name.properties:
            lines.append(f"{X} | {prop.text} | {name.text}" if prop.inverse else f"{name.text} | {prop.text} | {X}")
    beyond = [f"{X} | {prop.text} | {Y}" for prop in offer.beyond]
    if beyond:
        lines += ["Further patterns, of what these lead to:", *beyond]
    if offer.values:
        lines.append(f"Values: {', '.join(value.text for value in offer.values)}")
    return lines


# A query that the model writes for a look-up whose relation the graph did not surely match.
#
# The model chooses among the properties of the one entity that the graph has linked. How surely it wrote its choice
# counts as how surely the relation is matched, so that the answer stands, is read, or gives way like any other of the
# graph.

_MOST_CALLS = 2  # a sketch, and one more where it has no rows
_YES_NO = "ask"


@dataclass(frozen=True)
class RelationQueries:
    """Asks the graph by a written query where its own answer to a Relate is not sure. Thread-safe.

    Raises:
        Cancelled: the question was cancelled.
    """

    queries: QueryWriter
    asking: Asking

    def __call__(self, node_id: int, request: Request, found: SourceResults) -> SourceResults:
        """What the graph has for the request: `found`, or what the query gave if that is surer."""
        graph = found.graph
        if request.operator is not Operator.RELATE or graph is None or not _unsure(graph):
            return found
        if not self.asking.spares(_MOST_CALLS):
            return _noted(found, "no query was written: the question's model calls are used")
        try:
            return self._asked(node_id, request, found, graph)
        except Cancelled:
            raise
        except AtomrError as error:  # what was found without a query stands
            return _noted(found, f"no query was written: {error.message}")

    def _asked(self, node_id: int, request: Request, found: SourceResults, graph: Retrieval) -> SourceResults:
        answer = self.queries.answer(node_id, request.question, offer=self._offer(node_id, request, graph))
        queried, sketch = answer.queried, answer.sketch
        if queried is None or queried.evidence is None or sketch is None or answer.problem or not answer.values:
            return _noted(found, f"by a written query: {answer.problem}") if answer.tried else found
        texts = [value.text for value in answer.values]
        score = math.exp(sketch.logprob) if sketch.logprob is not None else 0.0
        told = f"by a written query: {', '.join(texts)} ({score:.2f})"
        whole = queried.found is not None and not queried.found.cut
        if not whole or misfit(request.question, texts):
            return _noted(found, told)
        if agree(texts, [value.text for value in graph.values]):
            sure = max(score, graph.relation_score or 0.0)
            return _noted(replace(found, graph=replace(graph, relation_score=sure)), told)
        if graph.values and (graph.relation_score or 0.0) >= score:
            return _noted(found, told)
        evidence = [queried.evidence, *found.evidence]
        written = replace(
            graph,
            evidence=tuple(evidence),
            values=answer.values,
            relation_score=score,
            decided=True,
            near=(),
            type_fit=None,
        )
        return _noted(replace(found, evidence=evidence, graph=written, graph_evidence=(queried.evidence,)), told)

    def _offer(self, node_id: int, request: Request, graph: Retrieval) -> QueryVocabulary:
        """The linked entity alone with its properties: a look-up is one hop, and never for yes or no."""
        assert graph.linked is not None
        offer = self.queries.offer(node_id, request.question, (graph.linked,))
        names = tuple(name for name in offer.names if name.iri == graph.linked.iri)
        forms = tuple(form for form in offer.forms if form != _YES_NO)
        return QueryVocabulary(names=names if forms else (), forms=forms)


def _unsure(graph: Retrieval) -> bool:
    """Whether the graph knows the entity and not surely the relation. Where it surely knows the relation and has no
    value of it, there is none: another property would answer another question."""
    known = graph.linked is not None and graph.linked.iri is not None and (graph.link_score or 0.0) >= LINKED
    return known and (graph.relation_score or 0.0) < SURE_RELATION


def _noted(found: SourceResults, note: str) -> SourceResults:
    return replace(found, dropped=[*found.dropped, note])
