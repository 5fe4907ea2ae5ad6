"""Examples from our own questions on passages of the corpora, and from questions composed of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from atomr_local.language.names import name_key
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.nodes import Literal, Operator
from training.data.corpora import TOP_K, Corpora, Page, bare, context, read_prompt_line
from training.examples import span_of
from training.files import QUESTIONS, Line, read_lines
from training.plans.composed import compose, kind_of
from training.plans.published import capitals, relation_text
from training.plans.shorthand import valid_plan

# Files of questions with an operation or a plan; the other files of the folder are for other builders.
OWN = ("more", "passages", "plans")
# Those that calibration is for.
HELD_BACK = "held_back"
Texts = dict[tuple[str, str], Page]
"""Pages by the name of their set and the key of their title."""


def authored_titles(item: Line) -> list[str]:
    """The pages that one of our own questions stands on."""
    return [item["title"]] if "title" in item else [step["title"] for step in item.get("steps", [])]


def own_questions(corpora: Corpora) -> Iterator[Line]:
    """Those that may be trained on."""
    for item in (item for name in OWN for item in read_lines(QUESTIONS / f"{name}.jsonl")):
        if name_key(item["question"]) not in corpora.banned and not any(
            name_key(title) in corpora.held_titles for title in authored_titles(item)
        ):
            yield item


def authored(corpora: Corpora) -> Iterator[Line]:
    """Readings, whole questions and plans."""
    texts = {(name, name_key(page.title)): page for name, pages in corpora.pages.items() for page in pages}
    for item in own_questions(corpora):
        if item["kind"] == "single":
            yield from _single(corpora, item, texts[item["corpus"], name_key(item["title"])])
        else:
            for _ in range(2):
                source = "authored" if item["kind"] == "multi" else "invented"
                yield from corpora.plan_lines(source, item["question"], item["plan"], item.get("answer", ""))
        if item["kind"] == "multi":
            yield from _several_hops(corpora, item, texts)


def _single(corpora: Corpora, item: Line, page: Page) -> Iterator[Line]:
    corpus, question, answer = item["corpus"], item["question"], item["answer"]
    plan = f"1. {question} = {item['operation']}"
    call = next(node.call for node in parse_compact(plan, question).nodes() if node.call is not None)
    arguments = [argument.text for argument in call.arguments if isinstance(argument, Literal)]
    yield from _read(corpora, corpus, question, call.operator, arguments, page, answer)
    if corpora.random.random() < 0.35:
        yield from corpora.plan_lines("authored", question, plan, answer.replace("Unknown", ""))
    if corpora.random.random() < 0.35:
        found = corpora.retrieve(corpus, question)
        made = corpora.whole("authored", question, found, [answer])
        if made and (made["answer"] != "Unknown" or page.title not in [title for title, _ in found]):
            yield made


def _read(
    corpora: Corpora, corpus: str, question: str, operator: Operator, arguments: Sequence[str], page: Page, answer: str
) -> Iterator[Line]:
    """One reading of what is retrieved; the page is added where it was not found, or the answer is Unknown."""
    found = corpora.requested(corpus, question, operator, arguments, 2 * TOP_K)
    others = [(title, text) for title, text in found if title != page.title and not span_of(answer, text)]
    chance = corpora.random.random()
    if answer == "Unknown":
        passages = found[:TOP_K]
    elif chance < 0.08:
        passages = others[:TOP_K]
    elif page.title in [title for title, _ in found[:TOP_K]]:
        passages = found[:TOP_K]
    else:
        passages = [(page.title, page.text), *others[: TOP_K - 1]]
    if chance > 0.7:
        corpora.random.shuffle(passages)
    block, shown = context(question, passages)
    target = "Unknown"
    if answer != "Unknown" and chance >= 0.08:
        index = next((i for i, (title, _) in enumerate(shown) if title == page.title), None)
        span = None if index is None else span_of(answer, shown[index][1]) or span_of(answer, shown[index][0])
        if index is None or span is None:
            return  # cut away: no fair question
        target = f"{span} [{index + 1}]"
    yield read_prompt_line("authored", question, block, target)


def _several_hops(corpora: Corpora, item: Line, texts: Texts) -> Iterator[Line]:
    """Each step read, and the whole question answered."""
    corpus, question = item["corpus"], item["question"]
    pages = [texts[corpus, name_key(step["title"])] for step in item["steps"]]
    for step, page in zip(item["steps"], pages, strict=True):
        arguments = (capitals(step["question"]), relation_text(step["question"]))
        yield from _read(corpora, corpus, step["question"], Operator.RELATE, arguments, page, step["answer"])
    gold = list(dict.fromkeys((page.title, page.text) for page in pages))
    found = corpora.retrieve(corpus, question, top_k=4)
    for turn in range(2):
        passages = found[:TOP_K] if turn else (gold + [entry for entry in found if entry not in gold])[:TOP_K]
        if not turn:
            corpora.random.shuffle(passages)
        if made := corpora.whole("authored", question, passages, [item["answer"]]):
            yield made


def composed(corpora: Corpora, count: int) -> Iterator[Line]:
    """Plans of two to four hops for questions composed of our own of one hop (`plans/composed.py`)."""
    names: dict[str, list[str]] = {}
    kinds: dict[tuple[str, str], str] = {}
    for corpus in corpora.pages:
        for page in corpora.open_pages(corpus):
            if kind := kind_of(page.text):
                kinds[corpus, page.title] = kind
                name = bare(page.title)
                if len(name) < 45 and not any(mark in name for mark in '"[]\\=&'):
                    names.setdefault(kind, []).append(name)
    items = [
        (item, kind, match[1], match[2])
        for item in own_questions(corpora)
        if item["kind"] == "single" and (kind := kinds.get((item["corpus"], item["title"])))
        if (match := re.fullmatch(r'Relate\("([^"]+)", "([^"]+)"\)', item["operation"]))
    ]
    made = 0
    while made < count:
        item, kind, subject, relation = corpora.random.choice(items)
        hops = corpora.random.choices((2, 3, 4), (5, 4, 1))[0]
        put = compose(item["question"], subject, relation, kind, names, hops, corpora.random)
        if put is not None and valid_plan(put[1], put[0]):
            made += 1
            yield from corpora.plan_lines("composed", *put)
