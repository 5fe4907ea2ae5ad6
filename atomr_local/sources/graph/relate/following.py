"""The values of one property of an entity, each once, dates as precise as they are known, with their evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from atomr_local.cancellation import Cancellation
from atomr_local.language.literals import parse_date
from atomr_local.language.properties import PROPERTY
from atomr_local.sources.graph.knowledge_graph import VALUE_LIMIT, KnowledgeGraph, Statement, term_iri
from atomr_local.sources.graph.properties.matching import PropertyMatch
from atomr_local.sources.graph.provenance import stated_in, stated_words
from atomr_local.sources.graph.qualified_statements import QualifiedStatement, TimeConstraint, qualified_statements
from atomr_local.sources.graph.relate.heads import Head
from atomr_local.sources.protocol import Evidence, Request, Value, ValueKind
from atomr_local.sources.unlabelled import unlabelled, unlabelled_note

_SHOWN = 12
_GENDER_PROPERTY = PROPERTY + "P21"


@dataclass
class FollowedValues:
    """Values gathered over the matches that were taken together; `cut`: there are more than were read."""

    values: list[Value] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    cut: bool = False


class PropertyFollower:
    """Follows properties from entities of one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph

    def follow_at(
        self, time: TimeConstraint, head: Head, match: PropertyMatch, request: Request, found: FollowedValues
    ) -> bool:
        """Take the values that held at the time; False if no statement of the property says when it holds."""
        graph = self._graph
        statements = qualified_statements(graph, head.iri, match.property, inverse=match.inverse)
        timed = [item for item in statements.found if item.timed] if statements is not None else []
        if statements is None or not timed:
            return False
        fitting = statements.at(time)
        if not fitting:
            known = {str(item.value) for item in timed}
            if match.inverse or any(
                str(plain.object) not in known for plain in graph.statements(head.iri, match.property)
            ):
                return False  # what has no time may hold at any
        score = round(head.score * match.score, 4)
        beside: list[QualifiedStatement] = []
        if fitting and not match.inverse:
            plain = {str(stated.object) for stated in graph.statements(head.iri, match.property)}
            fitting, beside = statements.best_figures(fitting, time.span, plain)

        def shown_of(items: Sequence[QualifiedStatement]) -> list[tuple[Value, QualifiedStatement]]:
            in_order = sorted(items, key=lambda item: item.shown())
            values = [(self._value_of(head, match, item, score), item) for item in in_order]
            return [(value, item) for value, item in values if value is not None and self._fits(value, match.gender)]

        kept = shown_of(fitting or timed)
        if fitting:
            found.values.extend(distinct_values([value for value, _ in kept]))
        name, label = graph.label(head.iri), graph.property_label(match.property)
        shown = [f"{value.text} ({item.shown()})" for value, item in kept[:_SHOWN]]
        if match.inverse:
            text = " ".join(f"{other} — {label}: {name}." for other in shown)
        else:
            others = [f"{value.text} ({item.shown()})" for value, item in shown_of(beside)[:_SHOWN]]
            also = f"; also stated: {', '.join(others)}" if others else ""
            text = f"{name} — {label}: {', '.join(shown)}{also}."
            found.dropped += [f"also stated for this time: {', '.join(others)}"] if others else []
        answer = statements.answer_of([*fitting, *beside]) if fitting else statements.answer
        found.evidence.append(answer.evidence(name, text, score, request.query))
        return True

    def _value_of(self, head: Head, match: PropertyMatch, item: QualifiedStatement, score: float) -> Value | None:
        if not match.inverse:
            return self._graph.value(Statement(head.iri, match.property, item.value), score)
        iri = term_iri(item.value)
        return self._graph.entity_value(iri, score) if iri is not None else None

    def follow(
        self,
        head: Head,
        match: PropertyMatch,
        request: Request,
        found: FollowedValues,
        cancellation: Cancellation,
        *,
        first_only: bool = False,
    ) -> None:
        """Take the values of the property.

        They are read to the end, unless `first_only` says that the first page will do: they are put in the order of
        their texts, of two dates the more precise one is taken, and steps after this one count and compare them all.
        """
        graph = self._graph
        if first_only:
            answer = graph.first_values(head.iri, match.property, inverse=match.inverse)
        else:
            answer = graph.values(head.iri, match.property, inverse=match.inverse, cancellation=cancellation)
        score = round(head.score * match.score, 4)
        label = graph.property_label(match.property)
        read = graph.answer_values(answer, head.iri, match.property, inverse=match.inverse, score=score)
        values = _most_precise(distinct_values([value for value in read if self._fits(value, match.gender)]))
        values.sort(key=lambda value: value.text)
        if answer.cut:
            found.cut = True
            found.dropped.append(f"more than {VALUE_LIMIT} values of {label}; the rest were left out")
        found.values.extend(values)
        found.dropped += unlabelled_note(unlabelled(values), graph.directory.name)
        name = graph.label(head.iri)
        shown = [value.text for value in values[:_SHOWN]]
        more = [f"and {len(values) - _SHOWN} more"] if len(values) > _SHOWN else []
        if match.inverse:
            text = " ".join([f"{other} — {label}: {name}." for other in shown] + more)
        else:
            text = f"{name} — {label}: {', '.join(shown + more)}."
        stated = stated_in(graph, head.iri, match.property, inverse=match.inverse)
        found.evidence.append(answer.evidence(name, " ".join([text, *stated_words(stated)]), score, request.query))

    def _fits(self, value: Value, gender: str) -> bool:
        if not gender or value.iri is None:
            return True
        stated = self._graph.statements(value.iri, _GENDER_PROPERTY, limit=1)
        return not stated or self._graph.value(stated[0]).text.casefold() == gender


def distinct_values(values: Sequence[Value]) -> list[Value]:
    """Values in order, each once: by entity where known, else by text without regard to case."""
    return list({(value.iri or value.text.casefold()): value for value in reversed(values)}.values())[::-1]


def _most_precise(values: list[Value]) -> list[Value]:
    """Without the dates that another one says more precisely ("1950" beside "2 March 1950")."""
    dates = {value.text: parse_date(value.text) for value in values if value.kind is ValueKind.DATE}
    normal = {text: str(date) for text, date in dates.items() if date}
    # Whatever a date goes on from after a hyphen is a less precise one.
    surpassed = {date[: match.start()] for date in normal.values() for match in re.finditer("-", date)}
    return [value for value in values if normal.get(value.text) not in surpassed] if len(normal) > 1 else values
