"""Check the question files of this folder against the passages that they stand on.

Run from the project's root, with the folder of the data sets: `python scripts/training_questions/check.py DATA`. It
prints each fault with its file and line, and ends with 1 if there is any.

Of questions on documents (`documents.jsonl`, `documents_calibration.jsonl`, `followups.jsonl`) the lines alone are
checked, not the texts. Of the others: titles exist; answers, counted values and near misses stand in their passage (or,
for a near miss, in its title); no page is one that a held-out question stands on; no question is asked twice, or is
also in `held_back.jsonl` or `natural_dev.jsonl`; the types of answers exist; plans parse, are valid, and name only
words of the question.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from atomr_local.language.names import name_key, split_qualifier
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.calls import AnswerType
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Literal, Operator
from atomr_local.tree.validation import validate

HERE = Path(__file__).resolve().parent
STARTER = HERE.parents[1] / "indexes" / "pocket" / "articles.jsonl"
CORPORA = {
    "2wiki": "2wiki_train500",
    "hotpot": "hotpot_train100",
    "hotpot400": "hotpot_train400",
    "musique": "musique_train100",
}
# Sets whose last fifth is a development split; the other one may be trained on whole.
SPLIT = ("2wiki_train500", "hotpot_train100", "musique_train100")
HELD_OUT = ("2wiki_dev2", "hotpot_dev2", "musique_dev2")
OF_ONE_PASSAGE = ("lists", "described", "unanswerable")
UNKNOWN = "Unknown"
COMPUTED = {"number", "quantity"}
NOT_SPANS = {"", "yes", "no", "none", "unknown"}
KINDS = frozenset("fhwdimlyutn")  # of questions on documents; README.md tells what they are
SHORT = frozenset("fly")  # with short answers
_FIGURES = re.compile(r"\d")

Item = dict[str, Any]


def read_lines(path: Path) -> list[Item]:
    """The objects of a JSON lines file; none where there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream if line.strip()]


def titles_of(item: Mapping[str, Any]) -> list[str]:
    """Titles of the pages that a line stands on, in any of the files."""
    titles = [item["title"]] if item.get("title") else []
    titles += [page["title"] for page in item.get("pages", [])]
    for step in item.get("steps", []):
        titles += step.get("titles") or ([step["title"]] if step.get("title") else [])
    return titles


def contains(text: str, span: str) -> bool:
    """Whether the span stands in the text as whole words, in any letter case."""
    return re.search(rf"(?<!\w){re.escape(span.strip())}(?!\w)", text, re.IGNORECASE) is not None


def named_in(name: str, question: str) -> bool:
    """Whether the name, its kind in parentheses left out, is a run of the question's words."""

    def words(text: str) -> str:
        return " ".join(re.findall(r"\w+", text.casefold()))

    return f" {words(split_qualifier(name)[0])} " in f" {words(question)} "


@dataclass
class Checker:
    """The passages and held-out pages of a data folder.

    Attributes:
        pages: texts by corpus and title key; pages of one title are joined.
        held: keys of titles that held-out questions stand on.
        seen: keys of questions that may not be asked again.
    """

    pages: dict[tuple[str, str], str]
    held: set[str]
    seen: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, data: Path) -> Checker:
        """Read the folder of the data sets, `qa/` below it."""
        pages: dict[tuple[str, str], str] = {}
        sources = {name: data / "qa" / f"{stem}_corpus.jsonl" for name, stem in CORPORA.items()}
        for corpus, path in (sources | {"starter": STARTER}).items():
            for row in read_lines(path):
                key = corpus, name_key(sanitize_line(row["title"]))
                text = re.sub(r"\s+", " ", sanitize_line(row["text"]))
                pages[key] = f"{pages[key]} {text}" if key in pages else text
        held: set[str] = set()
        for stem in (*SPLIT, *HELD_OUT):
            records = read_lines(data / "qa" / f"{stem}_questions.jsonl")
            for record in records[len(records) * 4 // 5 :] if stem in SPLIT else records:
                held.update(map(name_key, record["gold_titles"]))
        checker = cls(pages, held)
        for item in read_lines(HERE / "held_back.jsonl") + read_lines(HERE / "natural_dev.jsonl"):
            checker.seen.add(name_key(str(item.get("question", ""))))
        checker.held.update(name_key(t) for item in read_lines(HERE / "held_back.jsonl") for t in titles_of(item))
        # Of the starter's pages there are too few to keep apart.
        dev = (item for item in read_lines(HERE / "natural_dev.jsonl") if item.get("corpus") in CORPORA)
        checker.held.update(name_key(title) for item in dev for title in item.get("titles", []))
        return checker

    def text(self, corpus: str, titles: Sequence[str]) -> str | None:
        """Titles and texts of the pages, joined; None where one of them is not there."""
        found = [(title, self.pages.get((corpus, name_key(title)))) for title in titles]
        return None if any(text is None for _, text in found) else " ".join(f"{title} {text}" for title, text in found)

    def problems(self, kind: str, item: Item) -> Iterator[str]:
        """What is wrong with one line of `kind`.jsonl."""
        held = [title for title in titles_of(item) if name_key(title) in self.held]
        if held:
            yield f"{held[0]!r} is a page of held-out questions"
        if kind == "dialogues":
            yield from self._dialogue(item)
            return
        yield from self._asked(item)
        if kind in OF_ONE_PASSAGE:
            yield from self._single(item)
        else:
            yield from self._planned(item)

    def _asked(self, item: Item) -> Iterator[str]:
        key = f"{name_key(item['question'])} @ {name_key(item.get('title') or '')}"
        if key in self.seen or name_key(item["question"]) in self.seen:
            yield f"asked twice: {item['question']!r}"
        self.seen.add(key)
        yield from _type_problems(item["expects"])

    def _single(self, item: Item) -> Iterator[str]:
        text = self.text(item["corpus"], [item["title"]])
        if text is None:
            yield f"no page {item['title']!r} in {item['corpus']}"
            return
        spans = item.get("counted") or item["answers"] or [item["near_miss"]]
        yield from (f"{span!r} is not in {item['title']!r}" for span in spans if not contains(text, span))
        if "counted" in item and item["answers"] != [str(len(item["counted"]))]:
            yield f"the count is not {item['answers']}"

    def _dialogue(self, item: Item) -> Iterator[str]:
        if not 2 <= len(item["turns"]) <= 5:
            yield f"{len(item['turns'])} turns"
        texts = [self.text(page["corpus"], [page["title"]]) for page in item["pages"]]
        if None in texts:
            yield f"a page is not there: {item['pages']}"
            return
        for turn in item["turns"]:
            if turn["expects"] is not None:
                yield from _type_problems(turn["expects"])
            if not turn["understood"].strip():
                yield f"no understanding of {turn['question']!r}"
            # What has a number in it may be computed.
            computed = _FIGURES.search(turn["answer"]) or (turn["expects"] or {}).get("type") in COMPUTED
            for span in () if not texts or computed else turn["answer"].split("; "):
                if span.casefold() not in NOT_SPANS and not contains(" ".join(filter(None, texts)), span):
                    yield f"{span!r} is not in {[page['title'] for page in item['pages']]}"

    def _planned(self, item: Item) -> Iterator[str]:
        for step in item["steps"]:
            if step["title"] is None:
                continue
            text = self.text(step["corpus"], step.get("titles") or [step["title"]])
            if text is None:
                yield f"no page {step['title']!r} in {step['corpus']}"
                continue
            spans = (a for a in step["answers"] if a != UNKNOWN)
            yield from (f"{a!r} is not in {step['title']!r}" for a in spans if not contains(text, a))
        yield from plan_problems(item["plan"], item["question"])


def document_problems(item: Item, seen: set[str]) -> Iterator[str]:
    """What is wrong with a question on a document; `seen` holds those before it."""
    question, kind = item["question"], item["kind"]
    key = f"{question} @ {item['key']}"
    if key in seen:
        yield f"asked twice: {question!r}"
    seen.add(key)
    if kind not in KINDS:
        yield f"no kind of question: {kind!r}"
    if bool(item["spans"]) == (kind == "n"):
        yield f"{question!r} of kind {kind} has {len(item['spans'])} parts that answer"
    if kind in SHORT and not item["answers"]:
        yield f"{question!r} has no short answer"
    if kind == "y" and not set(item["answers"]) <= {"yes", "no"}:
        yield f"{question!r} is answered {item['answers']}"
    for start, end, first, last in (span for part in item["spans"] for span in part):
        if not 0 <= start < end or not 0 < max(len(first), len(last)) <= end - start:
            yield f"{question!r} is answered by no span: {start} to {end}"


def follow_up_problems(item: Item) -> Iterator[str]:
    """What is wrong with a follow-up question."""
    if not item["turns"] or not item["question"].strip() or not item["rewrite"].strip():
        yield f"nothing asked, or nothing before it: {item['question']!r}"


def plan_problems(plan: str, question: str) -> Iterator[str]:
    """What is wrong with a plan in shorthand for a question as typed."""
    try:
        tree = parse_compact(plan)
    except TreeError as error:
        yield f"the plan of {question!r} does not parse: {error}"
        return
    yield from (f"the plan of {question!r}: {problem.message}" for problem in validate(tree))
    for node in tree.nodes():
        if node.call is None or node.call.operator is Operator.FILTER:
            continue
        head = node.call.arguments[0]
        if isinstance(head, Literal) and not named_in(head.text, question):
            yield f"{head.text!r} is no run of words of {question!r}"


def _type_problems(expects: Mapping[str, Any]) -> Iterator[str]:
    if expects["type"] not in set(AnswerType):
        yield f"no type of answer: {expects['type']!r}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the question files of this folder.")
    parser.add_argument("data", type=Path, help="folder of the data sets, with qa/ below it")
    checker = Checker.of(parser.parse_args(arguments).data)
    faults = 0
    of_kind: dict[str, Callable[[Item], Iterator[str]]] = {
        kind: partial(checker.problems, kind) for kind in (*OF_ONE_PASSAGE, "dialogues", "conversational")
    }
    for kind in ("documents", "documents_calibration"):
        of_kind[kind] = partial(document_problems, seen=set())
    of_kind["followups"] = follow_up_problems
    for kind, problems in of_kind.items():
        lines = read_lines(HERE / f"{kind}.jsonl")
        for number, item in enumerate(lines, 1):
            for problem in problems(item):
                faults += 1
                print(f"{kind}.jsonl:{number}: {problem}")
        print(f"{kind}: {len(lines)} lines")
    print(f"{faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
