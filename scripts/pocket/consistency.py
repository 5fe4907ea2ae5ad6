"""What contradicts itself in the pocket encyclopedia: facts among each other, and facts against articles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from atomr_local.language.literals import Date, parse_date
from pocket.facts import Knowledge
from pocket.topics import Joined

_LIFE = ("date of birth", "date of death")
_LONGEST_LIFE, _YOUNGEST_PARENT = 123, 11
# Only of the topic itself: "was born in Ulm in 1879", "He died on 4 July 1934", "(1867–1934)".
_BORN = re.compile(r"\A[^.]{0,120}\bborn (?:on \d+ \w+ |in (?:[A-Z][\w ,]+ in )?)(\d{4})\b(?! BC)")
_DIED = re.compile(r"(?:^|\. )(?:He|She) died (?:on \d+ \w+ |in (?:[A-Z][\w ,]+ in )?)(\d{4})\b(?! BC)")
_LIFETIME = re.compile(r"\((\d{4})–(\d{4})\)")


def contradictions(joined: Joined, articles: Path) -> Iterator[str]:
    """One line for each contradiction."""
    k = joined.knowledge
    countries = {key for key, entity in k.entities.items() if entity.table == "countries"}
    yield from joined.conflicts_told()
    for key in k.entities:
        yield from _of_a_life(k, key)
        if key in countries:
            yield from (
                f"{key}: borders {other}, which does not say so"
                for other in k.values(key, "shares border with")
                if other in countries and key not in k.values(other, "shares border with")
            )
        for start, end in (("start time", "end time"), ("inception", "dissolved, abolished or demolished date")):
            first, last = _date(k, key, start), _date(k, key, end)
            if first and last and first.first > last.last:
                yield f"{key}: {start} {first} after {end} {last}"
        for capital in k.values(key, "capital"):
            there = k.values(capital, "country")
            if key in countries and there and key not in there:
                yield f"{key}: the capital {capital} is in {', '.join(there)}"
    yield from _of_texts(joined, articles)


def _date(k: Knowledge, key: str, prop: str) -> Date | None:
    values = k.values(key, prop)
    return parse_date(values[0]) if values else None


def _of_a_life(k: Knowledge, key: str) -> Iterator[str]:
    born, died = (_date(k, key, prop) for prop in _LIFE)
    if born and died and not 0 <= died.year - born.year <= _LONGEST_LIFE:
        yield f"{key}: born {born}, died {died}"
    for prop in ("father", "mother"):
        values = k.values(key, prop)
        if len(values) > 1:
            yield f"{key}: {prop} {' and '.join(values)}"
        for parent in values:
            earlier = _date(k, parent, "date of birth")
            if born and earlier and born.year - earlier.year < _YOUNGEST_PARENT:
                yield f"{key}: born {born}, {prop} {parent} born {earlier}"
    for prop in ("notable work", "award received", "spouse"):
        if key in k.values(key, prop):
            yield f"{key}: {prop} is itself"


def _of_texts(joined: Joined, file: Path) -> Iterator[str]:
    """Years of birth and death that an article or a description tells otherwise."""
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    texts = {line["title"]: line["text"] for line in lines}
    for title, topic in joined.topics.items():
        told = {
            "date of birth": set(_BORN.findall(texts.get(title, ""))),
            "date of death": set(_DIED.findall(texts.get(title, ""))),
        }
        for born, died in _LIFETIME.findall(topic.description):
            told["date of birth"].add(born)
            told["date of death"].add(died)
        for prop, years in told.items():
            known = _date(joined.knowledge, joined.keys[title], prop)
            if known and {int(year) for year in years if year} - {known.year}:
                yield f"{title}: {prop} {known}, told as {', '.join(sorted(years))}"
