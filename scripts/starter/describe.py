"""One short description for each entity: what tells it from others of its name."""

from __future__ import annotations

from starter.facts import Knowledge
from starter.tables import Entity
from starter.wording import listed, plain, the


def describe(knowledge: Knowledge, entity: Entity) -> str:
    """Such as "opera by Giuseppe Verdi" or "physicist and chemist (1867–1934)"; "" for what is only mentioned."""
    k, row = entity.key, entity.row
    kind = next(iter(knowledge.values(k, "instance of")), "")
    countries = [the(c) for c in knowledge.values(k, "country")]
    where = f" in {listed(countries)}" if countries else ""
    match entity.table:
        case "countries":
            continents = knowledge.values(k, "continent")
            return f"country in {listed(continents)}" if continents else "country"
        case "elements":
            return f"chemical element with symbol {row['symbol']} and atomic number {row['number']}"
        case "sky":
            return f"{kind} of {the(row['parent'])}" if kind == "moon" else f"{kind} of the Solar System"
        case "geography":
            return "state of the United States" if kind == "U.S. state" else f"{kind} in {row['continent']}"
        case "people":
            jobs = knowledge.values(k, "occupation")
            years = f" ({row['born'][:4]}–{row['died'][:4]})" if row["born"] and row["died"] else ""
            years = years or (f" (born {row['born'][:4]})" if row["born"] else "")
            return f"{listed(jobs)}{years}" if jobs else f"person{years}"
        case "works":
            year = f"{row['date'][:4]} " if row["type"] == "film" and row["date"] else ""
            by = "directed by" if row["type"] == "film" else "by"
            return f"{year}{row['type']} {by} {listed([plain(m) for m in row['makers'].split(';')])}"
        case _:
            capitals = [the(c) for c in knowledge.values(k, "capital of")]
            if capitals:
                return f"capital of {listed(capitals)}"
            return f"{kind}{where}" if kind and (where or entity.table) else ""
