"""Which statements of an entity a relation's wording asks for, if any: the choice between what the entity has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from atomr_local.sources.graph.acceptance import Judged, acceptance, judged
from atomr_local.sources.graph.access import Graph
from atomr_local.sources.graph.asked import Asked, Way
from atomr_local.sources.graph.qualified import Time, qualified_statements
from atomr_local.sources.graph.relations import SURE, UNDERSTOOD, Match, RelationMatcher

_TIE = 0.005
_AS_LIKELY = 0.2
# Where the wording surely names something that is not there, no more is asked of the embedder than this is worth.
_HOPELESS = 0.4
_AS_LIKELY_SHARE = 0.85
_RANKED_READ = 24
# On the training questions of scripts/bench/linking.py nine of ten properties taken so are right.
_ASKED, _ASKED_MARGIN = 0.6, 0.1


def clearly_asked(ranked: Sequence[Asked]) -> Asked | None:
    """The first of what a question may ask for, where it fits well and clearly better than the next."""
    best, *others = [*ranked[:2], None]
    if best is None or best.score < _ASKED or (others[0] and best.score - others[0].score < _ASKED_MARGIN):
        return None
    return best


class Chooser:
    """Chooses among an entity's properties, over one graph. Thread-safe."""

    def __init__(self, graph: Graph, matcher: RelationMatcher) -> None:
        self._graph = graph
        self._matcher = matcher

    def choose(
        self, head: str, wording: str, ranked: Sequence[Match], time: Time | None = None, question: str = ""
    ) -> list[Match]:
        """The matches to follow from this head: the one that is probably asked for, and its equals; their score is the
        probability that they are right. None where the head has nothing that is likely enough.

        Args:
            head: the entity.
            ranked: all properties that the wording may mean by its words, best first.
            time: when the relation is to hold, where a time is asked for.
            question: the step's question, "" where there is none.
        """
        own = self._own(head, ranked, time)
        if not own:
            return []
        name, model = self._graph.label(head), acceptance()
        found = judged(self._matcher, wording, question, name, own, meaning=False)
        least = model.accept
        absent = bool(ranked) and ranked[0].score >= SURE and self._lacks(ranked[0], own)
        hopeless = absent and (not found or found[0].probability < _HOPELESS)
        if not hopeless and not _words_decide(found, model.accept):
            by_meaning = judged(self._matcher, wording, question, name, own, meaning=True)
            found, least = (by_meaning, least) if by_meaning else (found, model.accept_by_words)
        if not found or found[0].probability < least:
            return []
        if found[0].match.score < UNDERSTOOD and self._cannot_tell(found):
            return []
        # Of ends of one relation that are as likely, the one that the wording itself names.
        ends = [item for item in found if self._matcher.same_relation(_way(item.match), _way(found[0].match))]
        near = [item for item in ends if found[0].probability - item.probability < _AS_LIKELY]
        best = max(near, key=lambda item: (item.match.score, item.probability))
        return self._equals(best, found, ranked)

    def names_held(self, head: str, ranked: Sequence[Match]) -> bool:
        """Whether the wording surely names something that the head has."""
        return any(self._has(head, match, None) for match in ranked if match.score >= SURE)

    def _cannot_tell(self, found: Sequence[Judged]) -> bool:
        """Whether another relation is as likely as the first, by nothing that the wording names."""
        first = found[0]
        return any(
            not self._matcher.same_relation(_way(item.match), _way(first.match))
            for item in found[1:]
            if item.probability >= _AS_LIKELY_SHARE * first.probability
        )

    def _lacks(self, match: Match, own: Sequence[Way]) -> bool:
        return not any(self._matcher.same_relation(_way(match), other) for other in own)

    @staticmethod
    def _equals(best: Judged, found: Sequence[Judged], ranked: Sequence[Match]) -> list[Match]:
        """The best match, and others that the wording names as well as it: "moons" is said of either direction."""
        lexical = best.match.score
        held = {_way(item.match) for item in found}
        score = round(best.probability, 4)
        others = [
            replace(match, score=score)
            for match in ranked
            if lexical >= UNDERSTOOD
            and _way(match) in held
            and _way(match) != _way(best.match)
            and abs(match.score - lexical) <= _TIE
            and match.kind == best.match.kind
        ]
        return [replace(best.match, score=score), *others]

    def _own(self, head: str, ranked: Sequence[Match], time: Time | None) -> list[Way]:
        """What the head has, and what it is the value of: all where it has few statements, else part of it and
        whatever the wording may mean by its words."""
        graph = self._graph
        ways: set[Way] = {(statement.property, False) for statement in graph.statements(head)}
        ways |= {(statement.property, True) for statement in graph.statements(tail=head)}
        ways |= {
            _way(match) for match in ranked[:_RANKED_READ] if _way(match) not in ways and self._has(head, match, time)
        }
        return sorted(ways)

    def _has(self, head: str, match: Match, time: Time | None) -> bool:
        plain = self._graph.has(head, match.property, inverse=match.inverse)
        if plain or time is None:
            return plain
        # What once held may be among the qualified statements alone.
        return qualified_statements(self._graph, head, match.property, inverse=match.inverse) is not None


def _words_decide(found: Sequence[Judged], accept: float) -> bool:
    """Whether the embedder need not be asked: the wording itself, not just the question, names what is likely."""
    return bool(found) and found[0].probability >= accept and found[0].match.score >= UNDERSTOOD


def _way(match: Match) -> Way:
    return (match.property, match.inverse)
