"""Facts about a page's subject, from its passages: in infoboxes, by labels and set phrases, and by the model where two
readers agree.

The embedder chooses the relations whose questions are nearest to a passage's sentences. For each of them the span
reader, which takes milliseconds, judges whether the passage answers the question at all. Of several questions with one
answer only the surest is kept: "Its area is 468 square kilometres" tells no length. Then the model reads the answer,
under a grammar that allows words of the passage alone. A fact counts if both read the same,
in a sentence about the page's subject.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from atomr_local.indexing.readers.wikipedia.infobox import field_of
from atomr_local.language.literals import parse_date, parse_quantity
from atomr_local.language.names import name_key, split_qualifier
from atomr_local.language.properties import KnownProperty, property_table
from atomr_local.language.sentences import sentences
from atomr_local.page_facts.passages import PagePassage
from atomr_local.page_facts.wordings import (
    OF_A_LIFE,
    Wording,
    about_subject,
    asked_relations,
    known_property,
    mention,
    short_answer,
    stated_facts,
    usable_name,
    wording_of,
)
from atomr_local.sources.protocol import Evidence, SourceName
from atomr_local.system.sanitize import sanitize_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomr_local.reasoning.reading.answer_formats import Reading
    from atomr_local.reasoning.reading.reader import Reader, SpanJudge


How = Literal["infobox", "phrase", "labelled", "model"]
_SAID = 400  # characters of a sentence at most


@dataclass(frozen=True, slots=True)
class PassageFact:
    """A fact with the passage that states it. Untrusted.

    Attributes:
        subject: the page's title, or what a row of a table names.
        relation: the label of a property.
        value: as the passage writes it.
        passage: id of the passage in its text index.
        said: the sentence.
        how: stated by an infobox, found by a set phrase or by a label before the value, or read by the model.
        sure: the least of the probabilities that its readers give, 0 to 1; None if the model did not read it.
        page: the title of the page, where that is not the subject.
    """

    subject: str
    relation: str
    value: str
    passage: str
    said: str
    how: How
    sure: float | None = None
    page: str = ""

    def to_dict(self) -> dict[str, Any]:
        """A line of facts as `atomr graph build` reads them, with where the fact is stated."""
        bare = split_qualifier(self.subject)[0]
        known = known_property(self.relation)
        return {
            "s": self.subject,
            **({"s_aliases": [bare]} if bare != self.subject else {}),
            "p": self.relation,
            **({"p_id": known.id} if known is not None else {}),
            "o": self.value,
            "stated": {"title": self.page or self.subject, "passage": self.passage, "said": self.said},
            "how": self.how,
            **({"sure": round(self.sure, 3)} if self.sure is not None else {}),
        }


# Labels before values ("Born: 1950") as properties: known ones by label or wording, others as their own.

_LONGEST_VALUE = 120
_DATES = frozenset({"time"})
_NUMBERS = frozenset({"quantity"})
_NAMES = frozenset({"person", "place", "city", "country", "org", "work"})
_TELLING = _DATES | _NUMBERS | {"person", "place", "city", "country"}


def relation_of(label: str, value: str) -> str | None:
    """The property that a label stands for with this value; None if it stands for none.

    A known property of this label, else one of this wording, whose values are of the value's kind; "born" is a date or
    a place. Any other label is a property of its own if it can be asked for as one ("What is the … of X?"), and so is a
    wording whose kind of value says too little: a "label" is hardly a record label.
    """
    by_label, by_wording = known_by_key()
    key = name_key(label)
    if key in by_label:
        return by_label[key].label if suits(by_label[key], value) else None
    worded = [one for one in by_wording.get(key, []) if one.kind in _TELLING]
    if worded:
        return next((one.label for one in worded if suits(one, value)), None)
    own = " ".join(label.split()).lower()
    return own if wording_of(own) is not None else None


def is_known(label: str) -> bool:
    """Whether a known property is called or worded so."""
    by_label, by_wording = known_by_key()
    key = name_key(label)
    return key in by_label or key in by_wording


def usable_value(value: str) -> bool:
    """Whether a value says something on one line: not too long, and with a letter or a number in it."""
    return len(value) <= _LONGEST_VALUE and value == sanitize_line(value) and any(map(str.isalnum, value))


def is_name(value: str) -> bool:
    """Whether a value is no date and no number."""
    return parse_date(value) is None and parse_quantity(value) is None


def suits(known: KnownProperty, value: str) -> bool:
    """Whether a value is of the kind of the property's values."""
    if known.kind in _DATES:
        return parse_date(value) is not None
    if known.kind in _NUMBERS:
        return parse_quantity(value) is not None
    if known.kind in _NAMES:
        return is_name(value) and usable_name(value) and not value[0].islower()
    return known.kind == "string" or is_name(value)


@cache
def known_by_key() -> tuple[dict[str, KnownProperty], dict[str, list[KnownProperty]]]:
    """The known properties by the keys of their labels, and by those of their wordings."""
    table = property_table()
    worded: dict[str, list[KnownProperty]] = {}
    for known in table.by_label.values():
        for name in known.names:
            worded.setdefault(name_key(name), []).append(known)
    return table.by_label, worded


# Facts that the infobox of a page states: fields whose names are those of known properties.
#
# A name may stand for several properties ("country": of a person, a place, a film). What the infobox is about and the
# kind of the value decide; where they do not, the field is passed over, and so are fields of other names.

_ONE_VALUED = _DATES | _NUMBERS | {"place", "city"}
# A number alone says nothing of these.
_WITH_UNIT = frozenset(
    {"area", "elevation above sea level", "height", "length", "width", "vertical depth", "diameter", "radius", "mass"}
    | {"density", "melting point", "boiling point", "distance from Earth", "orbital period", "duration", "temperature"}
    | {"watershed area", "discharge", "topographic prominence", "speed", "power output", "wingspan", "rotation period"}
    | {"box office", "cost", "net worth", "nominal GDP", "nominal GDP per capita", "net profit", "total assets"}
    | {"market capitalization"}
)
# Of these fields a comma parts values; elsewhere it may be part of one ("Leeds, England").
_LISTED = frozenset({"other", "language", "country", "award"})
_OF_NARROW_THINGS = frozenset({"string", "quantity"})
_BROAD = frozenset({"person", "place", "country"})
# "English 95%", "See: the list", a part of what stood in brackets
_NO_NAME = re.compile(r"%|:|^[^(]*\)|\([^)]*$|\[")
_NEVER = frozenset({"type"})  # "type: private" says what kind of company it is, not that it is a "private"
_MOST_VALUES = 12
# "Ann Lee (m. 1990)", "7,074 (2016)", "13.99 K (−259 °C)"
_IN_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
_PERSON = "person"


def infobox_facts(title: str, passages: Sequence[PagePassage], left_out: Counter[str]) -> Iterator[PassageFact]:
    """The facts of a page's infoboxes, in their order, several of a relation where the field has several values.

    Args:
        passages: of the page; those of other kinds are left alone.
        left_out: counts the fields that are no facts as "field".
    """
    boxes = [passage for passage in passages if passage.kind == "infobox"] if usable_name(title) else []
    fields = [
        (passage, *found)
        for passage in boxes
        for line in passage.text.split("\n")
        if (found := field_of(line, title)) is not None
    ]
    labels = {name_key(label) for _, label, _ in fields}
    is_person = any(found.label in OF_A_LIFE for label in labels for found in _named(label))
    told: set[str] = set()
    for passage, label, values in fields:
        about = {*name_key(passage.about).split(), *([_PERSON] if is_person else [])}
        meant, kept = _fact(title, label, values, about)
        if meant is None or not kept or meant.label in told:
            left_out["field"] += 1
            continue
        told.add(meant.label)
        said = sanitize_line(f"infobox, {label}: {'; '.join(values)}")[:_SAID]
        yield from (PassageFact(title, meant.label, value, passage.id, said, "infobox") for value in kept)


def _fact(title: str, label: str, values: list[str], about: set[str]) -> tuple[KnownProperty | None, list[str]]:
    """The property that a field means and its values; None where it means none, or one of several."""
    found: list[tuple[KnownProperty, list[str]]] = []
    for known in _named(name_key(label)):
        if known.kind in _NEVER or wording_of(known.label) is None or _is_of_others(known, label, about):
            continue
        if kept := _values(known, title, values):
            found.append((known, kept))
    near = [one for one in found if about.intersection(one[0].domain)]
    if len(near) == 1:
        return near[0]
    exact = [one for one in near or found if name_key(one[0].label) == name_key(label)]
    # Of a person only what persons have: "country" is then no place's country.
    apart = [one for one in found if _PERSON in about and one[0].domain and _PERSON not in one[0].domain]
    rest = [one for one in exact or near or found if one not in apart]
    return rest[0] if len(rest) == 1 else (None, [])


def _is_of_others(known: KnownProperty, label: str, about: set[str]) -> bool:
    """Whether a property whose other name this is belongs to quite other things, as "symbol" does to elements."""
    words = {word for domain in known.domain for word in domain.split()}
    narrow = bool(words) and words.isdisjoint(_BROAD) and words.isdisjoint(about)
    return known.kind in _OF_NARROW_THINGS and narrow and name_key(known.label) != name_key(label)


def _values(known: KnownProperty, title: str, values: list[str]) -> list[str]:
    kept = []
    parts = [part.strip() for value in values for part in (value.split(", ") if known.kind in _LISTED else [value])]
    for part in parts[:_MOST_VALUES]:
        bare = part
        while (shorter := _IN_BRACKETS.sub("", bare)) != bare and shorter:
            bare = shorter
        if _is_usable(known, title, bare):
            kept.append(bare)
        elif not kept and known.kind in _ONE_VALUED:
            return []  # the first value counts, and cannot be read
    return kept[:1] if known.kind in _ONE_VALUED else list(dict.fromkeys(kept))


def _is_usable(known: KnownProperty, title: str, value: str) -> bool:
    if not value or not short_answer(value) or not suits(known, value):
        return False
    if name_key(value) == name_key(split_qualifier(title)[0]):
        return False
    if known.kind in _NUMBERS:
        found = parse_quantity(value)
        return found is not None and bool(found.unit or known.label not in _WITH_UNIT)
    return known.kind in _DATES or not _NO_NAME.search(value)


def _named(key: str) -> list[KnownProperty]:
    """The properties that have this name."""
    by_label, by_wording = known_by_key()
    exact = [by_label[key]] if key in by_label else []
    return exact + [known for known in by_wording.get(key, []) if known not in exact]


# Facts that documents state without sentences: in front matter, in rows of tables and in lists such as "Born: 1950".
#
# A row of a table is about what its first column names (the second, behind numbers): "Name: Elm Bridge; Length: 40 m".
# A list is about its page, and counts only at the page's beginning, as an infobox does: further down it may be about
# anything. Labels have to stand for properties (:mod:`atomr_local.page_facts.extraction`).

_LABEL = r"[^\W\d_][^:;|\n]{0,39}"
_FIELD = re.compile(rf"({_LABEL}): +(\S.*)")
_ITEM = re.compile(rf"\s*(?:[-*•–] +)?(?:\*\*)?({_LABEL}?)(?:\*\*:|:\*\*|:) +(\S.*)")
_LABEL_WORDS = 5
_MOST_ITEMS = 60
_MOST_ROWS = 5_000
_MOST_COLUMNS = 100
_NAMING_COLUMNS = 2
_LONGEST_LINE = 20_000


def labelled_facts(title: str, passages: Sequence[PagePassage], left_out: Counter[str]) -> Iterator[PassageFact]:
    """The facts of a page's front matter, tables and list at its beginning, one of a subject and relation each.

    Args:
        passages: in the order of the page.
        left_out: counts the values that became no facts, by why: "label" (it stands for no property), "value" (too
            long, empty, or of another kind), "subject" (the row names nothing, or what others name too).
    """
    told: set[tuple[str, str]] = set()
    for fact in _all(title, passages, left_out):
        key = name_key(fact.subject), fact.relation
        if key not in told:
            told.add(key)
            yield fact


def _all(title: str, passages: Sequence[PagePassage], left_out: Counter[str]) -> Iterator[PassageFact]:
    if not passages:
        return
    if usable_name(title):
        first = passages[0]
        for label, value in _front_matter(_metadata(first)):
            yield from _labelled_fact(title, title, label, value, first.id, f"{label}: {value}", left_out)
        # Many files are called README or config.yaml: what they list is about no thing of that name.
        items = _list_items(title, first) if title != PurePosixPath(_metadata(first).get("file", "")).name else []
        for label, value in items:
            yield from _labelled_fact(title, title, label, value, first.id, f"{label}: {value}", left_out)
    for rows in _tables(passages):
        yield from _facts_of_table(title, rows, left_out)


def _labelled_fact(
    title: str, subject: str, label: str, value: str, passage: str, said: str, left_out: Counter[str]
) -> Iterator[PassageFact]:
    if not usable_value(value) or name_key(value) == name_key(subject):
        left_out["value"] += 1
        return
    relation = relation_of(label, value)
    if relation is None:
        left_out["value" if is_known(label) else "label"] += 1
        return
    page = "" if subject == title else title
    yield PassageFact(subject, relation, value, passage, sanitize_line(said)[:_SAID], "labelled", page=page)


def _metadata(passage: PagePassage) -> dict[str, Any]:
    """What the reader of documents kept of a page; "file" is a text, "fields" holds fields."""
    try:
        found = json.loads(passage.metadata or "{}")
    except (ValueError, RecursionError):
        return {}
    kinds = {"file": str, "fields": dict}
    return {
        key: found[key] for key, kind in kinds.items() if isinstance(found, dict) and isinstance(found.get(key), kind)
    }


def _front_matter(metadata: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Label and value of each field of front matter (:class:`Document`)."""
    for label, values in list(metadata.get("fields", {}).items())[:_MOST_ITEMS]:
        for value in values if isinstance(values, list) else ():
            if isinstance(value, str):
                yield sanitize_line(label.replace("_", " ").replace("-", " ")), value


def _list_items(title: str, passage: PagePassage) -> list[tuple[str, str]]:
    """The first block of labels and values on lines that follow each other; [] unless one of them is well known."""
    if passage.section and name_key(passage.section) != name_key(title):
        return []
    for whole, lines in groupby(passage.text[:_LONGEST_LINE].split("\n"), lambda line: bool(_ITEM.fullmatch(line))):
        items = [match for line in lines if (match := _ITEM.fullmatch(line))] if whole else []
        found = [(match[1].strip(), match[2].strip()) for match in items[:_MOST_ITEMS]]
        labels = {name_key(label) for label, _ in found}
        if len(found) < 2 or len(labels) < len(found) or any(_row(f"{a}: {b}")[1:] for a, b in found):
            continue
        if any(len(label.split()) > _LABEL_WORDS for label, _ in found) or not any(is_known(a) for a, _ in found):
            continue
        return found
    return []


@dataclass(frozen=True, slots=True)
class _Row:
    fields: list[tuple[str, str]]
    passage: str
    text: str


def _tables(passages: Sequence[PagePassage]) -> Iterator[list[_Row]]:
    """Rows that follow each other, with the label of one column first; at least two."""
    rows = (
        _Row(_row(line), passage.id, line)
        for passage in passages
        for line in passage.text.split("\n")
        if line.strip() and len(line) <= _LONGEST_LINE
    )
    for first, table in groupby(rows, lambda row: name_key(row.fields[0][0]) if len(row.fields) > 1 else ""):
        found = [row for row, _ in zip(table, range(_MOST_ROWS), strict=False)] if first else []
        if len(found) > 1:
            yield found


def _row(line: str) -> list[tuple[str, str]]:
    """The fields of a row as readers write it: "Name: Ann; Born: 1912"; [] if it is none."""
    fields: list[tuple[str, str]] = []
    for part in line.split("; "):
        match = _FIELD.fullmatch(part.strip())
        if match is not None and len(fields) < _MOST_COLUMNS:
            fields.append((match[1].strip(), match[2].strip()))
        elif fields:  # a semicolon inside of a value
            fields[-1] = fields[-1][0], f"{fields[-1][1]}; {part.strip()}"
        else:
            return []
    return fields


def _facts_of_table(title: str, rows: list[_Row], left_out: Counter[str]) -> Iterator[PassageFact]:
    naming = _naming_column(rows)
    subjects = Counter(name_key(dict(row.fields).get(naming, "")) for row in rows)
    for row in rows:
        subject = dict(row.fields).get(naming, "")
        others = [(label, value) for label, value in row.fields if label != naming]
        if not _names_something(subject) or subjects[name_key(subject)] > 1:
            left_out["subject"] += len(row.fields) - 1
            continue
        for label, value in others:
            yield from _labelled_fact(title, subject, label, value, row.passage, row.text, left_out)


def _naming_column(rows: list[_Row]) -> str:
    """The first column, or the next where that one holds numbers or dates; "" if neither names anything."""
    for label, _ in rows[0].fields[:_NAMING_COLUMNS]:
        if 2 * sum(_names_something(dict(row.fields).get(label, "")) for row in rows) > len(rows):
            return label
    return ""


def _names_something(value: str) -> bool:
    return usable_name(value) and is_name(value)


SURE = 0.85
_NEAREST = 12  # relations that a passage is asked for
_SENTENCES = 40
# "is an American band": only a person is a citizen.
_CITIZENSHIP, _ORIGIN = "country of citizenship", "country of origin"
_PERSON_TYPE = re.compile(r"\b(?:[Hh]e|[Ss]he|[Hh]is|[Hh]er)\b")
_ITS = re.compile(r"(?:Its|His|Her|Their)\b")


@dataclass(frozen=True)
class ModelReading:
    """The model and the span reader, which read passages for one question each.

    Attributes:
        near: chooses the relations that a passage may tell.
        judge: the span reader.
        reader: gives the model's reader for a question.
        sure: the probability that either reader must reach, 0 to 1.
    """

    near: NearRelations
    judge: SpanJudge
    reader: Callable[[str], Reader]
    sure: float = SURE

    def read(
        self, title: str, passage: PagePassage, known: Mapping[str, str], check: Callable[[], None]
    ) -> Iterator[tuple[str, str, float]]:
        """(relation, value, how sure it is) of what the passage surely states, one value of a relation.

        Args:
            known: values by relation that the page has told; neither is told again.
        """
        spans: dict[str, tuple[float, Wording]] = {}
        taken = {name_key(value) for value in known.values()}
        for relation in self.near.of(passage.text):
            if relation.relation in known:
                continue
            check()
            judged = self.judge.judge(relation.asks(mention(title)), [f"{title}: {passage.text}"], [])
            if judged is None or judged.answerable < self.sure or not _can_be(relation.relation, title, judged.best):
                continue
            key = name_key(judged.best)
            if key in taken:
                continue
            spans[key] = max(spans.get(key, (0.0, relation)), (judged.answerable, relation), key=lambda one: one[0])
        for _, relation in spans.values():
            check()
            question = relation.asks(mention(title))
            evidence = Evidence(SourceName.TEXT, title, passage.text, 1.0, question, {"passage": passage.id})
            agreed = self._agreed(
                relation, title, passage, self.reader(question).from_evidence(None, question, [evidence])
            )
            if agreed is not None:
                yield relation.relation, *agreed

    def _agreed(
        self, relation: Wording, title: str, passage: PagePassage, reading: Reading
    ) -> tuple[str, float] | None:
        if len(reading.answers) != 1 or reading.confidence is None or reading.verdict is None:
            return None
        [value] = reading.answers
        [share] = reading.verdict.answers
        sure = min(reading.verdict.answerable, share or 0.0, reading.confidence)
        if sure < self.sure or value not in passage.text or not _can_be(relation.relation, title, value):
            return None
        return value, sure


class NearRelations:
    """Which relations a passage may tell, by the similarity of their questions to its sentences.

    Args:
        encode: gives the unit vectors of texts (n, dimensions).
    """

    def __init__(self, encode: Callable[[Sequence[str]], NDArray[np.float32]]) -> None:
        self._encode = encode
        self._relations = asked_relations()
        self._vectors = encode([wording.asks("it") for wording in self._relations])

    def of(self, text: str) -> list[Wording]:
        """The nearest ones, nearest first."""
        parts = [text[begin:end] for begin, end in sentences(text)][:_SENTENCES]
        if not parts:
            return []
        nearest = (self._vectors @ self._encode(parts).T).max(axis=1)
        return [self._relations[place] for place in nearest.argsort()[::-1][:_NEAREST]]


def facts_of_page(
    title: str,
    passages: Sequence[PagePassage],
    model: ModelReading | None = None,
    *,
    check: Callable[[], None],
    left_out: Counter[str] | None = None,
) -> Iterator[PassageFact]:
    """The facts that a page's passages state of its subject, one of each relation: infoboxes, labels, then set phrases.

    A field of an infobox may have several values. Tables of documents also tell of what their rows name; those of wikis
    are left alone.

    Args:
        passages: in the order of the page.
        model: reads what set phrases do not tell; None for set phrases alone.
        check: called before each reading; raises to stop.
        left_out: counts values that became no facts (:func:`labelled_facts`), and fields of infoboxes as "field".

    Raises:
        ModelError: the model cannot be used.
    """
    found: dict[str, str] = {}
    left_out = Counter() if left_out is None else left_out
    for fact in infobox_facts(title, passages, left_out):
        found.setdefault(fact.relation, fact.value)
        yield fact
    passages = [passage for passage in passages if not passage.kind]
    for fact in labelled_facts(title, passages, left_out):
        if fact.page or fact.relation not in found:
            if not fact.page:
                found[fact.relation] = fact.value
            yield fact
    if not passages or not usable_name(title):
        return
    stated = list(stated_facts(title, passages[0].text))
    is_person = _PERSON_TYPE.search(passages[0].text) or any(one.relation in OF_A_LIFE for one in stated)
    for one in stated:
        relation = one.relation if is_person or one.relation != _CITIZENSHIP else _ORIGIN
        if relation not in found and not one.several:
            found[relation] = one.value
            yield PassageFact(title, relation, one.value, passages[0].id, one.said[:_SAID], "phrase")
    if model is None:
        return
    for passage in passages:
        for relation, value, sure in model.read(title, passage, found, check):
            said = _said_of(title, relation, value, passage, opening=passage is passages[0])
            if said:
                found[relation] = value
                yield PassageFact(title, relation, value, passage.id, said, "model", sure)


def _can_be(relation: str, title: str, value: str) -> bool:
    """Whether a value can be the relation's: it is short, and of the kind of its values."""
    if not short_answer(value) or name_key(value) == name_key(split_qualifier(title)[0]):
        return False
    known = known_property(relation)
    kind = known.kind if known is not None else ""
    is_date = parse_date(value) is not None
    if kind in _DATES:
        return is_date
    if kind in _NUMBERS:
        return parse_quantity(value) is not None
    return kind not in _NAMES or (not is_date and value[0].isupper() and usable_name(value))


def _said_of(title: str, relation: str, value: str, passage: PagePassage, *, opening: bool) -> str:
    """The first sentence of the passage that says the value of the page's subject; "" if none does."""
    for begin, end in sentences(passage.text):
        at = passage.text.find(value, begin, end)
        if at < 0:
            continue
        before = passage.text[begin:at]
        first = (opening and begin == 0) or _ITS.match(before) is not None
        if about_subject(title, before, relation, lead=first):
            return sanitize_line(passage.text[begin:end])[:_SAID]
    return ""
