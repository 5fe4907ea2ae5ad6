#!/usr/bin/env python3
"""Entity linking and one hop over a large graph index: how long they take, and whether they find the right thing.

    scripts/bench/graph_query.py --home HOME [--triples 2000000] [--count 400] [--seed 1] [--json]

Writes an N-Triples file of made-up people, places, works and organisations to HOME (the same bytes for the same
number of triples), builds it with `atomr graph build` unless HOME holds it already, and asks it. Times are of one
thread, milliseconds, wall and CPU (which tells what a busy machine hides):

- link: `Linker.link(name)` alone, by kind of name: exact label, alias, folded (lower case, accents off), misspelt (one
  letter exchanged, left out or doubled), a part left out, and one that nothing bears.
- relate: the whole `GraphSource.retrieve` of a Relate, once with the head already linked (as after a Search) and once
  by name; wordings are those of everyday questions, forward, inverse, and to a literal.
- hub: an entity with 10,000 values of one property, forward (winners of a prize) and inverse (works of a director): the
  first page of values, the whole list as Relate gives it, the number of them, and Filters over them.
- open: `GraphSource.open`, a process that has imported everything; first: the first Relate after it.

No embedder is given: words alone decide.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import string
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.indexing import store
from atomr_local.language.names import name_key
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.knowledge_graph import FIRST_PAGE
from atomr_local.sources.protocol import Request, Value
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

ROOT = Path(__file__).resolve().parents[2]
ENTITY, DIRECT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"
DESCRIPTION = "http://schema.org/description"
DATE = "http://www.w3.org/2001/XMLSchema#dateTime"
DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal"
SEED = 20
HUB = 10_000
PRIZE, DIRECTOR = "Great Hub Prize", "Hubert Hubbard"
# What an average entity of each kind takes in triples, and its share of all entities.
PER_ENTITY = 9.2
SHARES = (("person", 0.56), ("work", 0.3), ("place", 0.1), ("organisation", 0.04))
COUNTRIES, CLASSES = 150, 300
ONSETS = [
    "b",
    "br",
    "c",
    "ch",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "kl",
    "l",
    "m",
    "n",
    "p",
    "pr",
    "r",
    "s",
    "sch",
    "sh",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "z",
]
VOWELS = ["a", "e", "i", "o", "u", "ai", "ei", "ou", "á", "é", "ö", "ü", "ø", "ia"]
CODAS = ["n", "r", "l", "s", "t", "m", "nd", "rt", "ck", "sk", "x", "ss", "ne", ""]
PROPERTY_LABELS = {
    "P31": "instance of", "P17": "country", "P131": "located in the administrative territorial entity",
    "P19": "place of birth", "P20": "place of death", "P21": "sex or gender", "P26": "spouse",
    "P27": "country of citizenship", "P36": "capital", "P50": "author", "P57": "director", "P69": "educated at",
    "P106": "occupation", "P136": "genre", "P159": "headquarters location", "P175": "performer", "P495":
    "country of origin", "P569": "date of birth", "P570": "date of death", "P577": "publication date",
    "P1082": "population", "P571": "inception", "P40": "child", "P112": "founded by", "P1346": "winner",
}  # fmt: skip


def word(rng: random.Random, syllables: int) -> str:
    parts = [rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(syllables)]
    return ("".join(parts) + rng.choice(CODAS)).capitalize()


@dataclass
class Made:
    """The names that were given: Q-id → (label, aliases)."""

    labels: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, list[str]] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, list[str]] = field(default_factory=dict)


class Generator:
    """A made-up slice of Wikidata: skewed in what is pointed to, with namesakes, accents, aliases and types."""

    def __init__(self, triples: int) -> None:
        self.rng = random.Random(SEED)
        self.made = Made()
        entities = int(triples / PER_ENTITY)
        self._counts = {kind: int(entities * share) for kind, share in SHARES}
        self._given = [word(self.rng, self.rng.choice((1, 2, 2, 3))) for _ in range(1_500)]
        self._family = [word(self.rng, self.rng.choice((2, 2, 3))) for _ in range(12_000)]
        self._nouns = [word(self.rng, 2) for _ in range(4_000)]
        self._next = 1

    def lines(self) -> Iterator[str]:
        for pid, label in PROPERTY_LABELS.items():
            yield _text(pid, LABEL, label)
        classes = [self._new("class", word(self.rng, 3).lower()) for _ in range(CLASSES)]
        countries = [self._new("country", word(self.rng, 3)) for _ in range(COUNTRIES)]
        places = [self._new("place", word(self.rng, self.rng.choice((2, 3)))) for _ in range(self._counts["place"])]
        people = [self._new("person", self._person()) for _ in range(self._counts["person"])]
        for qid in classes:
            yield from self._named(qid, "kind of thing")
        for qid in countries:
            yield from self._named(qid, "country", chance=1.0)
            yield from self._facts(qid, P31=classes[0], P36=self._skewed(places))
        for qid in places:
            country = self._skewed(countries)
            yield from self._named(qid, f"town in {self.made.labels[country]}", chance=0.3)
            yield from self._facts(qid, P31=classes[1], P17=country, P131=self._skewed(places))
            yield _literal(qid, "P1082", str(self.rng.randint(100, 900_000)), DECIMAL)
        for qid in people:
            occupation = self._skewed(classes)
            yield from self._named(qid, f"{self.made.labels[occupation]} ({self.rng.randint(1500, 1999)})", chance=0.4)
            facts = {"P31": classes[2], "P21": classes[3 + self.rng.randint(0, 1)], "P106": occupation,
                     "P19": self._skewed(places), "P27": self._skewed(countries)}  # fmt: skip
            if self.rng.random() < 0.4:
                facts["P20"] = self._skewed(places)
            if self.rng.random() < 0.2:
                facts["P26"] = self.rng.choice(people)
            yield from self._facts(qid, **facts)
            yield _literal(qid, "P569", self._date(), DATE)
        yield from self._works(classes, countries, people)
        yield from self._hubs(classes, people)

    def _hubs(self, classes: list[str], people: list[str]) -> Iterator[str]:
        """A prize that 10,000 people won, and a director of 10,000 works, or as many as there are."""
        prize, director = self._new("prize", PRIZE), self._new("director", DIRECTOR)
        yield from self._named(prize, "prize")
        yield from self._facts(prize, P31=classes[7])
        yield from self._named(director, "film director")
        yield from self._facts(director, P31=classes[2])
        for qid in people[:HUB]:
            yield from self._facts(prize, P1346=qid)
        for qid in self.made.kinds["work"][:HUB]:
            yield from self._facts(qid, P57=director)

    def _works(self, classes: list[str], countries: list[str], people: list[str]) -> Iterator[str]:
        for _ in range(self._counts["work"]):
            title = " ".join(self.rng.choices(self._nouns, k=self.rng.choice((1, 2, 2, 3, 4))))
            qid = self._new("work", f"The {title}" if self.rng.random() < 0.3 else title)
            yield from self._named(qid, "creative work", chance=0.15)
            maker = self.rng.choice(("P57", "P50", "P175"))
            yield from self._facts(qid, P31=classes[5], P136=self._skewed(classes), P495=self._skewed(countries),
                                   **{maker: self._skewed(people)})  # fmt: skip
            yield _literal(qid, "P577", self._date(), DATE)
        places = self.made.kinds["place"]
        for _ in range(self._counts["organisation"]):
            qid = self._new("organisation", f"{self.rng.choice(self._family)} {self.rng.choice(self._nouns)}")
            yield from self._named(qid, "organisation", chance=0.5)
            yield from self._facts(qid, P31=classes[6], P159=self._skewed(places), P112=self._skewed(people))
            yield _literal(qid, "P571", self._date(), DATE)

    def _new(self, kind: str, label: str) -> str:
        qid = f"Q{self._next}"
        self._next += 1
        self.made.labels[qid] = label
        self.made.kinds.setdefault(kind, []).append(qid)
        return qid

    def _person(self) -> str:
        middle = f" {self.rng.choice(self._given)}" if self.rng.random() < 0.15 else ""
        return f"{self.rng.choice(self._given)}{middle} {self._skewed(self._family)}"

    def _named(self, qid: str, description: str, chance: float = 0.0) -> Iterator[str]:
        yield _text(qid, LABEL, self.made.labels[qid])
        self.made.about[qid] = description
        yield _text(qid, DESCRIPTION, description)
        while self.rng.random() < chance:
            alias = self._person() if qid in self.made.aliases else f"{word(self.rng, 3)} {self.made.labels[qid]}"
            self.made.aliases.setdefault(qid, []).append(alias)
            yield _text(qid, ALIAS, alias)
            chance /= 2

    def _facts(self, qid: str, **facts: str) -> Iterator[str]:
        for pid, target in facts.items():
            yield f"<{ENTITY}{qid}> <{DIRECT}{pid}> <{ENTITY}{target}> .\n"

    def _date(self) -> str:
        rng = self.rng
        return f"{rng.randint(1500, 2020)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T00:00:00Z"

    def _skewed(self, items: list[str]) -> str:
        return items[int(len(items) * self.rng.random() ** 3)]


def _text(qid: str, predicate: str, text: str) -> str:
    return f'<{ENTITY}{qid}> <{predicate}> "{text}"@en .\n'


def _literal(qid: str, pid: str, text: str, datatype: str) -> str:
    return f'<{ENTITY}{qid}> <{DIRECT}{pid}> "{text}"^^<{datatype}> .\n'


def prepared(home: Path, triples: int) -> tuple[Made, Path, float | None]:
    """The names, the index, and the seconds that its build took, None where it was there."""
    generator = Generator(triples)
    file, name = home / f"made-hubs-{triples}.nt", f"made-hubs-{triples}"
    whole = file.with_suffix(".partial")
    with whole.open("w", encoding="utf-8") as stream:
        stream.writelines(generator.lines())
    whole.replace(file)
    os.environ["ATOMR_HOME"] = str(home)
    directory = store.index_path("graph", name)
    if (directory / "manifest.json").exists():
        return generator.made, directory, None
    started = time.perf_counter()
    command = [sys.executable, "-m", "atomr_local", "graph", "build", str(file), "--name", name]
    subprocess.run(command, check=True, cwd=ROOT)
    return generator.made, directory, time.perf_counter() - started


def folded(text: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return bare.lower()


def misspelt(text: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(text) - 1)
    way = rng.randrange(3)
    if way == 0:
        return text[:at] + rng.choice(string.ascii_lowercase) + text[at + 1 :]
    return text[:at] + text[at + 1 :] if way == 1 else text[:at] + text[at] + text[at:]


@dataclass
class Timing:
    """Milliseconds of each call, and how many found what was meant."""

    milliseconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    right: int = 0

    def summary(self) -> dict[str, float]:
        wall, cpu = sorted(self.milliseconds), sorted(self.cpu)

        def at(ordered: list[float], share: float) -> float:
            return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2)

        return {"n": len(wall), "p50_ms": at(wall, 0.5), "p95_ms": at(wall, 0.95), "cpu_p50_ms": at(cpu, 0.5),
                "cpu_p95_ms": at(cpu, 0.95), "right": round(self.right / len(wall), 3)}  # fmt: skip


def timed(calls: Sequence[tuple[Callable[[], Any], Callable[[Any], bool]]]) -> dict[str, float]:
    timing = Timing()
    for call, is_right in calls:
        started, busy = time.perf_counter(), time.thread_time()
        result = call()
        timing.cpu.append((time.thread_time() - busy) * 1000)
        timing.milliseconds.append((time.perf_counter() - started) * 1000)
        timing.right += is_right(result)
    return timing.summary()


def linking(source: GraphSource, made: Made, count: int, rng: random.Random) -> dict[str, dict[str, float]]:
    """By kind of name. Right: an entity of that name comes first (any of several namesakes)."""
    people, works, places = (made.kinds[kind] for kind in ("person", "work", "place"))
    qids = [rng.choice(rng.choice((people, people, works, places))) for _ in range(count)]
    aliased = [(qid, rng.choice(made.aliases[qid])) for qid in rng.sample(sorted(made.aliases), count)]
    middle = [qid for qid in people if len(made.labels[qid].split()) == 3]
    partial = [(qid, made.labels[qid].split()) for qid in rng.sample(middle, min(count, len(middle)))]
    about = [(qid, f"{made.labels[qid]}\t{made.about[qid]}") for qid in qids]
    named = {
        "exact label": [(qid, made.labels[qid]) for qid in qids],
        "exact label and descriptor": about,
        "alias": aliased,
        "folded": [(qid, folded(made.labels[qid])) for qid in qids],
        "misspelt": [(qid, misspelt(made.labels[qid], rng)) for qid in qids],
        "middle name left out": [(qid, f"{parts[0]} {parts[-1]}") for qid, parts in partial],
        "unknown": [("", f"{word(rng, 4)} {word(rng, 4)}") for _ in range(count)],
    }

    def link(name: str) -> Any:
        mention, _, descriptor = name.partition("\t")
        return source.linker.link(mention, descriptor)

    results = {}
    for kind, names in named.items():

        def fits(qid: str, found: Any) -> bool:
            if not qid:
                return not found
            if not found:
                return False
            iri = found[0].entity.iri.removeprefix(ENTITY)
            return iri == qid or name_key(made.labels[iri]) == name_key(made.labels[qid])

        calls = [(functools.partial(link, name), functools.partial(fits, qid)) for qid, name in names]
        results[kind] = timed(calls)
    return results


RELATIONS = {
    "person": ("place of birth", "date of birth", "occupation", "nationality", "films directed by", "spouse",
               "country of birth", "where was he born", "books written"),
    "work": ("director", "author", "publication date", "genre", "country of origin", "when was it released"),
    "place": ("country", "population", "people born there", "continent"),
}  # fmt: skip


def relating(source: GraphSource, made: Made, count: int, rng: random.Random) -> dict[str, dict[str, float]]:
    """Right: decided, or something found, since what an entity has is drawn by chance."""
    asked = []
    for _ in range(count):
        kind = rng.choice(("person", "person", "work", "place"))
        qid = rng.choice(made.kinds[kind])
        asked.append((qid, rng.choice(RELATIONS[kind])))
    hubs = [(qid, "places in") for qid in made.kinds["country"][:20]]
    hubs += [(qid, "people born there") for qid in made.kinds["place"][:40]]
    cancellation = Cancellation()

    def retrieve(qid: str, relation: str, linked: bool) -> Any:
        label = made.labels[qid]
        head = Value(label, iri=ENTITY + qid, score=1.0) if linked else Value(label)
        return source.retrieve(
            Request("", f"{label} {relation}", Operator.RELATE, (head, Value(relation))), cancellation
        )

    def run(pairs: list[tuple[str, str]], linked: bool) -> dict[str, float]:
        return timed(
            [
                (functools.partial(retrieve, qid, relation, linked), lambda found: found.decided or bool(found.values))
                for qid, relation in pairs
            ]
        )

    return {
        "linked head": run(asked, True),
        "head by name": run(asked, False),
        "linked head with many values": run(hubs, True),
    }


def hubs(source: GraphSource, made: Made, count: int, rng: random.Random) -> dict[str, dict[str, float]]:
    """Right: complete, or decided as it is."""
    graph, cancellation = source.graph, Cancellation()
    [prize], [director] = made.kinds["prize"], made.kinds["director"]
    winners, works = made.kinds["person"][:HUB], made.kinds["work"][:HUB]
    heads = {
        "forward": (prize, "P1346", winners, "winner", f"Who won the {PRIZE}?",
                    f"How many winners does the {PRIZE} have?"),
        "inverse": (director, "P57", works, "directed works", f"What did {DIRECTOR} direct?",
                    f"How many works did {DIRECTOR} direct?"),
    }  # fmt: skip

    def ask(operator: Operator, qid: str, text: str, question: str) -> Any:
        head = Value(made.labels[qid], iri=ENTITY + qid, score=1.0)
        return source.retrieve(Request(question, f"{head.text} {text}", operator, (head, Value(text))), cancellation)

    def first(qid: str, pid: str, inverse: bool) -> list[Value]:
        page = graph.first_values(ENTITY + qid, DIRECT + pid, inverse=inverse)
        return graph.answer_values(page, ENTITY + qid, DIRECT + pid, inverse=inverse)

    results: dict[str, dict[str, float]] = {}
    for way, (qid, pid, members, relation, asked, number) in heads.items():
        inverse, known = way == "inverse", {ENTITY + member for member in members}
        page = functools.partial(first, qid, pid, inverse)
        listed = functools.partial(ask, Operator.RELATE, qid, relation, asked)
        counted = functools.partial(ask, Operator.RELATE, qid, relation, number)
        results[f"{way}: first page of {FIRST_PAGE}"] = timed(
            [(page, lambda found: len({value.iri for value in found} & known) == FIRST_PAGE)] * count  # noqa: B023
        )
        results[f"{way}: all {len(members)}"] = timed(
            [(listed, lambda found: {value.iri for value in found.values} == known)] * (count // 4)  # noqa: B023
        )
        results[f"{way}: how many"] = timed(
            [(counted, lambda found: [value.text for value in found.values] == [str(len(known))])] * (count // 4)  # noqa: B023
        )
    conditions = {
        "a value": [(f"winner is {made.labels[rng.choice(winners)]}", True) for _ in range(count)],
        "no value": [(f"winner is {made.labels[rng.choice(works)]}", False) for _ in range(count // 4)],
        "more values than": [(f"more than {n} winners", n < len(winners)) for n in range(HUB - 9, HUB + count)],
    }

    def is_right(truth: bool, found: Any) -> bool:
        return bool(found.values) is truth

    for kind, texts in conditions.items():
        calls = [
            (functools.partial(ask, Operator.FILTER, prize, text, ""), functools.partial(is_right, truth))
            for text, truth in texts
        ]
        results[f"Filter: {kind}"] = timed(calls)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--triples", type=int, default=2_000_000)
    parser.add_argument("--count", type=int, default=400, help="calls of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    arguments.home.mkdir(parents=True, exist_ok=True)
    made, directory, built = prepared(arguments.home, arguments.triples)
    GraphSource.open(directory).close()  # imports and the disk's cache
    started = time.perf_counter()
    source = GraphSource.open(directory)
    opened = (time.perf_counter() - started) * 1000
    rng = random.Random(arguments.seed)
    started = time.perf_counter()
    source.retrieve(
        Request("", "", Operator.RELATE, (Value(made.labels["Q900"]), Value("place of birth"))), Cancellation()
    )
    first = (time.perf_counter() - started) * 1000
    report: dict[str, Any] = {
        "triples": source.graph.manifest.counts, "megabytes": round(source.graph.manifest.bytes / 1e6, 1),
        "build_seconds": None if built is None else round(built, 1), "open_ms": round(opened, 1),
        "first_ms": round(first, 1),
        "link": linking(source, made, arguments.count, rng), "relate": relating(source, made, arguments.count, rng),
        "hub": hubs(source, made, max(4, arguments.count // 4), rng),
    }  # fmt: skip
    source.close()
    if arguments.json:
        print(json.dumps(report, indent=1))
        return
    print({key: value for key, value in report.items() if key not in ("link", "relate", "hub")})
    print("| what | n | p50 ms | p95 ms | CPU p50 | CPU p95 | right |\n|---|---|---|---|---|---|---|")
    for group in ("link", "relate", "hub"):
        for kind, row in report[group].items():
            print(f"| {group}: {kind} | " + " | ".join(str(value) for value in row.values()) + " |")


if __name__ == "__main__":
    main()
