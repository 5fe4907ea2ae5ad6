"""Make the training data of an adapter: every task of the lean prompts, one JSON object a line.

    scripts/build_training_data.py --data ../shared/data --home HOME --out training.jsonl

HOME holds the text indexes `2wiki`, `hotpot` and `musique`, built with `atomr text build` (see docs/training.md).
Contexts are real retrieval results, rendered and cut by the program's own code, so that training sees what inference
shows. The last fifth of each question set, by file order, is never touched, nor are the pages its answers stand on
turned into questions; questions that stand in data/trees, data/predictions or data/qa/official are left out.

Lines: {"task", "source", "messages": [{"role", "content"}, …], "answer"}; `answer` is what the model is to write.
Seeded: the same input gives the same file.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from atomr_local.language.names import name_key
from atomr_local.tree.compact import parse_compact
from training.data import own_questions, passages, question_sets
from training.data.corpora import Corpora
from training.examples import parts_kept, print_kinds
from training.files import Line, write_lines
from training.plans.published import published_plans
from training.plans.shorthand import writable


def decompositions(corpora: Corpora) -> Iterator[Line]:
    for source, question, plan in published_plans(corpora.data):
        if name_key(question) not in corpora.banned:
            yield from corpora.plan_lines(source, question.strip(), plan)


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
    corpora = Corpora(given.data, given.home, given.seed)
    # In this order: all draw from one source of chance.
    every = chain(
        question_sets.plans(corpora),
        decompositions(corpora),
        question_sets.reads(corpora),
        passages.stated_facts(corpora, given.reads),
        passages.searches(corpora, 120),
        question_sets.answers(corpora),
        own_questions.authored(corpora),
        question_sets.combines(corpora),
        own_questions.composed(corpora, given.composed),
        passages.filters(corpora, 120),
        question_sets.sources(corpora, 120),
        question_sets.recalls(corpora, 60),
    )
    made = [item for item in every if item["task"] != "plan" or writable(parse_compact(item["answer"]))]
    made = parts_kept(made, given.share, "{task}:{source}", random.Random(given.seed))
    corpora.random.shuffle(made)
    write_lines(given.out, made)
    print_kinds(made)
