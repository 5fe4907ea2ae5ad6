#!/usr/bin/env python3
"""Write the starter knowledge: facts, articles and example questions, from the tables in scripts/starter.

    scripts/build_starter.py [--out DIR]        write facts.jsonl, articles.jsonl, questions.jsonl and PROVENANCE.json
    scripts/build_starter.py --check            compare with second sources, where they are at hand; exit 1 on a
        [--references DIR] [--shared DIR]       disagreement

The output depends on the tables alone: the same tables give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from starter.articles import Articles
from starter.check import check
from starter.describe import describe
from starter.facts import Knowledge, load
from starter.tables import PROPERTIES, TABLES

from atomr_local.system.files import write_output
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.validation import Limits, validate

ROOT = Path(__file__).resolve().parents[1]


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
        named = _end("s", knowledge, key)
        description = describe(knowledge, entity)
        if description:
            yield named | {
                "p": "description",
                "o": description,
                "o_type": "string",
                "source": entity.table or "derived",
            }
        for alias in dict.fromkeys(entity.aliases):
            yield named | {"p": "also known as", "o": alias, "o_type": "string", "source": entity.table or "aliases"}
        yield from by_subject[key]


def _end(end: str, knowledge: Knowledge, key: str) -> dict[str, Any]:
    entity = knowledge.entities[key]
    return {end: entity.label} | ({f"{end}_qid": entity.qid} if entity.qid else {})


def question_lines() -> Iterator[dict[str, Any]]:
    """The example questions, each with a valid plan.

    Raises:
        ValueError: a plan is not a valid tree.
    """
    with (TABLES / "questions.jsonl").open(encoding="utf-8") as stream:
        for number, text in enumerate(stream, start=1):
            line = json.loads(text)
            problems = validate(parse_compact(line["plan"], line["question"]), Limits())
            if problems:
                raise ValueError(f"questions.jsonl, line {number}: {problems[0].message}")
            yield {"id": f"starter-{number:02d}"} | line


def write_lines(file: Path, lines: Iterable[dict[str, Any]]) -> int:
    """Write JSON lines beside the file, then put them in its place; the number of lines."""
    texts = [json.dumps(line, ensure_ascii=False) for line in lines]
    write_output(file, "".join(f"{text}\n" for text in texts))
    return len(texts)


def build(out: Path) -> dict[str, int]:
    """Write everything into the directory; how many facts, subjects, articles and questions."""
    out.mkdir(parents=True, exist_ok=True)
    knowledge = load()
    facts = list(fact_lines(knowledge))
    counts = {
        "facts": write_lines(out / "facts.jsonl", facts),
        "subjects": len({line.get("s_qid", line["s"]) for line in facts}),
        "articles": write_lines(out / "articles.jsonl", Articles(knowledge).all()),
        "questions": write_lines(out / "questions.jsonl", question_lines()),
    }
    provenance = json.loads((TABLES / "provenance.json").read_text(encoding="utf-8"))
    used = Counter(line["source"] for line in facts)
    if set(used) - set(provenance):
        raise ValueError(f"no provenance for {sorted(set(used) - set(provenance))}")
    told = {key: entry | {"facts": used[key]} for key, entry in provenance.items() if used[key]}
    (out / "PROVENANCE.json").write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "indexes" / "starter")
    parser.add_argument("--check", action="store_true", help="compare with second sources instead of writing")
    parser.add_argument(
        "--references", type=Path, help="a directory with unpacked reference packages, beside those installed"
    )
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="where data/kg is")
    given = parser.parse_args()
    if given.check:
        report = check(load(), given.references, given.shared)
        print("\n".join(report.lines()))
        sys.exit(1 if report.disagreements else 0)
    print(", ".join(f"{number} {name}" for name, number in build(given.out).items()), file=sys.stderr)


if __name__ == "__main__":
    main()
