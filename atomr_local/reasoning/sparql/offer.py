"""What the model may put into a query for a question: names with their entities, their properties, and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Literal

from atomr_local.language.literals import Date, dates_in, number_words, parse_date, parse_quantity
from atomr_local.language.names import name_key, names_in, words
from atomr_local.language.question_kind import SURE, expected_type
from atomr_local.models.gbnf import literal
from atomr_local.reasoning.reading.checks import named_in
from atomr_local.reasoning.source_access import GraphAccess
from atomr_local.sources.protocol import PropertyOffer, Value, ValueKind
from atomr_local.system.sanitize import sanitize_line

Form = Literal["select", "count", "ask"]
FORMS: tuple[Form, ...] = ("select", "count", "ask")
_YES_NO = "yes/no"
MOST_NAMES, MOST_PROPERTIES, MOST_VALUES = 4, 12, 6
_MOST_LINKED = 12  # texts of a question that are looked up
_EXACT = 0.9  # a word without a capital is offered only if it is a name as it stands
_AS_LIKELY = 0.03  # homonyms that are so little less likely are offered as well
# Properties of a name from whose values the next hop's are taken, and such values of all names.
_LOOKED_BEYOND, _MOST_LOOKED_BEYOND = 2, 4
_LONGEST = 60  # characters of an offered text
_MARKS = re.compile(r"[|;?<>=\s]+")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\s<>\"{}|^`\\\x00-\x20]+")
_NUMBERS = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?: (?:thousand|million|billion|trillion))?(?![\w])")


@dataclass(frozen=True)
class OfferedProperty:
    """A property by its label.

    Attributes:
        inverse: what it is offered with is its value.
    """

    text: str
    iri: str
    inverse: bool = False


@dataclass(frozen=True)
class OfferedName:
    """An entity by a name of its own in this offer, and what can be followed from it: what is asked for first."""

    text: str
    iri: str
    description: str = ""
    properties: tuple[OfferedProperty, ...] = ()

    @property
    def forward(self) -> tuple[OfferedProperty, ...]:
        """Those that it has."""
        return tuple(item for item in self.properties if not item.inverse)

    @property
    def inverse(self) -> tuple[OfferedProperty, ...]:
        """Those whose value it is."""
        return tuple(item for item in self.properties if item.inverse)


@dataclass(frozen=True)
class OfferedValue:
    """A year, date or number of the question or of an earlier answer, by a text of its own in this offer; a year is a
    number too.
    """

    text: str
    date: Date | None = None
    number: Decimal | None = None


@dataclass(frozen=True)
class QueryVocabulary:
    """Everything that a query for the question may hold.

    Attributes:
        forms: the ways to ask: a question for yes or no has one of its own, which is of no use to others.
        beyond: properties of what the names lead to, for a further pattern.
    """

    names: tuple[OfferedName, ...] = ()
    beyond: tuple[OfferedProperty, ...] = ()
    values: tuple[OfferedValue, ...] = ()
    forms: tuple[Form, ...] = FORMS

    @property
    def empty(self) -> bool:
        """Whether no query can be made of it."""
        return not any(name.properties for name in self.names)


def offered(graph: GraphAccess, question: str, values: Sequence[Value] = ()) -> QueryVocabulary:
    """What there is for the question.

    Args:
        values: answers of earlier steps; those with entities are offered first.

    Raises:
        SourceError: the graph failed.
        Cancelled: the question was cancelled.
    """
    names, beyond = list[OfferedName](), dict[str, OfferedProperty]()
    looked = set[str]()
    for entity, description in _entities(graph, question, values):
        properties = graph.properties(entity.iri or "", question)
        own = list(_distinct(properties))[:MOST_PROPERTIES]
        text = _unlike(entity.text, description, {name.text.casefold() for name in names})
        if not text:
            continue
        names.append(OfferedName(text, entity.iri or "", description, tuple(map(_property, own))))
        for value in _samples(own):
            if len(looked) < _MOST_LOOKED_BEYOND and value not in looked:
                looked.add(value)
                for item in map(_property, _distinct(graph.properties(value, question))):
                    beyond.setdefault(item.text.casefold(), replace(item, inverse=False))
    kept = tuple(beyond.values())[:MOST_PROPERTIES]
    own_values = _values_beside(names, list(_values(question, values))[:MOST_VALUES])
    return QueryVocabulary(tuple(names), kept, own_values, _forms(question))


def _forms(question: str) -> tuple[Form, ...]:
    expected = expected_type(question)
    if expected.surely(_YES_NO):
        return ("ask",)
    return FORMS if expected.by_type.get(_YES_NO, 0.0) >= 1 - SURE else ("select", "count")


def shown(text: str) -> str:
    """A text as it may be offered: on one line, bounded, without the marks of a query."""
    return sanitize_line(_MARKS.sub(" ", text))[:_LONGEST].strip()


def is_iri(text: str) -> bool:
    """Whether the text can stand between angle brackets and not break out of them."""
    return _IRI.fullmatch(text) is not None


def _entities(graph: GraphAccess, question: str, values: Sequence[Value]) -> list[tuple[Value, str]]:
    """The entities that are offered, each with a description: known ones, then those that the question names."""
    found: dict[str, tuple[Value, str]] = {}

    def take(entity: Value, description: str) -> None:
        if entity.iri is not None and is_iri(entity.iri):
            found.setdefault(entity.iri, (entity, description))

    for value in values:
        if value.kind is ValueKind.ENTITY and value.iri is not None:
            take(value, "")
    for text, certain in _texts(question):
        if len(found) >= MOST_NAMES:
            break
        linked = graph.link(text, 2, question)
        best = linked[0].entity.score if linked else None
        for item in linked:
            score = item.entity.score or 0.0
            if (certain or score >= _EXACT) and score >= (best or 0.0) - _AS_LIKELY:
                take(item.entity, item.description)
    return list(found.values())[:MOST_NAMES]


def _texts(question: str) -> list[tuple[str, bool]]:
    """What of a question may be a name, and whether it is written as one."""
    capitals = names_in([question])
    runs = [text for text in named_in(question) if text not in capitals]
    small = [word for text in runs for word in text.split() if len(word) > 2]
    texts: dict[str, tuple[str, bool]] = {}
    for text, certain in [*((one, True) for one in capitals), *((one, False) for one in (*runs, *small))]:
        if key := name_key(text):
            texts.setdefault(key, (" ".join(words(text)) if not certain else text, certain))
    return list(texts.values())[:_MOST_LINKED]


def _distinct(properties: Iterable[PropertyOffer]) -> Iterator[PropertyOffer]:
    """The properties that can be told apart by their labels, in their order."""
    seen = set[tuple[str, bool]]()
    for item in properties:
        key = (shown(item.label).casefold(), item.inverse)
        if key[0] and key not in seen and is_iri(item.iri):
            seen.add(key)
            yield item


def _property(item: PropertyOffer) -> OfferedProperty:
    return OfferedProperty(shown(item.label), item.iri, item.inverse)


def _samples(own: Sequence[PropertyOffer]) -> list[str]:
    """An entity that each of the first properties leads to."""
    firsts = (next((one.iri for one in item.values if one.iri is not None and is_iri(one.iri)), None) for item in own)
    return [iri for iri in firsts if iri is not None][:_LOOKED_BEYOND]


def _unlike(text: str, description: str, taken: set[str]) -> str:
    """A name that no other entity of the offer has; "" if there is none."""
    name, more = shown(text), shown(description)
    numbered = (f"{name} ({number})" for number in range(2, MOST_NAMES + 2))
    choices = [name, *([f"{name} ({more})"] if more else []), *numbered]
    return next((one for one in choices if name and one.casefold() not in taken), "")


def _values_beside(names: Sequence[OfferedName], values: Sequence[OfferedValue]) -> tuple[OfferedValue, ...]:
    """The values, each with a text that no name has: "1984 (year)" beside a novel "1984"."""
    taken = {name.text.casefold() for name in names}
    told = []
    for value in values:
        kind = "number" if value.date is None else "year" if value.date.month is None else "date"
        told.append(replace(value, text=_unlike(value.text, kind, taken)))
        taken.add(told[-1].text.casefold())
    return tuple(told)


def _values(question: str, values: Sequence[Value]) -> Iterator[OfferedValue]:
    """Dates and numbers, each once."""
    seen = set[str]()
    dates = dates_in([question])
    plain = question
    for text in sorted(dates, key=len, reverse=True):
        plain = plain.replace(text, " ")
    numbers = [match[0] for match in _NUMBERS.finditer(plain)]
    earlier = [value.text for value in values if value.iri is None and value.kind is not ValueKind.TEXT]
    for text in (*dates, *numbers, *earlier):
        date = parse_date(text)
        quantity = parse_quantity(number_words(text))
        number = quantity.amount if quantity is not None else None
        label = shown(text)
        if label and label.casefold() not in seen and (date is not None or number is not None):
            seen.add(label.casefold())
            yield OfferedValue(label, date, number)


# A language of texts made of pieces: its grammar, what it accepts, and how a text is spelt in it.
#
# A state of the language has edges; each adds a piece of text and leads to another state, or to the end.

State = Hashable
END: State = None
_AROUND = re.compile(r"\s*([|;:<>=])\s*")


@dataclass(frozen=True)
class Edge:
    """A piece of text, the state behind it, and what the piece stands for."""

    text: str
    to: State
    sign: object = None


@dataclass(frozen=True)
class _Followed:
    """A state of the plain language, and how far each text that is left out has been followed to it."""

    plain: State
    without: frozenset[tuple[int, int]]


class Pieces:
    """The texts that lead from the state `start` to the end, without some of them."""

    def __init__(
        self, start: State, edges: Callable[[State], Iterable[Edge]], without: Sequence[Sequence[Edge]] = ()
    ) -> None:
        """Make the language.

        Args:
            edges: of a state; of a finite number of states, without circles.
            without: texts that do not belong to it, as their edges.
        """
        self._plain = edges
        self._without = tuple(map(tuple, without))
        self._start = _Followed(start, frozenset((number, 0) for number in range(len(self._without))))

    def grammar(self, rules: dict[str, str], name: str) -> None:
        """Add the rule `name`, and those that it needs, in GBNF."""
        names = {state: name if state == self._start else f"{name}-{number}" for number, state in enumerate(self._live)}
        for state, edges in self._live.items():
            ends = any(not edge.text for edge in edges)
            choices = [
                literal(edge.text) + (f" {names[edge.to]}" if edge.to is not END else "") for edge in edges if edge.text
            ]
            body = " | ".join(choices)
            rules[names[state]] = f"({body})?" if ends and body else body or '""'

    @property
    def empty(self) -> bool:
        """Whether no text is left."""
        return not self._live

    @property
    def longest(self) -> int:
        """Characters of the longest text."""
        sizes: dict[State, int] = {END: 0}

        def size(state: State) -> int:
            if state not in sizes:
                sizes[state] = max(len(edge.text) + size(edge.to) for edge in self._live[state])
            return sizes[state]

        return size(self._start) if self._live else 0

    def edges(self, text: str) -> tuple[Edge, ...] | None:
        """The edges of exactly this text; None if it is not of the language."""
        return self._walked(text, lambda piece: piece)

    def spelt(self, text: str) -> tuple[Edge, ...] | None:
        """The edges of a text that differs in capitals and spaces; None if there is none."""
        return self._walked(folded(text).strip(), folded)

    def next(self, edges: Sequence[Edge] = ()) -> Sequence[Edge]:
        """What may follow after these edges."""
        state: State = self._start
        for edge in edges:
            state = next(one.to for one in self._live[state] if (one.text, one.sign) == (edge.text, edge.sign))
        return self._live.get(state, ())

    def _walked(self, text: str, form: Callable[[str], str]) -> tuple[Edge, ...] | None:
        """Depth first: of pieces that fit, the first with which the text comes to its end."""

        def walk(state: State, at: int) -> tuple[Edge, ...] | None:
            if state is END:
                return () if at == len(text) else None
            for edge in self._live.get(state, ()):
                if (piece := form(edge.text)) or at == len(text):
                    rest = walk(edge.to, at + len(piece)) if text.startswith(piece, at) else None
                    if rest is not None:
                        return (edge, *rest)
            return None

        return walk(self._start, 0)

    @cached_property
    def _live(self) -> dict[State, tuple[Edge, ...]]:
        """The edges of every state from which the end can be reached, the start first."""
        found: dict[State, tuple[Edge, ...]] = {}

        def reach(state: State) -> bool:
            if state is END:
                return True
            if state not in found:
                found[state] = tuple(edge for edge in self._next(state) if reach(edge.to))
            return bool(found[state])

        reach(self._start)
        live = {state: edges for state, edges in found.items() if edges}
        return {self._start: live[self._start], **live} if self._start in live else {}

    def _next(self, state: State) -> Iterator[Edge]:
        if not isinstance(state, _Followed):
            return
        for edge in self._plain(state.plain):
            on = frozenset(
                (n, k + 1)
                for n, k in state.without
                for step in self._without[n][k : k + 1]
                if (step.text, step.sign) == (edge.text, edge.sign)
            )
            if edge.to is not END:
                yield Edge(edge.text, _Followed(edge.to, on), edge.sign)
            elif not any(k == len(self._without[n]) for n, k in on):
                yield edge


def folded(text: str) -> str:
    """A text without regard to capitals and to spaces around marks."""
    return _AROUND.sub(r"\1", re.sub(r"\s+", " ", text.casefold()))
