"""Facts that a page states about its own subject: those of set phrases that are not about someone else on the page."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from atomr_local.language.names import name_key, split_qualifier, words
from atomr_local.language.properties import KnownProperty, StatedFact, facts_in, property_table
from atomr_local.language.sentences import sentences
from atomr_local.system.sanitize import sanitize_line

# How questions of one hop are worded: tables of our own, and labels where those have no entry.


# Labels that make no "What is the … of X?".
_NO_NOUN = re.compile(
    r"^(?:has|have|is|was|are|located|named|follow|shares|educated|employed|member|participa|instance|subclass|"
    r"nominated|based|derived|made|contains|said|different|owned|born|died|when|where|who|also|number)\w*\b|"
    r"\b(?:of|in|by|at|on|from|to|with|for|as|or)$|[^a-z -]|\b(?:id|code|identifier|domain|website)\b"
)
_LONGEST_LABEL = 40
# "1948 film", "song", "crime novel": what stands in brackets behind a name and can stand before it.
_KIND = re.compile(r"(?:\d{4} )?[a-z]+(?: [a-z]+)?")
_NAMES = frozenset({"person", "place", "country", "city", "org", "work", "other"})


@dataclass(frozen=True, slots=True)
class Wording:
    """How one relation is asked for; each is "" where it cannot be asked so."""

    relation: str
    question: str = ""
    description: str = ""
    yes_no: str = ""
    count: str = ""

    def asks(self, x: str) -> str:
        return self.question.replace("{x}", x)


@cache
def _tables() -> tuple[Mapping[str, Wording], frozenset[str]]:
    data = tomllib.loads(files("atomr_local.page_facts").joinpath("wordings.toml").read_text(encoding="utf-8"))
    worded = {label: Wording(label, **entry) for label, entry in data["relation"].items()}
    return worded, frozenset(data["excluded"]["relations"])


def wording_of(relation: str) -> Wording | None:
    """The wording of a relation with this label; None if it is not asked for."""
    worded, excluded = _tables()
    if relation in worded:
        return worded[relation]
    if relation in excluded or len(relation) > _LONGEST_LABEL or not relation or _NO_NOUN.search(relation):
        return None
    return Wording(relation, f"What is the {relation} of {{x}}?", f"the {relation} of {{x}}")


@cache
def asked_relations() -> tuple[Wording, ...]:
    """The relations that the table has a question for."""
    return tuple(wording for wording in _tables()[0].values() if wording.question)


def known_property(relation: str) -> KnownProperty | None:
    """What the program knows of a relation with this label."""
    return property_table().by_label.get(name_key(relation))


def names_something(relation: str) -> bool:
    """Whether the relation's values are names, as far as it is known."""
    known = known_property(relation)
    return known is None or known.kind in _NAMES


def mention(name: str) -> str:
    """A name as a question holds it: "the 1948 film Hamlet" for "Hamlet (1948 film)"."""
    bare, qualifier = split_qualifier(name)
    return f"the {qualifier} {bare}" if _KIND.fullmatch(qualifier) else name


_PRONOUN = re.compile(r"(?:He|She|It|They)\b")
# A clause about someone who is mentioned: what follows is not about the page's subject.
_ANOTHER = re.compile(
    r"\b(?:who|whom|whose|which|his|her|its|their|husband|wife|father|mother|brother|sister|son|daughter|spouse|author|"
    r"director|composer|writer|founder)\b",
    re.IGNORECASE,
)
_NEXT_CLAUSE = re.compile("; ")
# What stands in brackets behind a verb is about somebody else: "is a film by Ann Lee (born 3 May 1901)".
_VERB = re.compile(r"\b(?:is|was|are|were|by)\b")
# What the subject was made from: "adapted from a play by …".
_SOURCE = re.compile(r"\b(?:based|adapted|adaptation|inspired|taken) \w+\b", re.IGNORECASE)
OF_A_LIFE = frozenset(
    ["date of birth", "date of death", "place of birth", "place of death", "cause of death", "educated at", "employer",
     "award received"]
)  # fmt: skip
# The name goes on behind what the phrase caught: "John | V", "Henry | of Navarre", "Ann |, Countess of York",
# "Alexandre Dumas | fils".
_GOES_ON = re.compile(
    r"^(?:[-–’']\w| (?:[A-Z]|of\b|de\b|von\b|van\b|fils\b|p[èe]re\b)|,? (?:[IVX]+\b|Jr\b|Sr\b|\d+(?:st|nd|rd|th)\b|"
    r"(?:King|Queen|Prince|Princess|Duke|Duchess|Count|Countess|Earl|Baron|Baroness|Marquess|Marquis|Lord|Lady|Viscount|"
    r"Elector|Emperor)\b))"
)
_PLACE_GOES_ON = re.compile(r"^(?:\w|[-–]\w| [A-Z]|, [A-Z])")
# "College of York | & Leeds", "the Lee Prize | in Letters"
_OTHER_GOES_ON = re.compile(r"^(?: & [A-Z]| [A-Z]| (?:of|in|for) (?:the )?[A-Z])")
# "born 3 May 1901 | or 1902"
_OR = re.compile(r"^ ?(?:or\b|/|\?)")
# Another value behind it: "directed by Ann Lee | and Bob Poe".
_ANOTHER_VALUE = re.compile(r"^(?:,? and|,? &|,)(?: (?:the|at|an?))* (?:[A-Z][\w.'’-]* ?)+")
# "was a painter | and poet"
_ANOTHER_WORD = re.compile(r"^(?:,? and|,? &|,|/) ?[a-z]")
# A person can have several of these; places and dates they have one of.
_SEVERAL_OF_ONE = frozenset(["award received", "educated at", "employer", "publisher", "occupation"])
_NO_NAMES = frozenset(["the", "and", "for", "from", "with", "into", "der", "die", "das", "les", "los"])
_JOINED = frozenset({"father", "mother"})  # "son of A and B" names one of each
_MOST_WORDS = 5
_LONGEST_NAME = 80
_REFERENCE = re.compile(r"\[\s*\d")


@dataclass(frozen=True, slots=True)
class PageFact:
    """A fact about a page's subject. Untrusted.

    Attributes:
        relation, value: as :class:`StatedFact` has them.
        start, end: where the value stands in the text.
        said: the sentence.
        several: another value follows it.
    """

    relation: str
    value: str
    start: int
    end: int
    said: str
    several: bool = False


def usable_name(name: str) -> bool:
    """Whether a name can stand in a question and in a plan."""
    return (
        1 < len(name) <= _LONGEST_NAME
        and name == sanitize_line(name)
        and any(map(str.isalpha, name))
        and not _REFERENCE.search(name)
        and not any(mark in name for mark in '{}?"“”|')
    )


def short_answer(value: str) -> bool:
    """Whether a text is an answer of at most five words on one line."""
    return 0 < len(words(value)) <= _MOST_WORDS and value == sanitize_line(value) and not _REFERENCE.search(value)


def stated_facts(title: str, text: str) -> Iterator[PageFact]:
    """Facts that the text says of the page's subject, with relations that can be asked for."""
    lead = True
    spans = list(sentences(text))
    for fact in facts_in(text):
        if wording_of(fact.relation) is None:
            continue
        begin, end = next((span for span in spans if span[0] <= fact.start < span[1]), (0, len(text)))
        lead = begin == 0
        before, after = text[begin : fact.start], text[fact.end :]
        if not about_subject(title, before, fact.relation, lead=lead) or _cut_short(fact, after):
            continue
        # A name with an initial runs over what looks like the end: "directed by Ann B. Lee."
        end = max(end, next((span[1] for span in spans if span[0] < fact.end <= span[1]), end))
        said = sanitize_line(text[begin:end])
        yield PageFact(fact.relation, fact.value, fact.start, fact.end, said, _goes_on_listing(fact, after))


def about_subject(title: str, before: str, relation: str, *, lead: bool) -> bool:
    """Whether what stands before a value is about the page's subject.

    Args:
        before: from the beginning of the value's sentence.
        lead: it is the page's first sentence.
    """
    if not lead and not _PRONOUN.match(before):
        subject = {word for word in words(split_qualifier(title)[0]) if len(word) > 2} - _NO_NAMES
        if not subject.intersection(words(before)[:3]):
            return False
    if relation not in OF_A_LIFE:
        return not _SOURCE.search(before)
    opened, closed = before.rfind("("), before.rfind(")")
    if opened > closed:  # in brackets behind the name there are other names, dates and places of the subject alone
        return not _VERB.search(before, 0, opened) and not _ANOTHER.search(before, opened)
    return not _ANOTHER.search(before) and not _NEXT_CLAUSE.search(before)


def _cut_short(fact: StatedFact, after: str) -> bool:
    """Whether the phrase holds only the beginning of the name, or one of two between which the text does not decide."""
    if _OR.match(after):
        return True
    if _is_person(fact.relation):
        return len(fact.value.split()) < 2 or bool(_GOES_ON.match(after))
    known = known_property(fact.relation)
    if known is not None and known.kind in {"place", "city", "country"}:
        return bool(_PLACE_GOES_ON.match(after))
    return after[:1].isalnum() or (names_something(fact.relation) and bool(_OTHER_GOES_ON.match(after)))


def _goes_on_listing(fact: StatedFact, after: str) -> bool:
    """Whether another value follows."""
    if fact.relation == "occupation":
        return bool(_ANOTHER_WORD.match(after))
    listed = fact.relation in _SEVERAL_OF_ONE or (_is_person(fact.relation) and fact.relation not in _JOINED)
    return listed and bool(_ANOTHER_VALUE.match(after))


def _is_person(relation: str) -> bool:
    known = known_property(relation)
    return known is not None and known.kind == "person"
