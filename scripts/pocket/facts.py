"""The tables as entities and facts. Each relation is told from its usual end; kinship from both."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pocket.tables import Entity, Fact, Kind, Row, extras, many, read_table

GENDERS = {"m": "male", "f": "female"}
# Labels that differ from the key: there is an id that tells the two apart.
LABELS = {"Georgia (country)": "Georgia"}
_NAME_COLUMN = {"works": "title"}
_TABLES = ("countries", "elements", "sky", "geography", "organisations", "people", "works", "places")


class Knowledge:
    """All entities by key, and all facts, each once, in the order of the tables."""

    def __init__(self) -> None:
        self.entities: dict[str, Entity] = {}
        self.facts: list[Fact] = []
        self._known: set[tuple[str, str, str]] = set()
        self._values: dict[tuple[str, str], list[str]] = {}

    def entity(self, key: str) -> Entity:
        """The entity with this key, taken in when it is new."""
        return self.entities.setdefault(key, Entity(key, LABELS.get(key, key)))

    def add(self, subject: str, relation: str, value: str, source: str, kind: Kind = "entity", unit: str = "") -> None:
        """Take in a fact that has a value; a repeated one is left out."""
        if not value or (subject, relation, value) in self._known:
            return
        self._known.add((subject, relation, value))
        self.entity(subject)
        if kind == "entity":
            self.entity(value)
        self.facts.append(Fact(subject, relation, value, kind, source, unit))
        self._values.setdefault((subject, relation), []).append(value)

    def add_all(self, subject: str, relation: str, values: Iterable[str], source: str) -> None:
        for value in values:
            self.add(subject, relation, value, source)

    def values(self, subject: str, relation: str) -> list[str]:
        """Objects of the facts with this subject and relation."""
        return self._values.get((subject, relation), [])

    def label(self, key: str) -> str:
        return self.entities[key].label if key in self.entities else key


def load() -> Knowledge:
    """Everything in the tables.

    Raises:
        ValueError: a table is malformed, two rows have one name, or a country's neighbour does not name it back.
    """
    knowledge = Knowledge()
    tables = {name: read_table(name) for name in _TABLES}
    for name, rows in tables.items():
        for row in rows:
            key = row[_NAME_COLUMN.get(name, "name")]
            entity = knowledge.entity(key)
            if entity.table:
                raise ValueError(f"{name}: {key!r} already stands in {entity.table}")
            entity.table, entity.row, entity.qid = name, row, row.get("qid", "")
            base = key.partition(" (")[0]
            if base not in (key, entity.label):
                entity.aliases.append(base)
            entity.aliases.extend(extras(row).get("alias", []))
            if row.get("alias"):
                entity.aliases.append(row["alias"])
    readers: dict[str, Callable[[Knowledge, Row], None]] = {
        "countries": _country, "elements": _element, "sky": _sky, "geography": _geography,
        "organisations": _organisation, "people": _person, "works": _work, "places": _place,
    }  # fmt: skip
    for name, rows in tables.items():
        for row in rows:
            readers[name](knowledge, row)
    _check_borders(knowledge)
    for row in read_table("aliases"):
        if row["name"] not in knowledge.entities:
            raise ValueError(f"aliases: no entity is called {row['name']!r}")
        knowledge.entities[row["name"]].aliases.extend(many(row["aliases"]))
    return knowledge


def _country(k: Knowledge, row: Row) -> None:
    name, source = row["name"], "countries"
    k.add(name, "instance of", "country", source)
    for capital in many(row["capital"]):
        k.add(name, "capital", capital, source)
        if capital != name:
            k.add(capital, "instance of", "city", source)
            k.add(capital, "country", name, source)
            k.add(capital, "capital of", name, source)
    k.add_all(name, "continent", many(row["continent"]), source)
    for language in many(row["languages"]):
        k.add(name, "language used" if language[0] == "~" else "official language", language.lstrip("~"), source)
    k.add_all(name, "currency", many(row["currency"]), source)
    k.add(name, "area", row["area"], source, "quantity", "km²")
    k.add_all(name, "shares border with", many(row["borders"]), source)
    k.add(name, "ISO 3166-1 alpha-2 code", row["iso2"], source, "string")
    k.add(name, "ISO 3166-1 alpha-3 code", row["iso3"], source, "string")
    domain = {"GB": ".uk"}.get(row["iso2"], f".{row['iso2'].lower()}")
    k.add(name, "top-level Internet domain", domain, source, "string")


def _check_borders(k: Knowledge) -> None:
    for fact in k.facts:
        if fact.property == "shares border with" and fact.subject not in k.values(fact.object, fact.property):
            raise ValueError(f"countries: {fact.subject} borders {fact.object}, which does not say so")


def _element(k: Knowledge, row: Row) -> None:
    name, source = row["name"], "elements"
    k.add(name, "instance of", "chemical element", source)
    k.add(name, "element symbol", row["symbol"], source, "string")
    k.add(name, "atomic number", row["number"], source, "quantity")
    k.add(name, "atomic weight", row["weight"], source, "quantity")
    k.add(name, "group of the periodic table", row["group"], source, "quantity")
    k.add(name, "period of the periodic table", row["period"], source, "quantity")
    k.add(name, "state at room temperature", row["state"], source)
    k.add_all(name, "discoverer or inventor", many(row["discoverers"]), source)
    k.add(name, "time of discovery or invention", row["year"], source, "date")
    k.add_all(name, "named after", many(row["named_after"]), source)


def _sky(k: Knowledge, row: Row) -> None:
    name, source = row["name"], "sky"
    k.add(name, "instance of", row["type"], source)
    k.add(name, "parent astronomical body", row["parent"], source)
    k.add(name, "order from the Sun", row["order"], source, "quantity")
    k.add(name, "orbital period", row["days"], source, "quantity", "d")
    k.add(name, "diameter", row["diameter"], source, "quantity", "km")
    k.add_all(name, "discoverer or inventor", many(row["discoverers"]), source)
    k.add(name, "time of discovery or invention", row["year"], source, "date")
    k.add(name, "planet type", row["composition"], source)


def _geography(k: Knowledge, row: Row) -> None:
    name, source, more = row["name"], "geography", extras(row)
    k.add(name, "instance of", row["type"], source)
    k.add_all(name, "country", [*many(row["countries"]), *more.get("through", [])], source)
    k.add(name, "continent", row["continent"], source)
    if row["type"] == "mountain":
        k.add(name, "elevation above sea level", row["measure"], source, "quantity", "m")
    elif row["type"] == "river":
        k.add(name, "length", row["measure"], source, "quantity", "km")
    k.add_all(name, "mountain range", more.get("range", []), source)
    k.add_all(name, "mouth of the watercourse", more.get("mouth", []), source)
    for capital in more.get("capital", []):
        k.add(name, "capital", capital, source)
        k.add(capital, "instance of", "city", source)
        k.add(capital, "capital of", name, source)
        k.add_all(capital, "country", many(row["countries"]), source)
    for year in more.get("admitted", []):
        k.add(name, "admission to the Union", year, source, "date")
    for code in more.get("abbr", []):
        k.add(name, "postal abbreviation", code, source, "string")
    k.add_all(name, "named after", more.get("named", []), source)


def _organisation(k: Knowledge, row: Row) -> None:
    name, source = row["name"], "organisations"
    k.add(name, "instance of", row["type"], source)
    k.add_all(name, "founded by", many(row["founders"]), source)
    k.add(name, "inception", row["year"], source, "date")
    placed = (
        "headquarters location"
        if row["type"] in {"company", "organization", "international organization"}
        else "location"
    )
    k.add(name, placed, row["headquarters"], source)
    k.add(name, "country", row["country"], source)
    k.add_all(name, "industry", extras(row).get("industry", []), source)


def _person(k: Knowledge, row: Row) -> None:
    name, source, more = row["name"], "people", extras(row)
    k.add(name, "instance of", "human", source)
    k.add(name, "sex or gender", GENDERS[row["sex"]], source)
    k.add(name, "date of birth", row["born"], source, "date")
    k.add(name, "place of birth", row["birthplace"], source)
    k.add(name, "date of death", row["died"], source, "date")
    k.add(name, "place of death", row["deathplace"], source)
    k.add_all(name, "country of citizenship", many(row["citizenship"]), source)
    k.add_all(name, "occupation", many(row["occupations"]), source)
    for parent in ("father", "mother"):
        for other in more.get(parent, []):
            k.add(name, parent, other, source)
            k.add(other, "child", name, source)
    for child in more.get("child", []):
        k.add(name, "child", child, source)
        k.add(child, "father" if row["sex"] == "m" else "mother", name, source)
    for mutual in ("spouse", "sibling"):
        for other in more.get(mutual, []):
            k.add(name, mutual, other, source)
            k.add(other, mutual, name, source)
    k.add_all(name, "educated at", more.get("educated", []), source)
    k.add_all(name, "award received", more.get("award", []), source)
    k.add_all(name, "position held", more.get("position", []), source)


_STAGED = frozenset({"opera", "ballet", "oratorio", "symphony", "symphonic poem", "orchestral work", "waltz"})
_MADE = frozenset({"painting", "fresco", "sculpture"})


def _work(k: Knowledge, row: Row) -> None:
    name, source, more = row["title"], "works", extras(row)
    kind = row["type"]
    k.add(name, "instance of", kind, source)
    k.add_all(name, row["maker_role"], many(row["makers"]), source)
    dated = "date of first performance" if kind in _STAGED else "inception" if kind in _MADE else "publication date"
    k.add(name, dated, row["date"], source, "date")
    k.add(name, "country of origin" if kind == "film" else "location of first performance", row["place"], source)
    k.add(name, "based on", row["based_on"], source)
    k.add_all(name, "genre", more.get("genre", []), source)
    k.add_all(name, "language of work or name", more.get("language", []), source)
    k.add_all(name, "narrative location", more.get("setting", []), source)
    k.add_all(name, "cast member", more.get("cast", []), source)
    k.add_all(name, "collection", more.get("collection", []), source)
    k.add_all(name, "location", more.get("location", []), source)
    k.add_all(name, "follows", more.get("follows", []), source)


def _place(k: Knowledge, row: Row) -> None:
    kind = {"Scotland": "country of the United Kingdom", "Balmoral Castle": "castle"}.get(
        row["name"], "human settlement"
    )
    k.add(row["name"], "instance of", kind, "places")
    k.add(row["name"], "country", row["country"], "places")
