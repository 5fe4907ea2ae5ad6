"""Filter: whether one entity satisfies a condition, decided on the statements of the graph."""

from __future__ import annotations

from dataclasses import replace

from atomr_local.cancellation import Cancellation
from atomr_local.sources.graph.filter import conditions
from atomr_local.sources.graph.filter.comparison import ComparisonCheck, ConditionResult
from atomr_local.sources.graph.filter.values import ValueCheck
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph
from atomr_local.sources.graph.linking import Linker
from atomr_local.sources.graph.properties.matching import PropertyMatcher
from atomr_local.sources.graph.relate.heads import Head, HeadLinker
from atomr_local.sources.protocol import Request, Retrieval, Value, ValueKind

_LONGEST = 400
_MOST_PARTS = 60


class Filter:
    """The operator over one graph, one entity at a time. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, linker: Linker, matcher: PropertyMatcher) -> None:
        self._graph = graph
        self._heads = HeadLinker(graph, linker)
        self._comparisons = ComparisonCheck(graph, matcher)
        self._values = ValueCheck(graph, matcher)

    def run(self, request: Request, cancellation: Cancellation) -> Retrieval:
        if len(request.arguments) < 2:
            return Retrieval()
        entity, condition = request.arguments[0], request.arguments[1]
        heads = self._heads.candidates(entity, request.question)
        if not heads:
            return Retrieval(link_score=0.0)
        linked = self._graph.entity_value(heads[0].iri, heads[0].score)
        undecided = Retrieval(link_score=heads[0].score, relation_score=0.0, linked=linked)
        for head in heads:
            verdict = self._decide(head, condition.text, {}, cancellation)
            if verdict is None or verdict.satisfied is None:
                if verdict is not None and verdict.reasons:
                    undecided = replace(undecided, relation_score=verdict.score)
                continue
            return self._retrieval(head, entity, verdict, request)
        return undecided

    def _retrieval(self, head: Head, entity: Value, verdict: ConditionResult, request: Request) -> Retrieval:
        name = self._graph.label(head.iri)
        score = round(head.score * verdict.score, 4)
        evidence = tuple(answer.evidence(name, sentence, score, request.query) for sentence, answer in verdict.reasons)
        kept = (Value(entity.text, ValueKind.ENTITY, head.iri, score),) if verdict.satisfied else ()
        linked = self._graph.entity_value(head.iri, head.score)
        return Retrieval(evidence, kept, head.score, verdict.score, decided=True, linked=linked)

    def _decide(
        self, head: Head, text: str, decided: dict[str, ConditionResult | None], cancellation: Cancellation
    ) -> ConditionResult | None:
        """None: the condition is not understood. `decided` remembers the parts that were looked at."""
        cancellation.check()
        text = " ".join(text.split())
        if text not in decided:
            if not text or len(text) > _LONGEST or len(decided) >= _MOST_PARTS or conditions.is_superlative(text):
                return None
            decided[text] = None  # a part that leads back to itself is not understood
            decided[text] = self._undivided(head, text, decided, cancellation)
        return decided[text]

    def _undivided(
        self, head: Head, text: str, decided: dict[str, ConditionResult | None], cancellation: Cancellation
    ) -> ConditionResult | None:
        """The condition as one, and where that says nothing, by its parts."""
        positive = conditions.negated(text)
        if positive is not None:
            verdict = self._decide(head, positive, decided, cancellation)
            return verdict and replace(verdict, satisfied=None if verdict.satisfied is None else not verdict.satisfied)
        verdict = self._values.check_qualified(head, text) if self._graph.has_qualifiers else None
        compare = conditions.comparison(text) if verdict is None else None
        if compare is not None:
            verdict = self._comparisons.check(head, compare)
        if verdict is None:
            verdict = self._values.check(head, text)
        if verdict is not None and verdict.satisfied:
            return verdict
        for left, connective, right in conditions.parts(text):
            joined = self._both(head, left, right, connective, decided, cancellation)
            if joined is not None:
                return joined
        described = conditions.described(text) if verdict is None or verdict.satisfied is None else None
        joined = self._both(head, *described, "and", decided, cancellation) if described is not None else None
        return joined or verdict

    def _both(
        self,
        head: Head,
        left: str,
        right: str,
        connective: str,
        decided: dict[str, ConditionResult | None],
        cancellation: Cancellation,
    ) -> ConditionResult | None:
        one = self._decide(head, left, decided, cancellation)
        two = self._decide(head, right, decided, cancellation) if one is not None else None
        return _joined(one, two, connective) if one is not None and two is not None else None


def _joined(one: ConditionResult, two: ConditionResult, connective: str) -> ConditionResult:
    results = (one.satisfied, two.satisfied)
    deciding, otherwise = (True, False) if connective == "or" else (False, True)
    satisfied = deciding if deciding in results else None if None in results else otherwise
    return ConditionResult(satisfied, min(one.score, two.score), one.reasons + two.reasons)
