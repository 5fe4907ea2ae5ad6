#!/usr/bin/env python3
"""Leave each entity's facts in one source only, its page or its triples, so that most questions must cross sources.

    scripts/split_knowledge.py --data DIR --out OUT [--seed 0] [--build NAME]
    scripts/split_knowledge.py --corpus FILE --facts FILE --out OUT [--seed 0] [--build NAME]

An entity that has both a page and triples keeps the page or the triples, by a seeded hash of its name; names that a
question's chain uses for one entity count as one. What has only one of them keeps it. Written to OUT:

    corpus.jsonl, triples.jsonl   the pages and the triples that are left, for a text and a graph index
    crossing.jsonl                development questions whose hops need both sources
    one_side.jsonl                development questions whose hops all fall to one side, pages or triples
    split.json                    the counts

A hop is told where its fact is left: on a page of its head, or as a triple of it. A question with a hop that neither
tells is left out. A page about someone else may tell a hop of an entity whose page was taken away: how many there are
among the gold pages of the questions is counted. --build also builds both indexes, under NAME, into ATOMR_HOME.

The second form splits any pages and facts; there are no questions then, but `atomr questions make` can make some.

    scripts/split_knowledge.py --data ../shared/data --out runs/2wiki-split --build 2wiki-split
    scripts/split_knowledge.py --corpus indexes/pocket/articles.jsonl --facts indexes/pocket/facts.jsonl.gz \
        --out runs/starter-split --build starter-split
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from atomr_lab.evaluation.datasets import DatasetRecord, question_of, read_records
from atomr_lab.evaluation.diagnosis import Hop, gold_hops
from atomr_lab.evaluation.runs import write_file

from atomr_local.errors import AtomrError, InputError
from atomr_local.language.names import base_key

Side = Literal["page", "triples"]
Line = dict[str, Any]
CROSSING, PAGES, TRIPLES, UNTOLD = "crossing", "pages only", "triples only", "untold"
QUESTIONS = "qa/2wiki_train500_questions.jsonl"
CORPORA = ("qa/2wiki_train500_corpus.jsonl", "qa/2wiki_distractors_corpus.jsonl")
FACTS = "kg/2wiki_train_triples.jsonl"


def side(entity: str, seed: int) -> Side:
    """Where the facts of an entity are left."""
    return "page" if hashlib.blake2b(f"{seed}:{entity}".encode()).digest()[0] % 2 else "triples"


class Entities:
    """Which names are of one entity: those that are equal without case and qualifier, and those that a chain joins."""

    def __init__(self, hops: Iterable[Hop]) -> None:
        self._other: dict[str, str] = {}
        for hop in hops:
            first, *others = (base_key(head) for head in hop.heads)
            for other in others:
                one, two = self._last(first), self._last(other)
                if one != two:
                    self._other[max(one, two)] = min(one, two)

    def of(self, name: str) -> str:
        """The entity's key."""
        return self._last(base_key(name))

    def _last(self, key: str) -> str:
        while key in self._other:
            key = self._other[key]
        return key


@dataclass(frozen=True)
class Knowledge:
    """Pages and triples by the entity that they are about."""

    pages: Mapping[str, Sequence[Line]]
    triples: Mapping[str, Sequence[Line]]
    entities: Entities

    @classmethod
    def of(cls, pages: Iterable[Line], triples: Iterable[Line], entities: Entities) -> Knowledge:
        by_page, by_subject = defaultdict[str, list[Line]](list), defaultdict[str, list[Line]](list)
        for page in pages:
            by_page[entities.of(str(page["title"]))].append(page)
        for triple in triples:
            by_subject[entities.of(str(triple["s"]))].append(triple)
        return cls(dict(by_page), dict(by_subject), entities)

    def split(self, seed: int) -> Knowledge:
        """What is left when each entity that has both keeps one."""
        kept = {entity: side(entity, seed) for entity in self.pages.keys() & self.triples.keys()}
        return Knowledge(
            {entity: lines for entity, lines in self.pages.items() if kept.get(entity) != "triples"},
            {entity: lines for entity, lines in self.triples.items() if kept.get(entity) != "page"},
            self.entities,
        )

    def tells(self, hop: Hop) -> set[Side]:
        """Where the hop's fact stands."""
        entity = self.entities.of(hop.heads[0])
        found = set[Side]()
        if self.pages.get(entity):
            found.add("page")
        if any(hop.told_by([str(triple["o"])]) for triple in self.triples.get(entity, ())):
            found.add("triples")
        return found

    def told_elsewhere(self, hop: Hop, titles: Sequence[str]) -> bool:
        """Whether a page of these titles that is not the head's tells the hop."""
        own = self.entities.of(hop.heads[0])
        pages = (
            page for entity in map(self.entities.of, titles) if entity != own for page in self.pages.get(entity, ())
        )
        return any(hop.stands_in(str(page["title"]), str(page["text"])) for page in pages)


def kind(sides: Sequence[set[Side]]) -> str:
    """What a question needs, by where each hop is told."""
    if not sides or not all(sides):
        return UNTOLD
    if all("page" in found for found in sides):
        return PAGES
    return TRIPLES if all("triples" in found for found in sides) else CROSSING


def hops_of(line: Line, path: Path) -> list[Hop]:
    question = question_of(DatasetRecord(path, 0, line))
    return gold_hops(question.question, question.evidences, question.gold_titles)


def lines_of(*paths: Path) -> list[Line]:
    return [record.fields for path in paths for record in read_records(path)]


def distinct(pages: Iterable[Line]) -> list[Line]:
    """Pages of the same title and text once."""
    return list({(page["title"], page["text"]): page for page in pages}.values())


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    write_file(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def divide(data: Path, out: Path, seed: int) -> dict[str, Any]:
    """Write the files; the counts.

    Raises:
        InputError: a file is missing or bad, or no question is left.
    """
    questions = lines_of(data / QUESTIONS)
    chains = [hops_of(line, data / QUESTIONS) for line in questions]
    entities = Entities(hop for hops in chains for hop in hops)
    pages = distinct(lines_of(*(data / corpus for corpus in CORPORA)))
    whole = Knowledge.of(pages, lines_of(data / FACTS), entities)
    left = whole.split(seed)
    asked: dict[str, list[Line]] = {CROSSING: [], PAGES: [], TRIPLES: [], UNTOLD: []}
    hops, elsewhere = Counter[str](), 0
    first = len(questions) * 4 // 5
    for line, chain in list(zip(questions, chains, strict=True))[first:]:
        sides = [left.tells(hop) for hop in chain]
        found = kind(sides)
        asked[found].append({**line, "kind": found})
        if found == UNTOLD:
            continue
        titles = [str(title) for title in line.get("gold_titles") or ()]
        for hop, told in zip(chain, sides, strict=True):
            hops["/".join(sorted(told))] += 1
            elsewhere += "page" not in told and left.told_elsewhere(hop, titles)
    if not asked[CROSSING]:
        raise InputError(f"no question of {data / QUESTIONS} crosses sources with the seed {seed}")
    counts = write_knowledge(out, whole, left, seed)
    write_lines(out / "crossing.jsonl", asked[CROSSING])
    write_lines(out / "one_side.jsonl", (*asked[PAGES], *asked[TRIPLES]))
    counts |= {
        "development questions": {name: len(lines) for name, lines in asked.items()},
        "their hops told by": dict(hops.most_common()),
        "hops told by triples, and by a gold page of another entity": elsewhere,
    }
    write_file(out / "split.json", json.dumps(counts, indent=1) + "\n")
    return counts


def divide_any(corpus: Path, facts: Path, out: Path, seed: int) -> dict[str, Any]:
    """As :func:`divide`, without questions.

    Raises:
        InputError: a file is missing or bad.
    """
    whole = Knowledge.of(distinct(lines_of(corpus)), lines_of(facts), Entities(()))
    counts = write_knowledge(out, whole, whole.split(seed), seed)
    write_file(out / "split.json", json.dumps(counts, indent=1) + "\n")
    return counts


def write_knowledge(out: Path, whole: Knowledge, left: Knowledge, seed: int) -> dict[str, Any]:
    """Write the pages and the triples that are left; the counts before and after."""
    out.mkdir(parents=True, exist_ok=True)
    write_lines(out / "corpus.jsonl", (page for some in left.pages.values() for page in some))
    write_lines(out / "triples.jsonl", (triple for some in left.triples.values() for triple in some))
    return {
        "seed": seed,
        "entities with both": len(whole.pages.keys() & whole.triples.keys()),
        "pages": [sum(map(len, whole.pages.values())), sum(map(len, left.pages.values()))],
        "triples": [sum(map(len, whole.triples.values())), sum(map(len, left.triples.values()))],
    }


def build(out: Path, name: str) -> None:
    """Build the text and the graph index.

    Raises:
        subprocess.CalledProcessError: `atomr` failed; it has told why.
    """
    for index, file in (("text", "corpus.jsonl"), ("graph", "triples.jsonl")):
        command = (sys.executable, "-m", "atomr_local", index, "build", str(out / file), "--name", name)
        subprocess.run(command, check=True, stdout=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with qa/ and kg/")
    parser.add_argument("--corpus", type=Path, help="pages, as `atomr text build` reads them")
    parser.add_argument("--facts", type=Path, help="facts, as `atomr graph build` reads them")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--build", metavar="NAME", help="build the indexes of this name, too")
    given = parser.parse_args(arguments)
    if given.corpus and given.facts and not given.data:
        counts = divide_any(given.corpus, given.facts, given.out, given.seed)
    elif given.data and not given.corpus and not given.facts:
        counts = divide(given.data, given.out, given.seed)
    else:
        parser.error("--data is needed, or --corpus and --facts")
    print(json.dumps(counts, indent=1))
    if given.build:
        build(given.out, given.build)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AtomrError as error:
        sys.exit(f"{error.title}: {error.message}\n{error.hint}".rstrip())
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
