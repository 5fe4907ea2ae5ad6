"""Examples from the passages of the sets alone: facts that they state in set phrases, and their titles."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from atomr_local.language.names import base_key, name_key
from atomr_local.language.properties import facts_in
from atomr_local.models.templates import render
from atomr_local.tree.nodes import Operator
from training.data.corpora import TOP_K, Corpora, bare, context, read_prompt_line
from training.data.question_sets import read
from training.examples import example
from training.files import Line
from training.plans.gold import ask


def stated_facts(corpora: Corpora, count: int) -> Iterator[Line]:
    """Readings of facts that passages state, the rarer relations as often as there are facts for it."""
    pages = ((name, page) for name in corpora.pages for page in corpora.open_pages(name))
    stated = [(name, page, fact) for name, page in pages for fact in facts_in(page.text)]
    for name, page, fact in balanced(stated, count, corpora.random):
        yield from read(corpora, name, (page.title, fact.relation, ask(fact.relation, page.title), fact.value))


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


def searches(corpora: Corpora, count: int) -> Iterator[Line]:
    """Names that are nearly the title of a page, read as a Search reads them."""
    for page in corpora.random.sample(corpora.pages["2wiki"], count):
        name = garbled(page.title, corpora.random)
        if name_key(page.title) in corpora.held_titles or base_key(name) == base_key(page.title):
            continue
        question = f"What is {name}?"
        block, shown = context(question, corpora.requested("2wiki", question, Operator.SEARCH, (name,), TOP_K))
        place = next((i for i, (title, _) in enumerate(shown, 1) if title == page.title), None)
        answer = "Unknown" if place is None else f"{bare(page.title)} [{place}]"
        yield read_prompt_line("search", question, block, answer)


def garbled(title: str, source: random.Random) -> str:
    """A name that is nearly the title: a word left out, or a letter."""
    words = bare(title).split()
    if len(words) > 2:
        words.pop(source.randrange(len(words)))
        return " ".join(words)
    name = " ".join(words)
    place = source.randrange(max(len(name) - 1, 1))
    return name[:place] + name[place + 1 :]


def filters(corpora: Corpora, count: int) -> Iterator[Line]:
    """Three pages, and a condition that the passage of at least one of them states."""
    conditions = {
        "director": "directed by {}", "country of citizenship": "is {}", "place of birth": "was born in {}",
        "publication date": "released in {}", "occupation": "is a {}",
    }  # fmt: skip
    stated = [
        (page, fact) for page in corpora.open_pages("2wiki")
        for fact in facts_in(page.text) if fact.relation in conditions and fact.start < 300
    ]  # fmt: skip
    for _ in range(count):
        relation = corpora.random.choice(tuple(conditions))
        some = corpora.random.sample([item for item in stated if item[1].relation == relation], 3)
        wanted = some[0][1].value
        condition = conditions[relation].format(wanted)
        corpora.random.shuffle(some)
        block, _ = context(condition, [(page.title, page.text) for page, _ in some], whole=True)
        kept = [i for i, (_, fact) in enumerate(some) if fact.value == wanted]
        listed = "; ".join(page.title for page, _ in some)
        answer = "; ".join(some[i][0].title for i in kept) + " " + "".join(f"[{i + 1}]" for i in kept)
        prompt = render(
            "atomr_local.reasoning.reading", "lean_filter", (), evidence=block, listed=listed, condition=condition
        )
        yield example("filter", "2wiki", prompt, answer)
