"""Make training data of the closed tasks from `data/broad` and of follow-up questions, one JSON object a line.

    scripts/build_broad_data.py --data ../shared/data --out broad.jsonl

Needs no index and no model. Questions on many kinds of text become lines of `read` and `answer` with the program's own
prompts, a third of them unanswerable; claims become yes/no questions; dialogues and follow-ups become lines of
`rewrite`, among them our own (`scripts/training_questions/followups.jsonl`) and complete questions that stay as they
are. Nothing that SOURCES.md keeps out is used. Seeded.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from atomr_local.language.names import name_key
from atomr_local.models.protocol import Prompt
from atomr_local.models.templates import render
from atomr_local.reasoning.asking.writer import evidence_block, shown_passages
from atomr_local.system.sanitize import sanitize_line
from training.data.reading import ReadingData, rewriting
from training.examples import PASSAGE_WORDS, checked, example, print_kinds, refuted, span_of
from training.files import QUESTIONS, Line, read_lines, write_lines
from training.splits import for_calibration, held_back_articles


def english_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CAP = {
    "NI-task1327 zre": 4500, "BoolQ-train": 3500, "WikiTableQuestions-training": 1500, "TAT-QA-dev": 500,
    "WikiTableQuestions-pristine-unseen-tables": 400, "COVID-QA": 1200, "Open-Domain-COVIDQA-train": 700,
    "FairytaleQA-train": 3000, "TORQUE-dev": 300, "TAT-QA-test_gold": 500, "SelQA-ass-test": 0, "SelQA-ass-dev": 0,
    "FeTaQA-test": 0, "FeTaQA-dev": 0, "PubMedQA-L": 0,
}  # fmt: skip
_MOST_OF_A_SOURCE = 5000
_CLAIMS = {"supported": 2200, "refuted": 2200, "not enough": 2000}
_TRUE = ("Is it true that {}?", "is it right that {}", "{}, true or false?", "{}?", "Did I get this right: {}?")
_MOST_LIST_WORDS = 30
_REFERRING = english_words("he she it they him her them his hers its their theirs this that these those there then")
_ASKING = english_words("who what when where which how why whose can do does did is are was were")


class BroadData:
    def __init__(self, data: Path, seed: int) -> None:
        self.builder = ReadingData(data, seed)
        self.random = random.Random(seed)
        self.data = data
        self.banned = set(self.builder.banned)
        for path in (data / "qa").glob("*dev2*_questions.jsonl"):
            self.banned |= {name_key(str(row["question"])) for row in read_lines(path)}

    def _lines(self, name: str) -> list[Line]:
        with lzma.open(self.data / "broad" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as stream:
            return [json.loads(line) for line in stream]

    @cached_property
    def _held(self) -> set[str]:
        """How the passages of SQuAD's held-back articles begin."""
        rows = read_lines(self.data / "reading" / "squad2_part.jsonl")
        held = held_back_articles(rows)
        return {name_key(row["context"])[:80] for row in rows if row["title"] in held}

    def reading(self) -> Iterator[Line]:
        rows = self._lines("reading")
        self.random.shuffle(rows)
        pool: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for row in rows:
            pool[row["source"]] += map(_plain, row["passages"][:2])
        taken: Counter[str] = Counter()
        for row in rows:
            source = row["source"]
            question = sanitize_line(row["question"]).strip()
            found = [_plain(passage) for passage in row["passages"]]
            if row["lang"] != "en" or taken[source] >= _CAP.get(source, _MOST_OF_A_SOURCE) or not found:
                continue
            if not 3 <= len(question.split()) <= 40 or name_key(question) in self.banned:
                continue
            if any(name_key(text)[:80] in self._held for _, text in found):
                continue
            for made in self._row(row, question, found, pool[source]):
                taken[source] += 1
                yield made | {"source": f"new:{source}"}

    def _row(
        self, row: Line, question: str, found: list[tuple[str, str]], pool: Sequence[tuple[str, str]]
    ) -> Iterator[Line]:
        answers = [sanitize_line(answer) for answer in row["answers"]]
        if row["kind"] == "yesno":
            verdict = answers[0].lower() if answers else None
            if verdict in {"yes", "no", None}:
                yield self._closed(question, found[:3], verdict)
        elif row["kind"] == "list" and len(answers) > 1:
            shown = shown_passages(question, found[:3], PASSAGE_WORDS, whole=False)
            told = [span for answer in answers if (span := span_of(answer, shown[0][1]))]
            if len(told) == len(answers) and len(" ".join(told).split()) < _MOST_LIST_WORDS:
                prompt = _prompt("lean_read", question, shown)
                yield checked(example("read", "", prompt, f"{'; '.join(told)} [1]"))
        elif row["kind"] in {"span", "date", "number", "list"}:

            def holds(passage: tuple[str, str]) -> bool:
                return any(span_of(answer, passage[1]) for answer in answers)

            place = next((i for i, passage in enumerate(found) if holds(passage)), 0)
            drawn = self.random.sample(list(pool), min(4, len(pool)))
            others = [p for p in [*found[:place], *found[place + 1 :], *drawn] if not holds(p)][:6]
            yield from self.builder.one(question, *found[place], others, sorted(answers, key=len), [])

    def _closed(self, question: str, found: Sequence[tuple[str, str]], verdict: str | None) -> Line:
        """Yes or no from evidence, or Unknown."""
        task, template = self.random.choice((("read", "lean_read"), ("answer", "lean_answer")))
        shown = shown_passages(question, found, PASSAGE_WORDS, whole=task == "answer")
        prompt = _prompt(template, question, shown)
        if verdict is None:
            return example(task, "", prompt, "Unknown")
        if self.random.random() < 0.3:
            return refuted(example(f"{task}:wrong", "", prompt, f"{'no' if verdict == 'yes' else 'yes'} [1]"))
        return checked(example(task, "", prompt, f"{verdict} [1]"))

    def claims(self) -> Iterator[Line]:
        rows = self._lines("claims")
        self.random.shuffle(rows)
        taken: Counter[str] = Counter()
        for row in rows:
            label, text = row["label"], sanitize_line(row["evidence"])
            if row["source"].startswith("TabFact") or taken[label] >= _CLAIMS.get(label, 0) or len(text.split()) < 6:
                continue
            taken[label] += 1
            question = self.random.choice(_TRUE).format(sanitize_line(row["claim"]).rstrip("."))
            verdict = {"supported": "yes", "refuted": "no"}.get(label)
            yield self._closed(question, [("Text", text)], verdict) | {"source": "new:claims"}

    def follow_ups(self) -> Iterator[Line]:
        for row in self._lines("rewrites"):
            history, source = row["history"], row["source"]
            if not ("CAsT" in source or "iKAT" in source) or not history:
                continue
            if len(row["rewrite"].split()) > 30 or len(row["question"].split()) > 25:
                continue
            alone = source.endswith(("2019", "2020"))
            turns = (
                [(asked, "") for asked in history] if alone else list(zip(history[::2], history[1::2], strict=False))
            )
            if turns:
                yield rewriting("new:cast", [(one, two or "…") for one, two in turns], row["question"], row["rewrite"])
        for row in read_lines(QUESTIONS / "followups.jsonl"):
            for _ in range(2):
                yield rewriting("new:own", row["turns"], row["question"], row["rewrite"])

    def complete(self, count: int) -> Iterator[Line]:
        """Complete questions after turns on other things: they stay as they are."""
        turns = [row["turns"] for row in read_lines(QUESTIONS / "followups.jsonl")]
        documents = [row for row in read_lines(QUESTIONS / "documents.jsonl") if not for_calibration(row, "documents")]
        texts = [row["question"] for row in documents] + [
            row["question"] for row in read_lines(QUESTIONS / "plans.jsonl")
        ]
        fit = [text for text in texts if _is_complete(text)]
        for text in self.random.sample(fit, min(count, len(fit))):
            yield rewriting("new:complete", self.random.choice(turns), text, text)


def _is_complete(text: str) -> bool:
    found = [word.strip("?,.!'\"").casefold() for word in text.split()]
    return len(found) > 4 and found[0] in _ASKING and not _REFERRING & set(found)


def _plain(passage: Line) -> tuple[str, str]:
    return sanitize_line(passage["title"] or "Text")[:120], sanitize_line(passage["text"])


def _prompt(template: str, question: str, shown: Sequence[tuple[str, str]]) -> Prompt:
    return render("atomr_local.reasoning.reading", template, (), question=question, evidence=evidence_block(shown))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--complete", type=int, default=1500, help="complete questions in conversations")
    parser.add_argument("--parts", nargs="*", default=["reading", "claims", "follow_ups", "complete"])
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    builder = BroadData(given.data, given.seed)
    parts: dict[str, Callable[[], Iterator[Line]]] = {
        "reading": builder.reading, "claims": builder.claims, "follow_ups": builder.follow_ups,
        "complete": lambda: builder.complete(given.complete),
    }  # fmt: skip
    made = [item for name in given.parts for item in parts[name]()]
    builder.random.shuffle(made)
    write_lines(given.out, made)
    print_kinds(made)
