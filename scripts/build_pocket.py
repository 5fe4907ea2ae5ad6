#!/usr/bin/env python3
"""Write the pocket encyclopedia's facts, lists and example questions, from the sources in scripts/pocket.

    scripts/build_pocket.py [--out DIR]         write facts.jsonl.gz, questions.jsonl and PROVENANCE.json, and in
                                                articles.jsonl the lists and the Wikidata ids
    scripts/build_pocket.py --check             compare with second sources, where they are at hand, and look for what
        [--references DIR] [--shared DIR]       contradicts itself; exit 1 on a disagreement

The other articles are written by hand: indexes/pocket/articles.jsonl is their source. Everything else depends on the
sources alone: the same sources give the same facts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pocket.check import check
from pocket.consistency import contradictions
from pocket.describe import describe
from pocket.facts import Knowledge
from pocket.sets import read_sets
from pocket.tables import PROPERTIES, TABLES
from pocket.topics import Joined, load_all

from atomr_local.system.files import write_output
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.validation import Limits, validate

ROOT = Path(__file__).resolve().parents[1]
POCKET = ROOT / "indexes" / "pocket"


def fact_lines(knowledge: Knowledge) -> Iterator[dict[str, Any]]:
    """Facts JSON lines, entity by entity: description, other names, then the facts."""
    by_subject: dict[str, list[dict[str, Any]]] = {key: [] for key in knowledge.entities}
    for fact in knowledge.facts:
        line = _end("s", knowledge, fact.subject) | {"p": fact.property}
        if fact.property in PROPERTIES:
            line["p_id"] = PROPERTIES[fact.property]
        if fact.kind == "entity":
            line |= _end("o", knowledge, fact.object) | {"o_type": "entity"}
        else:
            line |= {"o": f"{fact.object} {fact.unit}".strip(), "o_type": fact.kind}
            line |= {"unit": fact.unit} if fact.unit else {}
        by_subject[fact.subject].append(line | {"source": fact.source})
    for key, entity in knowledge.entities.items():
        source = entity.table or "derived"
        told = [("description", description)] if (description := describe(knowledge, entity)) else []
        told += [("also known as", alias) for alias in dict.fromkeys(entity.aliases)]
        for prop, text in told:
            yield _end("s", knowledge, key) | {"p": prop, "o": text, "o_type": "string", "source": source}
        yield from by_subject[key]


def _end(end: str, knowledge: Knowledge, key: str) -> dict[str, Any]:
    entity = knowledge.entities[key]
    return {end: entity.label} | ({f"{end}_qid": entity.qid} if entity.qid else {})


def article_lines(joined: Joined, file: Path) -> Iterator[dict[str, Any]]:
    """The articles of the file, each with its topic's Wikidata id where that is confirmed, then one for each set.

    Raises:
        ValueError: an article is about no topic, or a topic has none.
    """
    sets = {one.title: one for one in read_sets()}
    with file.open(encoding="utf-8") as stream:
        found = [line for line in map(json.loads, stream) if line["title"] not in sets]
    if different := {line["title"] for line in found} ^ set(joined.topics):
        raise ValueError(f"{file.name}: not the topics of scripts/pocket/topics: {sorted(different)[:5]}")
    for line in found:
        qid = joined.knowledge.entities[joined.keys[line["title"]]].qid
        yield {key: line[key] for key in ("id", "title", "text")} | ({"qid": qid} if qid else {})
    for title, one in sets.items():
        yield {"id": title.casefold().replace(" ", "-"), "title": title, "text": one.article()}


def question_lines() -> Iterator[dict[str, Any]]:
    """The example questions, each with a valid plan.

    Raises:
        ValueError: a plan is not a valid tree.
    """
    with (TABLES / "examples.jsonl").open(encoding="utf-8") as stream:
        for number, text in enumerate(stream, start=1):
            line = json.loads(text)
            problems = validate(parse_compact(line["plan"], line["question"]), Limits())
            if problems:
                raise ValueError(f"examples.jsonl, line {number}: {problems[0].message}")
            yield {"id": f"starter-{number:02d}"} | line


def write_lines(file: Path, lines: Iterable[dict[str, Any]]) -> int:
    """Write JSON lines beside the file, then put them in its place; the number of lines."""
    texts = [json.dumps(line, ensure_ascii=False) for line in lines]
    write_output(file, "".join(f"{text}\n" for text in texts))
    return len(texts)


def build(out: Path) -> dict[str, int]:
    """Write everything into the directory; how many facts, subjects, articles and questions."""
    out.mkdir(parents=True, exist_ok=True)
    joined = load_all()
    facts = list(fact_lines(joined.knowledge))
    packed = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in facts).encode()
    # No time and no name in the head: the same facts give the same bytes.
    (out / "facts.jsonl.gz").write_bytes(gzip.compress(packed, 9, mtime=0))
    counts = {
        "facts": len(facts),
        "subjects": len({line.get("s_qid", line["s"]) for line in facts}),
        "articles": write_lines(out / "articles.jsonl", list(article_lines(joined, POCKET / "articles.jsonl"))),
        "questions": write_lines(out / "questions.jsonl", question_lines()),
    }
    provenance = json.loads((TABLES / "provenance.json").read_text(encoding="utf-8"))
    used = Counter(line["source"] for line in facts)
    if set(used) - set(provenance):
        raise ValueError(f"no provenance for {sorted(set(used) - set(provenance))}")
    told = {key: entry | {"facts": used[key]} for key, entry in provenance.items() if used[key]}
    write_output(out / "PROVENANCE.json", json.dumps(told, ensure_ascii=False, indent=1) + "\n")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=POCKET)
    parser.add_argument("--check", action="store_true", help="compare with second sources instead of writing")
    parser.add_argument(
        "--references", type=Path, help="a directory with unpacked reference packages, beside those installed"
    )
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="where data/kg is")
    given = parser.parse_args()
    if given.check:
        joined = load_all()
        report = check(joined.knowledge, given.references, given.shared)
        wrong = contradictions(joined, POCKET / "articles.jsonl")
        print("\n".join([*report.lines(), *wrong]))
        sys.exit(1 if report.disagreements or wrong else 0)
    print(", ".join(f"{count} {name}" for name, count in build(given.out).items()))


if __name__ == "__main__":
    main()
