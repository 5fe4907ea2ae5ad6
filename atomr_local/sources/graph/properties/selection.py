"""Selects the properties of an entity that a relation's wording asks for, and the nearest where it has none of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rapidfuzz import fuzz

from atomr_local.language.names import name_key
from atomr_local.sources.graph.knowledge_graph import TYPE_PROPERTIES, KnowledgeGraph
from atomr_local.sources.graph.properties.match_probability import ScoredProperty, match_model, score_properties
from atomr_local.sources.graph.properties.matching import SURE, UNDERSTOOD, PropertyMatch, PropertyMatcher
from atomr_local.sources.graph.properties.question_matching import PropertyPath, QuestionMatch
from atomr_local.sources.graph.qualified_statements import TimeConstraint, qualified_statements
from atomr_local.sources.graph.semantic_similarity import SemanticSimilarity
from atomr_local.sources.protocol import MOST_NEAR

_MOST_JUDGED = 48
_TIE = 0.005
_AS_LIKELY = 0.2
# Where the wording surely names something that is not there, no more is asked of the embedder than this is worth.
_HOPELESS = 0.4
_AS_LIKELY_SHARE = 0.85
_RANKED_READ = 24
# On the training questions of scripts/bench/linking.py nine of ten properties taken so are right.
_ASKED, _ASKED_MARGIN = 0.6, 0.1


def clear_match(ranked: Sequence[QuestionMatch]) -> QuestionMatch | None:
    """The first of what a question may ask for, where it fits well and clearly better than the next."""
    best, *others = [*ranked[:2], None]
    if best is None or best.score < _ASKED or (others[0] and best.score - others[0].score < _ASKED_MARGIN):
        return None
    return best


class PropertySelector:
    """Chooses among an entity's properties, over one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, matcher: PropertyMatcher) -> None:
        self._graph = graph
        self._matcher = matcher

    def select(
        self,
        head: str,
        wording: str,
        ranked: Sequence[PropertyMatch],
        time: TimeConstraint | None = None,
        question: str = "",
    ) -> list[PropertyMatch]:
        """The matches to follow from this head: the one that is probably asked for, and its equals; their score is the
        probability that they are right. None if the head has nothing that is likely enough.

        Args:
            head: the entity.
            ranked: all properties that the wording may mean by its words, best first.
            time: when the relation is to hold, where a time is asked for.
            question: the step's question, "" where there is none.
        """
        own = self._own(head, ranked, time)
        if not own:
            return []
        name, model = self._graph.label(head), match_model()
        found = score_properties(self._matcher, wording, question, name, own, semantic=False)
        least = model.accept
        absent = bool(ranked) and ranked[0].score >= SURE and self._lacks(ranked[0], own)
        hopeless = absent and (not found or found[0].probability < _HOPELESS)
        if not hopeless and not _words_decide(found, model.accept):
            by_meaning = score_properties(self._matcher, wording, question, name, own, semantic=True)
            found, least = (by_meaning, least) if by_meaning else (found, model.accept_by_words)
        if not found or found[0].probability < least:
            return []
        if found[0].match.score < UNDERSTOOD and self._cannot_tell(found):
            return []
        # Of ends of one relation that are as likely, the one that the wording itself names.
        ends = [item for item in found if self._matcher.same_relation(_path(item.match), _path(found[0].match))]
        near = [item for item in ends if found[0].probability - item.probability < _AS_LIKELY]
        best = max(near, key=lambda item: (item.match.score, item.probability))
        return self._equals(best, found, ranked)

    def has_named(self, head: str, ranked: Sequence[PropertyMatch]) -> bool:
        """Whether the wording surely names something that the head has."""
        return any(self._has(head, match, None) for match in ranked if match.score >= SURE)

    def _cannot_tell(self, found: Sequence[ScoredProperty]) -> bool:
        """Whether another relation is as likely as the first, by nothing that the wording names."""
        first = found[0]
        return any(
            not self._matcher.same_relation(_path(item.match), _path(first.match))
            for item in found[1:]
            if item.probability >= _AS_LIKELY_SHARE * first.probability
        )

    def _lacks(self, match: PropertyMatch, own: Sequence[PropertyPath]) -> bool:
        return not any(self._matcher.same_relation(_path(match), other) for other in own)

    @staticmethod
    def _equals(
        best: ScoredProperty, found: Sequence[ScoredProperty], ranked: Sequence[PropertyMatch]
    ) -> list[PropertyMatch]:
        """The best match, and others that the wording names as well as it: "moons" is said of either direction."""
        lexical = best.match.score
        held = {_path(item.match) for item in found}
        score = round(best.probability, 4)
        others = [
            replace(match, score=score)
            for match in ranked
            if lexical >= UNDERSTOOD
            and _path(match) in held
            and _path(match) != _path(best.match)
            and abs(match.score - lexical) <= _TIE
            and match.kind == best.match.kind
        ]
        return [replace(best.match, score=score), *others]

    def _own(self, head: str, ranked: Sequence[PropertyMatch], time: TimeConstraint | None) -> list[PropertyPath]:
        """What the head has, and what it is the value of; at a time also what the wording may mean by its words."""
        graph = self._graph
        paths: set[PropertyPath] = {(prop, False) for prop in graph.properties_of(head)}
        paths |= {(prop, True) for prop in graph.properties_of(head, inverse=True)}
        paths |= {
            _path(match)
            for match in ranked[:_RANKED_READ]
            if _path(match) not in paths and self._has(head, match, time)
        }
        return sorted(paths)

    def _has(self, head: str, match: PropertyMatch, time: TimeConstraint | None) -> bool:
        plain = self._graph.has(head, match.property, inverse=match.inverse)
        if plain or time is None:
            return plain
        # What once held may be among the qualified statements alone.
        return qualified_statements(self._graph, head, match.property, inverse=match.inverse) is not None


def _words_decide(found: Sequence[ScoredProperty], accept: float) -> bool:
    """Whether the embedder need not be asked: the wording itself, not just the question, names what is likely."""
    return bool(found) and found[0].probability >= accept and found[0].match.score >= UNDERSTOOD


def _path(match: PropertyMatch) -> PropertyPath:
    return (match.property, match.inverse)


def _entity_properties(graph: KnowledgeGraph, iri: str) -> list[str]:
    """The properties that the entity has statements of, the most used in the graph first; what it is an instance of is
    left out."""
    held = graph.properties_of(iri) - set(TYPE_PROPERTIES)
    return sorted(held, key=lambda prop: (-(row.uses if (row := graph.properties.get(prop)) else 0), prop))


def nearest_properties(
    graph: KnowledgeGraph, semantic: SemanticSimilarity | None, iri: str, wording: str, limit: int = MOST_NEAR
) -> tuple[str, ...]:
    """Labels of what the entity has, the nearest to the wording first: by meaning where that is given, else by
    letters."""
    labels = list(dict.fromkeys(map(graph.property_label, _entity_properties(graph, iri))))[:_MOST_JUDGED]
    similarities: Iterable[float] | None = (
        semantic.similarities(wording, labels) if semantic and wording and labels else None
    )
    if similarities is None:
        asked = name_key(wording)
        similarities = [fuzz.token_sort_ratio(asked, name_key(label)) / 100 for label in labels]
    ranked = sorted(zip(labels, similarities, strict=True), key=lambda item: -item[1])
    return tuple(label for label, _ in ranked[:limit])
