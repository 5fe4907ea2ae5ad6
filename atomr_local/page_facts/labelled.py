"""Facts that documents state without sentences: in front matter, in rows of tables and in lists such as "Born: 1950".

A row of a table is about what its first column names (the second, behind numbers): "Name: Elm Bridge; Length: 40 m".
A list is about its page, and counts only at the page's beginning, as an infobox does: further down it may be about
anything. Labels have to stand for properties (:mod:`atomr_local.page_facts.labels`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from atomr_local.language.names import name_key
from atomr_local.page_facts.labels import is_known, is_name, relation_of, usable_value
from atomr_local.page_facts.passages import PagePassage
from atomr_local.page_facts.stated import usable_name
from atomr_local.sanitize import sanitize_line

_LABEL = r"[^\W\d_][^:;|\n]{0,39}"
_FIELD = re.compile(rf"({_LABEL}): +(\S.*)")
_ITEM = re.compile(rf"\s*(?:[-*•–] +)?(?:\*\*)?({_LABEL}?)(?:\*\*:|:\*\*|:) +(\S.*)")
_LABEL_WORDS = 5
_MOST_ITEMS = 60
_MOST_ROWS = 5_000
_MOST_COLUMNS = 100
_NAMING_COLUMNS = 2
_LONGEST_LINE = 20_000
_SAID = 400


@dataclass(frozen=True, slots=True)
class LabelledFact:
    """A fact that a label and a value state. Untrusted.

    Attributes:
        subject: the page's title, or what a row's first column names.
        said: the row, or the label with the value.
    """

    subject: str
    relation: str
    value: str
    passage: str
    said: str


def labelled_facts(title: str, passages: Sequence[PagePassage], left_out: Counter[str]) -> Iterator[LabelledFact]:
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


def _all(title: str, passages: Sequence[PagePassage], left_out: Counter[str]) -> Iterator[LabelledFact]:
    if not passages:
        return
    if usable_name(title):
        first = passages[0]
        for label, value in _front_matter(_metadata(first)):
            yield from _fact(title, label, value, first.id, f"{label}: {value}", left_out)
        # Many files are called README or config.yaml: what they list is about no thing of that name.
        items = _list_items(title, first) if title != PurePosixPath(_metadata(first).get("file", "")).name else []
        for label, value in items:
            yield from _fact(title, label, value, first.id, f"{label}: {value}", left_out)
    for rows in _tables(passages):
        yield from _facts_of_table(rows, left_out)


def _fact(
    subject: str, label: str, value: str, passage: str, said: str, left_out: Counter[str]
) -> Iterator[LabelledFact]:
    if not usable_value(value) or name_key(value) == name_key(subject):
        left_out["value"] += 1
        return
    relation = relation_of(label, value)
    if relation is None:
        left_out["value" if is_known(label) else "label"] += 1
        return
    yield LabelledFact(subject, relation, value, passage, sanitize_line(said)[:_SAID])


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


def _facts_of_table(rows: list[_Row], left_out: Counter[str]) -> Iterator[LabelledFact]:
    naming = _naming_column(rows)
    subjects = Counter(name_key(dict(row.fields).get(naming, "")) for row in rows)
    for row in rows:
        subject = dict(row.fields).get(naming, "")
        others = [(label, value) for label, value in row.fields if label != naming]
        if not _names_something(subject) or subjects[name_key(subject)] > 1:
            left_out["subject"] += len(row.fields) - 1
            continue
        for label, value in others:
            yield from _fact(subject, label, value, row.passage, row.text, left_out)


def _naming_column(rows: list[_Row]) -> str:
    """The first column, or the next where that one holds numbers or dates; "" if neither names anything."""
    for label, _ in rows[0].fields[:_NAMING_COLUMNS]:
        if 2 * sum(_names_something(dict(row.fields).get(label, "")) for row in rows) > len(rows):
            return label
    return ""


def _names_something(value: str) -> bool:
    return usable_name(value) and is_name(value)
