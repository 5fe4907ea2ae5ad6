"""The question sets with their passages and indexes, as every source of training data uses them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.language.names import name_key
from atomr_local.models.catalog.find import find_embedder
from atomr_local.models.templates import render
from atomr_local.reasoning.asking.writer import evidence_block, shown_passages
from atomr_local.reasoning.planning.coverage import find_name
from atomr_local.sources.protocol import Request, Value
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Operator
from atomr_local.tree.validation import Limits, validate
from training.examples import PASSAGE_WORDS, cited, example, span_of
from training.files import Line, read_lines
from training.plans.gold import NoPlan
from training.plans.shorthand import in_shorthand
from training.plans.typed import as_typed, named_as, typed_plan
from training.splits import banned_questions, development_part, training_part

TOP_K = 3
SETS = {"2wiki": "2wiki_train500", "hotpot": "hotpot_train100", "musique": "musique_train100"}
Passage = tuple[str, str]
"""Title and text."""


@dataclass(frozen=True)
class Page:
    title: str
    text: str


def bare(title: str) -> str:
    """The title without a kind in parentheses."""
    return re.sub(r"\s*\([^)]*\)$", "", title)


class Corpora:
    """The records, pages and text indexes of the sets, and the one source of chance.

    Attributes:
        data: the folder of the data sets.
        held_titles: keys of the pages that the answers of the development split stand on.
        banned: keys of the questions that are for measuring only.
    """

    def __init__(self, data: Path, home: Path, seed: int) -> None:
        self.data = data
        self.random = random.Random(seed)
        embedder = SentenceEmbedder(find_embedder("starter"))
        self._texts = {name: TextSource(home / "indexes" / "text" / name, embedder) for name in SETS}
        self._records = {name: read_lines(data / "qa" / f"{stem}_questions.jsonl") for name, stem in SETS.items()}
        held = (r for records in self._records.values() for r in development_part(records))
        self.held_titles = {name_key(title) for record in held for title in record["gold_titles"]}
        self.banned = banned_questions(data)
        self.pages = {name: self._pages(name) for name in SETS}
        self._never = Cancellation()

    def _pages(self, name: str) -> list[Page]:
        files = [f"{SETS[name]}_corpus.jsonl"] + (["2wiki_distractors_corpus.jsonl"] if name == "2wiki" else [])
        rows = [row for file in files for row in read_lines(self.data / "qa" / file)]
        return [Page(sanitize_line(row["title"]), sanitize_line(row["text"])) for row in rows]

    def train(self, name: str) -> list[Line]:
        return [r for r in training_part(self._records[name]) if name_key(r["question"]) not in self.banned]

    def open_pages(self, name: str) -> list[Page]:
        """The set's pages that no question of the development split stands on."""
        return [page for page in self.pages[name] if name_key(page.title) not in self.held_titles]

    def retrieve(self, name: str, question: str, arguments: Sequence[str] = (), top_k: int = TOP_K) -> list[Passage]:
        """What the program finds for the question, or for the Relate with these arguments."""
        return self.requested(name, question, Operator.RELATE if arguments else None, arguments, top_k)

    def requested(
        self, name: str, question: str, operator: Operator | None, arguments: Sequence[str], top_k: int
    ) -> list[Passage]:
        values = tuple(Value(text) for text in arguments)
        request = Request(question, " ".join(arguments) or question, operator, values, top_k, "words")
        return [(e.title, e.text) for e in self._texts[name].retrieve(request, self._never).evidence]

    def plan_line(self, source: str, question: str, compact: str, answer: str = "") -> Line:
        """A plan as the adapter is to write it, for the question as somebody might type it.

        Raises:
            ValueError: the plan breaks a rule, or its last step can be written as no typed operation.
        """
        tree = parse_compact(compact, question)
        problems = validate(tree, Limits())
        if problems:
            raise ValueError(problems[0].message)
        typed = typed_plan(question, to_compact(in_shorthand(tree)), answer)
        if typed is None or validate(parse_compact(typed), Limits()):
            raise ValueError("the last step is no typed operation")
        asked, plan = as_typed(question, named_as(question, typed, find_name), self.random)
        return example("plan", source, render("atomr_local.reasoning.planning", "lean_plan", question=asked), plan)

    def plan_lines(self, source: str, question: str, compact: str, answer: str = "") -> Iterator[Line]:
        """That line, or none where the plan cannot be written so."""
        try:
            yield self.plan_line(source, question, compact, answer)
        except (NoPlan, TreeError, ValueError):
            return

    def whole(self, source: str, question: str, passages: list[Passage], answers: Sequence[str]) -> Line | None:
        """The whole question on these passages; None where the answer stands only in what is cut away of them."""
        block, shown = context(question, passages, whole=True)
        prompt = render("atomr_local.reasoning.reading", "lean_answer", (), question=question, evidence=block)
        for answer in answers:
            if answer.casefold() in {"yes", "no"}:
                numbers = "[1][2]" if len(shown) > 1 else "[1]"
                return example("answer", source, prompt, f"{answer.casefold()} {numbers}")
            if place := cited(answer, shown):
                return example("answer", source, prompt, f"{place[0]} [{place[1]}]")
        if any(span_of(answer, text) for answer in answers for _, text in passages):
            return None
        return example("answer", source, prompt, "Unknown")


def context(question: str, passages: Sequence[Passage], *, whole: bool = False) -> tuple[str, list[Passage]]:
    """The evidence block and what is shown of each passage, as the reader shows it."""
    shown = shown_passages(question, passages, PASSAGE_WORDS, whole=whole)
    return evidence_block(shown), shown


def read_prompt_line(source: str, question: str, block: str, answer: str) -> Line:
    """A reading of the evidence block."""
    prompt = render("atomr_local.reasoning.reading", "lean_read", (), question=question, evidence=block)
    return example("read", source, prompt, answer)
