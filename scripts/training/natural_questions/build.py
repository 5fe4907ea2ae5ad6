"""Make natural questions with plans from the authored tables and from facts.

    python scripts/natural_questions/build.py --data ../shared/data --home indexes/pocket --out questions.jsonl

Each line holds a question as it is typed, the same as it is meant, the answer it expects, its plan, and the gold
answers where facts tell them. The same seed gives the same file. Facts are the starter's own and those of
2WikiMultihopQA's training part without its last fifth; names of the authored tables serve plans alone.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from training.files import STARTER, write_lines
from training.natural_questions.make import build


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with qa/ and kg/")
    parser.add_argument("--home", type=Path, default=STARTER, help="the starter's folder")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--total", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--spoken", action="store_true", help="the questions of kinds_spoken and no others")
    arguments = parser.parse_args()
    lines, refused = build(arguments.data, arguments.home, arguments.total, arguments.seed, spoken=arguments.spoken)
    write_lines(arguments.out, lines)
    kinds = Counter(str(line["kind"]) for line in lines)
    known = [line for line in lines if line["corpus"] != "none"]
    missing = sum(not line["answerable"] for line in known)
    print(f"{len(lines)} questions; with evidence {len(known)}, of these unanswerable {missing}")
    print(", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    for reason, count in refused.most_common(40):
        print(f"refused {count}: {reason}")
