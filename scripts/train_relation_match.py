#!/usr/bin/env python3
"""Learn when a property of an entity is what a relation's wording asks for (atomr_local/sources/graph/acceptance.py).

    scripts/train_relation_match.py [--data ../shared/data] [--examples 6000] [--embedder starter] [--write]

Each example is a wording, a question, and the properties that an entity has. In half of them the property asked for is
taken away from the entity, so that every other one is wrong; in half of these the wording's property is unknown to the
graph altogether. Wordings are names of the property, part of which the graph is made to forget, so that wordings that
no list holds are met too; relations of scripts/training_questions that no property is called like are wrong for every
property. Properties of entities: CoDEx (MIT) with the literals that such entities have in Wikidata, and the starter.
Questions: SimpleQuestions over Wikidata (CC BY 3.0), train to learn, valid to measure; RuBQ 2.0's development part (CC
BY-SA 4.0) to measure; starter entities are split by their names.

Reports n, AUROC and ECE (ten bins of equal width) of the probability of the entity's best property against whether it
is the one asked for; and, for the model and for the rule before it (scripts/bench/earlier_relations.py), the right
properties followed ("right") and the wrong ones where the right one is not there ("wrong_role").
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from earlier_relations import followed
from graph_query import misspelt
from linking import items, properties, triples

from atomr_local.catalog.starter import find_embedder
from atomr_local.evaluation.declining import auroc, calibration_error
from atomr_local.indexing.embedding import SentenceEmbedder
from atomr_local.indexing.graph_names import PropertyRow
from atomr_local.indexing.names import name_key
from atomr_local.indexing.vocabulary import PROPERTY, vocabulary
from atomr_local.sources.graph.acceptance import FILE, MEANING, WORDS, Acceptance, described, terms
from atomr_local.sources.graph.asked import Way
from atomr_local.sources.graph.meaning import Meaning
from atomr_local.sources.graph.relations import Match, RelationMatcher

ROOT = Path(__file__).resolve().parents[1]
SEED = 13
# What entities with the first property have besides in Wikidata, and how often; CoDEx holds no literals.
LITERALS = {
    "P106": {"P569": 0.95, "P570": 0.5, "P31": 1.0, "P735": 0.7, "P21": 0.9},
    "P57": {"P577": 0.9, "P2047": 0.5, "P31": 1.0}, "P136": {"P577": 0.4, "P31": 0.8},
    "P47": {"P1082": 0.7, "P2046": 0.7, "P571": 0.5, "P31": 1.0, "P36": 0.3},
    "P159": {"P571": 0.9, "P1128": 0.4, "P31": 1.0},
}  # fmt: skip
# One statement may be made by either: no mistake to take the one for the other.
ALIKE = [{"P364", "P407"}, {"P17", "P495"}, {"P131", "P276"}, {"P527", "P150"}]
MODIFIERS = (
    "first", "second", "third", "last", "largest", "smallest", "oldest", "youngest", "longest", "highest", "former",
    "favourite", "second-best",
)  # fmt: skip
HARMLESS = (
    "name of the {}", "the {}", "its {}", "current {}", "exact {}", "official {}", "{} of the film",
    "{} of this person",
    "full {}", "main {}", "{} name", "{} in total", "known {}", "actual {}",
    "primary {}", "{} details",
)  # fmt: skip
TEMPLATES = {
    "person": ("Who is the {} of {}?", "Who was {1}'s {0}?"),
    "time": ("When was the {} of {}?", "What is the {} of {}?", "On what date: {0} of {1}?"),
    "place": ("Where is the {} of {}?", "What is the {} of {}?"),
    "quantity": ("What is the {} of {}?", "How large is the {} of {}?"),
    "": ("What is the {} of {}?", "What was {1}'s {0}?", "{0} of {1}", "Tell me the {} of {}."),
}
FREE = re.compile(r'Relate\("([^"]+)", "([^"]+)"\)')


@dataclass
class Example:
    """A wording to be matched with what an entity has; gold: the ways that are right, none where nothing is."""

    part: str
    group: str
    wording: str
    question: str
    own: tuple[Way, ...]
    gold: frozenset[Way]
    matcher: RelationMatcher = field(repr=False)


class Worlds:
    """Graphs that know different properties by different names."""

    def __init__(self, rows: Sequence[PropertyRow], needed: set[str], meaning: Meaning, rng: random.Random) -> None:
        self.names = {row.iri: row for row in rows}
        self._all = []
        for forgotten in (0.0, 0.0, 0.3, 0.6, 0.9, 1.0):
            chosen = [row for row in rows if row.iri in needed]
            others = [row for row in rows if row.iri not in needed]
            chosen += rng.sample(others, min(len(others), rng.choice((0, 60, 250))))
            matcher = RelationMatcher(chosen, meaning)
            for iri, names in matcher._texts.items():
                matcher._texts[iri] = [
                    name for place, name in enumerate(names) if place == 0 or rng.random() >= forgotten
                ]
            matcher.of_question("")  # so that copies share what it builds
            self._all.append(matcher)

    def one(self, rng: random.Random) -> RelationMatcher:
        return rng.choice(self._all)


def without(matcher: RelationMatcher, iri: str) -> RelationMatcher:
    """The matcher as it would be if nobody had ever heard of the property."""
    other = copy.copy(matcher)
    other._texts = {prop: names for prop, names in matcher._texts.items() if prop != iri}
    other._rank = other._rank_uncached  # type: ignore[assignment]
    return other


def property_sets(data: Path, rng: random.Random) -> tuple[dict[str, set[Way]], dict[str, set[Way]]]:
    """What entities have, by entity: CoDEx's, and the starter's."""
    codex: dict[str, set[Way]] = defaultdict(set)
    for subject, prop, target in triples(data):
        codex[subject].add((PROPERTY + prop, False))
        codex[target].add((PROPERTY + prop, True))
    for ways in codex.values():
        for mark, added in LITERALS.items():
            if (PROPERTY + mark, False) in ways:
                ways |= {(PROPERTY + prop, False) for prop, share in added.items() if rng.random() < share}
    starter: dict[str, set[Way]] = defaultdict(set)
    labels = vocabulary().by_label
    for line in (ROOT / "indexes/starter/facts.jsonl").read_text(encoding="utf-8").splitlines():
        fact = json.loads(line)
        known = labels.get(name_key(fact["p"]))
        stated: str | None = PROPERTY + fact["p_id"] if fact.get("p_id") else known.iri if known else None
        if stated is None:
            continue
        starter[fact["s"]].add((stated, False))
        if fact.get("o_type") == "entity":
            starter[fact["o"]].add((stated, True))
    return codex, {name: ways for name, ways in starter.items() if len(ways) > 1}


def wording_of(way: Way, worlds: Worlds, rng: random.Random) -> str:
    """A wording that people or plans use for the property in this direction."""
    prop, inverse = way
    row, known = worlds.names.get(prop), vocabulary().by_iri.get(prop)
    label = (row.label if row else "") or (known.label if known else "")
    if inverse:
        names = list(known.inverse) if known else []
        return rng.choice(names) if names and rng.random() < 0.75 else f"{label} of"
    names = [*(row.names if row else ()), *(known.names if known else ())]
    chance = rng.random()
    if chance < 0.3 or not names:
        return label
    if chance < 0.9:
        return rng.choice(names)
    return rng.choice([f"the {label}", f"{label} of", f"{label}s", label.upper(), f"its {label}"])


def examples(part: str, data: Path, worlds: Worlds, sets: Any, count: int, rng: random.Random) -> Iterator[Example]:
    codex, starter = sets
    bearers: dict[Way, list[str]] = defaultdict(list)
    for entity, ways in codex.items():
        for way in ways:
            bearers[way].append(entity)
    asked = [item for item in items(data, parts=(part,)) if item.source == "SimpleQuestions"]
    if part == "valid":
        asked += [item for item in items(data, parts=()) if item.source == "RuBQ"]
    rng.shuffle(asked)
    made = 0
    for item in asked:
        known = item.way[0] in worlds.names
        own = codex.get(item.entity) or (codex[rng.choice(bearers[item.way])] if bearers.get(item.way) else None)
        if own is None or not known or len(own) < 2 or made >= count * 0.55:
            continue
        made += 1
        yield from _two(part, item.source, item.question, "", own | {item.way}, item.way, worlds, rng)
    here = [name for name in starter if (zlib.crc32(name.encode()) % 4 == 0) == (part == "valid")]
    every = sorted({way for ways in starter.values() for way in ways if way[0] in worlds.names})
    for _ in range(int(count * 0.3)):
        name = rng.choice(here)
        own = {way for way in starter[name] if way[0] in worlds.names}
        # Half of what is asked for is what other entities have.
        gold = rng.choice(sorted(own)) if own and rng.random() < 0.5 else rng.choice(every)
        if own:
            yield from _two(part, "starter", "", name, own | {gold}, gold, worlds, rng)
    yield from _free(part, worlds, [*codex.values(), *starter.values()], int(count * 0.15), rng)


def _two(
    part: str, group: str, question: str, head: str, own: set[Way], gold: Way, worlds: Worlds, rng: random.Random
) -> Iterator[Example]:
    """An example with the property asked for, or one without it."""
    matcher, wording = worlds.one(rng), wording_of(gold, worlds, rng)
    if not wording:
        return
    chance = rng.random()
    if not question or chance < 0.25:
        kind = "" if gold[1] or rng.random() < 0.3 else matcher.kind(gold[0])
        question = rng.choice(TEMPLATES.get(kind, TEMPLATES[""])).format(wording, head or "it")
    question = "" if chance > 0.9 else question
    right = {way for way in own if way == gold or matcher.same_relation(gold, way) or _alike(gold, way)}
    if rng.random() < 0.06 and len(wording) > 5:
        wording = misspelt(wording, rng)
    if rng.random() < 0.1:
        wording = rng.choice(HARMLESS).format(wording)
    if rng.random() < 0.05 and not gold[1]:
        # "first wife": nothing states that, the spouses included.
        modifier = rng.choice(MODIFIERS)
        question = rng.choice(TEMPLATES[""]).format(f"{modifier} {wording}", head or "it")
        wording = f"{modifier} {wording}"
        yield Example(part, f"{group}, modified", wording, question, tuple(sorted(own)), frozenset(), matcher)
    elif rng.random() < 0.5:
        yield Example(part, group, wording, question, tuple(sorted(own)), frozenset(right), matcher)
    else:
        left = own - right
        unknown = rng.random() < 0.5
        matcher = without(matcher, gold[0]) if unknown and not any(way[0] == gold[0] for way in left) else matcher
        if left:
            yield Example(part, f"{group}, taken away", wording, question, tuple(sorted(left)), frozenset(), matcher)


def _free(part: str, worlds: Worlds, sets: Sequence[set[Way]], count: int, rng: random.Random) -> Iterator[Example]:
    """Relations as plans word them, that no property is called like: right for nothing."""
    lines: list[dict[str, str]] = []
    for file in ("passages.jsonl", "more.jsonl"):
        text = (ROOT / "scripts/training_questions" / file).read_text(encoding="utf-8")
        lines += [json.loads(line) for line in text.splitlines()]
    asked = [
        (match[1], match[2], line["question"])
        for line in lines
        if line["kind"] == "single" and (match := FREE.fullmatch(line.get("operation", "")))
    ]
    here = [item for item in asked if (zlib.crc32(item[2].encode()) % 4 == 0) == (part == "valid")]
    for head, wording, question in rng.sample(here, min(count, len(here))):
        matcher, own = worlds.one(rng), rng.choice(sets)
        ways = tuple(sorted(way for way in own if way[0] in worlds.names))
        ranked = {(match.property, match.inverse): match.score for match in matcher.rank(wording, question, head)}
        if ways and max((ranked.get(way, 0.0) for way in ways), default=0.0) < 0.45:
            yield Example(part, "plans' own words", wording, question, ways, frozenset(), matcher)


def _alike(one: Way, other: Way) -> bool:
    pids = {one[0].removeprefix(PROPERTY), other[0].removeprefix(PROPERTY)}
    return one[1] == other[1] and any(pids <= group for group in ALIKE)


@dataclass
class Table:
    """Examples with the features of their candidates."""

    examples: list[Example]
    rows: list[list[tuple[Way, dict[str, float], bool]]]

    @classmethod
    def of(cls, made: Sequence[Example]) -> Table:
        rows = []
        for example in made:
            found = described(example.matcher, example.wording, example.question, "", example.own, meaning=True)
            rows.append(
                [
                    ((match.property, match.inverse), features, (match.property, match.inverse) in example.gold)
                    for match, features in found
                ]
            )
        return cls(list(made), rows)


def fit(rows: Sequence[Sequence[tuple[Any, dict[str, float], bool]]], names: Sequence[str]) -> dict[str, Any]:
    """Weights over all candidates, then scaled so that the best candidate's probability is the share of right ones."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    products = [*((name, "") for name in names), *combinations_with_replacement(names, 2)]
    plain = np.array([[features[name] for name in names] for row in rows for _, features, _ in row])
    right = np.array([right for row in rows for _, _, right in row])
    place = {name: number for number, name in enumerate(names)} | {"": len(names)}
    plain = np.hstack([plain, np.ones((len(plain), 1))])
    x = np.stack([plain[:, place[one]] * plain[:, place[other]] for one, other in products], axis=1)
    spread = x.std(axis=0)
    told = spread > 1e-6
    model = LogisticRegression(C=0.1, max_iter=4000).fit(x[:, told] / spread[told], right)
    weights = np.zeros(len(products))
    weights[told] = model.coef_[0] / spread[told]
    logits = x @ weights + model.intercept_[0]
    tops, start = [], 0
    for row in rows:
        if row:
            best = start + int(np.argmax(logits[start : start + len(row)]))
            tops.append((logits[best], right[best]))
        start += len(row)
    scale = LogisticRegression(C=1e3).fit(np.array([[logit] for logit, _ in tops]), [hit for _, hit in tops])
    a, b = float(scale.coef_[0][0]), float(scale.intercept_[0])
    return {
        "intercept": round(a * float(model.intercept_[0]) + b, 4),
        "weights": {
            f"{one}*{other}" if other else one: round(a * float(weight), 4)
            for (one, other), weight in zip(products, weights, strict=True)
            if weight
        },
    }


def best_of(table: Table, model: dict[str, Any]) -> list[tuple[float, bool]]:
    """(probability, right) of each example's best candidate."""
    made = (float(model["intercept"]), tuple(terms(model["weights"])))
    judge = Acceptance(made, made, 0.0, 0.0, 0.0)
    return [
        max(((judge.probability(features), right) for _, features, right in row), default=(0.0, False))
        for row in table.rows
    ]


def report(
    table: Table, model: dict[str, Any], accept: float, old: Sequence[Match | None]
) -> dict[str, dict[str, float]]:
    """By group of examples, and over all; `old`: what was followed before, for each example."""
    found = best_of(table, model)
    groups: dict[str, list[int]] = defaultdict(list)
    for place, example in enumerate(table.examples):
        groups["all"].append(place)
        groups[example.group].append(place)
    told = {}
    for group, places in groups.items():
        there = [place for place in places if table.examples[place].gold]
        gone = [place for place in places if not table.examples[place].gold]
        ways = {place: (match.property, match.inverse) for place in places if (match := old[place]) is not None}
        line: dict[str, float] = {"n": len(places)}
        if group == "all":
            line |= {
                "auroc": auroc([found[place] for place in places]),
                "ece": calibration_error([found[p] for p in places]),
            }
        if there:
            line |= {
                "right_before": sum(ways.get(p) in table.examples[p].gold for p in there) / len(there),
                "right": sum(found[p][0] >= accept and found[p][1] for p in there) / len(there),
            }
        if gone:
            line |= {
                "wrong_role_before": sum(p in ways for p in gone) / len(gone),
                "wrong_role": sum(found[p][0] >= accept for p in gone) / len(gone),
            }
        told[group] = {name: round(number, 3) for name, number in line.items()}
    return told


def _before(example: Example) -> Match | None:
    return followed(example.matcher, example.wording, example.question, example.own)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--examples", type=int, default=6000, help="to learn on; a third as many to measure on")
    parser.add_argument("--embedder", default="starter")
    parser.add_argument("--accept", type=float, default=0.5)
    parser.add_argument("--sure", type=float, default=0.8)
    parser.add_argument("--accept-by-words", type=float, default=0.5)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rng = random.Random(SEED)
    embedder = SentenceEmbedder(find_embedder(arguments.embedder))
    meaning = Meaning(lambda: embedder, kept=200_000)
    rows = properties(arguments.data, Counter(prop for _, prop, _ in triples(arguments.data)))
    sets = property_sets(arguments.data, rng)
    needed = {prop for several in sets for ways in several.values() for prop, _ in ways}
    worlds = Worlds(rows, needed, meaning, rng)
    tables = {
        part: Table.of(list(examples(part, arguments.data, worlds, sets, count, rng)))
        for part, count in (("train", arguments.examples), ("valid", arguments.examples // 3))
    }
    old = [_before(example) for example in tables["valid"].examples]
    models = {"words": fit(tables["train"].rows, WORDS), "meaning": fit(tables["train"].rows, MEANING)}
    for kind, model in models.items():
        learnt = best_of(tables["train"], model)
        print(f"{kind} | train: auroc {auroc(learnt):.3f}  ece {calibration_error(learnt):.3f}")
        for group, line in report(tables["valid"], model, arguments.accept, old).items():
            print(f"{kind} | valid | {group}: " + "  ".join(f"{k} {v}" for k, v in line.items()))
        found = best_of(tables["valid"], model)
        for least in (0.5, 0.6, 0.7, 0.8, 0.9):
            kept = [right for chance, right in found if chance >= least]
            print(f"{kind} | valid | {least} and more: {sum(kept) / len(kept):.3f} of {len(kept)} right", flush=True)
    if arguments.write:
        written = {
            "licence": "CC BY-SA 4.0, as the strictest of what it was learnt on",
            "made_by": f"scripts/train_relation_match.py --examples {arguments.examples}, seed {SEED}",
            "learnt_on": "SimpleQuestions over Wikidata, train (CC BY 3.0); CoDEx-M (MIT); the starter facts (CC0); "
            "relations of scripts/training_questions (CC BY-SA 4.0); names of properties: Wikidata (CC0)",
            "embedder": embedder.identity,
            "accept": arguments.accept,
            "sure": arguments.sure,
            "accept_by_words": arguments.accept_by_words,
            **models,
        }
        file = ROOT / "atomr_local/sources/graph" / FILE
        file.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
