#!/usr/bin/env python3
"""What a link score is worth: right links by score, for names as they are, in small letters, with a letter wrong and by
the last word alone; and links of names that the graph does not hold, which are all wrong.

    scripts/bench/link_scores.py --graph NAME [--absent passages.jsonl …] [--each 400] [--seed 5]

Entities are drawn at random from the graph index NAME; a link to a namesake counts as right. Absent names are titles of
the passages given that no name of the graph equals. By words alone, without an embedder.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
from collections import defaultdict
from pathlib import Path

from graph_query import folded, misspelt

from atomr_local.indexing.starter import ensure_index
from atomr_local.language.names import base_key, name_key
from atomr_local.sources.graph import GraphSource

EDGES = (0.0, 0.45, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.01)
USED = 0.45


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="starter")
    parser.add_argument("--absent", type=Path, nargs="*", default=[])
    parser.add_argument("--each", type=int, default=400)
    parser.add_argument("--seed", type=int, default=5)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    source = GraphSource.open(ensure_index("graph", arguments.graph))
    graph = source.graph
    seen = {statement.subject for prop in graph.properties for statement in graph.statements(prop=prop, limit=5000)}
    entities = rng.sample(sorted(seen), min(arguments.each, len(seen)))
    found: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for iri in entities:
        label = graph.label(iri)
        ways = {"as it is": label, "small letters": folded(label)}
        ways |= {"a letter wrong": misspelt(label, rng)} if len(label) > 4 else {}
        last = label.split()[-1]
        if last != label and not graph.names.by_key(name_key(last), limit=1):
            ways["last word"] = last
        for way, name in ways.items():
            links = source.linker.link(name)
            right = bool(links) and name_key(graph.label(links[0].entity.iri)) == name_key(label)
            found[way].append((links[0].score if links else 0.0, right))
    titles = {json.loads(line)["title"] for file in arguments.absent for line in file.open(encoding="utf-8")}
    absent = sorted(title for title in titles if not graph.names.by_base(base_key(title), limit=1))
    for title in rng.sample(absent, min(2 * arguments.each, len(absent))):
        links = source.linker.link(title)
        found["not there"].append((links[0].score if links else 0.0, False))
    source.close()
    for way, scores in found.items():
        used = [right for score, right in scores if score >= USED]
        told = f"right {sum(used) / len(used):.3f}" if used and way != "not there" else ""
        print(f"{way}: n {len(scores)}  linked {len(used) / len(scores):.3f}  {told}")
        bins = []
        for low, high in itertools.pairwise(EDGES):
            inside = [right for score, right in scores if low <= score < high]
            bins += [f"{low:.2f}: {sum(inside)}/{len(inside)}"] if inside else []
        print("   right of those from a score on:", "  ".join(bins))


if __name__ == "__main__":
    main()
