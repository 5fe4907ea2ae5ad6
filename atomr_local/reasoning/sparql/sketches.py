"""The language of sketches: what the model chooses from an offer, in one line.

`none`, or `select ?x`, `count ?x` or `ask`, up to three patterns `term | property | term`, and at the end a filter
`where ?y > 1950` and an order `most ?y`. Every text of it leads to a query: a pattern names something of the offer or
goes on from the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from atomr_local.language.literals import Date, format_number
from atomr_local.reasoning.sparql.offer import (
    END,
    Edge,
    Form,
    OfferedName,
    OfferedProperty,
    OfferedValue,
    Pieces,
    QueryVocabulary,
    State,
    is_iri,
)
from atomr_local.system.sanitize import sanitize_line

# A sketch as servers that ignore grammars may write it.

_LONGEST = 2_000
_MARKUP = "*_`\"' "
_ENDING = f"{_MARKUP}.;}}"
_MOST_ENDINGS = 12  # characters that are taken off one by one
_OPENING = re.compile(
    r"(?P<form>select|count|ask)\b(?:\s+distinct\b)?\s*(?P<variable>\(?\s*\?x\s*\)?)?\s*:?\s*(?:where\b)?\s*:?\s*\{?\s*",
    re.IGNORECASE,
)


def readings(raw: str) -> Iterator[str]:
    """What was written, without the markup before it and with the opening as a sketch has it.

    What stands at its end may be markup or belong to a name ("Washington, D.C."): it is taken off bit by bit.
    """
    text = sanitize_line(raw[:_LONGEST]).lstrip(_MARKUP).rstrip()
    bare = text.rstrip(_ENDING)
    yield _opened(text)
    for size in range(len(text) - 1, max(len(bare), len(text) - _MOST_ENDINGS) - 1, -1):
        yield _opened(text[:size])
    yield _opened(bare)


def _opened(text: str) -> str:
    match = _OPENING.match(text)
    if match is None:
        return text
    form, rest = match["form"].casefold(), text[match.end() :]
    # "ask ?x | …": the variable begins the pattern.
    opened = match["variable"] is not None
    if form == "ask":
        return f"ask: {'?x ' if opened else ''}{rest}"
    if opened and rest.startswith("|"):
        return f"{form} ?x: ?x {rest}"
    return f"{form} ?x: {rest}"


NONE = "none"
MOST_PATTERNS = 3
X, Y = "?x", "?y"
Term = str | OfferedName | OfferedValue
"""A variable, or something of the offer."""
_OPENINGS: dict[str, Form] = {"select ?x: ": "select", "count ?x: ": "count", "ask: ": "ask"}
_COMPARISONS = ("<", ">", "=")
_ORDERS = ("most", "least")


@dataclass(frozen=True)
class Pattern:
    subject: Term
    predicate: OfferedProperty
    object: Term

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(term for term in (self.subject, self.object) if isinstance(term, str))


@dataclass(frozen=True)
class Filter:
    variable: str
    comparison: str
    value: OfferedValue


@dataclass(frozen=True)
class Chosen:
    """A sketch as its parts.

    Attributes:
        order: "most" or "least" of ?y; "" for none.
    """

    form: Form
    patterns: tuple[Pattern, ...]
    filter: Filter | None = None
    order: str = ""


@dataclass(frozen=True)
class _Place:
    """Where a sketch has come to: its form, the variables that it has, and its number of patterns."""

    form: Literal["select", "other", "ask"]  # what may follow after "count" is what may follow after others
    seen: frozenset[str] = frozenset()
    patterns: int = 0
    filtered: bool = False


@dataclass(frozen=True)
class _Inside:
    """In a pattern, behind its subject, or behind its property as well."""

    place: _Place
    subject: Term
    objects: tuple[Term, ...] | None = None


class Sketches:
    """The sketches of an offer.

    Args:
        without: texts of sketches that are left out.
    """

    def __init__(self, offer: QueryVocabulary, without: Sequence[str] = ()) -> None:
        self._offer = offer
        self._standing: dict[_Place, dict[Term, list[Pattern]]] = {}
        plain = Pieces("start", self._edges)
        left_out = map(plain.edges, without)
        self.pieces = Pieces("start", self._edges, [edges for edges in left_out if edges is not None])

    def read(self, text: str) -> Chosen | None:
        """The sketch's parts; None for "none" and for what is no sketch of the offer."""
        edges = self.pieces.edges(text)
        return _chosen([edge.sign for edge in edges]) if edges is not None and text != NONE else None

    def _edges(self, state: State) -> Iterator[Edge]:
        if state == "start":
            yield Edge(NONE, END)
            for text, form in _OPENINGS.items():
                if form in self._offer.forms:
                    yield Edge(text, _Place("other" if form == "count" else form), form)
        elif isinstance(state, _Place):
            yield from self._after(state) if state.patterns else self._opened(state)
        elif isinstance(state, tuple):
            yield from self._opened(state[1])
        elif isinstance(state, _Inside):
            yield from self._objects(state) if state.objects is not None else self._properties(state)

    def _opened(self, place: _Place) -> Iterator[Edge]:
        """A pattern begins with one of these."""
        for subject in self._by_subject(place):
            yield Edge(f"{_text(subject)} | ", _Inside(place, subject), subject)

    def _properties(self, state: _Inside) -> Iterator[Edge]:
        objects: dict[OfferedProperty, list[Term]] = {}
        for pattern in self._by_subject(state.place)[state.subject]:
            objects.setdefault(pattern.predicate, []).append(pattern.object)
        texts = set[str]()
        for prop, found in objects.items():
            # Two properties with one label: the first, which the question asks for rather.
            if prop.text not in texts:
                texts.add(prop.text)
                yield Edge(f"{prop.text} | ", _Inside(state.place, state.subject, tuple(dict.fromkeys(found))), prop)

    def _objects(self, state: _Inside) -> Iterator[Edge]:
        for term in state.objects or ():
            had = {one for one in (state.subject, term) if isinstance(one, str)}
            place = _Place(state.place.form, state.place.seen | had, state.place.patterns + 1)
            yield Edge(_text(term), place, ("object", term))

    def _after(self, place: _Place) -> Iterator[Edge]:
        """What may stand behind a pattern."""
        if X in place.seen or place.form == "ask":
            yield Edge("", END)
        if place.filtered:
            yield from self._orders(place)
            return
        if place.patterns < MOST_PATTERNS:
            yield Edge("; ", ("next", place))
        if X in place.seen or place.form == "ask":
            filtered = _Place(place.form, place.seen, place.patterns, filtered=True)
            for variable in sorted(place.seen):
                for comparison in _COMPARISONS:
                    for value in self._offer.values:
                        text = f" where {variable} {comparison} {value.text}"
                        yield Edge(text, filtered, Filter(variable, comparison, value))
            yield from self._orders(place)

    @staticmethod
    def _orders(place: _Place) -> Iterator[Edge]:
        if place.form == "select" and Y in place.seen:
            for order in _ORDERS:
                yield Edge(f" {order} {Y}", END, order)

    def _by_subject(self, place: _Place) -> dict[Term, list[Pattern]]:
        """The patterns that may stand here."""
        if place not in self._standing:
            found: dict[Term, list[Pattern]] = {}
            for pattern in self._patterns(place):
                found.setdefault(pattern.subject, []).append(pattern)
            self._standing[place] = found
        return self._standing[place]

    def _patterns(self, place: _Place) -> Iterable[Pattern]:
        """Those that may stand here."""
        if not place.patterns:
            yield from self._first if place.form != "ask" else (*self._first, *self._stated)
            return
        for pattern in (*self._first, *self._further):
            joined = pattern.variables & place.seen
            # What ?x is must be said in the end; a ?y alone leads on to it.
            if joined and (X in place.seen or X in pattern.variables or place.form == "ask"):
                yield pattern

    @cached_property
    def _first(self) -> tuple[Pattern, ...]:
        """Patterns of a name and a variable."""
        found = []
        for name in self._offer.names:
            for variable in (X, Y):
                found += [Pattern(name, prop, variable) for prop in name.forward]
                found += [Pattern(variable, prop, name) for prop in name.inverse]
        return tuple(found)

    @cached_property
    def _stated(self) -> tuple[Pattern, ...]:
        """Whole statements, which may be asked for."""
        found = []
        for name in self._offer.names:
            others: list[Term] = [other for other in self._offer.names if other != name]
            for prop in name.forward:
                found += [Pattern(name, prop, term) for term in (*others, *self._offer.values)]
        return tuple(found)

    @cached_property
    def _further(self) -> tuple[Pattern, ...]:
        """Patterns of what a pattern before them led to."""
        known = (replace(prop, inverse=False) for name in self._offer.names for prop in name.properties)
        properties = {prop.text.casefold(): prop for prop in (*known, *self._offer.beyond)}
        found = []
        for prop in properties.values():
            found += [Pattern(X, prop, Y), Pattern(Y, prop, X)]
            found += [Pattern(variable, prop, value) for variable in (X, Y) for value in self._offer.values]
        return tuple(found)


@dataclass(frozen=True)
class SketchField:
    """The field of a form that holds a sketch."""

    label: str
    sketches: Sketches = field(compare=False)

    @property
    def most_tokens(self) -> int:
        return 8 + self.sketches.pieces.longest // 2

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def add_rule(self, rules: dict[str, str], name: str) -> None:
        self.sketches.pieces.grammar(rules, name)

    def accepts(self, text: str) -> bool:
        return self.sketches.pieces.edges(text) is not None

    def read(self, raw: str) -> str | None:
        spelt = filter(None, map(self.sketches.pieces.spelt, dict.fromkeys(readings(raw))))
        found = next(spelt, None)
        return "".join(edge.text for edge in found) if found is not None else None

    def refusal(self, raw: str) -> str:
        *_, bare = readings(raw)
        return f"'{bare[:120]}' is no query of what was offered"


def _text(term: Term) -> str:
    return term if isinstance(term, str) else term.text


def _chosen(signs: Sequence[object]) -> Chosen:
    """The parts that the edges stand for."""
    form, *rest = signs
    patterns, subject, prop = list[Pattern](), None, None
    condition, order = None, ""
    for sign in rest:
        if isinstance(sign, tuple):
            patterns.append(Pattern(subject, prop, sign[1]))  # type: ignore[arg-type]
        elif isinstance(sign, Filter):
            condition = sign
        elif isinstance(sign, OfferedProperty):
            prop = sign
        elif sign in _ORDERS:
            order = str(sign)
        elif sign is not None:
            subject = sign
    return Chosen(form, tuple(patterns), condition, order)  # type: ignore[arg-type]


# A sketch as SPARQL: bound IRIs, typed values, and nothing of what anybody wrote.


def sparql_of(chosen: Chosen) -> str:
    """The query.

    Raises:
        ValueError: an IRI of the offer is none.
    """
    patterns = enumerate(chosen.patterns, 1)
    lines = [line for number, pattern in patterns for line in _pattern(pattern, f"?v{number}")]
    lines += [_filter(chosen.filter)] if chosen.filter is not None else []
    body = "\n".join(f"  {line}" for line in lines)
    if chosen.form == "ask":
        return f"ASK {{\n{body}\n}}"
    if chosen.form == "count":
        return f"SELECT (COUNT(DISTINCT {X}) AS ?count) WHERE {{\n{body}\n}}"
    if not chosen.order:
        return f"SELECT DISTINCT {X} WHERE {{\n{body}\n}}"
    # All that are equally extreme, with the value in which they are.
    best = "MAX" if chosen.order == "most" else "MIN"
    inner = "\n".join(f"    {line}" for line in (*lines, _SIZE_BOUND))
    return (
        f"SELECT DISTINCT {X} {Y} WHERE {{\n{body}\n  {_SIZE_BOUND}\n"
        f"  {{ SELECT ({best}(?size) AS ?best) WHERE {{\n{inner}\n  }} }}\n"
        f"  FILTER(?size = ?best)\n}}"
    )


def _pattern(pattern: Pattern, fresh: str) -> Iterator[str]:
    """The triple; a value is compared, for a graph may hold a day where a year is asked for."""
    value = pattern.object if isinstance(pattern.object, OfferedValue) else None
    tail = fresh if value is not None else _term(pattern.object)
    yield f"{_term(pattern.subject)} {_iri(pattern.predicate.iri)} {tail} ."
    if value is not None:
        yield _filter(Filter(fresh, "=", value))


def _term(term: Term) -> str:
    if isinstance(term, str):
        return {X: X, Y: Y}[term]
    if isinstance(term, OfferedName):
        return _iri(term.iri)
    raise ValueError("a value is not a term")


def _iri(iri: str) -> str:
    if not is_iri(iri):
        raise ValueError("not an IRI that can be bound")
    return f"<{iri}>"


def _filter(condition: Filter) -> str:
    """A comparison of a date at the precision that is given, or of a number."""
    value, variable = condition.value, condition.variable
    comparison = {"<": "<", ">": ">", "=": "="}[condition.comparison]
    if value.date is None:
        amount = format_number(value.number) if value.number is not None else "0"
        return f"FILTER({variable} {comparison} {amount})"
    left, right = _dated(variable, value.date)
    if value.number is not None and value.date.month is None:
        left = f"COALESCE({left}, {variable} + 0)"  # a year is a number too
    return f"FILTER({left} {comparison} {right})"


def _dated(variable: str, date: Date) -> tuple[str, int]:
    """A variable's date and a given one as whole numbers that compare as they do."""
    year, month = f"YEAR({variable})", f"MONTH({variable})"
    if date.month is None:
        return year, date.year
    if date.day is None:
        return f"COALESCE({year} * 100 + {month}, {year} * 100)", date.year * 100 + date.month
    return f"COALESCE({', '.join(_days(variable))})", date.year * 10_000 + date.month * 100 + date.day


def _days(variable: str) -> tuple[str, str, str]:
    """A date as a whole number: with its day, without the day, without the month as well."""
    year, month, day = f"YEAR({variable})", f"MONTH({variable})", f"DAY({variable})"
    return f"{year} * 10000 + {month} * 100 + {day}", f"{year} * 10000 + {month} * 100", f"{year} * 10000"


# What is compared for the most and the least: dates by their days, numbers as they are; entities never.
_SIZE_BOUND = f"BIND(COALESCE({', '.join(_days(Y))}, {Y} + 0) AS ?size)"
