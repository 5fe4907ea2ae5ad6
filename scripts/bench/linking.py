#!/usr/bin/env python3
"""Accuracy@1 and @5 of relation matching and entity linking on SimpleQuestions-Wikidata and RuBQ.

    scripts/bench/linking.py [--data ../shared/data] [--every 1] [--only relations|entities|namesakes]
                             [--meaning starter|DIRECTORY] [--json]

With --meaning, each is measured by words alone and with that embedder besides, in one run ("+ meaning").

Relations: the question's words and the entity are given, the property that the data set names is wanted. The data sets
hold no names of entities, so the question is taken whole. Candidates:

- "all": every property that the fixtures name (external identifiers and media left out), and for SimpleQuestions both
  directions of each; "property" counts the property, "with direction" the direction too.
- "own": what CoDEx states of the entity, both ways, and the property wanted; only entities that CoDEx knows. With one
  candidate alone there is nothing to choose, so such questions are left out. "taken" counts those in which Relate
  would have followed a property for the sake of the question before acceptance was learnt (earlier_relations.py), @1
  those that are right; "taken, fact missing" how many when what is asked for is not there (all of them wrong, n counts
  the questions). What is followed now is measured by scripts/train_relation_match.py.

Names: labels of 2017, aliases and descriptions of the sample, CoDEx's descriptions, and our vocabulary. How often a
property is used is counted in CoDEx.

Entities: the graph holds every entity that any data set names (RuBQ's answers with English names and aliases, the
labelled facts of 2WikiMultihopQA) with CoDEx's facts between them. Asked are the questions about these entities in
which one of their names stands: "mention" links that name with the question around it; "question" finds names in the
question itself. Besides, every entity is looked up by its label as it is, in lower case without accents, with one
letter wrong, and by an alias. The other entities of the data sets have no name in the files, so they cannot be asked.

Of RuBQ, questions of one hop with one entity and one property. Each file is split by its order: "dev" is the first four
fifths, "held" the last.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from earlier_relations import of_question_by_meaning
from graph_query import folded, misspelt
from linking_data import ENTITY, Way, items, parted, properties, triples
from namesakes import places

from atomr_local.indexing import store
from atomr_local.indexing.embedding.embedder import Embedder, SentenceEmbedder
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.language.names import name_key
from atomr_local.language.properties import PROPERTY
from atomr_local.models.catalog.find import find_embedder
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.properties.matching import PropertyMatcher
from atomr_local.sources.graph.properties.selection import clear_match
from atomr_local.sources.graph.semantic_similarity import SemanticSimilarity

ROOT = Path(__file__).resolve().parents[2]


class Accuracy:
    """How often the right one was first, and among the first five."""

    def __init__(self) -> None:
        self.asked = self.first = self.five = 0

    def count(self, place: int | None) -> None:
        self.asked += 1
        self.first += place == 0
        self.five += place is not None and place < 5

    def summary(self) -> dict[str, float]:
        return {"n": self.asked, "at_1": round(self.first / self.asked, 3), "at_5": round(self.five / self.asked, 3)}


def place_of(wanted: Any, ranking: Sequence[Any]) -> int | None:
    return ranking.index(wanted) if wanted in ranking else None


Ranking = Callable[[str, "Collection[Way] | None"], list[Way]]
Embedders = dict[str, "Callable[[], Embedder] | None"]
"""Ways of linking: by words alone, and perhaps with an embedder."""


def relations(data: Path, every: int, embedder: Callable[[], Embedder] | None) -> dict[str, dict[str, float]]:
    facts = triples(data)
    rows = properties(data, Counter(prop for _, prop, _ in facts))
    own: dict[str, set[Way]] = defaultdict(set)
    for subject, prop, target in facts:
        own[subject].add((PROPERTY + prop, False))
        own[target].add((PROPERTY + prop, True))
    matcher = PropertyMatcher(rows, SemanticSimilarity(embedder))

    def as_wording(question: str, among: Collection[Way] | None) -> list[Way]:
        found = [(match.property, match.inverse) for match in matcher.rank(question, question)]
        return [way for way in found if among is None or way in among]

    def as_question(question: str, among: Collection[Way] | None) -> list[Way]:
        return [(match.property, match.inverse) for match in matcher.match_question(question, among)]

    def by_meaning(question: str, among: Collection[Way] | None) -> list[Way]:
        return [(match.property, match.inverse) for match in of_question_by_meaning(matcher, question, among)]

    def followed(question: str, among: Collection[Way], *, meant: bool) -> Way | None:
        taken = clear_match(matcher.match_question(question, among))
        if taken is None and meant:
            taken = clear_match(of_question_by_meaning(matcher, question, among))
        return (taken.property, taken.inverse) if taken else None

    known = {row.iri for row in rows}
    methods: dict[str, Ranking] = {"as a relation's wording": as_wording, "as a question": as_question}
    if embedder is not None:
        methods["as a question + meaning"] = by_meaning
    counted: dict[tuple[str, ...], Accuracy] = defaultdict(Accuracy)
    for number, item in enumerate(items(data)):
        if number % every or item.way[0] not in known:
            continue
        among = own[item.entity] | {item.way} if len(own.get(item.entity, ())) > 1 else None
        for name, method in methods.items():
            if name == "as a relation's wording" and number % (10 * every):
                continue  # slow: a sample will do for comparison
            ranking = method(item.question, None)
            plain = list(dict.fromkeys(prop for prop, _ in ranking))
            head = (name, item.source, item.part)
            counted[*head, "all: property"].count(place_of(item.way[0], plain))
            counted[*head, "all: with direction"].count(place_of(item.way, ranking))
            if among is not None:
                counted[*head, "own: with direction"].count(place_of(item.way, method(item.question, among)))
            if among is None or method is as_wording:
                continue
            meant = method is by_meaning
            if (way := followed(item.question, among, meant=meant)) is not None:
                counted[*head, "own: taken"].count(0 if way == item.way else None)
            others = among - {item.way}
            wrongly = followed(item.question, others, meant=meant) is not None
            counted[*head, "own: taken, fact missing"].count(0 if wrongly else None)
    report = {" | ".join(key): accuracy.summary() for key, accuracy in sorted(counted.items())}
    return {f"{len(rows)} properties": {}} | report


def entity_names(data: Path) -> dict[str, list[str]]:
    """English names by Q-id, the label (or what stands for it) first."""
    names: dict[str, dict[str, None]] = defaultdict(dict)
    for line in (data / "kg" / "2wiki_train_triples.jsonl").read_text(encoding="utf-8").splitlines():
        fact = json.loads(line)
        for end in "so":
            if fact.get(f"{end}_qid"):
                names[fact[f"{end}_qid"]][fact[end]] = None
    for row in json.loads((data / "decomposition" / "RuBQ_2.0_dev.json").read_text(encoding="utf-8")):
        for answer in row["answers"]:
            if answer.get("type") == "uri":
                for name in (answer.get("wd_names") or {}).get("en", ()):
                    names[answer["value"].removeprefix(ENTITY)][name] = None
    return {
        qid: sorted((name for name in found if any(map(str.isalnum, name))), key=lambda name: len(name) <= 3)
        for qid, found in names.items()
        if any(any(map(str.isalnum, name)) for name in found)
    }


def build(data: Path, names: dict[str, list[str]]) -> GraphSource:
    lines = []
    for qid, found in names.items():
        lines += [{"s": found[0], "s_qid": qid, "p": "also known as", "o": name} for name in found[1:]]
    labels = json.loads((data / "fixtures/wikidata/property_labels_en_2017.json").read_text(encoding="utf-8"))
    for subject, prop, target in triples(data):
        if subject in names and target in names:
            lines.append({"s": names[subject][0], "s_qid": subject, "p": labels.get(prop, prop), "p_id": prop,
                          "o": names[target][0], "o_qid": target})  # fmt: skip
    home = Path(os.environ["ATOMR_HOME"])
    file = home / "named.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    build_graph_index([data / "kg" / "2wiki_train_triples.jsonl", file], "named")
    return GraphSource.open(store.index_path("graph", "named"))


def namesakes(data: Path, embedders: Embedders) -> dict[str, dict[str, float]]:
    counted: dict[tuple[str, ...], Accuracy] = defaultdict(Accuracy)
    for name, asking, place in places(data, embedders):
        counted[f"namesakes{name}", asking.part, asking.way].count(place)
    return {" | ".join(key): accuracy.summary() for key, accuracy in sorted(counted.items())}


def entities(data: Path) -> dict[str, dict[str, float]]:
    names = entity_names(data)
    source = build(data, names)
    counted: dict[tuple[str, ...], Accuracy] = defaultdict(Accuracy)

    def linked(*mentions: str, question: str = "") -> list[str]:
        found = [c for mention in mentions for c in source.linker.link(mention, question=question)]
        return [c.entity.iri.removeprefix(ENTITY) for c in sorted(found, key=lambda c: -c.score)]

    for item in items(data):
        padded = f" {name_key(item.question)} "
        standing = [name for name in names.get(item.entity, ()) if f" {name_key(name)} " in padded]
        if not standing:
            continue
        mention = max(standing, key=len)
        head = (item.source, item.part)
        counted[*head, "mention"].count(place_of(item.entity, linked(mention, question=item.question)))
        mentions = source.mentions(item.question)
        counted[*head, "question"].count(place_of(item.entity, linked(*mentions, question=item.question)))
    rng = random.Random(1)
    known = [qid for qid in names if source.graph.row(ENTITY + qid) is not None]
    for part, qid in parted(known):
        label, *aliases = names[qid]
        ways = {"label": label, "folded": folded(label)}
        ways |= {"misspelt": misspelt(label, rng)} if len(label) > 4 else {}
        ways |= {"alias": rng.choice(aliases)} if aliases else {}
        for way, name in ways.items():
            counted["by name", part, way].count(place_of(qid, linked(name)))
    source.close()
    return {f"{len(known)} entities": {}} | {" | ".join(k): a.summary() for k, a in sorted(counted.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--every", type=int, default=1, help="take every so many-th question of the relations")
    parser.add_argument("--only", choices=("relations", "entities", "namesakes"))
    parser.add_argument("--meaning", help="an embedder, measured beside words alone: starter, or its directory")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report: dict[str, dict[str, float]] = {}
    embedder = None
    if arguments.semantic:
        loaded = SentenceEmbedder(find_embedder(arguments.semantic))
        embedder = lambda: loaded  # noqa: E731
    if arguments.only in (None, "relations"):
        report |= relations(arguments.data, arguments.every, embedder)
    with tempfile.TemporaryDirectory() as home:
        os.environ["ATOMR_HOME"] = home
        if arguments.only in (None, "entities"):
            report |= entities(arguments.data)
        if arguments.only in (None, "namesakes"):
            ways: Embedders = {"": None} | ({" + meaning": embedder} if embedder else {})
            report |= namesakes(arguments.data, ways)
    if arguments.json:
        print(json.dumps(report, indent=1))
        return
    for key, row in report.items():
        print(f"{key}: " + (f"@1 {row['at_1']:.3f}  @5 {row['at_5']:.3f}  (n={row['n']})" if row else ""))


if __name__ == "__main__":
    main()
