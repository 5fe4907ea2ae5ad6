"""Parses conditions: comparisons of dates and numbers, values of properties, negation, superlatives.

Only words are looked at here; which property a wording means is for the relation matcher to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from atomr_local.language.literals import Quantity, number_words, parse_quantity, unit_name
from atomr_local.language.names import name_key
from atomr_local.language.periods import Span, parse_span
from atomr_local.language.properties import property_table
from atomr_local.language.words import any_of, condition_words
from atomr_local.language.words import number_words as words_of_numbers


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
    text = re.sub(r"^(?:an?|the|one of the)\s+", "", opened(text), flags=re.IGNORECASE)
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
        value = re.sub(r"^(?:is|are|was|were|=|:|equals|the)\s+", "", " ".join(tokens[cut:]), flags=re.IGNORECASE)
        yield HasValue(re.sub(r"\s+(?:is|are|was|were|=|:|equals)$|[=:]$", "", wording, flags=re.IGNORECASE), value)
    yield HasValue("", re.sub(r"^(?:an?|the|one of the)\s+", "", text, flags=re.IGNORECASE))
