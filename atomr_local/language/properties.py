"""Facts that an encyclopedia's opening sentences state in set phrases, with where they stand in the text.

Rules of precision, not of recall: they read "(born 3 May 1901)", "directed by …", "son of …" from passages, so that
the passages at hand yield many single-hop questions whose answers stand in them word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from atomr_local.language.literals import MONTH
from atomr_local.language.names import adjectives, name_key
from atomr_local.language.words import number_words, word_lists

# Common Wikidata properties: labels, wordings in both directions, kind of value.
#
# The table lets facts that come without property ids join facts that have them, and lets a relation be understood
# without an embedding model.

ENTITY = "http://www.wikidata.org/entity/"
PROPERTY = "http://www.wikidata.org/prop/direct/"
INSTANCE_OF = PROPERTY + "P31"
SUBCLASS_OF = PROPERTY + "P279"


@dataclass(frozen=True)
class KnownProperty:
    """One property.

    Attributes:
        kind: what its values are: time, quantity, string, type, person, place, country, city, org, work, other, …
        domain: words for what has this property ("film").
        names: other wordings of head → value.
        inverse: wordings of value → head ("films directed" for director).
        flip: head and value are of different kinds, so a value given as head can only mean the inverse.
        symmetric: the relation holds both ways.
        adjectival: values are often written as adjectives ("American"), which are poor labels.
    """

    id: str
    label: str
    kind: str = "other"
    domain: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    inverse: tuple[str, ...] = ()
    flip: bool = False
    symmetric: bool = False
    adjectival: bool = False

    @property
    def iri(self) -> str:
        return PROPERTY + self.id


@dataclass(frozen=True)
class PropertyTable:
    """The table, with its look-ups.

    Attributes:
        compound: wordings that take more than one hop ("grandfather").
        countries: keys of the countries (and continents) that the key of an adjective or a short form stands for.
    """

    by_iri: dict[str, KnownProperty]
    by_label: dict[str, KnownProperty]
    compound: frozenset[str]
    countries: dict[str, frozenset[str]]


@cache
def property_table() -> PropertyTable:
    """The shipped table, read once."""
    data = word_lists("properties")
    known = [KnownProperty(pid, **entry) for pid, entry in data["properties"].items()]
    return PropertyTable(
        by_iri={item.iri: item for item in known},
        by_label={name_key(item.label): item for item in known},
        compound=frozenset(data["compound"]),
        countries=adjectives(),
    )


# ruff: noqa: E501

_DATE = rf"(?:\d{{1,2}} {MONTH} \d{{4}}|{MONTH} \d{{1,2}}, \d{{4}})"
_WORD = r"(?:(?:Jr|Sr|St|Dr|Mrs?)\.|[A-Z][\w'’\-]*\w|[A-Z]\.)"
_PARTICLE = r"(?:de|von|van|of|the|la|le|di|da|del|der|den|af|al|el|bin|ibn)"
_NAME = rf"{_WORD}(?:(?:-? {_PARTICLE}){{0,2}}-? ?{_WORD})*"
# Before a number also the short names of months, and seasons.
_NO_PLACE = "(?:" + "|".join(word.capitalize() for word in (*number_words().months, *number_words().seasons)) + ")"
_PERSON = rf"{_WORD}(?: (?:{_PARTICLE} )*{_WORD}){{1,4}}"
_PLACE = (
    rf"(?!{MONTH}\b|{_NO_PLACE}\.?,? (?:of )?\d){_WORD}(?: (?:{_PARTICLE} )?{_WORD})*(?:, {_WORD}(?: {_WORD})*){{0,2}}"
)
# Where a life began or ended, in brackets: "(3 May 1901 in York – 4 June 1980, Leeds)".
_THERE = rf"(?:(?:,| in) {_PLACE})?"
_WHEN = rf"(?:on {_DATE} |in (?:{MONTH} )?\d{{4}} )?"
_DASH = "[–—-]"

_DEMONYM = re.compile(r"[A-Z][a-z]+(?:ese|ish|ian|ean|can|man|ch)")


@dataclass(frozen=True, slots=True)
class StatedFact:
    """`value` stands in the passage's text as text[start:end]; its page's title is the head."""

    relation: str
    value: str
    start: int
    end: int


def _rule(relation: str, pattern: str, reach: int = 400) -> tuple[str, re.Pattern[str], int]:
    return relation, re.compile(pattern), reach


# (relation, pattern with a group `v`, characters from the beginning within which it must stand)
_RULES = (
    _rule("date of birth", rf"\( ?(?:[^()]{{0,60}}; ?)?(?:born|b\.) (?P<v>{_DATE})"),
    _rule("date of birth", rf"\( ?born [^();\d]{{0,60}}; ?(?P<v>{_DATE}) ?\)"),
    _rule("date of birth", rf"\( ?(?:[^()]{{0,60}}[;,] ?)?(?P<v>{_DATE}){_THERE}(?: ?{_DASH}|; ?died\b)"),
    _rule("date of death", rf"\( ?[^()]{{0,120}}(?:{_DASH}|; ?died) ?(?P<v>{_DATE}){_THERE} ?\)"),
    _rule("date of birth", rf"\b(?:was|is) born on (?P<v>{_DATE})", 900),
    _rule("date of death", rf"\bdied on (?P<v>{_DATE})", 1500),
    _rule("place of birth", rf"\b[Bb]orn {_WHEN}(?:in|at) (?P<v>{_PLACE})", 1200),
    _rule("place of birth", rf"\( ?(?:[^()]{{0,60}}[;,] ?)?(?:born )?{_DATE}(?:,| in|, in) (?P<v>{_PLACE}) ?(?:\)|{_DASH}|; ?died\b)"),
    _rule("place of death", rf"\b(?:died|killed) {_WHEN}(?:in|at) (?P<v>{_PLACE})", 2000),
    _rule("place of death", rf"\( ?[^()]{{0,120}}(?:{_DASH}|; ?died) ?{_DATE}(?:,| in|, in) (?P<v>{_PLACE}) ?\)"),
    _rule("director", rf"\b[Dd]irected(?: and (?:written|produced))? by (?P<v>{_PERSON})"),
    _rule("composer", rf"\b(?:[Mm]usic|score|[Cc]omposed)(?: (?:was|is))?(?: composed)? by (?P<v>{_PERSON})", 900),
    _rule("author", rf"\b(?:novel|book|poem|play|story|memoir)s? (?:written )?by(?: \w+){{0,2}} (?P<v>{_PERSON})"),
    _rule("performer", rf"\b(?:song|single|album)(?: \w+){{0,3}} by(?: [a-z]+){{0,4}} (?P<v>{_NAME})"),
    _rule("father", rf"\b(?:son|daughter|child) of(?: [a-z]+){{0,2}} (?P<v>{_PERSON}),? (?:and|by)\b", 900),
    _rule("father", rf"\b(?:son|daughter) of (?:King|Prince|Duke|Emperor|Count|Sir|Lord) (?P<v>{_NAME})", 900),
    _rule("mother", rf"\b(?:son|daughter|child) of {_PERSON}(?:, [^,.]{{1,60}},)? and(?: his wife)? (?P<v>{_PERSON})", 900),
    _rule("spouse", rf"\b(?:married(?: to)?|wife of|husband of) (?P<v>{_PERSON})", 1500),
    _rule("sibling", rf"\b(?:brother|sister) of(?: [a-z]+){{0,2}} (?P<v>{_PERSON})", 900),
    _rule("child", rf"\b(?:father|mother) of(?: [a-z]+){{0,2}} (?P<v>{_PERSON})", 900),
    _rule("founded by", rf"\bfounded(?: in \d{{4}})? by (?P<v>{_PERSON})", 900),
    _rule("inception", r"\b(?:founded|established|formed) in (?P<v>\d{4})", 900),
    _rule("publisher", rf"\bpublished(?: \w+)? by (?P<v>{_NAME})", 900),
    _rule("publication date", r"\bis an? (?P<v>(?:18|19|20)\d{2}) (?:[\w-]+ ){0,5}(?:film|album|novel|song|book)"),
    _rule("publication date", rf"\breleased (?:on|in) (?P<v>{_DATE}|\d{{4}})", 900),
    _rule("educated at", rf"\b(?:educated at|graduated from|attended|studied at) (?:the )?(?P<v>{_NAME})", 1500),
    _rule("employer", rf"\b(?:worked for|professor at|employed by) (?:the )?(?P<v>{_NAME})", 1500),
    _rule("country of citizenship", r"\b(?:is|was) an? (?:former )?(?P<v>[A-Z][a-z]+(?:ese|ish|ian|ean|can|man|ch|ek|ss|ni|li|qi)\b)(?= (?:[a-z]|film))"),
    _rule("country of origin", r"\bis an? \d{4} (?P<v>[A-Z][a-z]+(?:ese|ish|ian|ean|can|man|ch|ek|ss|ni|li|qi)\b)(?= [\w-]*)"),
    _rule("country", rf"\b(?:village|town|city|municipality|river|mountain|commune|district|university|school|company)\b[^.()]{{0,120}}?(?:, |\bin )(?P<v>{_WORD})\.", 300),
    _rule("cause of death", r"\bdied (?:[a-z]+ )?(?:of|from) (?:an? |the )?(?P<v>[a-z]+(?: [a-z]+)?)(?=[.,]| (?:in|at|on)\b)", 2000),
    _rule("award received", rf"\b(?:received|won|awarded) (?:the|an?) (?P<v>{_WORD}(?: (?:{_PARTICLE} )?{_WORD})* (?:Prize|Award|Medal|Order)(?: (?:for|of|in) (?:the )?{_NAME})?)", 2000),
    _rule("located in the administrative territorial entity", rf"\bis an? (?:[\w-]+ ){{0,4}}(?:village|town|city|community|municipality|commune|township) in (?:the )?(?P<v>{_WORD}(?: (?:{_PARTICLE} )?{_WORD})*)", 300),
    _rule("occupation", r"\b(?:is|was) an? (?:[A-Z][\w-]+ )(?P<v>[a-z]+(?: [a-z]+)?)(?=[.,]| (?:and|who|from)\b)", 300),
)  # fmt: skip


def facts_in(text: str) -> Iterator[StatedFact]:
    """The facts stated about the page's subject, at most one of a relation, in the order of the rules."""
    found: set[str] = set()
    for relation, pattern, reach in _RULES:
        if relation in found:
            continue
        match = pattern.search(text, 0, reach + 80)
        if match is None or match.start() > reach:
            continue
        value = match["v"].rstrip(" ,")
        if relation == "performer" and _DEMONYM.fullmatch(value):
            continue
        if 1 < len(value) <= 60:
            found.add(relation)
            yield StatedFact(relation, value, match.start("v"), match.start("v") + len(value))
