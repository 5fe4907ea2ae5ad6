#!/usr/bin/env python3
"""Make training data from our own natural questions: plans, readings, checks and rewrites, one JSON object a line.

    scripts/build_natural_data.py --data ../shared/data --facts natural_facts.jsonl --out natural.jsonl

`--facts` is what `scripts/natural_questions/build.py` writes. The rest comes from scripts/training_questions: questions
with plans (`conversational.jsonl`, `spoken.jsonl`), lists, descriptions, unanswerable questions and dialogues, written
on passages of the question sets in --data and of the starter. Contexts are cut and rendered by the program's own code;
about half of them hold one passage, the others further ones of the same corpus that share words with the question.
Lines are in the form that `scripts/train_adapter.py` reads. Seeded: the same input gives the same file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from build_reading_data import CHECK, rewriting
from build_training_data import PASSAGE_WORDS, QUESTIONS, line, read_lines, span_of
from typed_plans import as_typed, capitals_as

from atomr_local.backbone.templates import render
from atomr_local.indexing.names import name_key, words
from atomr_local.indexing.wording import STOP_WORDS
from atomr_local.output_files import write_output
from atomr_local.reasoning.reader import evidence_block, shown_passages
from atomr_local.sanitize import sanitize_line

CORPORA = {
    "2wiki": "2wiki_train500_corpus.jsonl",
    "hotpot": "hotpot_train100_corpus.jsonl",
    "musique": "musique_train100_corpus.jsonl",
    "hotpot400": "hotpot_train400_corpus.jsonl",
}
STARTER = Path(__file__).resolve().parents[1] / "indexes" / "starter" / "articles.jsonl"
_SAMPLED = 400
# One question of so many is left to scripts/calibrate.py.
_CALIBRATING = {"facts": 20, "questions": 6, "dialogues": 10}


def for_calibration(item: dict[str, Any], kind: str) -> bool:
    """Whether the question is kept out of training, for calibration: decided by its words alone."""
    text = item["question"] if "question" in item else item["turns"][0]["question"]
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest) % _CALIBRATING[kind] == 0


def as_question(item: dict[str, Any], name: str) -> dict[str, Any]:
    """The line of a question set."""
    answers = item.get("answers") or ([item["answer"]] if item.get("answer") else [])
    return {
        "id": item.get("id") or hashlib.blake2b(item["question"].encode(), digest_size=6).hexdigest(),
        "question": item["question"], "answers": [] if name == "unanswerable" else answers,
        "kind": item.get("kind", name), "answerable": item.get("answerable", name != "unanswerable"),
        "corpus": item["corpus"],
    }  # fmt: skip


class NaturalData:
    def __init__(self, data: Path, seed: int) -> None:
        self.random = random.Random(seed)
        files = {name: data / "qa" / file for name, file in CORPORA.items()} | {"starter": STARTER}
        self.passages: dict[str, list[tuple[str, str]]] = {}
        self.pages: dict[tuple[str, str], tuple[str, str]] = {}
        for name, path in files.items():
            rows = [(sanitize_line(row["title"]), sanitize_line(row["text"])) for row in read_lines(path)]
            self.passages[name] = rows
            for row in rows:
                self.pages.setdefault((name, name_key(row[0])), row)

    def page(self, corpus: str, title: str) -> tuple[str, str] | None:
        return self.pages.get((corpus, name_key(title)))

    def context(self, corpus: str, question: str, gold: Sequence[tuple[str, str]], most: int) -> list[tuple[str, str]]:
        """The gold passages among others of the corpus that share words with the question, at most `most`."""
        asked = {word for word in words(question) if word not in STOP_WORDS}
        sample = self.random.sample(self.passages[corpus], min(_SAMPLED, len(self.passages[corpus])))
        others = sorted(
            (page for page in sample if page not in gold),
            key=lambda page: -len(asked & set(words(f"{page[0]} {page[1]}"))),
        )
        return [*gold, *others][:most]

    def reading(
        self,
        source: str,
        corpus: str,
        question: str,
        gold: Sequence[tuple[str, str]],
        answers: Sequence[str],
        *,
        whole: bool,
        wrong: str = "",
    ) -> Iterator[dict[str, Any]]:
        """One reading of the gold passages; without `answers` Unknown; `wrong`: a tempting answer to refuse."""
        alone = self.random.random() < 0.5 and len(gold) == 1
        found = list(gold) if alone else self.context(corpus, question, gold, max(3, len(gold)))
        if self.random.random() < 0.4:
            self.random.shuffle(found)
        task = "answer" if whole else "read"
        shown = shown_passages(question, found, PASSAGE_WORDS, whole=whole)
        prompt = render("atomr_local.reasoning", f"lean_{task}", (), question=question, evidence=evidence_block(shown))
        spans: list[str] = []
        cited: list[int] = []
        for answer in answers:
            if answer.casefold() in {"yes", "no"}:
                spans, cited = [answer.casefold()], list(range(1, min(len(gold), 2) + 1))
                break
            place = next(
                (
                    (s, i)
                    for i, (title, text) in enumerate(shown, 1)
                    if (s := span_of(answer, text) or span_of(answer, title))
                ),
                None,
            )
            if place is None:
                return  # cut away: no fair question
            spans.append(place[0])
            cited.append(place[1])
        if not spans:
            if wrong and self.random.random() < 0.5:
                number = next((i for i, (_, text) in enumerate(shown, 1) if span_of(wrong, text)), None)
                if number is not None:
                    made = line(f"{task}:wrong", source, prompt, f"{wrong} [{number}]")
                    yield made | {"learn": False, "then": [{"ask": CHECK, "answer": "no"}]}
                    return
            yield line(task, source, prompt, "Unknown")
            return
        numbers = "".join(f"[{i}]" for i in sorted(set(cited)))
        written = f"{'; '.join(dict.fromkeys(spans))} {numbers}"
        yield line(task, source, prompt, written) | {"then": [{"ask": CHECK, "answer": "yes"}]}

    @staticmethod
    def plan(source: str, typed: str, plan: str) -> dict[str, Any]:
        """A plan, its names with the capitals that its line 0 gives them."""
        understood, *steps = plan.split("\n")
        shown = "\n".join([understood, *(capitals_as(understood, step) for step in steps)])
        return line("plan", source, render("atomr_local.planning", "lean_plan", question=sanitize_line(typed)), shown)

    # What the files make.

    def natural(self, items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for item in items:
            yield self.plan(f"natural:{item['kind']}", item["question"], item["plan"])

    def spoken(self, items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Plans alone, the questions as they are typed."""
        for item in items:
            yield self.plan("spoken", item["question"], item["plan"])

    def conversational(self, items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for item in items:
            for _ in range(2):
                yield self.plan("conversational", *as_typed(item["question"], item["plan"], self.random))
            gold: list[tuple[str, str]] = []
            for step in item.get("steps", []):
                page = self.page(step.get("corpus") or item["corpus"], step.get("title") or "")
                told = step.get("answers") or []
                if page is None or not told:
                    continue
                gold += [page] if page not in gold else []
                told = [] if told == ["Unknown"] else told
                yield from self.reading("conversational", item["corpus"], step["question"], [page], told, whole=False)
            if gold and item.get("answers") and item.get("kind") != "each":
                told = item["answers"] if item["expects"]["several"] else item["answers"][:1]
                yield from self.reading(
                    "conversational", item["corpus"], item["understood"], gold[:3], told, whole=True
                )

    def lists(self, items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for item in items:
            if "counted" in item:  # what is to be said stands in no passage
                continue
            expects = item["expects"]
            if self.random.random() < 0.5:  # a list in one passage needs no tree
                several = ", several" if expects["several"] else ""
                plan = f"0. {item['understood']} = Answer({expects['type']}{several})"
                yield self.plan("list", item["question"], plan)
            if page := self.page(item["corpus"], item["title"]):
                for whole in (False, True):
                    yield from self.reading(
                        "list", item["corpus"], item["understood"], [page], item["answers"], whole=whole
                    )

    def described(self, items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for item in items:
            expects = item.get("expects") or {}
            plan = f"0. {item['understood']} = Answer({expects.get('type', 'phrase')})"
            yield self.plan("described", item["question"], plan)
            if page := self.page(item["corpus"], item["title"]):
                answers = item.get("answers") or [item["answer"]]
                yield from self.reading(
                    "described", item["corpus"], item["understood"], [page], answers[:1], whole=True
                )

    def unanswerable(self, items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for item in items:
            if page := self.page(item["corpus"], item["title"]):
                yield from self.reading(
                    "unanswerable", item["corpus"], item.get("understood") or item["question"], [page], [],
                    whole=self.random.random() < 0.5, wrong=item.get("near_miss") or "",
                )  # fmt: skip

    def dialogues(self, items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for item in items:
            turns: list[tuple[str, str]] = []
            for turn in item["turns"]:
                if turns:
                    yield rewriting("dialogue", turns, turn["question"], turn["understood"])
                turns.append((turn["understood"], turn.get("answer") or "Unknown"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--facts", type=Path, nargs="*", default=[])
    parser.add_argument("--questions", type=Path, default=QUESTIONS, help="directory of our own questions")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--calibration", type=Path, help="write the questions kept out of training here")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    builder = NaturalData(given.data, given.seed)
    kinds: dict[str, Callable[[Iterable[dict[str, Any]]], Iterator[dict[str, Any]]]] = {
        "conversational": builder.conversational,
        "spoken": builder.spoken,
        "lists": builder.lists,
        "described": builder.described,
        "unanswerable": builder.unanswerable,
        "dialogues": builder.dialogues,
    }
    kept: list[dict[str, Any]] = []

    def training(items: Iterable[dict[str, Any]], kind: str, name: str) -> list[dict[str, Any]]:
        used = []
        for item in items:
            if not for_calibration(item, kind):
                used.append(item)
            elif kind != "dialogues" and item.get("corpus", "none") != "none":
                kept.append(as_question(item, name))
        return used

    made = [item for path in given.facts for item in builder.natural(training(read_lines(path), "facts", "natural"))]
    for name, part in kinds.items():
        path = given.questions / f"{name}.jsonl"
        if path.exists():
            made += part(training(read_lines(path), "dialogues" if name == "dialogues" else "questions", name))
    if given.calibration:
        write_output(given.calibration, "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in kept))
        print(f"{len(kept):6} for calibration", file=sys.stderr)
    builder.random.shuffle(made)
    write_output(given.out, "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in made))
    counts = Counter(
        f"{item['task']} · {item['source']}{' · Unknown' * (item['answer'] == 'Unknown')}" for item in made
    )
    for name, number in sorted(counts.items()):
        print(f"{number:6} {name}", file=sys.stderr)


if __name__ == "__main__":
    main()
