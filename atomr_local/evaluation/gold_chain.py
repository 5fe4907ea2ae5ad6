"""The gold reasoning chain of a question, compared with a trace.

Data sets write one entity in several ways: in the question ("The Charm Of La Boheme"), as the page title, and as the
head of a fact ("The Charm of La Bohème (German: Zauber der Boheme"). A hop here carries all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from atomr_local.evaluation.datasets import GoldFact
from atomr_local.evaluation.metrics import same_value
from atomr_local.language.literals import parse_date
from atomr_local.language.names import base_key, name_key
from atomr_local.language.properties import property_table
from atomr_local.language.words import number_words

# The longest of a month's names is the one that is no abbreviation.
_MONTHS = {number: name for name, number in sorted(number_words().months.items(), key=lambda named: len(named[0]))}


@dataclass(frozen=True)
class Hop:
    """One gold fact.

    Attributes:
        heads: every way in which the head is written.
        pages: titles of the gold pages about the head.
        relation: wordings of the relation, as keys.
        tails: every way in which the tail is written.
        start: keys of the entity in the question that the chain sets out from.
        previous: index of the hop whose tail is this one's head; None if the head stands in the question.
    """

    heads: tuple[str, ...]
    pages: tuple[str, ...]
    relation: frozenset[str]
    tails: tuple[str, ...]
    start: frozenset[str]
    previous: int | None

    def told_by(self, answers: Iterable[str]) -> bool:
        """Whether one of the answers is the hop's tail."""
        return any(same_name(answer, tail) for answer in answers for tail in self.tails)

    def stands_in(self, title: str, text: str) -> bool:
        """Whether a piece of evidence holds the fact: it is the head's page, or names head and tail."""
        if any(name_key(title) == name_key(page) for page in self.pages):
            return True
        names_head = any(base_key(title) == base_key(head) or mentions(text, head) for head in self.heads)
        return names_head and any(mentions(text, tail) for tail in self.tails)


def same_name(one: str, other: str) -> bool:
    """Whether two texts are one value or one name, parenthetical qualifiers aside."""
    return same_value(one, other) or base_key(one) == base_key(other)


def mentions(text: str, value: str) -> bool:
    """Whether the value stands in the text as whole words; a date in any usual order."""
    padded = f" {name_key(text)} "
    return any(f" {form} " in padded for form in _forms(value))


def gold_hops(question: str, facts: Sequence[GoldFact], gold_titles: Sequence[str]) -> list[Hop]:
    """The chain of a question, in the data set's order.

    A hop continues from the earlier hop whose tail has its head's name. Else it sets out from the question if its head
    is written there; if not, from the earlier hop with the nearest tail that nothing continues from yet.
    """
    asked = name_key(question)
    in_question = [title for title in gold_titles if f" {base_key(title)} " in f" {asked} "]
    claimed = {base_key(fact.head) for fact in facts}
    spare = [title for title in in_question if base_key(title) not in claimed]
    hops: list[Hop] = []
    continued: set[int] = set()
    for fact in facts:
        pages = tuple(title for title in gold_titles if base_key(title) == base_key(fact.head))
        previous = next((index for index, hop in enumerate(hops) if hop.told_by([fact.head])), None)
        if previous is None and f" {base_key(fact.head)} " not in f" {asked} ":
            previous = _nearest(fact, hops, continued)
            if previous is None:
                pages = pages or tuple(spare)
        heads = tuple(dict.fromkeys((fact.head, *pages)))
        if previous is None:
            start = frozenset(base_key(head) for head in heads)
        else:
            continued.add(previous)
            start = hops[previous].start
            heads = tuple(dict.fromkeys((*heads, *hops[previous].tails)))
            tails = tuple(dict.fromkeys((*hops[previous].tails, *heads)))
            hops[previous] = replace(hops[previous], tails=tails)
        hops.append(Hop(heads, pages, _wordings(fact.relation), (fact.tail,), start, previous))
    return hops


def _nearest(fact: GoldFact, hops: Sequence[Hop], continued: set[int]) -> int | None:
    waiting = [index for index in range(len(hops)) if index not in continued]
    head = set(name_key(fact.head).split())
    for index in waiting:
        if any(head & set(name_key(tail).split()) for tail in hops[index].tails):
            return index
    return waiting[-1] if waiting else None


def _wordings(relation: str) -> frozenset[str]:
    known = property_table().by_label.get(name_key(relation))
    wordings = (relation, *known.names, *known.inverse) if known else (relation,)
    return frozenset(name_key(wording) for wording in wordings)


def _forms(value: str) -> set[str]:
    forms = {name_key(value), base_key(value)}
    date = parse_date(value, bare_year=False)
    if date is None or date.month is None:
        return forms
    name, year, month = _MONTHS[date.month], date.year, date.month
    if date.day is None:
        return forms | {f"{name} {year}", f"{year:04d} {month:02d}"}
    return forms | {
        f"{date.day} {name} {year}",
        f"{name} {date.day} {year}",
        f"{name} {date.day:02d} {year}",
        f"{year:04d} {month:02d} {date.day:02d}",
    }
