"""Short articles written from the facts, one for each row of the tables but places. They say nothing else."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from starter.facts import Knowledge
from starter.tables import Entity
from starter.wording import an, capital_first, choose, grouped, listed, plain, the, told, when

# Fewest words of an article, by table: of whom less is known, the graph alone tells.
SHORTEST = {"people": 36, "works": 30, "sky": 30, "organisations": 24, "geography": 22}
_LIVING_YEAR = "1900"


class Articles:
    """Writes the articles of one body of knowledge."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._k = knowledge
        self._inverse: dict[tuple[str, str], list[str]] = defaultdict(list)
        for fact in knowledge.facts:
            if fact.kind == "entity":
                self._inverse[fact.object, fact.property].append(fact.subject)
        self._by_number = {row.row["number"]: row.key for row in knowledge.entities.values() if row.table == "elements"}

    def all(self) -> list[dict[str, Any]]:
        """The articles as corpus lines, in the order of the tables; too short ones are left out."""
        writers: dict[str, Callable[[Entity], list[str]]] = {
            "countries": self._country, "elements": self._element, "sky": self._sky, "geography": self._geography,
            "organisations": self._organisation, "people": self._person, "works": self._work,
        }  # fmt: skip
        found: list[dict[str, Any]] = []
        for entity in self._k.entities.values():
            if entity.table in writers:
                text = " ".join(sentence for sentence in writers[entity.table](entity) if sentence).replace("..", ".")
                if len(text.split()) < SHORTEST.get(entity.table, 0):
                    continue
                line = {"id": slug(entity.key), "title": entity.key, "text": text}
                found.append(line | ({"qid": entity.qid} if entity.qid else {}))
        return found

    def _v(self, key: str, relation: str) -> list[str]:
        return self._k.values(key, relation)

    def _one(self, key: str, relation: str) -> str:
        return next(iter(self._v(key, relation)), "")

    def _the(self, key: str, relation: str) -> list[str]:
        return [the(value) for value in self._v(key, relation)]

    def _from(self, key: str, relation: str, table: str) -> list[str]:
        """Subjects of facts about this entity, of one table."""
        return [s for s in self._inverse[key, relation] if self._k.entities[s].table == table]

    def _country(self, e: Entity) -> list[str]:
        name, k = the(e.key), e.key
        start = capital_first(name)
        continents, capitals = self._v(k, "continent"), [plain(c) for c in self._v(k, "capital")]
        where = f" in {listed(continents)}" if continents else ""
        official, used = self._v(k, "official language"), self._v(k, "language used")
        money, neighbours = self._v(k, "currency"), self._the(k, "shares border with")
        area = self._one(k, "area")
        people = [plain(p) for p in self._from(k, "country of citizenship", "people")]
        peaks = [g for g in self._from(k, "country", "geography") if self._one(g, "instance of") == "mountain"]
        rivers = [g for g in self._from(k, "country", "geography") if self._one(g, "instance of") == "river"]
        schools = [plain(o) for o in self._from(k, "country", "organisations")]
        its = (
            choose(k, f"Its capital is {listed(capitals)}.", f"The capital is {listed(capitals)}.") if capitals else ""
        )
        if len(capitals) > 1:
            its = f"It has {len(capitals)} capitals: {listed(capitals)}."
        return [
            f"{start} is a country{where}.",
            its,
            _bordering(start, neighbours, k),
            f"{_count('official language', len(official))} {listed(official)}." if official else "",
            told("The language most used is {}.", used),
            f"The currency is the {money[0]}." if len(money) == 1 else told("The currencies are the {}.", money),
            self._money_elsewhere(k, money),
            choose(
                k, f"The country covers about {grouped(area)} square kilometres.",
                f"Its area is about {grouped(area)} square kilometres.",
            ) if area else "",
            f"Its ISO codes are {e.row['iso2']} and {e.row['iso3']}, and its Internet domain is"
            f" {self._one(k, 'top-level Internet domain')}.",
            told(f"Mountains that stand wholly or partly in {name} include {{}}.", [the(p) for p in peaks], 4),
            told("Rivers that pass through it include {}.", [the(r) for r in rivers], 4),
            told("Well-known institutions and companies there include {}.", [the(s) for s in schools], 3),
            f"Citizens of {name} have included {listed(people, 5)}." if people else "",
        ]  # fmt: skip

    def _money_elsewhere(self, k: str, money: list[str]) -> str:
        for coin in money:
            others = [the(c) for c in self._inverse[coin, "currency"] if c != k]
            if others:
                return f"The {coin} is also used in {listed(others, 4)}."
        return ""

    def _element(self, e: Entity) -> list[str]:
        k, name, row = e.key, plain(e.key), e.row
        number = int(row["number"])
        before, after = self._by_number.get(str(number - 1)), self._by_number.get(str(number + 1))
        finders, year = [plain(d) for d in self._v(k, "discoverer or inventor")], row["year"]
        place = " and ".join(
            part for part in (f"group {row['group']}" if row["group"] else "", f"period {row['period']}") if part
        )
        return [
            f"{capital_first(name)} is a chemical element with the symbol {row['symbol']} and the atomic number"
            f" {number}.",
            choose(k, f"It stands in {place} of the periodic table.", f"In the periodic table it belongs to {place}."),
            f"Its neighbours there are {plain(before)} before it and {plain(after)} after it."
            if before and after else "",
            f"At room temperature {name} is a {row['state']}." if row["state"] else "",
            f"Its standard atomic weight is {row['weight']}." if row["weight"] else "",
            f"It was discovered {when(year)} by {listed(finders)}." if finders and year else
            f"Its discovery is credited to {listed(finders)}." if finders else
            f"It was discovered {when(year)}." if year else "",
            told("The element is named after {}.", self._the(k, "named after")),
            self._group(k, row["group"]),
            self._also_found(k, finders),
        ]  # fmt: skip

    def _group(self, k: str, group: str) -> str:
        if not group:
            return ""
        mates = [
            plain(e.key) for e in self._k.entities.values()
            if e.table == "elements" and e.row["group"] == group and e.key != k
        ]  # fmt: skip
        return f"The other elements of group {group} are {listed(mates)}."

    def _also_found(self, k: str, finders: list[str]) -> str:
        for finder in finders:
            others = [x for x in self._inverse[finder, "discoverer or inventor"] if x != k]
            if others:
                return f"{finder} is also credited with {listed([the(x) for x in others], 6)}."
        return ""

    def _sky(self, e: Entity) -> list[str]:
        k, name = e.key, plain(e.key)
        kind, parent, order = self._one(k, "instance of"), self._one(k, "parent astronomical body"), e.row["order"]
        days, year = e.row["days"], e.row["year"]
        wide = grouped(e.row["diameter"]) if e.row["diameter"] else ""
        finders, moons = (
            [plain(d) for d in self._v(k, "discoverer or inventor")],
            self._inverse[k, "parent astronomical body"],
        )
        named = [plain(x) for x in self._inverse[k, "named after"]]
        subject = "The Moon" if k == "Moon" else name
        ordinals = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]
        first = (
            f"{subject} is {an(kind)} of {the(parent)}."
            if kind == "moon"
            else f"{subject} is {an(kind)} that orbits the Sun."
        )
        if order:
            first = f"{subject} is the {ordinals[int(order) - 1]} planet from the Sun."
        return [
            first,
            f"It is {an(self._one(k, 'planet type'))}." if self._v(k, "planet type") else "",
            f"One orbit around {the(parent)} takes it about {grouped(days)} days." if days else "",
            choose(k, "Its diameter is about {} kilometres.", "It measures about {} kilometres across.").format(wide)
            if wide else "",
            f"{subject} was discovered {when(year)} by {listed(finders)}." if finders and year else "",
            f"{_moons(subject, [the(m) for m in moons])}" if moons else "",
            told("The chemical element {} is named after it.", named),
            self._fellows(k, kind, parent),
            self._also_found(k, finders),
        ]  # fmt: skip

    def _fellows(self, k: str, kind: str, parent: str) -> str:
        if kind != "moon":
            return ""
        fellows = [the(m) for m in self._inverse[parent, "parent astronomical body"] if m != k]
        return (
            f"{the(parent).capitalize()} also has the moon{'s' * (len(fellows) > 1)} {listed(fellows)}."
            if fellows
            else ""
        )

    def _geography(self, e: Entity) -> list[str]:
        k, name = e.key, the(e.key)
        start, kind, row = capital_first(name), self._one(e.key, "instance of"), e.row
        countries = self._the(k, "country")
        continent = self._one(k, "continent")
        if kind == "U.S. state":
            honoured = [plain(x) for x in self._inverse[k, "named after"]]
            return [
                f"{start} is a state of the United States.",
                f"Its capital is {listed([plain(c) for c in self._v(k, 'capital')])}.",
                f"It was admitted to the Union {when(self._one(k, 'admission to the Union'))}.",
                f"Its postal abbreviation is {self._one(k, 'postal abbreviation')}.",
                told("The state is named after {}.", self._the(k, "named after")),
                told("The chemical element {} bears its name.", honoured),
            ]
        if kind == "mountain":
            stands = f" in {listed(countries)}" if countries else f" in {continent}"
            return [
                f"{start} is a mountain{stands}.",
                f"It rises {grouped(row['measure'])} metres above sea level." if row["measure"] else "",
                told("It belongs to {}.", self._the(k, "mountain range")),
                f"The mountain lies in {continent}." if continent and countries else "",
                self._neighbour_peaks(k),
                f"{start} is also called {listed(e.aliases)}." if e.aliases else "",
            ]
        return [
            f"{start} is a river in {continent}.",
            told("It flows through {}.", countries),
            f"It is about {grouped(row['measure'])} kilometres long." if row["measure"] else "",
            f"The river ends in {listed(self._the(k, 'mouth of the watercourse'))}."
            if self._v(k, "mouth of the watercourse")
            else "",
        ]

    def _neighbour_peaks(self, k: str) -> str:
        for country in self._v(k, "country"):
            others = [
                g for g in self._from(country, "country", "geography") if self._one(g, "instance of") == "mountain"
            ]
            others = [the(g) for g in others if g != k]
            if others:
                return f"Another mountain of {the(country)} is {others[0]}."
        return ""

    def _organisation(self, e: Entity) -> list[str]:
        k, name = e.key, the(e.key)
        start, kind = capital_first(name), self._one(k, "instance of")
        founders, year = [plain(f) for f in self._v(k, "founded by")], e.row["year"]
        seat, country = self._one(k, "headquarters location"), self._the(k, "country")
        place, kept = self._one(k, "location"), [plain(w) for w in self._inverse[k, "collection"]]
        alumni = [plain(p) for p in self._from(k, "educated at", "people")]
        made = "created" if kind in {"programming language", "software", "information system"} else "founded"
        where = f" in {plain(place)}" if place else ""
        where += (f", {listed(country)}" if place else f" from {listed(country)}") if country else ""
        return [
            f"{start} is {an(kind)}{where}.",
            f"It was {made} {when(year)} by {listed(founders)}." if founders and year else
            f"It was {made} by {listed(founders)}." if founders else
            f"It was {'opened' if kind == 'museum' else made} {when(year)}." if year else "",
            f"Its headquarters are in {plain(seat)}." if seat else "",
            told("Its field of business is {}.", self._v(k, "industry")),
            told("Its collection includes {}.", kept),
            told("People who studied there include {}.", alumni, 6),
        ]  # fmt: skip

    def _person(self, e: Entity) -> list[str]:
        k, name, row = e.key, plain(e.key), e.row
        he, his = ("He", "His") if row["sex"] == "m" else ("She", "Her")
        jobs = self._v(k, "occupation")
        from_ = self._the(k, "country of citizenship")
        past = "was" if row["died"] or row["born"][:4] < _LIVING_YEAR else "is"
        states = {"monarch": "a monarch"}
        known = listed([states.get(jobs[0], an(jobs[0])), *jobs[1:]]) if jobs else ""
        born, died = self._event(row["born"], row["birthplace"]), self._event(row["died"], row["deathplace"])
        aged = age(row["born"], row["died"])
        parents = [plain(p) for p in (*self._v(k, "father"), *self._v(k, "mother"))]
        children, spouses = [plain(c) for c in self._v(k, "child")], [plain(s) for s in self._v(k, "spouse")]
        parent = "parents were" if len(parents) > 1 else "father was" if self._v(k, "father") else "mother was"
        held = self._v(k, "position held")
        first = f"{name} {past} {known}" + (f" from {listed(from_)}." if from_ else ".") if known else ""
        if not known:
            first = f"{name} {past} a member of the family of {(parents or spouses or children)[0]}."
        return [
            first,
            f"{he} was born{born}." if born else "",
            told(f"{his} {parent} {{}}.", parents),
            self._kin(k, "sibling", ("brother", "sister", "sibling"), he, his),
            told(f"{he} studied at {{}}.", self._the(k, "educated at")),
            told(f"{he} married {{}}.", spouses),
            self._kin(k, "child", ("son", "daughter", "child"), he, his),
            told(f"{he} served as {{}}.", held),
            *self._makings(k, he, his),
            told(f"{he} received the {{}}.", self._v(k, "award received")),
            f"{he} died{died}{f', at the age of {aged}' if aged else ''}." if died else "",
            self._kin_lives(k),
        ]  # fmt: skip

    def _event(self, date: str, place: str) -> str:
        """ " on 14 March 1879 in Ulm, Germany"."""
        country = [the(c) for c in self._v(place, "country")]
        where = f" in {plain(place)}" + (f", {listed(country)}" if country else "") if place else ""
        return (f" {when(date)}" if date else "") + where

    def _kin(self, k: str, relation: str, nouns: tuple[str, str, str], he: str, his: str) -> str:
        """Brothers and sisters, sons and daughters; the third noun for those whose sex is not known here."""
        said = []
        for noun, sex in zip(nouns, ("male", "female", ""), strict=True):
            names = [plain(o) for o in self._v(k, relation) if self._one(o, "sex or gender") == sex]
            if len(names) == 1:
                said.append(f"{he} had {an(noun)}, {names[0]}.")
            elif names:
                said.append(f"{his} {'children' if noun == 'child' else f'{noun}s'} include {listed(names)}.")
        return " ".join(said)

    def _kin_lives(self, k: str) -> str:
        """A sentence on the first relative whose birth is known, so that a family can be followed on one page."""
        for relation, word in (("father", "father"), ("mother", "mother"), ("spouse", "spouse")):
            for other in self._v(k, relation):
                row = self._k.entities[other].row
                if self._k.entities[other].table == "people" and row["born"]:
                    born = self._event(row["born"], row["birthplace"])
                    return f"The {word}, {plain(other)}, was born{born}."
        return ""

    def _makings(self, k: str, he: str, his: str) -> list[str]:
        works = {role: list(self._inverse[k, role]) for role in ("author", "composer", "creator", "director")}
        found = [plain(x) for x in self._inverse[k, "discoverer or inventor"]]
        founded = [the(x) for x in self._inverse[k, "founded by"]]
        named = [plain(x) for x in self._inverse[k, "named after"]]
        roles = self._inverse[k, "cast member"]
        return [
            told(f"{his} {choose(k, 'best-known works', 'works')} include {{}}.", works["author"], 10),
            told(f"{his} compositions include {{}}.", works["composer"], 12),
            told(f"{he} created {{}}.", works["creator"], 8),
            told(f"{he} directed {{}}.", works["director"], 8),
            told(f"{he} acted in {{}}.", roles, 5),
            told(f"{he} discovered {{}}, alone or with others.", [the(f) for f in found]),
            told(f"{he} founded {{}}, alone or with others.", founded),
            f"{capital_first(listed(named))} {'is' if len(named) == 1 else 'are'} named after"
            f" {'him' if he == 'He' else 'her'}." if named else "",
        ]  # fmt: skip

    def _work(self, e: Entity) -> list[str]:
        k, name, row = e.key, plain(e.key), e.row
        kind, makers, role = row["type"], [plain(m) for m in many_makers(row["makers"])], row["maker_role"]
        verb = {"author": "by", "composer": "composed by", "creator": "by", "director": "directed by"}[role]
        date, tongue = row["date"], self._v(k, "language of work or name")
        sources = [
            f"{plain(s)} by {plain(self._maker(s))}" if self._maker(s) else plain(s) for s in self._v(k, "based on")
        ]
        derived = [f"the {self._one(d, 'instance of')} {d}" for d in self._inverse[k, "based on"]]
        genres = self._v(k, "genre")
        what = an(kind) if not genres or kind == "film" else an(f"{kind} ({listed(genres)})")
        if kind == "film" and genres:
            what = an(genres[0])
        first = f"{name} is {what} {verb} {listed(makers)}."
        dated = ""
        stage = self._one(k, "location of first performance")
        if date or stage:
            if role == "composer":
                first_time = f" {when(date)}" if date else ""
                dated = f"It was first performed{first_time}" + (f" in {plain(stage)}." if stage else ".")
            elif role == "creator":
                dated = f"It was {'painted' if kind == 'painting' else 'completed'} {when(date)}."
            else:
                dated = f"It {'came out' if kind == 'film' else 'was published'} {when(date)}."
        return [
            first,
            dated,
            told("It was made in {}.", self._the(k, "country of origin")),
            f"It is written in {tongue[0]}." if tongue and role == "author" else
            f"The text is in {tongue[0]}." if tongue else "",
            told("It is based on {}.", sources),
            told("The story is set in {}.", self._the(k, "narrative location")),
            told("The cast includes {}.", [plain(c) for c in self._v(k, "cast member")]),
            told("It belongs to the collection of {}.", self._the(k, "collection")),
            told("It is found in {}.", self._the(k, "location")),
            told("It continues {}.", [plain(w) for w in self._v(k, "follows")]),
            told("Works based on it include {}.", derived),
            self._about_maker(makers[0], role, k),
        ]  # fmt: skip

    def _maker(self, work: str) -> str:
        return next((v for role in ("author", "composer", "director") for v in self._v(work, role)), "")

    def _about_maker(self, maker: str, role: str, work: str) -> str:
        others = [w for w in self._inverse[maker, role] if w != work]
        born, nouns = (
            self._one(maker, "place of birth"),
            {"author": "writer", "composer": "composer", "director": "director"},
        )
        noun = nouns.get(role, "artist")
        also = f"Other works by {maker} are {listed(others, 3)}." if len(others) > 1 else ""
        origin = f"The {noun}, {maker}, was born in {plain(born)}." if born else ""
        return " ".join(part for part in (origin, also) if part)


def many_makers(cell: str) -> list[str]:
    return [part for part in cell.split(";") if part]


def slug(key: str) -> str:
    """An id out of a key: letters, digits and hyphens."""
    bare = unicodedata.normalize("NFKD", key).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", bare).strip("-")


def _bordering(start: str, neighbours: list[str], key: str) -> str:
    if not neighbours:
        return ""
    if len(neighbours) == 1:
        return f"It borders one country only, {neighbours[0]}."
    return choose(
        key,
        f"It borders {len(neighbours)} countries: {listed(neighbours)}.",
        f"{start} shares borders with {listed(neighbours)}.",
    )


def _count(noun: str, number: int) -> str:
    return f"The {noun} is" if number == 1 else f"The {noun}s are"


def age(born: str, died: str) -> int | None:
    """Completed years between two full dates; None where one of them is not known to the day."""
    if born.count("-") != 2 or died.count("-") != 2:
        return None
    start, end = [int(part) for part in born.split("-")], [int(part) for part in died.split("-")]
    return end[0] - start[0] - (end[1:] < start[1:])


def _moons(subject: str, moons: list[str]) -> str:
    if len(moons) == 1:
        return f"It has a moon, {moons[0]}."
    return f"Its moons include {listed(moons)}." if subject != "Mars" else f"It has two moons, {listed(moons)}."
