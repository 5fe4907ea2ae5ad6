"""Checks of an answer that was read: its kind, its citation and its subject."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from atomr_local.language.literals import Quantity, only_in_dates, parse_date, parse_quantity, unit_name
from atomr_local.language.names import (
    POSSESSIVE,
    alike,
    base_key,
    name_key,
    name_parts,
    names_in,
    same_name,
    split_qualifier,
    words,
)
from atomr_local.language.properties import property_table
from atomr_local.language.question import read_question
from atomr_local.language.question_kind import defined_topic, expected_type
from atomr_local.language.sentences import sentences
from atomr_local.language.words import any_of, english, first_letters, number_words, picks_out, singular
from atomr_local.reasoning.reading.answer_formats import UNDATED, AnswerSpec, Reading
from atomr_local.sources.protocol import Evidence, SourceName
from atomr_local.system.sanitize import sanitize_line

# Whether an answer can be of the kind that its question asks for. Only what is certain counts against an answer.


_NAMED = ("person", "place", "organisation")
_DATED = ("date", "year")


def misfit(question: str, answers: Sequence[str]) -> bool:
    """Whether an answer is surely of another kind, such as a length for a count or a date for a person."""
    read = read_question(question)
    expected = read.expected
    quantities = [parse_quantity(answer) for answer in answers]
    if expected.surely(*_NAMED):
        return any(map(_is_amount, answers, quantities))
    if expected.surely(*_DATED):
        return any(found is not None and bool(found.unit) for found in quantities)
    if read.counted and expected.surely("number", "quantity"):
        units = _units(read.counted)
        return any(found is not None and bool(found.unit) and not _measured_in(found, units) for found in quantities)
    return False


def ranks_lower(question: str, text: str) -> bool:
    """Whether the question asks for the first of a rank ("the largest moon"), and the text tells of others alone ("the
    third largest", "one of the largest")."""
    ordinals = number_words().ordinals
    asked = words(question)
    if not picks_out(asked) - ordinals.keys() or any(ordinals.get(word, 0) > 1 for word in asked):
        return False
    rest, lower = _ranked().subn(" ", text.casefold())
    return lower > 0 and not picks_out(words(rest)) - ordinals.keys()


@cache
def _ranked() -> re.Pattern[str]:
    lower = any_of(word for word, place in number_words().ordinals.items() if place > 1)
    return re.compile(rf"\b(?:{lower}|\d+(?:st|nd|rd|th)|one of the|among the)[ -](?:(?:most|least) \w+|\w{{3,}}est\b)")


def without_dates(asked: AnswerSpec, reading: Reading) -> Reading:
    """The reading without answers to a question for a place or a person that the texts have in dates alone, such as the
    month of "born in October 1813". A grammar does not allow them; a server without grammars may write them.
    """
    if not asked.texts or asked.candidates or not expected_type(asked.question).surely(*UNDATED):
        return reading
    wrong = [answer for answer in reading.answers if only_in_dates(answer, asked.texts)]
    if not wrong:
        return reading
    dropped = (*reading.dropped, *(f"“{answer}” is part of a date: it is no answer" for answer in wrong))
    kept = [place for place, answer in enumerate(reading.answers) if answer not in wrong]
    if not kept:
        return Reading(confidence=reading.confidence, null=reading.null, dropped=dropped)
    return replace(
        reading,
        answers=tuple(reading.answers[place] for place in kept),
        each=tuple(reading.each[place] for place in kept) if reading.each else (),
        lines=tuple(reading.lines[place] for place in kept),
        dropped=dropped,
    )


def _is_amount(answer: str, quantity: Quantity | None) -> bool:
    return quantity is not None or parse_date(answer, bare_year=False) is not None


def _units(text: str) -> set[str]:
    """The units that the text begins with."""
    words = text.strip(" ?").split()
    found = (unit_name(" ".join(words[:size])) for size in range(1, len(words) + 1))
    return {unit for unit in found if unit}


def _measured_in(quantity: Quantity, units: set[str]) -> bool:
    return any(quantity.in_unit(unit) is not None for unit in units)


# The citation check: does the cited evidence contain the answer?

_VERDICTS = {"yes", "no"}


def holds(answer: str, evidence: Evidence) -> bool:
    """Whether the evidence's title, text or rows contain the answer's words in order; dates in any usual form."""
    wanted = words(name_key(answer))
    if not wanted:
        return False
    rows = evidence.locator.get("rows") or ()
    stored = (str(value) for row in rows for value in row.values()) if isinstance(rows, list | tuple) else ()
    haystacks = [evidence.title, evidence.text, *stored]
    needle = f" {' '.join(wanted)} "
    if any(needle in f" {' '.join(words(name_key(hay)))} " for hay in haystacks):
        return True
    date = parse_date(answer, bare_year=False)
    return date is not None and any(parse_date(hay) == date for hay in haystacks[2:])


def mentioned_share(question: str, evidence: Iterable[Evidence]) -> float | None:
    """The share of the question's content words that titles and texts of the evidence contain, in any form or as a
    synonym; None if the question has no content word.

    Many questions that a passage only seems to answer ask about something that it does not mention (Rajpurkar, Jia and
    Liang, ACL 2018, section 3, on the types of unanswerable questions).
    """
    asked = {word for word in words(name_key(question)) if word not in english().stop}
    if not asked:
        return None
    held = {first_letters(word) for item in evidence for word in words(name_key(f"{item.title} {item.text}"))}
    found = sum(any(first_letters(form) in held for form in (word, *english().told_by.get(word, ()))) for word in asked)
    return found / len(asked)


def are_verdicts(answers: Sequence[str]) -> bool:
    """Whether all answers are yes or no."""
    return all(answer.casefold() in _VERDICTS for answer in answers)


def supported(answers: Sequence[str], cited: Sequence[Evidence]) -> bool | None:
    """Whether the cited evidence contains every answer; None for yes/no, which no passage contains."""
    if not answers or are_verdicts(answers):
        return None
    return all(any(holds(answer, item) for item in cited) for answer in answers)


def agreement(answers: Sequence[str], evidence: Sequence[Evidence]) -> float | None:
    """Share of the answers that evidence from two places contains: two pages, or a page and the graph.

    None if there are no two places to compare, or for yes/no.
    """
    places = {(item.source, item.title) for item in evidence}
    if len(places) < 2 or not answers or are_verdicts(answers):
        return None
    held = [{(item.source, item.title) for item in evidence if holds(answer, item)} for answer in answers]
    return sum(len(found) > 1 for found in held) / len(held)


# The subject check: is what the cited evidence says about the one that was asked about?
#
# A passage may contain an answer and tell it of somebody else: of a relative, of a namesake, of the row above. Whom a
# sentence is about is told by the title of its page, by the names in it, or by those that its pronouns go back to. In a
# table it is the row, or the column's heading.


# Between the cells of a row.
_CELLS = re.compile(r"; | \| |\t|^\| | \|$")
_LABEL = re.compile(r"^([^:]{1,80}): (?=\S)")
# What a page says first of its subject, up to the verb: its other names.
_VERB = re.compile(r"\s(?:is|are|was|were)\s")
_BRACKETS = re.compile(r"[(（]([^()（）]*)[)）]")
_OPENS_WITH = 3
_LONGEST_OPENING = 300
_WORD = re.compile(r"\w[\w'’]*")
# What parts names in a run of capitalised words, and the small words before or between them.
_MARKS = re.compile(r"(?:[,;:!?()\[\]{}\"“”]|(?<!\b[^\W\d_])\.)+(?:\s+|$)|\s*[(\[{\"“”]+")
_OPENING_WORDS = re.compile(rf"^(?:(?:{any_of(english().stop)})\s+)+", re.IGNORECASE)
_JOINTS = re.compile(rf"\s(?:{any_of(english().small)})(?:\s(?:{any_of(english().small)}))*\s")
# Does not end a sentence: "directed by B. Reeves Eason".
_INITIAL = re.compile(r"(?<!\w)[^\W\d_]\.$")


@dataclass(frozen=True, slots=True)
class About:
    """Whom evidence is about.

    Attributes:
        subject: whether it is the one that was asked about; None: that cannot be told.
        whom: the other one, where it is not.
        where: what is about that one, "passage" or "row".
        row: the only row of the same table that is about the one asked about, where the answer stands in another.
    """

    subject: bool | None = None
    whom: str = ""
    where: Literal["passage", "row"] = "passage"
    row: str = ""


def about(
    names: Sequence[str], answers: Sequence[str], cited: Sequence[Evidence], found: Sequence[Evidence] = ()
) -> About:
    """Whether the cited evidence tells the answers of the one with these names.

    An answer counts as told of somebody else only if all evidence that contains it is clearly about others.

    Args:
        names: of the one that was asked about; descriptions ("the author of Emma") cannot be checked.
        found: all evidence of the step. A page of exactly that name tells that a longer name is another's.
    """
    names = [name for name in names if name_parts(name)]
    if not names or not answers or are_verdicts(answers):
        return About()
    exact = {base_key(name) for name in names} & {base_key(item.title) for item in found}
    each = []
    for answer in answers:
        if any(same_name(name, answer) for name in names):
            return About()
        told = [_Told(names, item, bool(exact)).of(answer) for item in cited if holds(answer, item)]
        each.append(max(told, key=_rank, default=About()))
    worst = min(each, key=_rank)
    refused = all(one.subject is False for one in each) and any(map(_is_name, names))
    return worst if worst.subject is not False or refused else About()


def told_of_namesake(name: str, answers: Sequence[str], text: str) -> bool:
    """Whether sentences name another with a word of the name, and not the name itself: "His wife, Cosima Wagner, was
    the daughter of Franz Liszt" may not be about Richard Wagner."""
    if _names(text, name):
        return False
    parts = name_parts(name)
    others = [other for other in _pieces(text) if not any(same_name(other, answer) is not False for answer in answers)]
    return any(
        same_name(name, other) is False and any(alike(one, part) for one in parts for part in name_parts(other))
        for other in others
    )


def tells_kinship(question: str, text: str) -> bool:
    """Whether a text has a word for each relation between people that the question asks for: "Emma Darwin was the wife
    of Charles Darwin" does not tell his mother."""
    told = set(words(text))
    return all(not known.isdisjoint(told) for word in words(question) if (known := _kinship_words().get(word)))


@cache
def _kinship_words() -> Mapping[str, frozenset[str]]:
    """For each relation between people, by each of its single words, the words that tell it."""
    told_by, stop = english().told_by, english().stop
    found = {word: frozenset({word, *told_by.get(word, ())}) for word in property_table().compound}
    for known in property_table().by_iri.values():
        if (known.kind, known.domain) == ("person", ("person",)):
            single = [name for name in (known.label, *known.names) if " " not in name]
            every = {word for name in (known.label, *known.names, *known.inverse) for word in words(name)} - stop
            every.update(word for name in single for word in told_by.get(name, ()))
            found |= {name: found.get(name, frozenset()) | every for name in single}
    return found


def _rank(told: About) -> int:
    return (False, None, True).index(told.subject)


def row_alone(evidence: Evidence, row: str) -> Evidence:
    """The evidence with one row of its table; its first line stays if it seems to hold the names of the columns."""
    first = next((line for line in evidence.text.splitlines() if _cells(line)), row)
    heading = first if first != row and not any(label for label, _ in _cells(row)) else ""
    return replace(evidence, text="\n".join(filter(None, (heading, row))))


class _Told:
    """What one piece of evidence tells of the one asked about.

    Args:
        elsewhere: that one has a page of exactly that name.
    """

    def __init__(self, names: Sequence[str], item: Evidence, elsewhere: bool) -> None:
        self._names = names
        self._item = item
        self._elsewhere = elsewhere
        self._title = split_qualifier(item.title)[0]

    def of(self, answer: str) -> About:
        titled = self._titled()
        if titled:
            return About(True)
        if same_name(self._title, answer) is not False:  # the answer's own page tells whose it is anywhere
            return About(True if self._named(self._item.text) else None)
        lines = [line for line in self._item.text.splitlines() if line.strip()]
        rows = _rows(lines, "table" in self._item.locator.values() or "cells" in self._item.locator)
        of_rows = [row for row in rows if _contains(row, answer)]
        if of_rows:
            return self._in_rows(answer, of_rows, rows)
        parts = self._sentences()
        places = [at for at, part in enumerate(parts) if _contains(part, answer)]
        if any(self._named(parts[at]) for at in places):
            return About(True)
        told = [self._of_sentence(parts, at, answer) for at in places]
        clear = [one for one in told if one.subject is not None and (one.subject or titled is False)]
        return clear[0] if clear and all(one.subject is clear[0].subject for one in clear) else About()

    def _titled(self) -> bool | None:
        """Whether the page, or the heading that the passage stands below, is the subject's."""
        locator = self._item.locator
        heads = [locator[key] for key in ("section", "heading", "table") if isinstance(locator.get(key), str)]
        if any(same_name(name, head) for name in self._names for head in heads):
            return True
        if isinstance(redirect := locator.get("redirect"), str) and redirect in self._names:
            return True
        found = [self._is_titled(name) for name in self._names]
        return True if True in found else None if None in found else False

    def _is_titled(self, name: str) -> bool | None:
        title = self._item.title
        if base_key(title) == base_key(name) or name_key(title) == name_key(name):
            return True
        if self._elsewhere and same_name(name, title) is not False and _goes_on(name, title):
            return False
        if self._opened_with(name):
            return True
        if _names(split_qualifier(title)[1], name):
            return None
        return same_name(name, title)

    def _opened_with(self, name: str) -> bool:
        """Whether the passage opens with the name as one of its page's own: "Mark Twain (born Samuel Clemens) was"."""
        verb = _VERB.search(self._item.text[:_LONGEST_OPENING])
        opening = self._item.text[: verb.start() if verb else _LONGEST_OPENING]
        first = _runs(opening)[:1]
        at = len(_WORD.findall(opening[: opening.find(first[0])])) if first else 0
        if first and at < _OPENS_WITH and same_name(name, first[0]):
            return True
        shared = any(alike(one, other) for one in name_parts(name) for other in name_parts(self._title))
        inside = " ; ".join(_BRACKETS.findall(opening))
        return not shared and bool(inside) and _names(inside, name)

    def _named(self, text: str) -> bool:
        return any(self._names_subject(text, name) for name in self._names)

    def _names_subject(self, text: str, name: str) -> bool:
        """Whether the text has the name, or the last word of it where nobody else there is called so."""
        if _names(text, name):
            return True
        parts = name_parts(name)
        if len(parts) < 2:
            return False
        others = _pieces(self._item.text)
        if any(parts[-1] in name_parts(other) and same_name(name, other) is False for other in others):
            return False
        if parts[-1] in name_parts(self._title) and not same_name(name, self._title):
            return False
        return any(name_parts(run)[-1:] == parts[-1:] for run in _pieces(text))

    def _is_other(self, name: str) -> bool:
        return all(same_name(own, name) is False for own in self._names)

    def _akin(self, other: str) -> bool:
        """Whether the other name shares a word with the subject's."""
        mine = [part for name in self._names for part in name_parts(name)]
        return any(alike(one, part) for one in mine for part in name_parts(other))

    # -- tables

    def _in_rows(self, answer: str, told: Sequence[str], rows: Sequence[str]) -> About:
        whom = ""
        for row in told:
            cells = _cells(row)
            own = [(label, value) for label, value in cells if _contains(value, answer)]
            if any(self._named(value) for label, value in cells if (label, value) not in own):
                return About(True)
            if any(self._named(label) for label, _ in own):
                return About(True)
            if any(self._named(label) for label, _ in cells):
                whom = own[0][0] if own else ""
            whom = whom or next((value for label, value in cells if (label, value) not in own), "")
        naming = [row for row in rows if any(self._named(text) for cell in _cells(row) for text in cell)]
        if not naming:
            return About()
        return About(False, whom, "row", naming[0] if len(naming) == 1 and naming[0] not in told else "")

    # -- sentences

    def _sentences(self) -> list[str]:
        text, parts = self._item.text, list[str]()
        for begin, end in sentences(text):
            if parts and _INITIAL.search(parts[-1]):
                parts[-1] += f" {text[begin:end]}"
            else:
                parts.append(text[begin:end])
        return parts

    def _of_sentence(self, parts: Sequence[str], at: int, answer: str) -> About:
        first, opener = _opening(parts[at], answer)
        group = opener or _pronouns(parts[at])
        if first and not opener and (not group or self._is_title(first)):
            return self._of_name(first, parts[at])
        return self._goes_back(parts[:at], group)

    def _goes_back(self, parts: Sequence[str], group: frozenset[str]) -> About:
        """Whom a pronoun of this kind means that stands after these sentences."""
        for back, before in enumerate(reversed(parts)):
            first, opener = _opening(before)
            named = self._named(before)
            if opener:
                if named and opener.isdisjoint(group):
                    if group and group is not english().pointing:
                        return About(True)  # "Its author is Ann Lee. She …"
                    if not back:
                        return About()  # "Its capital is Paris. The city …"
            elif first and self._is_title(first):
                return self._of_page() if not named or self._akin(self._title) else About()
            elif named:
                return About(True if any(same_name(name, first) is not False for name in self._names) else None)
            elif first and group.isdisjoint(_pronouns(before)):
                return self._of_name(first, before)
        return self._of_page()

    def _is_title(self, name: str) -> bool:
        """Whether the name is that of the page, or a word of it."""
        return same_name(name, self._title) is not False

    def _of_name(self, first: str, part: str) -> About:
        """What a sentence that names somebody first is about."""
        if self._is_title(first):
            return self._of_page() if self._akin(self._title) or not self._named(self._item.text) else About()
        if not self._is_other(first):
            return About()
        opens = part.lstrip("\"'“”‘’ ").startswith(first)
        return About(False, first) if self._akin(first) or (opens and len(name_parts(first)) > 1) else About()

    def _of_page(self) -> About:
        """What goes back to the page itself; a file is nobody."""
        if "file" in self._item.locator and not self._akin(self._title):
            return About()
        return About(False, self._item.title)


def _is_name(text: str) -> bool:
    """Whether the text is a name rather than a description: its first word but small ones is not in lower case."""
    found = [word for word in _WORD.findall(split_qualifier(text)[0]) if name_key(word) not in english().small]
    return bool(found) and not found[0][:1].islower()


def _goes_on(name: str, title: str) -> bool:
    """Whether the title is the name with further words of a name: "John Quincy Adams", "Paris Hilton",
    "Thomas-Alexandre Dumas"; not "Paris in the 18th century" or "Paris's bridges"."""
    bare = split_qualifier(title)[0]
    said, wanted = _WORD.findall(bare), name_parts(name)
    if POSSESSIVE.search(bare) or any(name_key(word) in english().small for word in said):
        return False
    if name_parts(bare)[:1] == wanted[:1]:
        return len(said) > len(wanted)
    pieces = name_key(bare).replace("-", " ").split()
    return 1 < len(wanted) < len(pieces) and pieces[-len(wanted) :] == wanted


def _names(text: str, name: str) -> bool:
    """Whether the text has the whole name; a name of one word not as a part of a longer one."""
    wanted = " ".join(words(base_key(name)))
    if len(name_parts(name)) > 1 or not _runs(text):
        text = POSSESSIVE.sub("", text)
        held = bool(wanted) and f" {wanted} " in f" {' '.join(words(text))} "
        return held or (len(name_parts(name)) > 1 and any(same_name(name, run) for run in _runs(text)))
    return any(base_key(piece) == base_key(name) for piece in _pieces(text))


def _runs(text: str) -> list[str]:
    """The names in a text, without marks around them and small words before them ("In Paris")."""
    cut = (part for run in names_in([POSSESSIVE.sub("", text)]) for part in _MARKS.split(run))
    return [bare for part in cut if (bare := _OPENING_WORDS.sub("", f"{part.strip()} ").strip())]


def _pieces(text: str) -> list[str]:
    """The names in a text, also those that small words join: "Gandhi in Gujarat"."""
    return [piece for run in _runs(text) for piece in _JOINTS.split(run) if piece]


def _contains(text: str, answer: str) -> bool:
    return holds(answer, Evidence("", "", text, 0.0, "", {}))


def _opening(part: str, answer: str = "") -> tuple[str, frozenset[str]]:
    """The first name of a sentence, and the pronouns of the kind with which it opens before that; "" and none.

    Args:
        answer: is no name that counts, and neither is what stands behind it.
    """
    first = next((run for run in _runs(part) if not (answer and _contains(run, answer))), "")
    bare = POSSESSIVE.sub("", part)
    place = bare.find(first) if first else -1
    if answer and first and 0 <= bare.casefold().find(answer.casefold()) < place:
        first, place = "", -1
    before = _WORD.findall(bare[:place] if place >= 0 else bare)
    if len(before) > 1 and before[0].casefold() in english().pointing and before[1].islower():
        return first, english().pointing
    for word in before[:_OPENS_WITH]:
        if found := english().pronouns.get(word.casefold()):
            return first, found
    return first, frozenset()


def _pronouns(part: str) -> frozenset[str]:
    """The first pronoun's kind."""
    found = (english().pronouns.get(word.casefold()) for word in _WORD.findall(part))
    return next((kind for kind in found if kind), frozenset())


def _cells(line: str) -> list[tuple[str, str]]:
    """The cells of a row with their labels; [] of a line that is none."""
    parts = [part.strip() for part in _CELLS.split(line) if part.strip()]
    if len(parts) < 2:
        return []
    return [(match[1], part[match.end() :]) if (match := _LABEL.match(part)) else ("", part) for part in parts]


def _rows(lines: Sequence[str], surely: bool) -> list[str]:
    """The lines that are rows of a table: those beside another of the same columns, or all with cells if it is one."""
    cut = [_cells(line) for line in lines]
    shapes = [(len(cells), *(label for label, _ in cells)) for cells in cut]
    return [
        line
        for at, line in enumerate(lines)
        if cut[at] and (surely or shapes[at] in (shapes[at - 1 : at] + shapes[at + 1 : at + 2]))
    ]


# Answers a bare topic, or "tell me about …", with the first sentences of the page of that name.

_WORDS = 50
_SENTENCE_WORDS = 5
_FACT = " \u2014 "  # between subject and property in a fact of the graph


def topic_page(question: str, evidence: Sequence[Evidence], *, alone: bool = False) -> Evidence | None:
    """The evidence whose title is in the question, if it mentions most of the topic's words: pages before graph facts,
    longer titles first, and of those that are alike one without a qualifier, from its beginning.

    Args:
        alone: the question must be exactly that title.
    """
    asked_words = name_key(question).split()
    # "Tell me about bees": the page is called Bee.
    asked = f" {' '.join(asked_words)}  {' '.join(map(singular, asked_words))} "

    topic = defined_topic(question)

    def held(item: Evidence) -> bool:
        if alone:
            return is_titled(item, question)
        # "The explorer Ann Lee" is not told by what there is on explorers.
        told = " " not in topic or (mentioned_share(topic, [item]) or 0.0) > 0.5
        return told and any(f" {key} " in asked for key in _keys(item))

    def rank(item: Evidence) -> tuple[bool, int, bool, int]:
        key, base = name_key(item.title), base_key(item.title)
        begin = (item.locator.get("span") or (0,))[0]
        return item.source != SourceName.GRAPH, len(base), key == base, -begin

    return max(filter(held, evidence), key=rank, default=None)


def is_titled(item: Evidence, name: str) -> bool:
    """Whether the name is the title of the evidence, with or without its qualifier and article."""
    return not _keys(item).isdisjoint({name_key(name), singular(name_key(name))})


def _keys(item: Evidence) -> set[str]:
    return {name_key(item.title), base_key(item.title)} - {""}


def opening(page: Evidence, words: int = _WORDS) -> str:
    """The first sentences with at most this many words together; a longer first sentence is cut.

    For an entity of the graph its description, if it has one.
    """
    line = sanitize_line(page.text)
    kept: list[str] = []
    for begin, end in sentences(line):
        piece = line[begin:end].strip()
        if kept and page.source == SourceName.GRAPH and _FACT in piece:
            break
        if kept and len(" ".join([*kept, piece]).split()) > words:
            break
        if piece:
            kept.append(piece)
    told = " ".join(kept).split()
    return " ".join(told) if len(told) <= words else " ".join(told[:words]) + " …"


def is_sentence(text: str) -> bool:
    """Whether a text is a sentence, such as a topic's opening; "Washington, D.C." is not."""
    return len(text.split()) >= _SENTENCE_WORDS and text.endswith((".", "!", "?", "…"))


# What a question names: what may be looked up of it.


def named_in(question: str) -> tuple[str, ...]:
    """What an input may name of the question: its capitalised names, and its words without those that say nothing."""
    small, runs = english().stop, [list[str]()]
    for word in question.split():
        if all(key in small for key in words(word)):
            runs.append([])
        else:
            runs[-1].append(word)
    return tuple(dict.fromkeys((*names_in([question]), *(" ".join(run) for run in runs if run)))) or (question,)
