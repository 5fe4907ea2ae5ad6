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
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from atomr_local.language.names import name_key, words
from atomr_local.language.words import english
from atomr_local.models.templates import render
from atomr_local.reasoning.asking.writer import evidence_block, shown_passages
from atomr_local.system.sanitize import sanitize_line
from training.data.reading import rewriting
from training.examples import PASSAGE_WORDS, checked, cited, example, print_kinds, refuted, span_of
from training.files import QUESTIONS, STARTER, Line, read_lines, write_lines
from training.plans.typed import as_typed, capitals_as
from training.splits import for_calibration

CORPORA = {
    "2wiki": "2wiki_train500_corpus.jsonl",
    "hotpot": "hotpot_train100_corpus.jsonl",
    "musique": "musique_train100_corpus.jsonl",
    "hotpot400": "hotpot_train400_corpus.jsonl",
}
_SAMPLED = 400


def as_question(item: Line, name: str) -> Line:
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
        files = {name: data / "qa" / file for name, file in CORPORA.items()} | {"starter": STARTER / "articles.jsonl"}
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
        asked = {word for word in words(question) if word not in english().stop}
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
    ) -> Iterator[Line]:
        """One reading of the gold passages; without `answers` Unknown; `wrong`: a tempting answer to refuse."""
        alone = self.random.random() < 0.5 and len(gold) == 1
        found = list(gold) if alone else self.context(corpus, question, gold, max(3, len(gold)))
        if self.random.random() < 0.4:
            self.random.shuffle(found)
        task = "answer" if whole else "read"
        shown = shown_passages(question, found, PASSAGE_WORDS, whole=whole)
        prompt = render(
            "atomr_local.reasoning.reading", f"lean_{task}", (), question=question, evidence=evidence_block(shown)
        )
        spans: list[str] = []
        numbers: list[int] = []
        for answer in answers:
            if answer.casefold() in {"yes", "no"}:
                spans, numbers = [answer.casefold()], list(range(1, min(len(gold), 2) + 1))
                break
            if (place := cited(answer, shown)) is None:
                return  # cut away: no fair question
            spans.append(place[0])
            numbers.append(place[1])
        if spans:
            written = f"{'; '.join(dict.fromkeys(spans))} {''.join(f'[{i}]' for i in sorted(set(numbers)))}"
            yield checked(example(task, source, prompt, written))
            return
        if wrong and self.random.random() < 0.5:
            number = next((i for i, (_, text) in enumerate(shown, 1) if span_of(wrong, text)), None)
            if number is not None:
                yield refuted(example(f"{task}:wrong", source, prompt, f"{wrong} [{number}]"))
                return
        yield example(task, source, prompt, "Unknown")

    @staticmethod
    def plan(source: str, typed: str, plan: str) -> Line:
        """A plan, its names with the capitals that its line 0 gives them."""
        understood, *steps = plan.split("\n")
        shown = "\n".join([understood, *(capitals_as(understood, step) for step in steps)])
        prompt = render("atomr_local.reasoning.planning", "lean_plan", question=sanitize_line(typed))
        return example("plan", source, prompt, shown)

    # What the files make.

    def natural(self, items: Iterable[Line]) -> Iterator[Line]:
        for item in items:
            yield self.plan(f"natural:{item['kind']}", item["question"], item["plan"])

    def spoken(self, items: Iterable[Line]) -> Iterator[Line]:
        """Plans alone, the questions as they are typed."""
        for item in items:
            yield self.plan("spoken", item["question"], item["plan"])

    def conversational(self, items: Iterable[Line]) -> Iterator[Line]:
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

    def lists(self, items: Iterable[Line]) -> Iterator[Line]:
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

    def described(self, items: Iterable[Line]) -> Iterator[Line]:
        for item in items:
            expects = item.get("expects") or {}
            plan = f"0. {item['understood']} = Answer({expects.get('type', 'phrase')})"
            yield self.plan("described", item["question"], plan)
            if page := self.page(item["corpus"], item["title"]):
                answers = item.get("answers") or [item["answer"]]
                yield from self.reading(
                    "described", item["corpus"], item["understood"], [page], answers[:1], whole=True
                )

    def unanswerable(self, items: Iterable[Line]) -> Iterator[Line]:
        for item in items:
            if page := self.page(item["corpus"], item["title"]):
                yield from self.reading(
                    "unanswerable", item["corpus"], item.get("understood") or item["question"], [page], [],
                    whole=self.random.random() < 0.5, wrong=item.get("near_miss") or "",
                )  # fmt: skip

    def dialogues(self, items: Iterable[Line]) -> Iterator[Line]:
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
    kept: list[Line] = []

    def training(path: Path, kind: str, name: str) -> list[Line]:
        used = []
        for item in read_lines(path):
            if not for_calibration(item, kind):
                used.append(item)
            elif kind != "dialogues" and item.get("corpus", "none") != "none":
                kept.append(as_question(item, name))
        return used

    made = [item for path in given.facts for item in builder.natural(training(path, "facts", "natural"))]
    for name in ("conversational", "spoken", "lists", "described", "unanswerable", "dialogues"):
        path = given.questions / f"{name}.jsonl"
        if path.exists():
            made += getattr(builder, name)(training(path, "dialogues" if name == "dialogues" else "questions", name))
    if given.calibration:
        write_lines(given.calibration, kept)
        print(f"{len(kept):6} for calibration", file=sys.stderr)
    builder.random.shuffle(made)
    write_lines(given.out, made)
    print_kinds(made)
