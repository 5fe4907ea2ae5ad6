#!/usr/bin/env python3
"""How much of the evidence can be left out of a prompt before the answer is lost with it.

    scripts/bench/cutting.py --data ../shared/data --home HOME

For the hops of the training part of 2Wiki and MuSiQue: the share of prompts that hold the gold answer, and the words
shown, by the words that each of three retrieved passages may take, for first words and for best sentences. HOME holds
the text indexes 2wiki, hotpot and musique.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from build_training_data import Builder, capitals, relation_text, span_of
from gold_plans import ask

from atomr_local.reasoning.cutting import cut_passage

BUDGETS = ((25, 25, 25), (45, 45, 45), (70, 35, 35), (70, 70, 70))
Hop = tuple[str, str, str, str]  # head, relation, question, answer


def hops(builder: Builder, name: str, limit: int) -> Iterator[Hop]:
    for record in builder.train(name)[:limit]:
        if name == "2wiki":
            for head, relation, tail in record["evidences"]:
                yield head, relation, ask(relation, head), tail
            continue
        answers: list[str] = []
        for step in record["decomposition"]:
            question = re.sub(r"#(\d+)", lambda match: answers[int(match[1]) - 1], step["question"])  # noqa: B023
            answers.append(step["answer"])
            if ">>" in question:
                head, relation = (part.strip() for part in question.split(">>", 1))
                yield head, relation, ask(relation, head), step["answer"]
            else:
                yield capitals(question), relation_text(question), question, step["answer"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    given = parser.parse_args()
    builder = Builder(given.data, given.home, 0)
    print("| set | words | way | answer kept, % | words shown |\n|---|---|---|---|---|")
    for name, limit in (("2wiki", 150), ("musique", 60)):
        kept: Counter[tuple[tuple[int, ...], str]] = Counter()
        shown: Counter[tuple[tuple[int, ...], str]] = Counter()
        total = whole = 0
        for head, relation, question, answer in hops(builder, name, limit):
            found = [(e.title, e.text) for e in builder.retrieve(name, question, (head, relation))]
            total += 1
            whole += any(span_of(answer, text) or span_of(answer, title) for title, text in found)
            for budgets in BUDGETS:
                for way in ("first words", "best sentences"):
                    texts = [
                        cut_passage(question, title, text, words)
                        if way == "best sentences"
                        else " ".join(text.split()[:words])
                        for (title, text), words in zip(found, budgets, strict=False)
                    ]
                    held = any(span_of(answer, text) for text in (*texts, *(title for title, _ in found)))
                    kept[budgets, way] += held
                    shown[budgets, way] += sum(len(text.split()) for text in texts)
        for (words, way), count in kept.items():
            budget, mean = " / ".join(map(str, words)), shown[words, way] / total
            print(f"| {name} | {budget} | {way} | {100 * count / total:.1f} | {mean:.0f} |")
        print(f"| {name} | whole passages | | {100 * whole / total:.1f} | |")


if __name__ == "__main__":
    main()
