#!/usr/bin/env python3
"""Does the subject check keep right evidence, and refuse evidence about another of a like name?

    scripts/bench/subjects.py --questions 2wiki_train500_questions.jsonl --corpus 2wiki_train500_corpus.jsonl
                              [--corpus 2wiki_distractors_corpus.jsonl] [--facts 2wiki_train_triples.jsonl] [--show N]

Right cases are the facts of the questions (`evidences`: head, relation, value) with the gold page whose text has the
value, as what is read for "relation of head" would cite it. Wrong cases ask the same of the same head and cite the page
of another whose title shares a word with it, with that one's value of the same relation; its facts are those of the
questions and of `--facts` ({"s", "p", "o"}). Each is checked with the page's whole text and, as a passage may begin
anywhere, from the sentence before the answer on.

Printed are the shares that are accepted (the signal is 1), left open and refused (0). Nothing was trained; the rules
were made while looking at cases of the first 250 questions of 2wiki_train500 (`--until 250`; the others: `--from 250`).
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from atomr_local.language.names import base_key, name_parts
from atomr_local.language.sentences import sentences
from atomr_local.reasoning.reading.checks import about, holds
from atomr_local.sources.protocol import Evidence

Case = tuple[str, str, Evidence]
_WRONG_PER_CASE = 3


def lines(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        with path.open(encoding="utf-8") as stream:
            yield from map(json.loads, stream)


def page(title: str, text: str) -> Evidence:
    return Evidence("text", title, text, 1.0, "", {"passage": title}, "e1")


def late(item: Evidence, answer: str) -> Evidence:
    """The page from the sentence before the first one with the answer on."""
    spans = list(sentences(item.text))
    told = [i for i, (begin, end) in enumerate(spans) if holds(answer, page("", item.text[begin:end]))]
    return page(item.title, item.text[spans[max(0, told[0] - 1)][0] :]) if told else item


def right_cases(questions: Iterable[dict[str, Any]], pages: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """(head, relation, value, title of the gold page)."""
    seen = set()
    for question in questions:
        heads = {base_key(head) for head, _, _ in question["evidences"]}
        for head, relation, value in question["evidences"]:
            gold = [title for title in question["gold_titles"] if title in pages]
            own = [title for title in gold if base_key(title) == base_key(head)]
            # Where no title is the head as it is written, the page that is no other head's.
            for title in own or [title for title in gold if base_key(title) not in heads]:
                if holds(value, page("", pages[title])) and (head, relation, title) not in seen:
                    seen.add((head, relation, title))
                    yield head, relation, value, title


def wrong_cases(
    right: Iterable[tuple[str, str, str, str]], facts: dict[str, list[tuple[str, str]]], pages: dict[str, str]
) -> Iterator[Case]:
    """The head with the page and the value of another of a like name."""
    by_word: dict[str, list[str]] = defaultdict(list)
    by_base: dict[str, list[str]] = defaultdict(list)
    for title in pages:
        by_base[base_key(title)].append(title)
        for word in name_parts(title):
            by_word[word].append(title)
    for head, relation, value, own in right:
        akin = dict.fromkeys(title for word in name_parts(head) for title in by_word[word])
        made = 0
        for title in akin:
            if title == own or base_key(title) == base_key(head) or len(by_base[base_key(title)]) > 1:
                continue
            for other, said in dict.fromkeys(facts.get(base_key(title), ())):
                if (
                    other == relation
                    and said != value
                    and holds(said, page("", pages[title]))
                    and made < _WRONG_PER_CASE
                ):
                    made += 1
                    yield head, said, page(title, pages[title])


def told(name: str, cases: list[Case], show: int, wanted: bool) -> None:
    for what, cut in (("page", False), ("from the sentence before", True)):
        found = [(case, about([case[0]], [case[1]], [late(case[2], case[1]) if cut else case[2]])) for case in cases]
        counts = {state: sum(one.subject is state for _, one in found) for state in (True, None, False)}
        shares = ", ".join(
            f"{word} {counts[state]} ({counts[state] / max(1, len(found)):.1%})"
            for state, word in ((True, "accepted"), (None, "open"), (False, "refused"))
        )
        print(f"{name}, {what}: {len(found)} cases: {shares}")
        for (head, answer, item), one in [pair for pair in found if pair[1].subject is not wanted][:show]:
            print(f"    {one.subject} {head!r} ← {answer!r} on {item.title!r}: {item.text[:300]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, action="append", required=True)
    parser.add_argument("--facts", type=Path, action="append", default=[])
    parser.add_argument("--from", dest="start", type=int, default=0, help="leave out the questions before this one")
    parser.add_argument("--until", type=int, default=None)
    parser.add_argument("--show", type=int, default=0, help="print this many cases that went the other way")
    given = parser.parse_args()
    pages: dict[str, str] = {}
    for line in lines(given.corpus):
        pages.setdefault(line["title"], line["text"])
    every = list(lines([given.questions]))
    facts: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for question in every:
        for head, relation, value in question["evidences"]:
            facts[base_key(head)].append((relation, value))
    for line in lines(given.facts):
        facts[base_key(line["s"])].append((line["p"], line["o"]))
    right = list(right_cases(every[given.start : given.until], pages))
    told("right", [(head, value, page(title, pages[title])) for head, _, value, title in right], given.show, True)
    told("wrong", list(wrong_cases(right, facts, pages)), given.show, False)


if __name__ == "__main__":
    main()
