"""Examples from 2WikiMultihopQA, HotpotQA and MuSiQue: plans, readings, answers, and what else the lean prompts ask."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from atomr_local.language.names import base_key, name_key
from atomr_local.models.templates import render
from atomr_local.reasoning.planning.coverage import find_name
from training.data.corpora import TOP_K, Corpora, Passage, bare, context, read_prompt_line
from training.examples import example, span_of
from training.files import PLANS, Line, read_lines
from training.plans.gold import NoPlan, ask
from training.plans.gold import plan as gold_plan
from training.plans.published import capitals, musique_plan, relation_text

_RELATIONS = {
    "director": "film", "performer": "song", "composer": "film", "author": "book", "publisher": "book",
    "publication date": "film", "country of origin": "film",
}  # fmt: skip
Hop = tuple[str, str, str, str]
"""Head, relation, question and answer."""


def plans(corpora: Corpora) -> Iterator[Line]:
    pages = corpora.pages["2wiki"]
    pools = {
        "film": sorted({p.title for p in pages if re.search(r"\bfilm\b", p.text[:200])}),
        "song": sorted({p.title for p in pages if re.search(r"\b(?:song|single|album)\b", p.text[:120])}),
        "person": sorted({p.title for p in pages if re.search(r"\bborn\b|\d{4} ?[–-] ?", p.text[:160])}),
    }
    for record in corpora.train("2wiki"):
        made = [record] + [other for _ in range(2) if (other := swapped(corpora, record, pools))]
        for one in made:
            with contextlib.suppress(NoPlan):
                yield from corpora.plan_lines("2wiki", one["question"], gold_plan(one), one["answers"][0])
    own = {item["id"]: item["plan"] for item in read_lines(PLANS / "hotpot.jsonl")}
    for name in ("musique", "hotpot"):
        for record in corpora.train(name):
            compact = musique_plan(record) if name == "musique" else own.get(record["id"])
            for _ in range(3 if compact else 0):
                yield from corpora.plan_lines(name, record["question"], compact or "", record["answers"][0])


def swapped(corpora: Corpora, record: Line, pools: dict[str, list[str]]) -> Line | None:
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
        written = head if question[place : place + len(head)].casefold() == head.casefold() else bare(head)
        name = corpora.random.choice(pools[kind])
        if corpora.random.random() < 0.7:
            name = bare(name)
        if any(mark in name for mark in '"[]\\=') or len(name) > 60:
            return None
        question = question[:place] + name + question[place + len(written) :]
        evidences = [[name if fact[0] == head else fact[0], *fact[1:]] for fact in evidences]
    return record | {"question": question, "evidences": evidences}


def hops(record: Line) -> Iterator[Hop]:
    """The steps of 2Wiki's evidence, or of MuSiQue's decomposition."""
    for head, relation, tail in record.get("evidences") or ():
        yield head, relation, ask(relation, head), tail
    answers: list[str] = []
    for step in record.get("decomposition") or ():
        question = re.sub(r"#(\d+)", lambda m: answers[int(m[1]) - 1], step["question"]).replace(" ?", "?")
        answers.append(step["answer"])
        if ">>" in question:
            head, relation = (part.strip() for part in question.split(">>", 1))
            yield head, relation, ask(relation, head), step["answer"]
        else:
            yield capitals(question), relation_text(question), question, step["answer"]


def reads(corpora: Corpora) -> Iterator[Line]:
    for name, repeats in (("2wiki", 1), ("musique", 2)):
        for record in corpora.train(name):
            for hop in hops(record):
                for _ in range(repeats):
                    yield from read(corpora, name, hop)


def read(corpora: Corpora, name: str, hop: Hop) -> Iterator[Line]:
    """The hop read in what is retrieved for it; none where its answer is cut away or stands beside its head."""
    head, relation, question, value = hop
    found = corpora.retrieve(name, question, (head, relation))
    made = _reading(corpora, question, found, value, head)
    if made is None:
        return
    block, target = made
    if target != "Unknown" and corpora.random.random() < 0.12:  # the same without the passages that tell
        others = corpora.retrieve(name, question, (head, relation), top_k=6)
        block, _ = context(question, [(title, text) for title, text in others if span_of(value, text) is None][:TOP_K])
        target = "Unknown"
    yield read_prompt_line(name, question, block, target)


def _reading(corpora: Corpora, question: str, found: list[Passage], value: str, head: str) -> tuple[str, str] | None:
    """The evidence block and the answer's line; None where the answer stands only beside the evidence shown."""
    if corpora.random.random() < 0.3:
        corpora.random.shuffle(found)
    block, shown = context(question, found)
    for index in sorted(range(len(shown)), key=lambda i: (base_key(shown[i][0]) != base_key(head), i)):
        title, text = shown[index]
        span = span_of(value, text) or span_of(value, title)
        about = base_key(title) == base_key(head) or not head or f" {base_key(head)} " in f" {name_key(text)} "
        if span is not None and about:
            return block, f"{span} [{index + 1}]"
    if any(span_of(value, text) for _, text in found):
        return None
    return block, "Unknown"


def answers(corpora: Corpora) -> Iterator[Line]:
    """Direct RAG: the whole question on what is retrieved for it, and on its gold passages among others."""
    for name, repeats in (("2wiki", 1), ("hotpot", 3), ("musique", 2)):
        texts = {name_key(page.title): page for page in corpora.pages[name]}
        for record in corpora.train(name):
            question = record["question"]
            found = corpora.retrieve(name, question, top_k=4)
            gold = [(p.title, p.text) for t in record["gold_titles"] if (p := texts.get(name_key(t)))]
            for turn in range(repeats):
                if turn == 0 and corpora.random.random() < 0.7 and name != "2wiki":
                    passages = found[:TOP_K]
                else:
                    passages = (gold + [item for item in found if item not in gold])[: max(TOP_K, len(gold))]
                    corpora.random.shuffle(passages)
                if made := corpora.whole(name, question, passages, record["answers"]):
                    yield made


def combines(corpora: Corpora) -> Iterator[Line]:
    for record in corpora.train("2wiki"):
        facts = record["evidences"]
        steps = "\n".join(f"{i}. {ask(r, h)} {t}" for i, (h, r, t) in enumerate(facts, 1))
        prompt = render("atomr_local.reasoning.reading", "lean_combine", (), steps=steps, question=record["question"])
        if corpora.random.random() < 0.5:
            yield example("combine", "2wiki", prompt, record["answers"][0])


def sources(corpora: Corpora, count: int) -> Iterator[Line]:
    """Facts of a kind that a graph holds: both sources, for either may lack them; anything else: text."""
    graph = [ask(r, h) for record in corpora.train("2wiki") for h, r, _ in record["evidences"]]
    steps = (s["question"] for record in corpora.train("musique") for s in record["decomposition"])
    text = [question for question in steps if ">>" not in question]
    for questions, answer in ((graph, "graph, text"), (text, "text")):
        for question in corpora.random.sample(questions, min(count // 2, len(questions))):
            asked = re.sub(r"#\d+", "it", question).replace(" ?", "?")
            slots = {"sources": "graph, text", "question": asked}
            prompt = render("atomr_local.reasoning.reading", "lean_choose_sources", (), **slots)
            yield example("sources", "choice", prompt, answer)


def recalls(corpora: Corpora, count: int) -> Iterator[Line]:
    facts = [(ask(r, h), t) for record in corpora.train("2wiki") for h, r, t in record["evidences"]]
    for question, answer in corpora.random.sample(facts, count):
        prompt = render("atomr_local.reasoning.reading", "lean_closed_book", question=question)
        yield example("closed_book", "2wiki", prompt, answer)
