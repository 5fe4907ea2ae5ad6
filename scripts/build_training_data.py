#!/usr/bin/env python3
"""Make the training data of an adapter: every task of the lean prompts, one JSON object a line.

    scripts/build_training_data.py --data ../shared/data --home HOME --out training.jsonl

HOME holds the text indexes `2wiki`, `hotpot` and `musique`, built with `atomr text build` (see docs/small-models.md).
Contexts are real retrieval results, rendered and cut by the program's own code, so that training sees what inference
shows. The last fifth of each question set, by file order, is never touched, nor are the pages its answers stand on
turned into questions; questions that stand in data/trees, data/predictions or data/qa/official are left out.

Lines: {"task", "source", "messages": [{"role", "content"}, …], "answer"}; `answer` is what the model is to write.
Seeded: the same input gives the same file.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from compose_questions import compose, kind_of
from facts_in_text import facts_in
from gold_plans import NoPlan, ask
from gold_plans import plan as gold_plan
from typed_plans import as_typed, named_as, told_kind, typed_plan

from atomr_local.backbone.protocol import Prompt
from atomr_local.backbone.templates import render
from atomr_local.cancellation import Cancellation
from atomr_local.indexing.literals import dates_in, parse_date
from atomr_local.indexing.names import base_key, name_key
from atomr_local.output_files import write_output
from atomr_local.planning.grammar import SUB_STEPS, TOP_LEVEL
from atomr_local.planning.shorthand import find_name, renumbered
from atomr_local.reasoning.reader import evidence_block, shown_passages
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Evidence, Request, Value
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Literal, Node, Operator, OperatorCall, References, Tree
from atomr_local.tree.references import fill
from atomr_local.tree.validation import Limits, validate

PASSAGE_WORDS = 70
# Our own plans for questions of a set that comes without decompositions, by the question's id.
PLANS = Path(__file__).resolve().parent / "training_plans"
# Our own questions on passages of the corpora, and our own plans (see the note in the directory).
QUESTIONS = Path(__file__).resolve().parent / "training_questions"
# Those of them that calibrate.py is for.
HELD_BACK = "held_back"
# Those that are questions with an operation or a plan; the other files of the folder are for other builders.
OWN = ("more", "passages", "plans")
TOP_K = 3
SETS = {"2wiki": "2wiki_train500", "hotpot": "hotpot_train100", "musique": "musique_train100"}
_RELATIONS = {
    "director": "film", "performer": "song", "composer": "film", "author": "book", "publisher": "book",
    "publication date": "film", "country of origin": "film",
}  # fmt: skip
_WH = re.compile(
    r"^(?:(?:in|on|at|of|from|to|by) )?(?:who(?:se|m)?|what|which|when|where|how(?: many| much)?)\b\s*"
    r"(?:(?:is|are|was|were|does|do|did|has|have|had|'s) )?(?:(?:the|a|an) )?",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(?:who|what|which|when|where|why|how)\b", re.IGNORECASE)
_VERBS = {"die", "died", "born", "from", "live", "lived", "located", "founded", "written", "play", "work", "built"}
_TAIL = re.compile(r"(?:\s+(?:of|in|on|at|to|for|by|from|the|is|are|was|were|who|what|did|does|do))+\s*$", re.I)


@dataclass(frozen=True)
class Page:
    title: str
    text: str


def read_lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream if line.strip()]


def training_part(records: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The first four fifths; the rest is the development split."""
    return records[: len(records) * 4 // 5]


def line(task: str, source: str, prompt: Prompt, answer: str) -> dict[str, Any]:
    messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
    return {"task": task, "source": source, "messages": messages, "answer": answer}


class Builder:
    def __init__(self, data: Path, home: Path, seed: int) -> None:
        from atomr_local.catalog.starter import find_embedder
        from atomr_local.indexing.embedding import SentenceEmbedder
        from atomr_local.sources.text import TextSource

        self.random = random.Random(seed)
        embedder = SentenceEmbedder(find_embedder("starter"))
        self.texts = {name: TextSource.open(home / "indexes" / "text" / name, embedder) for name in SETS}
        self.records = {name: read_lines(data / "qa" / f"{stem}_questions.jsonl") for name, stem in SETS.items()}
        held = {
            title
            for records in self.records.values()
            for r in records[len(records) * 4 // 5 :]
            for title in r["gold_titles"]
        }
        self.held_titles = {name_key(title) for title in held}
        self.banned = banned_questions(data)
        self.pages = {name: self._pages(data, name) for name in SETS}
        self.never = Cancellation()

    def _pages(self, data: Path, name: str) -> list[Page]:
        files = [f"{SETS[name]}_corpus.jsonl"] + (["2wiki_distractors_corpus.jsonl"] if name == "2wiki" else [])
        rows = [row for file in files for row in read_lines(data / "qa" / file)]
        return [Page(sanitize_line(row["title"]), sanitize_line(row["text"])) for row in rows]

    def train(self, name: str) -> list[dict[str, Any]]:
        return [r for r in training_part(self.records[name]) if name_key(r["question"]) not in self.banned]

    # Contexts.

    def retrieve(self, name: str, question: str, arguments: Sequence[str] = (), top_k: int = TOP_K) -> list[Evidence]:
        values = tuple(Value(text) for text in arguments)
        operator = Operator.RELATE if arguments else None
        request = Request(question, " ".join(arguments) or question, operator, values, top_k)
        return list(self.texts[name].retrieve(request, self.never).evidence)

    @staticmethod
    def context(
        question: str, passages: Sequence[tuple[str, str]], *, whole: bool = False
    ) -> tuple[str, list[tuple[str, str]]]:
        """The evidence block and what is shown of each passage, as the reader shows it."""
        shown = shown_passages(question, passages, PASSAGE_WORDS, whole=whole)
        return evidence_block(shown), shown

    # Tasks.

    def plans(self) -> Iterator[dict[str, Any]]:
        films = sorted({p.title for p in self.pages["2wiki"] if re.search(r"\bfilm\b", p.text[:200])})
        songs = sorted({p.title for p in self.pages["2wiki"] if re.search(r"\b(?:song|single|album)\b", p.text[:120])})
        persons = sorted({p.title for p in self.pages["2wiki"] if re.search(r"\bborn\b|\d{4} ?[–-] ?", p.text[:160])})
        pools = {"film": films, "song": songs, "person": persons}
        for record in self.train("2wiki"):
            made = [record] + [swapped for _ in range(2) if (swapped := self.swapped(record, pools))]
            for one in made:
                with contextlib.suppress(NoPlan):
                    yield from self.plan_lines("2wiki", one["question"], gold_plan(one), one["answers"][0])
        for record in self.train("musique"):
            compact = musique_plan(record)
            if compact:
                for _ in range(3):
                    yield from self.plan_lines("musique", record["question"], compact, record["answers"][0])

        own = {item["id"]: item["plan"] for item in read_lines(PLANS / "hotpot.jsonl")}
        for record in self.train("hotpot"):
            if record["id"] in own:
                for _ in range(3):
                    yield from self.plan_lines("hotpot", record["question"], own[record["id"]], record["answers"][0])

    def decompositions(self, data: Path) -> Iterator[dict[str, Any]]:
        """Plans from RuBQ's questions of one hop and from BREAK's chains over ComplexWebQuestions.

        BREAK's other parts stay out: those on HotpotQA are development questions of a set that we are measured on.
        """
        labels = json.loads((data / "kg" / "codex_relations_en.json").read_text("utf-8"))
        for name in ("RuBQ_2.0_dev.json", "rubq_1.0_test.json"):
            read = json.loads((data / "decomposition" / name).read_text("utf-8"))
            for item in read.get("dataset", read) if isinstance(read, dict) else read:
                made = rubq_plan(item, labels)
                if made is not None and name_key(item["question_eng"]) not in self.banned:
                    yield from self.plan_lines("rubq", item["question_eng"].strip(), made)
        with (data / "decomposition" / "break_qdmr_high_level_dev.csv").open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                made = break_plan(row) if row["question_id"].startswith("CWQ_") else None
                if made is not None and name_key(row["question_text"]) not in self.banned:
                    yield from self.plan_lines("break", row["question_text"].strip(), made)

    def plan_line(self, source: str, question: str, compact: str, answer: str = "") -> dict[str, Any]:
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
        return line("plan", source, render("atomr_local.planning", "lean_plan", question=asked), plan)

    def plan_lines(self, source: str, question: str, compact: str, answer: str = "") -> Iterator[dict[str, Any]]:
        """That line, or none where the plan cannot be written so."""
        try:
            yield self.plan_line(source, question, compact, answer)
        except (NoPlan, TreeError, ValueError):
            return

    def swapped(self, record: dict[str, Any], pools: dict[str, list[str]]) -> dict[str, Any] | None:
        """The record with the names in its question exchanged for others of their kind."""
        question = record["question"]
        evidences = [list(fact) for fact in record["evidences"]]
        tails = {name_key(fact[2]) for fact in evidences}
        for head in dict.fromkeys(fact[0] for fact in evidences if name_key(fact[0]) not in tails):
            place = find_name(head, question)
            relation = next(fact[1] for fact in evidences if fact[0] == head)
            kind = _RELATIONS.get(relation, "person")
            if relation in {"country", "inception", "founded by", "award received", "educated at"} or place < 0:
                return None
            if kind == "book":
                kind = "film"
            if re.search(r"\b(?:song|album)\W*$", question[:place], re.I):
                kind = "song"
            bare = re.sub(r"\s*\([^)]*\)$", "", head)
            written = head if question[place : place + len(head)].casefold() == head.casefold() else bare
            name = self.random.choice(pools[kind])
            if self.random.random() < 0.7:
                name = re.sub(r"\s*\([^)]*\)$", "", name)
            if any(mark in name for mark in '"[]\\=') or len(name) > 60:
                return None
            question = question[:place] + name + question[place + len(written) :]
            evidences = [[name if fact[0] == head else fact[0], *fact[1:]] for fact in evidences]
        return record | {"question": question, "evidences": evidences}

    def reads(self, count: int) -> Iterator[dict[str, Any]]:
        for record in self.train("2wiki"):
            for head, relation, tail in record["evidences"]:
                yield from self.read("2wiki", head, relation, ask(relation, head), tail)
        for record in self.train("musique"):
            answers: list[str] = []
            for step in record["decomposition"]:
                question = re.sub(r"#(\d+)", lambda m: answers[int(m[1]) - 1], step["question"]).replace(" ?", "?")  # noqa: B023
                answers.append(step["answer"])
                if ">>" in question:
                    head, relation = (part.strip() for part in question.split(">>", 1))
                    question = ask(relation, head)
                else:
                    head, relation = capitals(question), relation_text(question)
                for _ in range(2):
                    yield from self.read("musique", head, relation, question, step["answer"])
        stated = [
            (name, page, fact)
            for name, pages in self.pages.items()
            for page in pages
            if name_key(page.title) not in self.held_titles
            for fact in facts_in(page.text)
        ]
        for name, page, fact in balanced(stated, count, self.random):
            yield from self.read(name, page.title, fact.relation, ask(fact.relation, page.title), fact.value)

    def read(self, name: str, head: str, relation: str, question: str, value: str) -> Iterator[dict[str, Any]]:
        found = [(e.title, e.text) for e in self.retrieve(name, question, (head, relation))]
        made = self.reading("read", "lean_read", question, found, value, head)
        if made is None:
            return
        shown, target = made
        if target != "Unknown" and self.random.random() < 0.12:  # the same without the passages that tell
            others = self.retrieve(name, question, (head, relation), top_k=6)
            silent = [(e.title, e.text) for e in others if span_of(value, e.text) is None][:TOP_K]
            block, _ = self.context(question, silent)
            shown, target = block, "Unknown"
        prompt = render("atomr_local.reasoning", "lean_read", (), question=question, evidence=shown)
        yield line("read", name, prompt, target)

    def reading(
        self, task: str, template: str, question: str, found: list[tuple[str, str]], value: str, head: str = ""
    ) -> tuple[str, str] | None:
        """The evidence block and the answer's line; None where the answer stands only beside the evidence shown."""
        if self.random.random() < 0.3:
            self.random.shuffle(found)
        block, shown = self.context(question, found)
        ranked = sorted(range(len(shown)), key=lambda i: (base_key(shown[i][0]) != base_key(head), i))
        for index in ranked:
            span = span_of(value, shown[index][1]) or span_of(value, shown[index][0])
            if span is not None and (
                base_key(shown[index][0]) == base_key(head) or not head or mentions(shown[index][1], head)
            ):
                return block, f"{span} [{index + 1}]"
        if any(span_of(value, text) for _, text in found):
            return None
        return block, "Unknown"

    def searches(self, count: int) -> Iterator[dict[str, Any]]:
        for page in self.random.sample(self.pages["2wiki"], count):
            name = garbled(page.title, self.random)
            if name_key(page.title) in self.held_titles or base_key(name) == base_key(page.title):
                continue
            question = f"What is {name}?"
            values = (Value(name),)
            request = Request(question, name, Operator.SEARCH, values, TOP_K)
            found = list(self.texts["2wiki"].retrieve(request, self.never).evidence)
            block, shown = self.context(question, [(e.title, e.text) for e in found])
            place = next((i for i, (title, _) in enumerate(shown) if title == page.title), None)
            bare = re.sub(r"\s*\([^)]*\)$", "", page.title)
            answer = "Unknown" if place is None else f"{bare} [{place + 1}]"
            prompt = render("atomr_local.reasoning", "lean_read", (), question=question, evidence=block)
            yield line("read", "search", prompt, answer)

    def answers(self) -> Iterator[dict[str, Any]]:
        """Direct RAG: the whole question on what is retrieved for it, and on its gold passages among others."""
        for name, repeats in (("2wiki", 1), ("hotpot", 3), ("musique", 2)):
            texts = {name_key(page.title): page for page in self.pages[name]}
            for record in self.train(name):
                question = record["question"]
                found = [(e.title, e.text) for e in self.retrieve(name, question, top_k=4)]
                gold = [(p.title, p.text) for t in record["gold_titles"] if (p := texts.get(name_key(t)))]
                for turn in range(repeats):
                    if turn == 0 and self.random.random() < 0.7 and name != "2wiki":
                        passages = found[:TOP_K]
                    else:
                        passages = (gold + [item for item in found if item not in gold])[: max(TOP_K, len(gold))]
                        self.random.shuffle(passages)
                    made = self.whole(question, passages, record["answers"])
                    if made:
                        prompt = render("atomr_local.reasoning", "lean_answer", (), question=question, evidence=made[0])
                        yield line("answer", name, prompt, made[1])

    def whole(self, question: str, passages: list[tuple[str, str]], answers: Sequence[str]) -> tuple[str, str] | None:
        block, shown = self.context(question, passages, whole=True)
        for answer in answers:
            if answer.casefold() in {"yes", "no"}:
                return block, f"{answer.casefold()} [1][2]" if len(shown) > 1 else f"{answer.casefold()} [1]"
            for i, (title, text) in enumerate(shown, 1):
                if (span := span_of(answer, text) or span_of(answer, title)) is not None:
                    return block, f"{span} [{i}]"
        return None if any(span_of(a, text) for a in answers for _, text in passages) else (block, "Unknown")

    def composed(self, count: int) -> Iterator[dict[str, Any]]:
        """Plans of two to four hops for questions composed of our own of one hop (`compose_questions.py`)."""
        names: dict[str, list[str]] = {}
        kinds: dict[tuple[str, str], str] = {}
        for corpus, pages in self.pages.items():
            for page in pages:
                kind = kind_of(page.text)
                if kind is not None and name_key(page.title) not in self.held_titles:
                    kinds[corpus, page.title] = kind
                    bare = re.sub(r"\s*\([^)]*\)$", "", page.title)
                    if len(bare) < 45 and not any(mark in bare for mark in '"[]\\=&'):
                        names.setdefault(kind, []).append(bare)
        items = [
            (item, kind, match[1], match[2])
            for item in self.own_questions()
            if item["kind"] == "single" and (kind := kinds.get((item["corpus"], item["title"])))
            if (match := re.fullmatch(r'Relate\("([^"]+)", "([^"]+)"\)', item["operation"]))
        ]
        made = 0
        while made < count:
            item, kind, subject, relation = self.random.choice(items)
            hops = self.random.choices((2, 3, 4), (5, 4, 1))[0]
            put = compose(item["question"], subject, relation, kind, names, hops, self.random)
            if put is not None and valid_plan(put[1], put[0]):
                made += 1
                yield from self.plan_lines("composed", *put)

    # Our own questions.

    def own_questions(self) -> Iterator[dict[str, Any]]:
        """Those that may be trained on."""
        for item in (item for name in OWN for item in read_lines(QUESTIONS / f"{name}.jsonl")):
            if name_key(item["question"]) not in self.banned and not any(
                name_key(title) in self.held_titles for title in authored_titles(item)
            ):
                yield item

    def authored(self) -> Iterator[dict[str, Any]]:
        """What the lines of `training_questions` make: readings, whole questions and plans."""
        texts = {(name, name_key(page.title)): page for name, pages in self.pages.items() for page in pages}
        for item in self.own_questions():
            if item["kind"] == "single":
                yield from self.authored_single(item, texts[item["corpus"], name_key(item["title"])])
            else:
                for _ in range(2):
                    source = "authored" if item["kind"] == "multi" else "invented"
                    yield from self.plan_lines(source, item["question"], item["plan"], item.get("answer", ""))
            if item["kind"] == "multi":
                yield from self.authored_whole(item, texts)

    def authored_single(self, item: dict[str, Any], page: Page) -> Iterator[dict[str, Any]]:
        corpus, question = item["corpus"], item["question"]
        tree = parse_compact(f"1. {question} = {item['operation']}", question)
        call = next(node.call for node in tree.nodes() if node.call is not None)
        arguments = [argument.text for argument in call.arguments if isinstance(argument, Literal)]
        yield from self.authored_read(corpus, question, call.operator, arguments, page, item["answer"])
        if self.random.random() < 0.35:
            yield from self.plan_lines(
                "authored", question, f"1. {question} = {item['operation']}", item["answer"].replace("Unknown", "")
            )
        if self.random.random() < 0.35:
            found = [(e.title, e.text) for e in self.retrieve(corpus, question)]
            made = self.whole(question, found, [item["answer"]])
            if made and (made[1] != "Unknown" or page.title not in [title for title, _ in found]):
                prompt = render("atomr_local.reasoning", "lean_answer", (), question=question, evidence=made[0])
                yield line("answer", "authored", prompt, made[1])

    def authored_read(
        self, corpus: str, question: str, operator: Operator, arguments: Sequence[str], page: Page, answer: str
    ) -> Iterator[dict[str, Any]]:
        """One reading of what is retrieved; the page is added where it was not found, or the answer is Unknown."""
        values = tuple(Value(text) for text in arguments)
        request = Request(question, " ".join(arguments), operator, values, 2 * TOP_K)
        found = [(e.title, e.text) for e in self.texts[corpus].retrieve(request, self.never).evidence]
        others = [(title, text) for title, text in found if title != page.title and not span_of(answer, text)]
        chance = self.random.random()
        if answer == "Unknown":
            shown_pages = found[:TOP_K]
        elif chance < 0.08:
            shown_pages = others[:TOP_K]
        elif page.title in [title for title, _ in found[:TOP_K]]:
            shown_pages = found[:TOP_K]
        else:
            shown_pages = [(page.title, page.text), *others[: TOP_K - 1]]
        if chance > 0.7:
            self.random.shuffle(shown_pages)
        block, shown = self.context(question, shown_pages)
        target = "Unknown"
        if answer != "Unknown" and chance >= 0.08:
            index = next((i for i, (title, _) in enumerate(shown) if title == page.title), None)
            span = None if index is None else span_of(answer, shown[index][1]) or span_of(answer, shown[index][0])
            if index is None or span is None:
                return  # cut away: no fair question
            target = f"{span} [{index + 1}]"
        prompt = render("atomr_local.reasoning", "lean_read", (), question=question, evidence=block)
        yield line("read", "authored", prompt, target)

    def authored_whole(self, item: dict[str, Any], texts: dict[tuple[str, str], Page]) -> Iterator[dict[str, Any]]:
        corpus, question = item["corpus"], item["question"]
        pages = [texts[corpus, name_key(step["title"])] for step in item["steps"]]
        for step, page in zip(item["steps"], pages, strict=True):
            words = [relation_text(step["question"])]
            head = capitals(step["question"])
            yield from self.authored_read(
                corpus, step["question"], Operator.RELATE, [head, *words], page, step["answer"]
            )
        gold = list(dict.fromkeys((page.title, page.text) for page in pages))
        found = [(e.title, e.text) for e in self.retrieve(corpus, question, top_k=4)]
        for turn in range(2):
            passages = found[:TOP_K] if turn else (gold + [entry for entry in found if entry not in gold])[:TOP_K]
            if not turn:
                self.random.shuffle(passages)
            made = self.whole(question, passages, [item["answer"]])
            if made:
                prompt = render("atomr_local.reasoning", "lean_answer", (), question=question, evidence=made[0])
                yield line("answer", "authored", prompt, made[1])

    def combines(self) -> Iterator[dict[str, Any]]:
        for record in self.train("2wiki"):
            facts = record["evidences"]
            steps = "\n".join(f"{i}. {ask(r, h)} {t}" for i, (h, r, t) in enumerate(facts, 1))
            prompt = render("atomr_local.reasoning", "lean_combine", (), steps=steps, question=record["question"])
            if self.random.random() < 0.5:
                yield line("combine", "2wiki", prompt, record["answers"][0])

    def filters(self, count: int) -> Iterator[dict[str, Any]]:
        relations = ("director", "country of citizenship", "place of birth", "publication date", "occupation")
        stated = [
            (page, fact) for page in self.pages["2wiki"] if name_key(page.title) not in self.held_titles
            for fact in facts_in(page.text) if fact.relation in relations and fact.start < 300
        ]  # fmt: skip
        for _ in range(count):
            relation = self.random.choice(relations)
            some = self.random.sample([item for item in stated if item[1].relation == relation], 3)
            wanted = some[0][1].value
            condition = {
                "director": f"directed by {wanted}", "country of citizenship": f"is {wanted}",
                "place of birth": f"was born in {wanted}", "publication date": f"released in {wanted}",
                "occupation": f"is a {wanted}",
            }[relation]  # fmt: skip
            self.random.shuffle(some)
            block, _ = self.context(condition, [(page.title, page.text) for page, _ in some], whole=True)
            kept = [i for i, (_, fact) in enumerate(some) if fact.value == wanted]
            listed = "; ".join(page.title for page, _ in some)
            answer = "; ".join(some[i][0].title for i in kept) + " " + "".join(f"[{i + 1}]" for i in kept)
            prompt = render(
                "atomr_local.reasoning", "lean_filter", (), evidence=block, listed=listed, condition=condition
            )
            yield line("filter", "2wiki", prompt, answer)

    def sources(self, count: int) -> Iterator[dict[str, Any]]:
        """Facts of a kind that a graph holds: both sources, for either may lack them; anything else: text."""
        graph = [ask(r, h) for record in self.train("2wiki") for h, r, _ in record["evidences"]]
        text = [
            s["question"]
            for record in self.train("musique")
            for s in record["decomposition"]
            if ">>" not in s["question"]
        ]
        for questions, answer in ((graph, "graph, text"), (text, "text")):
            for question in self.random.sample(questions, min(count // 2, len(questions))):
                asked = re.sub(r"#\d+", "it", question).replace(" ?", "?")
                slots = {"sources": "graph, text", "question": asked}
                yield line(
                    "sources", "choice", render("atomr_local.reasoning", "lean_choose_sources", (), **slots), answer
                )

    def recalls(self, count: int) -> Iterator[dict[str, Any]]:
        facts = [(ask(r, h), t) for record in self.train("2wiki") for h, r, t in record["evidences"]]
        for question, answer in self.random.sample(facts, count):
            yield line(
                "closed_book", "2wiki", render("atomr_local.reasoning", "lean_closed_book", question=question), answer
            )


def in_shorthand(tree: Tree) -> Tree:
    """The tree without the Searches that the program puts back: what an adapter learns to write.

    A kind or a year that the question tells of a name goes along with it, in parentheses.
    """

    def users(found: Node) -> list[Node]:
        return [node for node in tree.nodes() if node is not tree.root and found.id in node.references]

    def without(node: Node) -> Node:
        children = list(node.children)
        for found in node.children:
            name = found.call.arguments[0] if found.call and found.call.operator is Operator.SEARCH else None
            if not isinstance(name, Literal) or name.references or find_name(name.text, tree.question) < 0:
                continue
            using = users(found)
            if len(using) != 1 or using[0] not in children or not (call := using[0].call):
                continue
            if call.operator is Operator.RELATE and call.arguments[0] == References((found.id,)):
                kind = "" if "(" in name.text else told_kind(name.text, tree.question)
                full = Literal(f"{name.text} ({kind})" if kind else name.text)
                lean = OperatorCall(call.operator, (full, *call.arguments[1:]))
                asked = Node(using[0].id, fill(using[0].question, {found.id: name.text}), lean)
                children[children.index(using[0])] = asked
                children.remove(found)
        if len(children) == 1 and node is not tree.root and children[0].call is not None:
            return Node(node.id, node.question, children[0].call)
        return replace(node, children=tuple(map(without, children)))

    return renumbered(Tree(without(tree.root)))


def writable(tree: Tree) -> bool:
    """Whether the grammar of plans (`planning/grammar.py`) lets the tree through, as far as its shape goes."""
    steps = tree.root.children
    for place, step in enumerate(steps, 1):
        drawn = step.call is None and step.operation is None and not step.children
        if drawn and (place < len(steps) or place == 1):
            return False
        if len(step.children) > SUB_STEPS or any(below.call is None for below in step.children):
            return False
        if step.children and place == len(steps) > 2:
            return False
    return len(steps) <= TOP_LEVEL


def authored_titles(item: dict[str, Any]) -> list[str]:
    """The pages that one of our own questions stands on."""
    return [item["title"]] if "title" in item else [step["title"] for step in item.get("steps", [])]


def banned_questions(data: Path) -> set[str]:
    """Keys of the questions that are for measuring only."""
    keys: set[str] = set()
    for path in sorted((data / "trees").glob("*.jsonl")) + sorted((data / "predictions").glob("*.jsonl")):
        keys.update(name_key(str(row.get("question", ""))) for row in read_lines(path))
    for path in sorted((data / "qa" / "official").rglob("*")):
        if path.suffix in {".json", ".jsonl"}:
            keys.update(
                name_key(q) for q in re.findall(r'"(?:question|query)": ?"((?:[^"\\]|\\.)+)"', path.read_text("utf-8"))
            )
    return keys


def span_of(value: str, text: str) -> str | None:
    """The value as the text writes it, as whole words; a date in any usual order. None where it is not there."""
    if not value.strip():
        return None
    match = re.search(rf"(?<!\w){re.escape(value.strip())}(?!\w)", text, re.IGNORECASE)
    if match:
        return match[0]
    date = parse_date(value, bare_year=False)
    if date is not None:
        return next((written for written in dates_in([text]) if parse_date(written) == date), None)
    return None


def mentions(text: str, name: str) -> bool:
    return f" {base_key(name)} " in f" {name_key(text)} "


def capitals(question: str) -> str:
    """The longest run of capitalised words behind the first one; the whole question where there is none."""
    runs = re.findall(r"(?<!^)\b[A-Z0-9][\w'’.&-]*(?:(?: (?:of|the|and|de|in|for))* [A-Z0-9][\w'’.&-]*)*", question)
    return max(runs, key=len, default=question)


def relation_text(question: str) -> str:
    """What a step asks of its head, as a relation's wording: question words, names and references taken off."""
    text = re.sub(r"#\d+", " ", question)
    name = capitals(question)
    if name != question:
        text = text.replace(name, " ")
    text = _WH.sub("", " ".join(re.sub(r"[?\"“”]", " ", text).replace("'s", " ").split()))
    text = _TAIL.sub("", text)
    return " ".join(text.split()) or "description"


def musique_plan(record: dict[str, Any]) -> str | None:
    """The compact tree of a MuSiQue decomposition; None where a step cannot be written as an operation."""
    lines = []
    for number, step in enumerate(record["decomposition"], 1):
        asked = step["question"].strip()
        references = re.findall(r"#(\d+)", asked)
        if ">>" in asked:
            head, relation = (part.strip() for part in asked.split(">>", 1))
            if re.fullmatch(r"#\d+", head):
                argument, text = f"[{head[1:]}]", ask(relation, f"[{head[1:]}]")
            elif references:
                argument, text = f"[{references[0]}]", ask(relation, re.sub(r"#(\d+)", r"[\1]", head))
            else:
                argument, text = json.dumps(head, ensure_ascii=False), ask(relation, head)
        else:
            relation = relation_text(asked)
            text = re.sub(r"#(\d+)", r"[\1]", asked).replace(" ?", "?").replace(" 's", "'s")
            name = capitals(asked)
            argument = f"[{references[0]}]" if references else json.dumps(name, ensure_ascii=False)
            if not references and name == asked:
                return None
        if argument.startswith('"') and find_name(json.loads(argument), record["question"]) < 0:
            return None
        text = " ".join(text.replace('"', "'").replace("=", " ").split())
        relation = relation.replace('"', "'")[:60]
        relation = json.dumps(relation, ensure_ascii=False)
        lines.append(f"{number}. {text[:1].upper()}{text[1:]} = Relate({argument}, {relation})")
    return valid_plan("\n".join(lines), record["question"])


def valid_plan(compact: str, question: str) -> str | None:
    """The plan, if it breaks no rule."""
    try:
        return None if validate(parse_compact(compact, question), Limits()) else compact
    except (TreeError, ValueError):
        return None


def rubq_plan(item: dict[str, Any], labels: dict[str, Any]) -> str | None:
    """One look-up for a RuBQ question of one hop whose entity is named; None for others."""
    question, properties = item.get("question_eng", "").strip(), item.get("question_props") or []
    name = capitals(question)
    known = labels.get(properties[0].removeprefix("wdt:"), {}).get("label") if len(properties) == 1 else None
    readable = known is not None and name != question and not any(mark in question for mark in '"=[]\n')
    if item.get("tags") != ["1-hop"] or not readable:
        return None
    behind = question[question.find(name) + len(name) :].strip(" ?.!'").split()
    if behind and behind[0] not in _VERBS:  # "Loch ness": the name may go on in small letters
        return None
    name = name.strip("'")
    return valid_plan(f"1. {question} = Relate({json.dumps(name, ensure_ascii=False)}, {json.dumps(known)})", question)


def break_plan(row: dict[str, str]) -> str | None:
    """The tree of a BREAK decomposition that is a chain of look-ups and filters; None for others, and for steps that
    do not make a question."""
    question = row["question_text"].strip()
    operators = re.findall(r"'(\w+)'", row["operators"])
    parts = re.split(r"\s*;\s*return |^return ", row["decomposition"])
    steps = [re.sub(r"^the (?:the )?", "", " ".join(part.split())) for part in parts if part.strip()]
    if not set(operators) <= {"select", "project", "filter"} or len(steps) != len(operators):
        return None
    if len(steps) > 2 and re.fullmatch(r"names? of #\d", steps[-1]):
        steps, operators = steps[:-1], operators[:-1]
    lines = []
    for number, (step, operator) in enumerate(zip(steps, operators, strict=True), 1):
        references = re.findall(r"#(\d)", step)
        text = re.sub(r"#(\d)", r"[\1]", step)
        if operator == "filter":
            told = re.fullmatch(r"#\d (?:that|which|who) ((?:is|are|was|were|has|have|had|\w+(?:s|ed)) .+)", step)
            if told is None or len(references) != 1:
                return None
            asked = f"Which of [{references[0]}] {told[1]}?"
            call = f"Filter([{references[0]}], {json.dumps(told[1], ensure_ascii=False)})"
        elif _ASKS.match(step) or len(references) != (operator == "project"):
            return None
        else:
            name = capitals(f"return {step}")
            if operator == "select" and (not name[0].isalpha() or find_name(name, question) < 0):
                return None
            argument = json.dumps(name, ensure_ascii=False) if operator == "select" else f"[{references[0]}]"
            asked = f"What is the {text}?"
            call = f"Relate({argument}, {json.dumps(relation_text(f'the {step}')[4:], ensure_ascii=False)})"
        lines.append(f"{number}. {asked} = {call}")
    return valid_plan("\n".join(lines), question)


def garbled(title: str, source: random.Random) -> str:
    """A name that is nearly the title: a word left out, or a letter."""
    words = re.sub(r"\s*\([^)]*\)$", "", title).split()
    if len(words) > 2:
        words.pop(source.randrange(len(words)))
        return " ".join(words)
    name = " ".join(words)
    place = source.randrange(max(len(name) - 1, 1))
    return name[:place] + name[place + 1 :]


def balanced(stated: list[Any], count: int, source: random.Random) -> Iterable[Any]:
    """`count` facts with the rarer relations as often as there are facts for it."""
    by_relation: dict[str, list[Any]] = {}
    for item in stated:
        by_relation.setdefault(item[2].relation, []).append(item)
    for items in by_relation.values():
        source.shuffle(items)
    chosen: list[Any] = []
    queues = sorted(by_relation.values(), key=len)
    while len(chosen) < count and queues:
        for items in list(queues):
            chosen.append(items.pop())
            if not items:
                queues.remove(items)
    return chosen[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("ATOMR_HOME", "")))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--reads", type=int, default=1500, help="single-hop questions made from passages")
    parser.add_argument("--composed", type=int, default=1500, help="questions composed of our own of one hop")
    parser.add_argument("--share", nargs="*", default=[], metavar="TASK:SOURCE=PART", help="keep this part of a kind")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    shares = {kind: float(part) for kind, _, part in (text.partition("=") for text in given.share)}
    builder = Builder(given.data, given.home, given.seed)
    parts: list[Callable[[], Iterable[dict[str, Any]]]] = [
        builder.plans, lambda: builder.decompositions(given.data), lambda: builder.reads(given.reads),
        lambda: builder.searches(120), builder.answers, builder.authored, builder.combines,
        lambda: builder.composed(given.composed), lambda: builder.filters(120), lambda: builder.sources(120),
        lambda: builder.recalls(60),
    ]  # fmt: skip
    made = [item for part in parts for item in part()]
    made = [
        item for item in made
        if item["task"] != "plan" or writable(parse_compact(item["answer"]))
    ]  # fmt: skip
    kept = random.Random(given.seed)
    made = [item for item in made if kept.random() < shares.get(f"{item['task']}:{item['source']}", 1.0)]
    builder.random.shuffle(made)
    write_output(given.out, "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in made))
    counts = Counter(f"{item['task']} · {item['source']}" for item in made)
    for name, number in sorted(counts.items()):
        print(f"{number:6} {name}", file=sys.stderr)
    unknown = sum(item["answer"] == "Unknown" for item in made)
    print(f"{len(made)} lines, {unknown} of them Unknown", file=sys.stderr)


if __name__ == "__main__":
    main()
