"""The reading of a question: what it counts, what it asks of what, what it compares, when, and which names it has.

Each part is read when it is first asked for, by a rule over closed classes of words (`en/questions.json`), and stays
with the question. A rule that is not sure leaves its part open: "", () or None. Wordings of relations and conditions
are read in the same way where they may say the same ("number of children", "capital in 1950").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from atomr_local.language.literals import Span, parse_span
from atomr_local.language.names import POSSESSIVE_END, name_key, names_in, words
from atomr_local.language.question_kind import COPULAR, Expected, defined_topic, expected_type
from atomr_local.language.words import (
    any_of,
    comparative,
    condition_words,
    direction_of,
    english,
    referring_words,
    relation_words,
    word_lists,
)

_WORDS = word_lists("questions")
_MANY = any_of(_WORDS["many"])
_COUNTS = re.compile(r"\bhow many\b|^what (?:is|was) the (?:total )?number of\b", re.IGNORECASE)
_NUMBER_OF = re.compile(r"^(?:the )?(?:total )?(?:how many|(?:number|count) of)(?: the)? (?=\S)", re.IGNORECASE)
_COUNTED = re.compile(r"\bhow many ((?:\S+ ?){1,3})", re.IGNORECASE)
_COUNTED_NOUN = re.compile(
    rf"\b{_MANY} (?:[\w-]+ ){{0,3}}?(?P<noun>[\w-]+)(?= (?:{any_of(_WORDS['counting_ends'])}|[\w-]+ed)\b|\W*$)"
)
_KINDS = [(re.compile(rf"\b{any_of(phrases)}\b"), kind) for kind, phrases in _WORDS["kinds"].items()]
_KINDS += [(re.compile(rf"^{any_of(phrases)}\b"), kind) for kind, phrases in _WORDS["opening"].items()]
_LEVEL = re.compile(rf"^(?:in |on |from |to |of |at )?(?:which|what) (?:\w+ )?({any_of(_WORDS['levels'])})\b", re.I)
_OF_CLASS = re.compile(
    r"^(?:what|whats|which|name|list|tell me)(?: is| are| was| were| s)?(?: the)?(?: names? of)?"
    r"(?: an?| the| some)? (?P<rest>(?:\w+ ?){1,4})"
)
_OWNED = re.compile(rf"(?!{any_of(referring_words().prepositions)}\s)(\S.*?)['’]s\s+(\S.*)")
_THE = re.compile(r"the\s+(\S.*)", re.IGNORECASE)
_MOST_PLACES = 20  # of an "of" between a relation and a name
_THE_OF = re.compile(r"the [^,;:]+ of [^,;:]+", re.IGNORECASE)
_VERB = rf"{any_of(referring_words().auxiliaries - {'been', 'being'})}\b"
# "Who wrote Emma?": no auxiliary verb follows the question word, so the words can stay in this order in a clause.
_SUBJECT = re.compile(rf"who (?!{_VERB})[a-z].*|(?:what|which|how many) (?!.*\b{_VERB})[a-z].*", re.IGNORECASE)
_LONGEST_CLAUSE = 80
_TIME = re.compile(r"\b(?P<opening>as (?:of|at)|in|during|on)\s+(?=(?:the\s+)?[\w ]{0,12}\d)", re.IGNORECASE)
_MOST_TIME_WORDS = 5
_TIME_EDGES = " ,.;:?!()"
_OF_TIME = {"larger": "later", "smaller": "earlier"}
_EDGES = " \t.,;:!?\"“”'‘’"
_LAST_NOUN = re.compile(r"\bthe [a-z]+\b(?=\W*$)")


@dataclass(frozen=True, slots=True)
class TimeConstraint:
    """The time that a text asks for; `latest`: else what was last known before it ("as of")."""

    span: Span
    latest: bool


@dataclass(frozen=True)
class QuestionReading:
    """The reading of a question, or of the wording of a relation; see :func:`read_question`."""

    text: str

    @cached_property
    def key(self) -> str:
        return name_key(self.text)

    @property
    def expected(self) -> Expected:
        """The kind of answer that it expects."""
        return expected_type(self.text)

    @cached_property
    def topic(self) -> str:
        """The name that it wants described; "" if it asks for anything else."""
        return defined_topic(self.text)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in it, without what surrounds them; else what it wants described, or "the pump" at its end."""
        found = []
        for name in names_in([self.text]):
            parts = name.strip(_EDGES).split()
            while parts and parts[0].casefold() in (referring_words().asking | referring_words().auxiliaries):
                parts.pop(0)
            bare = POSSESSIVE_END.sub("", " ".join(parts))
            if bare and not english().stop.issuperset(words(bare)):
                found.append(bare)
        return tuple(dict.fromkeys(found or ([self.topic] if self.topic else _LAST_NOUN.findall(self.text))))

    @cached_property
    def relations(self) -> tuple[tuple[str, str], ...]:
        """Candidates for the relation asked for, with the name that it is asked of, where one is asked for as a value:
        "What is the capital of Chad?", "What is Chad's capital?"."""
        found = COPULAR.fullmatch(self.text.strip().rstrip("?").rstrip())
        if found is None or "?" in found["rest"]:
            return ()
        owned, defined = _OWNED.fullmatch(found["rest"]), _THE.fullmatch(found["rest"])
        parts = defined[1].split(" of ") if defined else []
        of = ((" of ".join(parts[:place]), " of ".join(parts[place:])) for place in range(1, len(parts))[:_MOST_PLACES])
        return (*([(owned[2], owned[1])] if owned else []), *of)

    @cached_property
    def clause(self) -> str:
        """It as a clause: "who wrote Emma"; "" if it would need a change of word order that is not known here."""
        text = self.text.strip()
        text = text[:-1].rstrip() if text.endswith("?") else text
        if len(text) > _LONGEST_CLAUSE or "?" in text or "\n" in text:
            return ""
        found = COPULAR.fullmatch(text)  # the verb goes to the end
        if found and found["verb"] and found["asks"].casefold() != "which" and _THE_OF.fullmatch(found["rest"]):
            return f"{found['asks'].lower()} {found['rest']} {found['verb'].lower()}"
        return text[:1].lower() + text[1:] if _SUBJECT.fullmatch(text) else ""

    @cached_property
    def counts(self) -> bool:
        """Whether it asks for a number of things."""
        return _COUNTS.search(self.text) is not None

    @cached_property
    def counted(self) -> str:
        """The words behind "how many", at most three: what is counted, or a unit ("square miles")."""
        found = _COUNTED.search(self.text)
        return found[1] if found else ""

    @cached_property
    def counted_noun(self) -> str:
        """The noun that is counted: "films" of "how many silent films did she direct"."""
        found = _COUNTED_NOUN.search(self.text.casefold())
        return found["noun"] if found else ""

    @cached_property
    def number_of(self) -> str:
        """The relation whose values are counted, of a wording: "children" of "number of children"."""
        rest = _NUMBER_OF.sub("", self.text)
        return rest if rest != self.text else ""

    @cached_property
    def value_kind(self) -> str:
        """The kind of values that it asks for: "time", "count", "quantity", "country", "place" or "person"."""
        return next((kind for pattern, kind in _KINDS if pattern.search(self.key)), "")

    @cached_property
    def level(self) -> str:
        """The kind of region that it asks for: "country" of "In which country was Ann born?"."""
        found = _LEVEL.match(self.text.strip())
        return _WORDS["levels"][found[1].casefold()] if found else ""

    @cached_property
    def sought(self) -> str:
        """ "person", "work" or "place" where it asks for one; "" where it does not say."""
        if self.key.startswith(("who ", "whos ", "whom ")):
            return "person"
        match, known = _OF_CLASS.match(self.key), relation_words()
        rest = match["rest"].split() if match else []
        for noun, following in zip(rest, [*rest[1:], ""], strict=False):
            if noun in known.belonging or noun in ("of", "in", "by", "did", "was", "is", "for"):
                return ""
            if noun in known.asked_for and following not in known.belonging:
                return known.asked_for[noun]
        return ""

    @cached_property
    def directions(self) -> frozenset[str]:
        """The directions of its comparatives and superlatives: "larger", "smaller", "later", "earlier"."""
        # "More recent" and "less known" are not about amounts.
        said = {comparative(word) for word in re.findall(r"[^\W\d_]+", self.text.casefold())} - {None, "more", "less"}
        of_time = condition_words().of_time
        return frozenset(_OF_TIME[direction_of(one)] if one in of_time else direction_of(one) for one in said if one)

    @cached_property
    def time(self) -> tuple[str, TimeConstraint | None]:
        """It without the time that it names, and that time, or as it is and None."""
        for match in _TIME.finditer(self.text):
            tokens = self.text[match.end() :].split()
            for size in range(min(_MOST_TIME_WORDS, len(tokens)), 0, -1):
                span = parse_span(" ".join(tokens[:size]).strip(_TIME_EDGES))
                if span is not None:
                    rest = " ".join([self.text[: match.start()].rstrip(_TIME_EDGES), *tokens[size:]]).strip()
                    return rest, TimeConstraint(span, match["opening"].casefold().startswith("as"))
        return self.text, None


@lru_cache(maxsize=1024)
def read_question(text: str) -> QuestionReading:
    """The reading of the text, made once."""
    return QuestionReading(text)
