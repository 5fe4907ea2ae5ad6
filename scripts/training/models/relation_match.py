"""Learn when a property of an entity is what a relation's wording asks for: the model of
atomr_local/sources/graph/properties/selection.py.

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
import json
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.report import auroc, calibration_error
from bench.earlier_relations import followed
from bench.linking_data import properties, triples

from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.models.catalog.find import find_embedder
from atomr_local.sources.graph.properties.matching import PropertyMatch, PropertyPath
from atomr_local.sources.graph.properties.selection import (
    FILE,
    LEXICAL_FEATURES,
    SEMANTIC_FEATURES,
    MatchModel,
    match_features,
    terms,
)
from atomr_local.sources.graph.semantic_similarity import SemanticSimilarity
from training.files import ROOT
from training.models.relation_examples import Example, Worlds, examples, property_sets

SEED = 13


@dataclass
class Table:
    """Examples with the features of their candidates."""

    examples: list[Example]
    rows: list[list[tuple[PropertyPath, dict[str, float], bool]]]

    @classmethod
    def of(cls, made: Sequence[Example]) -> Table:
        rows = []
        for example in made:
            found = match_features(example.matcher, example.wording, example.question, "", example.own, semantic=True)
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
    judge = MatchModel(made, made, 0.0, 0.0, 0.0)
    return [
        max(((judge.probability(features), right) for _, features, right in row), default=(0.0, False))
        for row in table.rows
    ]


def report(
    table: Table, model: dict[str, Any], accept: float, old: Sequence[PropertyMatch | None]
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


def _before(example: Example) -> PropertyMatch | None:
    found: PropertyMatch | None = followed(example.matcher, example.wording, example.question, example.own)
    return found


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
    semantic = SemanticSimilarity(lambda: embedder, kept=200_000)
    rows = properties(arguments.data, Counter(prop for _, prop, _ in triples(arguments.data)))
    sets = property_sets(arguments.data, rng)
    needed = {prop for several in sets for ways in several.values() for prop, _ in ways}
    worlds = Worlds(rows, needed, semantic, rng)
    tables = {
        part: Table.of(list(examples(part, arguments.data, worlds, sets, count, rng)))
        for part, count in (("train", arguments.examples), ("valid", arguments.examples // 3))
    }
    old = [_before(example) for example in tables["valid"].examples]
    models = {
        "lexical": fit(tables["train"].rows, LEXICAL_FEATURES),
        "semantic": fit(tables["train"].rows, SEMANTIC_FEATURES),
    }
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
        file = ROOT / "atomr_local/sources/graph/properties" / FILE
        file.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
