"""Invented facts about invented things, and the texts that state them. Everything follows from a random generator."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

_ONSETS = ("b", "br", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ö", "é")
_VOWEL_WEIGHTS = (9, 9, 7, 9, 5, 2, 1, 1)
_CODAS = ("", "", "l", "n", "r", "s", "nd", "rt", "lm")
_MONTHS = ("January", "March", "April", "May", "July", "August", "October", "November")


@dataclass(frozen=True, slots=True)
class Fact:
    """`sentence` states that `subject` has this `value`; `question` asks for it in other words.

    `column` names the attribute in a table.
    """

    subject: str
    column: str
    value: str
    sentence: str
    question: str


@dataclass(frozen=True, slots=True)
class Part:
    """A section about one subject: sentences in order, some of which state its facts."""

    subject: str
    sentences: tuple[str, ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """What a document says, before it is written in any format."""

    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class _Attribute:
    column: str
    value: str  # a way to invent it: a method of _Inventor, or texts to choose from, separated by "|"
    statement: str
    question: str


@dataclass(frozen=True, slots=True)
class _Domain:
    title: str
    name: str
    attributes: tuple[_Attribute, ...]


_DOMAINS = (
    _Domain("Bridges of {w} county", "{w} Bridge", (
        _Attribute("Designer", "person", "The plans were drawn by {v}.", "Who designed {n}?"),
        _Attribute("Opened", "year", "{n} has carried carts since {v}.", "In which year did {n} open?"),
        _Attribute("Length", "metres", "From bank to bank it measures {v}.", "How long is {n}?"),
        _Attribute("Material", "red brick|grey granite|tarred oak|rolled steel|white limestone",
                   "The arches of {n} are of {v}.",
                   "What is {n} made of?"),
        _Attribute("Price", "crowns", "The county paid {v} to have it built.", "How much did {n} cost?"),
    )),
    _Domain("Mountain huts around {w}", "{w} Hut", (
        _Attribute("Keeper", "person", "In summer the house is kept by {v}.", "Who is the warden of {n}?"),
        _Attribute("Beds", "count", "There is room for {v} sleepers.", "How many people can spend the night in {n}?"),
        _Attribute("Height", "metres", "It stands {v} above the sea.", "What is the altitude of {n}?"),
        _Attribute("Donor", "person", "It was a gift of {v} to the climbers.", "Who gave the money for {n}?"),
        _Attribute("Rebuilt", "year", "{n} burned down and was put up again in {v}.",
                   "When was {n} reconstructed after the fire?"),
    )),
    _Domain("Service book of the {w} waterworks", "{w} Pump", (
        _Attribute("Maker", "person", "The machine came from the workshop of {v}.", "Who manufactured {n}?"),
        _Attribute("Repaired", "day", "A new gasket was put in on {v}.", "When was {n} repaired?"),
        _Attribute("Flow", "litres", "At full speed it lifts {v} a minute.", "What is the flow rate of {n}?"),
        _Attribute("Fault", "a cracked valve|sand in the bearing|a burnt winding|a loose belt|ice in the pipe",
                   "{n} stood still because of {v}.", "Why did {n} break down?"),
        _Attribute("Mechanic", "person", "Oil and grease are the business of {v}.", "Who maintains {n}?"),
    )),
    _Domain("People of {w}", "{p}", (
        _Attribute("Birthplace", "place", "The parents lived in {v} when {n} was born.",
                   "What is the birthplace of {n}?"),
        _Attribute("Trade", "clockmaker|organ builder|midwife|surveyor|beekeeper|glass blower",
                   "{n} earned a living as a {v}.", "What was the profession of {n}?"),
        _Attribute("Teacher", "person", "The first lessons were with {v}.", "Who taught {n}?"),
        _Attribute("Died", "year", "{n} was buried in {v} beside the chapel.", "In which year did {n} die?"),
        _Attribute("Prize", "place", "A silver medal came from the academy of {v}.", "Which academy honoured {n}?"),
    )),
    _Domain("Minutes of the {w} council", "{w} Committee", (
        _Attribute("Chair", "person", "The meeting was led by {v}.", "Who chaired {n}?"),
        _Attribute("Met", "day", "The members came together on {v}.", "On which date did {n} meet?"),
        _Attribute("Decision", "plant lime trees|buy a fire engine|close the quarry|pave the market|repair the weir",
                   "{n} agreed to {v}.", "What did {n} decide to do?"),
        _Attribute("Votes", "count", "In the end {v} hands were raised in favour.",
                   "How many votes did {n}'s motion get?"),
        _Attribute("Budget", "crowns", "For this {v} were set aside.", "What budget did {n} approve?"),
    )),
    _Domain("Gardens near {w}", "{w} Garden", (
        _Attribute("Founder", "person", "The first beds were dug by {v}.", "Who founded {n}?"),
        _Attribute("Known for", "blue poppies|dwarf pears|tree ferns|black tulips|water lilies",
                   "Visitors to {n} travel far to see the {v}.", "What is {n} famous for?"),
        _Attribute("Area", "hectares", "{n} takes up {v} of the old park.", "How large is {n}?"),
        _Attribute("Closed", "month", "The gates of {n} stay shut in {v}.", "In which month is {n} closed?"),
        _Attribute("Gardener", "person", "Today the spade is in the hands of {v}.", "Who is the gardener of {n}?"),
    )),
)  # fmt: skip
_REMARKS = (
    "Older people in {w} still speak of the hard winter that came before.",
    "The road from {w} was in poor repair at that time, and carriers asked for more.",
    "A drawing of it hangs in the town hall of {w}, though nobody knows who made it.",
    "{p} wrote about it in a letter that has been lost.",
    "It is often mixed up with {o}, which lies on the other side of the hill.",
    "The records of those years are kept in {w} and may be seen on request.",
    "Compare what is said about {o} further on.",
    "Whether {p} ever saw it is not known.",
)


class _Inventor:
    """Names and values, none of the names twice; `said`: statements, none twice either."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.said: set[str] = set()
        self._used: set[str] = set()

    def word(self) -> str:
        while True:
            syllables = [
                self.chance.choice(_ONSETS)
                + self.chance.choices(_VOWELS, _VOWEL_WEIGHTS)[0]
                + self.chance.choice(_CODAS)
                for _ in range(self.chance.choice((2, 2, 3)))
            ]
            name = "".join(syllables).capitalize()
            if name not in self._used:
                self._used.add(name)
                return name

    def person(self) -> str:
        return f"{self.word()} {self.word()}"

    def value(self, kind: str) -> str:
        number = self.chance.randrange
        match kind:
            case "person":
                return self.person()
            case "place":
                return self.word()
            case "year":
                return str(number(1702, 1988))
            case "count":
                return str(number(12, 400))
            case "metres":
                return f"{number(110, 2900)} metres"
            case "litres":
                return f"{number(40, 900)} litres"
            case "hectares":
                return f"{number(3, 90)} hectares"
            case "crowns":
                return f"{number(2, 90)},{number(100, 999)} crowns"
            case "day":
                return f"{number(1, 29)} {self.chance.choice(_MONTHS)} {number(1951, 2024)}"
            case "month":
                return self.chance.choice(_MONTHS)
            case _:
                return self.chance.choice(kind.split("|"))


def sources(chance: random.Random, parts: int, *, remarks: int = 4) -> Iterator[Source]:
    """Documents without end, with so many parts each, the kinds of subjects taking turns. No name comes twice.

    Args:
        remarks: sentences of each part that state none of its facts and name other subjects.
    """
    invent = _Inventor(chance)
    while True:
        for domain in _DOMAINS:
            yield _source(invent, domain, parts, remarks)


def _source(invent: _Inventor, domain: _Domain, parts: int, remarks: int) -> Source:
    names = [domain.name.format(w=invent.word(), p=invent.person()) for _ in range(parts)]
    made = []
    for name in names:
        facts = tuple(_fact(invent, one, name) for one in domain.attributes)
        sentences = [fact.sentence for fact in facts]
        for _ in range(remarks):
            remark = invent.chance.choice(_REMARKS)
            remark = remark.format(w=invent.word(), p=invent.person(), o=invent.chance.choice(names))
            sentences.insert(invent.chance.randrange(1, len(sentences) + 1), remark)
        made.append(Part(name, tuple(sentences), facts))
    return Source(domain.title.format(w=invent.word()), tuple(made))


def _fact(invent: _Inventor, attribute: _Attribute, name: str) -> Fact:
    called = f"the {name}" if _is_thing(name) else name
    question = attribute.question.format(n=called)
    while True:
        value = invent.value(attribute.value)
        statement = attribute.statement.format(n=called, v=value)
        statement = statement[0].upper() + statement[1:]
        if statement not in invent.said:
            invent.said.add(statement)
            return Fact(name, attribute.column, value, statement, question)


def _is_thing(name: str) -> bool:
    return name.rpartition(" ")[2] in {domain.name.rpartition(" ")[2] for domain in _DOMAINS}
