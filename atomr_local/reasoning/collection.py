"""Answers questions about a collection as a whole from its files, dates and words; no model is asked.

The answer tells the rule by which it was found. What is of this family and cannot be told is declined with the reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from pathlib import PurePosixPath

from atomr_local.language.collection_questions import CollectionQuestion, collection_question, collection_words, plural
from atomr_local.language.literals import Period, format_number, parse_quantity
from atomr_local.language.sentences import sentences, spread
from atomr_local.language.words import english, singular
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.source_access import SourceAccess, SourcesAtHand
from atomr_local.reasoning.trace.events import SourcesSelected
from atomr_local.sources.protocol import (
    Collection,
    Evidence,
    HasCollection,
    HeldDate,
    HeldDocument,
    HeldPassage,
    Value,
    ValueKind,
)
from atomr_local.system.sanitize import sanitize_line

# What a question wants documents to hold: whole words, case and accents aside.

_TOKEN = re.compile(r"[^\W_]+")
_QUOTED = re.compile(r"^[\"“”'‘’«](?P<term>.+?)[\"“”'‘’»]$")
_WORD_ITSELF = re.compile(r"^(?:the )?(?:words?|terms?|names?|phrases?|expression) (?P<term>.+)$", re.I)
_ARTICLE = re.compile(r"^(?:the|an?|my|our|your|any|some)\s+", re.I)


def tokens(text: str) -> list[str]:
    """The words of the text in small letters without accents, as the full-text index divides them."""
    folded = text.casefold()
    if not folded.isascii():
        folded = "".join(one for one in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(one))
        folded = spread(folded)
    return _TOKEN.findall(folded)


def framed(words: Iterable[str]) -> str:
    """Words so written that a phrase is found in them by its letters, and each occurrence counted."""
    return "".join(f" {word} " for word in words)


def apart(texts: Iterable[str]) -> str:
    """The words of the texts, framed, so that no phrase reaches from one text into the next."""
    return " / ".join(framed(tokens(text)) for text in texts)


@dataclass(frozen=True, slots=True)
class Part:
    """A word or phrase as the question has it, and the forms of its number that count too."""

    said: str
    forms: tuple[tuple[str, ...], ...]

    def count(self, text: str) -> int:
        """How often a framed text holds it."""
        return sum(text.count(framed(form)) for form in self.forms)


Choice = tuple[Part, ...]  # all have to be held


def read_term(text: str, *, words: bool = False) -> tuple[Choice, ...]:
    """What has to be held, as choices one of which suffices; empty if the text holds no word.

    Args:
        words: whether the words of a phrase may stand apart.
    """
    itself = _WORD_ITSELF.match(text)
    term = itself["term"] if itself is not None else text
    quoted = _QUOTED.match(term)
    if itself is not None or quoted is not None:
        part = part_of(quoted["term"] if quoted is not None else term, exact=True)
        return ((part,),) if part.forms else ()
    choices = []
    for choice in re.split(r",?\s+or\s+", text):
        pieces = [_ARTICLE.sub("", piece) for piece in re.split(r",?\s+and\s+", choice)]
        if words:
            pieces = [word for piece in pieces for word in tokens(piece) if word not in english().stop] or pieces
        choices.append(tuple(part for part in map(part_of, pieces) if part.forms))
    return tuple(filter(None, choices))


def part_of(text: str, *, exact: bool = False) -> Part:
    """The part that the words are; `exact`: in this number alone."""
    found = tuple(tokens(text))
    end = _other_number(found[-1]) if found and not exact else ""
    return Part(text, ((found, *([(*found[:-1], end)] if end else []))) if found else ())


def _other_number(word: str) -> str:
    """The plural of a singular, or the singular of a plural, as regular nouns have them; "" of what is neither."""
    if len(word) < 3 or not word.isalpha():
        return ""
    one = singular(word)
    return one if one != word else plural(word)


# Which documents a question about a collection means: by folder, ending, and the words in path and title.


@dataclass(frozen=True)
class Population:
    """The documents that a question is about; `which`: what stands behind "files" in a sentence, such as " in help"."""

    documents: Sequence[HeldDocument]
    which: str = ""

    def counted(self, number: int) -> str:
        return f"{number} {'file' if number == 1 else 'files'}{self.which}"


def population_of(
    read: CollectionQuestion, documents: Sequence[HeldDocument], is_folder: Callable[[str], bool], part: str
) -> Population | None:
    """The documents that the noun and the words before it name; None if it names none.

    Args:
        part: that the documents are of, in words.
    """
    which = [f" in the part {part}"] if part else []
    words = [word for word in read.called if not is_folder(word)]
    folders = [*(word for word in read.called if word not in words), *([read.folder] if read.folder else [])]
    nouns = collection_words()
    if not folders and not words and read.noun in ("note", "page") and is_folder(f"{read.noun}s"):
        folders = [f"{read.noun}s"]
    for folder in folders:
        documents = [one for one in documents if in_folder(one, tokens(folder))]
        which.insert(0, f" in {folder}")
    if read.noun in nouns["endings"]:
        endings = nouns["endings"][read.noun]
        documents = [one for one in documents if ending(one) in endings]
        which.insert(0, f" ending in {' or '.join(f'.{end}' for end in endings)}")
    elif read.noun in nouns["named"]:
        words.append(read.noun)
    if words:
        parts = [part_of(word) for word in words]
        documents = [one for one in documents if all(part.count(apart((one.file, one.title))) for part in parts)]
        which.insert(0, f" with “{' '.join(words)}” in path or title")
    return Population(documents, "".join(which)) if documents or not (words or read.noun in nouns["endings"]) else None


def in_folder(document: HeldDocument, name: Sequence[str]) -> bool:
    """Whether a folder of the document's path, or several one in the other, have the name."""
    parts = [tokens(part) for part in PurePosixPath(document.file).parts[:-1]]
    spans = ((begin, end) for begin in range(len(parts)) for end in range(begin + 1, len(parts) + 1))
    return any([word for part in parts[begin:end] for word in part] == list(name) for begin, end in spans)


def ending(document: HeldDocument) -> str:
    """Of its file, without the dot."""
    return PurePosixPath(document.file).suffix.casefold().lstrip(".")


# Sums and averages over a column of one table, where file and column are sure.

_TOTALS = frozenset({"total", "totals", "sum", "grand total", "subtotal", "average", "mean"})
_IN_BRACKETS = re.compile(r"\s*[(\[].*?[)\]]")


@dataclass
class Column:
    """A column of a table.

    Attributes:
        values: (value, of a row of totals) of the rows that have one, in order.
        rows: how many the table has.
        first_columns: names of the first column of those rows; several show that these are several tables.
    """

    file: str
    name: str
    values: list[tuple[str, bool]] = field(default_factory=list)
    rows: int = 0
    first_columns: set[str] = field(default_factory=set)


def is_table(document: HeldDocument) -> bool:
    return ending(document) in collection_words()["endings"]["spreadsheet"]


def is_called(document: HeldDocument, name: str) -> bool:
    """Whether the name is the file's, with or without its ending and folders, or the title."""
    path = PurePosixPath(document.file)
    names = (document.file, path.name, path.stem, document.title)
    return tokens(name) in [tokens(one) for one in names]


def columns_named(document: HeldDocument, passages: Sequence[HeldPassage], name: str) -> list[Column]:
    """The columns of the table with this name, as it is written or but for what stands in brackets ("Price (EUR)")."""
    lines = (line for passage in passages for line in passage.text.split("\n"))
    rows = [row for line in lines if (row := _cells(line))]
    wanted = tokens(name)
    found: dict[str, Column] = {}
    for row in rows:
        for label, value in row:
            if wanted in (tokens(label), tokens(_IN_BRACKETS.sub("", label))):
                column = found.setdefault(label, Column(document.file, label, rows=len(rows)))
                column.values.append((value, " ".join(tokens(row[0][1])) in _TOTALS))
                column.first_columns.add(row[0][0])
    return list(found.values())


def _cells(line: str) -> list[tuple[str, str]]:
    """(name, value) of the cells of a row; a piece without a name goes on with the value before it."""
    cells: list[tuple[str, str]] = []
    for piece in line.split("; "):
        name, colon, value = piece.partition(": ")
        if colon:
            cells.append((name.strip(), value.strip()))
        elif cells:
            cells[-1] = (cells[-1][0], f"{cells[-1][1]}; {piece}")
    return cells


def combined(column: Column, *, average: bool) -> tuple[str, str]:
    """(the sum or average, what has been done); the first is "" where the second says why it is not possible."""
    if len(column.first_columns) > 1:
        return "", f"the rows of {column.file} with a column “{column.name}” are not of one table"
    values = [value for value, is_total in column.values if not is_total]
    read = [parse_quantity(value) for value in values]
    unread = [value for value, quantity in zip(values, read, strict=True) if quantity is None]
    if unread or not values:
        shown = f"“{unread[0][:60]}” in it is no number" if unread else "it has no values"
        return "", f"the column “{column.name}” of {column.file} cannot be added up: {shown}"
    amounts = [quantity for quantity in read if quantity is not None]
    units = {quantity.unit for quantity in amounts}
    if len(units) > 1:
        return "", f"the column “{column.name}” of {column.file} has several units: {', '.join(sorted(units))}"
    total = sum((quantity.amount for quantity in amounts), Decimal())
    figure = f"{format_number(round(total / len(amounts), 6) if average else total)} {units.pop()}".strip()
    notes = f" over {len(values)} rows"
    if totals := len(column.values) - len(values):
        notes += f", without {totals} of totals"
    if empty := column.rows - len(column.values):
        notes += f"; {empty} {'has' if empty == 1 else 'have'} no value there"
    what = "average" if average else "total"
    return figure, f"The {what} of “{column.name}” in {column.file} is {figure}{notes}."


def listed(names: Iterable[str], most: int = 5) -> str:
    """Some of the names, and how many others there are."""
    every: Sequence[str] = list(dict.fromkeys(names))
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return f"{', '.join(every[:most])}{more}"


MOST_LISTED = 200
ABOUT_TIMES = 5  # a document that holds a word so often is about it, whatever its headings say
_ANSWERED = "rule: a question about the documents as a whole"
_Shown = Mapping[str, HeldPassage]  # of documents, by id: the passage that tells what was asked


def collection_reader(at_hand: SourcesAtHand) -> CollectionReader | None:
    """A reader of the first source that is a collection of documents; None if none is."""
    return at_hand.tool(CollectionReader, lambda one: one.collection() if isinstance(one, HasCollection) else None)


@dataclass
class _Answer:
    """What the documents say to a question.

    Attributes:
        sentence: tells the rule too.
        values: bare; none where there is no answer.
        rests_on: documents; none where it rests on all of them. `shown`: their passages, where these are known.
        declined: whether the documents were not even searched.
    """

    sentence: str
    values: tuple[str, ...] = ()
    rests_on: Sequence[HeldDocument] = ()
    shown: _Shown = field(default_factory=dict)
    declined: bool = False
    notes: list[str] = field(default_factory=list)


class CollectionReader:
    """Reads one collection.

    Args:
        today: what "last week" counts from.

    Raises (all methods):
        SourceError: the source failed.
        Cancelled: the question was cancelled.
    """

    def __init__(self, access: SourceAccess[Collection], today: Callable[[], date] = date.today) -> None:
        self.access = access
        self._today = today
        self._answers: dict[str, _Answer | None] = {}

    @cached_property
    def _documents(self) -> Sequence[HeldDocument]:
        return self.access.offer.documents()

    def takes(self, question: str) -> bool:
        """Whether the question is one about the documents as a whole."""
        return self._answer(question) is not None

    def answer(self, node_id: int, question: str) -> Result | None:
        """The answer; None if the question asks for anything else, or the step may not use the source."""
        access = self.access
        if not access.may_use(node_id) or (answer := self._answer(question)) is None:
            return None
        access.recorder.emit(SourcesSelected(node_id=node_id, sources=(access.source,), reason=_ANSWERED))
        with access.retrieval(node_id, question) as evidence:
            evidence.extend(access.recorder.take_in(self._evidence(question, answer)))
        result = Result(evidence=list(evidence), dropped=answer.notes, computed=True)
        sentence = sanitize_line(answer.sentence)
        if not answer.values:
            return replace(result, none=True, reason=sentence)
        kind = ValueKind.NUMBER if len(answer.values) == 1 and answer.values[0].isdecimal() else ValueKind.TEXT
        values = tuple(Value(sanitize_line(text), kind) for text in answer.values)
        cited = [item.id for item in evidence]
        return replace(result, values=values, method="computed", cited=cited, computation=sentence)

    def _answer(self, question: str) -> _Answer | None:
        if question not in self._answers:
            self._answers[question] = self._found(question)
        return self._answers[question]

    def _found(self, question: str) -> _Answer | None:
        """What the documents say to the question; None if it asks for anything else."""
        read = collection_question(question, self._is_folder, self._today())
        if read is None or not self._documents:
            return None
        if read.problem:
            return _declined(read.problem)
        if read.column:
            return self._of_table(read)
        if read.folder and not self._is_folder(read.folder):
            folders = listed(sorted({str(PurePosixPath(one.file).parent) for one in self._documents} - {"."}))
            return _declined(f"No folder is called “{read.folder}”; there are: {folders or 'none'}")
        population = population_of(read, self._documents, self._is_folder, self.access.offer.part)
        if population is None:
            return None
        answer = self._of_documents(read, population)
        # Where there is none, such a question is more likely one of what is in the documents.
        loose = read.loosely and (read.noun in collection_words()["named"] or bool(read.called))
        return None if loose and not answer.values else answer

    def _is_folder(self, name: str) -> bool:
        wanted = tokens(name)
        return bool(wanted) and any(in_folder(one, wanted) for one in self._documents)

    def _of_documents(self, read: CollectionQuestion, population: Population) -> _Answer:
        found = list(population.documents)
        clauses: list[tuple[str, str]] = []  # of one document, and of several
        notes: list[str] = []
        shown: dict[str, HeldPassage] = {}
        for said, about in ((read.mention, False), (read.about, True)):
            if said:
                found, told = self._holding(found, read_term(said, words=about), shown, about=about)
                clauses.append((f"holds {told}", f"hold {told}") if about else (f"contains {told}", f"contain {told}"))
        if read.tag:
            tagged = self.access.offer.tagged(read.tag)
            found = [one for one in found if one.id in tagged]
            clauses.append((f"is tagged “{read.tag}”", f"are tagged “{read.tag}”"))
        dates: dict[str, HeldDate] = {}
        picks = read.form in ("newest", "oldest")
        if picks or read.period is not None:
            ids = [one.id for one in found]
            dates = self.access.offer.dates(ids, self.access.cancellation, changed=read.changed)
            found = [one for one in found if one.id in dates]
        if (period := read.period) is not None:
            found = [one for one in found if period.holds(dates[one.id].day)]
            how = "time when the file was changed" if read.changed else "date that they state, else of the file"
            within = f"{period.text} ({_days_told(period)}), by the {how}"
            clauses.append((f"is dated {within}", f"are dated {within}"))
        files = _by_file(found)
        told = _told(len(files), len(_by_file(population.documents)), population, clauses)
        if picks and files:
            return _picked(read, files, dates, told)
        rests_on = files if clauses or population.which else []
        if read.form == "count":
            return _Answer(f"{told}.", (str(len(files)),), rests_on, shown)
        more = len(files) - MOST_LISTED
        if more > 0:
            notes.append(f"{more} of {len(files)} are not listed (limit {MOST_LISTED})")
        names = tuple(one.file for one in files[:MOST_LISTED])
        sentence = f"{told}: {listed((one.file for one in files), MOST_LISTED)}." if names else f"{told}."
        return _Answer(sentence, names, rests_on, shown, notes=notes)

    def _holding(
        self, documents: list[HeldDocument], term: Sequence[Choice], shown: dict[str, HeldPassage], *, about: bool
    ) -> tuple[list[HeldDocument], str]:
        """The documents that hold the term, or are about it, and the term in words; `shown` gets their passages."""
        parts = tuple(dict.fromkeys(part for choice in term for part in choice))
        may = self._may_hold(term)
        held = {one.id: {p for p in parts if about and p.count(apart((one.file, one.title)))} for one in documents}
        by_id = {one.id: one for one in documents}
        forms: set[tuple[str, ...]] = set()
        ids = [name for name in by_id if may is None or name in may]
        for name, passages in self.access.offer.texts(ids, self.access.cancellation):
            headings = [heading for passage in passages for heading in passage.headings]
            above = apart([_own_title(by_id[name]), *dict.fromkeys(headings)])
            whole = f"{framed(word for passage in passages for word in tokens(passage.text))} / {above}"
            for part in parts:
                times = part.count(whole)
                if times >= ABOUT_TIMES or part.count(above) if about else times:
                    held[name].add(part)
                forms.update(form for form in part.forms if framed(form) in whole)
            if (passage := _telling(passages, parts)) is not None:
                shown[name] = passage
        told = " or ".join(" and ".join(_part_told(part, forms) for part in choice) for choice in term)
        told += f" in title, heading or path, or at least {ABOUT_TIMES} times" if about else ""
        return [one for one in documents if any(held[one.id].issuperset(choice) for choice in term)], told

    def _may_hold(self, term: Sequence[Choice]) -> frozenset[str] | None:
        """Ids of the documents that have to be read; None: all."""
        found = frozenset[str]()
        for choice in term:
            of_choice: frozenset[str] | None = None
            for part in choice:
                # A form that the index does not know stands nowhere, or none of its words can be sought there.
                forms = [held for form in part.forms if (held := self.access.offer.may_hold(form)) is not None]
                if forms:
                    of_part = frozenset[str]().union(*forms)
                    of_choice = of_part if of_choice is None else of_choice & of_part
            if of_choice is None:
                return None
            found |= of_choice
        return found

    def _of_table(self, read: CollectionQuestion) -> _Answer | None:
        tables = [one for one in self._documents if is_table(one)]
        if read.table:
            named = [one for one in tables if is_called(one, read.table)]
            if not named:
                if PurePosixPath(read.table).suffix.lstrip(".") not in collection_words()["endings"]["spreadsheet"]:
                    return None
                there = listed(one.file for one in tables) or "none"
                return _declined(f"No table is called “{read.table}”; there are: {there}")
            tables = named
        by_id = {one.id: one for one in tables}
        columns: list[Column] = []
        for name, passages in self.access.offer.texts(list(by_id), self.access.cancellation):
            columns += columns_named(by_id[name], passages, read.column)
        if not columns:
            where = listed(one.file for one in tables)
            return _declined(f"No column of {where} is called “{read.column}”") if read.table else None
        if len(columns) > 1:
            where = listed(f"“{column.name}” in {column.file}" for column in columns)
            return _declined(f"{len(columns)} columns match: {where}. Name the file and the column")
        figure, told = combined(columns[0], average=read.form == "average")
        if not figure:
            return _declined(told)
        return _Answer(told, (figure,), [one for one in tables if one.file == columns[0].file][:1])

    def _evidence(self, question: str, answer: _Answer) -> list[Evidence]:
        """The files that an answer rests on, each with the place that tells it; of all files their list."""
        if answer.declined:
            return []
        offer, rests_on = self.access.offer, list(answer.rests_on[:MOST_LISTED])
        if not rests_on:
            files = sorted({one.file for one in self._documents})
            more = [f"and {len(files) - MOST_LISTED} more"] if len(files) > MOST_LISTED else []
            text = "\n".join([*files[:MOST_LISTED], *more])
            return [Evidence(self.access.source, f"{len(files)} files", text, 1.0, question, {"files": len(files)})]
        unread = [one.id for one in rests_on if one.id not in answer.shown]
        begun = {name: held[0] for name, held in offer.texts(unread, self.access.cancellation, opening=True) if held}
        shown = {**begun, **answer.shown}
        return [offer.cited(one.title, shown[one.id], question) for one in rests_on if one.id in shown]


def _by_file(documents: Sequence[HeldDocument]) -> list[HeldDocument]:
    """One document of each file."""
    files: dict[str, HeldDocument] = {}
    for one in documents:
        files.setdefault(one.file, one)
    return list(files.values())


def _own_title(document: HeldDocument) -> str:
    """The title, where it is not just the file's name."""
    path = PurePosixPath(document.file)
    return "" if document.title in (path.name, path.stem) else document.title


def _telling(passages: Sequence[HeldPassage], parts: Sequence[Part]) -> HeldPassage | None:
    """The sentence that holds a part, in the first passage that holds most of them; else that passage, or None."""
    counted = [(sum(part.count(framed(tokens(passage.text))) > 0 for part in parts), passage) for passage in passages]
    most, passage = max(counted, key=lambda one: one[0], default=(0, None))
    if not most or passage is None:
        return None
    spans = list(sentences(passage.text))
    for part in parts:
        for begin, end in spans:
            text = passage.text[begin:end]
            if part.count(framed(tokens(text))):
                start = passage.start + begin + len(text) - len(text.lstrip())
                return replace(passage, text=text.strip(), start=start, end=start + len(text.strip()))
    return passage


def _part_told(part: Part, forms: set[tuple[str, ...]]) -> str:
    others = [" ".join(form) for form in part.forms[1:] if form in forms]
    return " or ".join(f"“{one}”" for one in (part.said, *others))


def _told(number: int, total: int, population: Population, clauses: Sequence[tuple[str, str]]) -> str:
    """What is true of how many, without a full stop: "3 of 12 files in help contain “sync”"."""
    if not clauses:
        return f"There {'is' if number == 1 else 'are'} {population.counted(number)}"
    which = 0 if number in (0, 1) else 1
    return f"{number or 'None'} of {population.counted(total)} {' and '.join(clause[which] for clause in clauses)}"


def _picked(
    read: CollectionQuestion, files: Sequence[HeldDocument], dates: Mapping[str, HeldDate], told: str
) -> _Answer:
    """The newest or oldest of the documents; several of one day."""
    of_files = [dates[one.id] for one in files]
    end = (max if read.form == "newest" else min)(one.day for one in of_files)
    chosen = [one for one in files if dates[one.id].day == end]
    unstated = sum(not one.stated for one in of_files)
    notes = []
    if 0 < unstated < len(of_files):
        notes.append(f"{unstated} of {len(of_files)} state no date: for them the time counts when the file was changed")
    names = tuple(one.file for one in chosen[:MOST_LISTED])
    sentence = (
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} the {read.form}: {dates[chosen[0].id].how}. {told}."
    )
    return _Answer(sentence, names, chosen, notes=notes)


def _days_told(period: Period) -> str:
    if period.first is not None and period.last is not None:
        return str(period.first) if period.first == period.last else f"{period.first} to {period.last}"
    return f"from {period.first} on" if period.first is not None else f"until {period.last}"


def _declined(problem: str) -> _Answer:
    told = problem if problem.endswith(".") else f"{problem[0].upper()}{problem[1:]}."
    return _Answer(told, declined=True)
