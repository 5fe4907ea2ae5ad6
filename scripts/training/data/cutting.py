"""How much of the evidence can be left out of a prompt before the answer is lost with it.

    scripts/bench/cutting.py --data ../shared/data --home HOME

For the hops of the training part of 2Wiki and MuSiQue: the share of prompts that hold the gold answer, and the words
shown, by the words that each of three retrieved passages may take, for first words and for best sentences. HOME holds
the text indexes 2wiki, hotpot and musique.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from atomr_local.reasoning.asking.asking import cut_passage
from training.data.corpora import Corpora
from training.data.question_sets import hops
from training.examples import cited, span_of

BUDGETS = ((25, 25, 25), (45, 45, 45), (70, 35, 35), (70, 70, 70))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    given = parser.parse_args()
    corpora = Corpora(given.data, given.home, 0)
    print("| set | words | way | answer kept, % | words shown |\n|---|---|---|---|---|")
    for name, limit in (("2wiki", 150), ("musique", 60)):
        kept: Counter[tuple[tuple[int, ...], str]] = Counter()
        shown: Counter[tuple[tuple[int, ...], str]] = Counter()
        total = whole = 0
        for head, relation, question, answer in (hop for record in corpora.train(name)[:limit] for hop in hops(record)):
            found = corpora.retrieve(name, question, (head, relation))
            total += 1
            whole += cited(answer, found) is not None
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
