"""Parses conditions: comparisons of dates and numbers, values of properties, negation, superlatives.

Only words are looked at here; which property a wording means is for the relation matcher to say.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from atomr_local.language.literals import (
    Date,
    Quantity,
    Span,
    number_words,
    parse_date,
    parse_quantity,
    parse_span,
    unit_name,
)
from atomr_local.language.names import name_key
from atomr_local.language.properties import property_table
from atomr_local.language.words import any_of, condition_words
from atomr_local.language.words import number_words as words_of_numbers
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, SelectResult, value_pattern
from atomr_local.sources.graph.linking import Head
from atomr_local.sources.graph.properties.matching import SURE, PropertyMatch, PropertyMatcher
from atomr_local.sources.protocol import Value


class Comparison(StrEnum):
    MORE = ">"
    AT_LEAST = "≥"
    LESS = "<"
    AT_MOST = "≤"
    EQUAL = "="
    WITHIN = "within"


@dataclass(frozen=True, slots=True)
class Range:
    """Two quantities, both ends included."""

    low: Quantity
    high: Quantity
    text: str


Operand = Span | Quantity | Range


@dataclass(frozen=True, slots=True)
class Compare:
    """`wording` names the property; empty if the condition leaves it open ("after 1950")."""

    wording: str
    comparison: Comparison
    operand: Operand
    text: str


@dataclass(frozen=True, slots=True)
class HasValue:
    """Some way of cutting the condition in a wording of a property and a value; the wording may be empty."""

    wording: str
    value: str


_WORDS = condition_words()
# The order counts: "at least" is looked for before "in".
_COMPARE = {
    kind: re.compile(rf"(?:^|(?<=\s)){any_of(_WORDS.comparisons[kind])}(?=\s|\d|$)\s*(?P<operand>.+)$", re.IGNORECASE)
    for kind in (Comparison.AT_LEAST, Comparison.AT_MOST, Comparison.MORE, Comparison.LESS, Comparison.EQUAL)
}
_BETWEEN = re.compile(
    r"(?:^|(?<=\s))(?:(?:in |the )?(?:between|from))\s+(?P<low>.+?)\s+(?:and|to|until|till)\s+(?P<high>.+)$",
    re.IGNORECASE,
)
_OR_MORE = re.compile(
    rf"^(?P<low>.+?)\s+(?:or|and)\s+(?P<way>{any_of(_WORDS.or_more + _WORDS.or_less)})\b(?P<rest>.*)$",
    re.IGNORECASE,
)
_NUMBER_AND_REST = re.compile(
    r"^(?P<number>[+-]?[$€£]?\d[\d,.]*(?:\s*" + any_of(words_of_numbers().scales) + r")?)\s+(?P<rest>[^\d].*)$",
    re.IGNORECASE,
)
_PEOPLE = re.compile(rf"\b{any_of(_WORDS.people)}$", re.IGNORECASE)
_OPENING = re.compile(rf"^(?:{any_of(_WORDS.pronouns)}\s+)*(?:{any_of(_WORDS.auxiliaries)}\s+)*", re.IGNORECASE)
_NEGATION = re.compile(
    rf"^(?:{any_of(_WORDS.pronouns + _WORDS.auxiliaries)}\s+)*"
    r"(?:(?:not|never|no)\s+|(?:is|are|was|were|has|have|had|does|did|do|ca|wo)n['’]?t\s+)"
    r"(?!(?:less|fewer|more|later|earlier)\b)(?P<rest>.+)$",
    re.IGNORECASE,
)
_ORDINAL = any_of([word for word in words_of_numbers().ordinals if word != "first"])
_SUPERLATIVE = re.compile(
    rf"^(?:with |having )?(?:the )?(?:(?:{_ORDINAL}|\d+(?:st|nd|rd|th)) )?"
    rf"(?:(?<!at )(?:most|least)|{any_of(_WORDS.superlatives)})\b",
    re.IGNORECASE,
)
_NOUN_AND_REST = re.compile(
    rf"^(?P<noun>[\w\- ]+?)\s+(?P<rest>(?:{any_of(_WORDS.prepositions + _WORDS.participles)}"
    r"|[a-z-]+ed(?= (?:by|in|at|on|from|for|as|before|after|to|with|of) ))\s.+)$",
    re.IGNORECASE,
)
_GENDERS = frozenset({"male", "female"})
_HAVING = re.compile(r"^(?:(?:who|which|that|it|they|he|she)\s+)?(?:has|have|had|having|with)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the|one of the)\s+", re.IGNORECASE)
_VERB_END = re.compile(r"\s+(?:is|are|was|were|=|:|equals)$|[=:]$", re.IGNORECASE)
_VERB_START = re.compile(r"^(?:is|are|was|were|=|:|equals|the)\s+", re.IGNORECASE)
_CONNECTIVE = re.compile(r"\s*,?\s+(?P<word>and|or|but)\s+(?:also\s+)?", re.IGNORECASE)


def negated(text: str) -> str | None:
    """The condition without its negation, or None if it is not negated."""
    match = _NEGATION.match(text)
    return match["rest"].strip() if match else None


def opened(text: str) -> str:
    """The condition without pronouns and auxiliary verbs at its beginning."""
    stripped = " ".join(text.split()).rstrip(" .?!;")
    return _OPENING.sub("", stripped, count=1) or stripped


def demands(text: str) -> bool:
    """Whether the condition may only ask that there is some value ("has children")."""
    return _HAVING.match(text) is not None


def is_superlative(text: str) -> bool:
    """Whether the condition compares entities with each other, which one entity alone cannot decide."""
    return _SUPERLATIVE.match(opened(text)) is not None


def parts(text: str) -> Iterator[tuple[str, str, str]]:
    """Every way to cut the condition at a connective: (left, "and" or "or", right)."""
    for match in _CONNECTIVE.finditer(text):
        left, right = text[: match.start()].strip(), text[match.end() :].strip()
        if left and right:
            yield left, "or" if match["word"].casefold() == "or" else "and", right


def comparison(text: str) -> Compare | None:
    """The comparison with a date or a number that the condition makes, or None."""
    text = opened(re.sub(r"\s*([<>]=?|[=≤≥])\s*", r" \1 ", text))
    between = _BETWEEN.search(text)
    if between:
        operand = _range(between["low"], between["high"])
        if operand is not None:
            return Compare(_wording(text[: between.start()]), Comparison.WITHIN, operand, text)
    more = _OR_MORE.match(text)
    operand_match = re.search(r"[+-]?[$€£]?\d", more["low"]) if more else None
    if more and operand_match:
        way = Comparison.AT_LEAST if more["way"].casefold() in _WORDS.or_more else Comparison.AT_MOST
        low = more["low"]
        operand_text = f"{low[operand_match.start() :]} {more['rest']}".strip()
        found = _compare(way, low[: operand_match.start()], "", operand_text, text)
        if found is not None:
            return found
    for kind, pattern in _COMPARE.items():
        match = pattern.search(text)
        if match is None:
            continue
        found = _compare(kind, text[: match.start()], match[0], match["operand"], text)
        if found is not None:
            return found
    return _compare(Comparison.EQUAL, "", "", text, text) if re.match(r"[$€£]?\d", text) else None


def _compare(kind: Comparison, before: str, matched: str, operand_text: str, text: str) -> Compare | None:
    operand_text = number_words(operand_text.strip())
    wording = _wording(before)
    if not wording and _PEOPLE.search(operand_text):
        wording = "population"
    operand: Operand | None = parse_span(operand_text) or parse_quantity(operand_text)
    if operand is None:
        split = _NUMBER_AND_REST.match(operand_text)
        if split is None:
            return None
        operand = parse_quantity(split["number"])
        rest = split["rest"].strip()
        if operand is None:
            return None
        # "3000 m tall", "10 million inhabitants": a unit, an adjective of measure, or the property itself.
        first, _, others = rest.partition(" ")
        unit = unit_name(first)
        if unit is not None and unit_name(rest) is None:
            operand, rest = Quantity(operand.amount, unit), others
        wording = wording or _WORDS.measures.get(rest.casefold(), rest)
    adjective = matched.split(" ", 1)[0].casefold()
    if not wording:
        wording = _WORDS.measures.get(adjective, "")
    if isinstance(operand, Span) and adjective in ("older", "younger"):
        return None  # "older than 1950" may mean either way round
    return Compare(wording, kind, operand, text)


def _range(low: str, high: str) -> Operand | None:
    first, last = parse_span(low), parse_span(high)
    if first and last:
        return Span(first.first, last.last, f"{low} to {high}")
    few, many = parse_quantity(low), parse_quantity(high)
    if few is None or many is None:
        return None
    if not few.unit:
        few = Quantity(few.amount, many.unit)
    return Range(few, many, f"{low} to {high}")


def _wording(text: str) -> str:
    stripped = re.sub(r"\s+(?:is|are|was|were|of|in|on|that|which|being)$", "", text.strip(), flags=re.IGNORECASE)
    return re.sub(r"^(?:a|an|the|its|their|his|her)\s+", "", stripped.strip(" ,:"), flags=re.IGNORECASE)


def described(text: str) -> tuple[str, str] | None:
    """("European", "country") or ("country", "in Europe") out of "a European country", "a country in Europe"."""
    text = _ARTICLE.sub("", opened(text))
    match = _NOUN_AND_REST.match(text)
    if match:
        return match["noun"], match["rest"]
    tokens = text.split()
    for size in (2, 1):
        adjective = " ".join(tokens[:size])
        if len(tokens) > size and (
            name_key(adjective) in property_table().countries or adjective.casefold() in _GENDERS
        ):
            return adjective, " ".join(tokens[size:])
    return None


def value_cuts(text: str) -> Iterator[HasValue]:
    """Every way to read the condition as a property with a value, the longest wording first; last, a value alone."""
    text = opened(text)
    tokens = text.split()[:60]
    for cut in range(min(len(tokens) - 1, 8), 0, -1):
        wording = " ".join(tokens[:cut])
        yield HasValue(_VERB_END.sub("", wording), _VERB_START.sub("", " ".join(tokens[cut:])))
    yield HasValue("", _ARTICLE.sub("", text))


# Comparisons of dates and quantities, where either may be imprecise or in another unit.

_DATE_QUESTION, _NUMBER_QUESTION = "when", "how many"


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """The result of a condition for one entity.

    Attributes:
        satisfied: None if the graph does not tell.
        score: how surely the condition was matched to properties, 0 to 1.
        reasons: (sentence, the query behind it) of what was looked at.
    """

    satisfied: bool | None
    score: float = 0.0
    reasons: tuple[tuple[str, SelectResult], ...] = ()


class ComparisonCheck:
    """Decides whether an entity's dates and numbers satisfy a comparison, over one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, matcher: PropertyMatcher) -> None:
        self._graph = graph
        self._matcher = matcher

    def check(self, head: Head, compare: Compare) -> ConditionResult | None:
        """Whether the entity satisfies the comparison; None if no property is compared."""
        for match in self._compared_properties(head, compare):
            operand, verdict = compare.operand, None
            if isinstance(operand, Span) and match.kind == "time":
                verdict = self._dates(head, match, compare, operand)
            elif isinstance(operand, Span) and operand.text.isdigit():
                verdict = self._numbers(head, match, compare, Quantity(Decimal(operand.text)))
            elif not isinstance(operand, Span) and match.kind != "time":
                verdict = self._numbers(head, match, compare, operand)
            if verdict is not None:
                return verdict
        return None

    def _compared_properties(self, head: Head, compare: Compare) -> list[PropertyMatch]:
        dated = isinstance(compare.operand, Span)
        if compare.wording:
            question = _DATE_QUESTION if dated and not _bare_number(compare.operand) else ""
            asked = _DATE_QUESTION if dated else _NUMBER_QUESTION
            ranked = self._matcher.rank(compare.wording, question)
            ranked += self._matcher.rank(compare.wording, asked)
            return sorted((m for m in ranked if m.score >= SURE - 0.1), key=lambda m: -m.score)[:8]
        if not dated:
            return []
        # "after 1950" of what has one date only.
        dates = {prop for prop in self._graph.properties_of(head.iri) if self._matcher.kind(prop) == "time"}
        return [PropertyMatch(iri, False, SURE, "time") for iri in dates] if len(dates) == 1 else []

    def _dates(self, head: Head, match: PropertyMatch, compare: Compare, span: Span) -> ConditionResult | None:
        def holds(value: Value) -> bool | None:
            date = parse_date(value.text)
            return None if date is None else compare_dates(date, compare.comparison, span)

        return self._literals(head, match, holds, f"{compare.comparison} {span.text}")

    def _numbers(
        self, head: Head, match: PropertyMatch, compare: Compare, operand: Quantity | Range
    ) -> ConditionResult | None:
        shown = operand.text if isinstance(operand, Range) else f"{operand.amount:f} {operand.unit}".strip()
        if match.kind in ("quantity", "string"):

            def holds(value: Value) -> bool | None:
                quantity = parse_quantity(value.text) or bare_number(value.text)
                return None if quantity is None else compare_quantities(quantity, compare.comparison, operand)

            return self._literals(head, match, holds, f"{compare.comparison} {shown}")
        # "more than 3 children": the number of values is compared.
        answer = self._graph.first_values(head.iri, match.property, inverse=match.inverse)
        count = len({str(row["value"]) for row in answer.terms})
        if answer.cut:
            count, answer = self._graph.count(value_pattern(head.iri, match.property, inverse=match.inverse))
        satisfied = compare_quantities(Quantity(Decimal(count)), compare.comparison, operand)
        label = self._graph.property_label(match.property)
        name = self._graph.label(head.iri)
        sentence = f"{name} — number of {label}: {count}; {count} {compare.comparison} {shown}: {_yes(satisfied)}."
        return ConditionResult(satisfied if count else None, match.score, ((sentence, answer),))

    def _literals(
        self, head: Head, match: PropertyMatch, holds: Callable[[Value], bool | None], test: str
    ) -> ConditionResult | None:
        if match.inverse:
            return None
        graph = self._graph
        answer: SelectResult | None = None
        first_of: dict[bool | None, Value] = {}
        for page in graph.value_pages(head.iri, match.property):
            answer = answer or page
            for value in graph.answer_values(page, head.iri, match.property):
                first_of.setdefault(holds(value), value)
            if True in first_of:
                break
        if answer is None or not first_of:
            return None
        satisfied = True if True in first_of else False if False in first_of else None
        shown = first_of[satisfied]
        sentence = (
            f"{graph.label(head.iri)} — {graph.property_label(match.property)}: {shown.text}; "
            f"{shown.text} {test}: {_yes(satisfied)}."
        )
        return ConditionResult(satisfied, match.score, ((sentence, answer),))


def _bare_number(operand: object) -> bool:
    return isinstance(operand, Span) and operand.text.isdigit()


def _yes(satisfied: bool | None) -> str:
    return "cannot be told" if satisfied is None else "yes" if satisfied else "no"


def compare_dates(date: Date, comparison: Comparison, span: Span) -> bool | None:
    """Whether every day that the date may mean stands so to the span; None if some days do and some do not."""
    first, last = date.first, date.last
    if comparison is Comparison.MORE:
        return _settled(first > span.last, last > span.last)
    if comparison is Comparison.LESS:
        return _settled(last < span.first, first < span.first)
    if comparison is Comparison.AT_LEAST:
        return _settled(first >= span.first, last >= span.first)
    if comparison is Comparison.AT_MOST:
        return _settled(last <= span.last, first <= span.last)
    return _settled(first >= span.first and last <= span.last, first <= span.last and last >= span.first)


def _settled(all_days: bool, some_day: bool) -> bool | None:
    return True if all_days else None if some_day else False


_COMPARES: dict[Comparison, Callable[[Decimal, Decimal], bool]] = {
    Comparison.MORE: operator.gt, Comparison.LESS: operator.lt,
    Comparison.AT_LEAST: operator.ge, Comparison.AT_MOST: operator.le,
    Comparison.EQUAL: operator.eq, Comparison.WITHIN: operator.eq,
}  # fmt: skip


def compare_quantities(value: Quantity, comparison: Comparison, operand: Quantity | Range) -> bool | None:
    """Whether the value stands so to the operand; None if their units cannot be compared."""
    if isinstance(operand, Range):
        low = compare_quantities(value, Comparison.AT_LEAST, operand.low)
        high = compare_quantities(value, Comparison.AT_MOST, operand.high)
        return None if low is None or high is None else low and high
    one, two = value.in_base_unit(), operand.in_base_unit()
    if one.unit != two.unit and one.unit and two.unit:
        return None
    if one.unit != two.unit:
        # A bare number is in the unit that the other side is written in.
        one, two = value, operand
    return _COMPARES[comparison](one.amount, two.amount)


def bare_number(text: str) -> Quantity | None:
    """The number that a text without a unit is, or None."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return Quantity(number) if number.is_finite() else None
