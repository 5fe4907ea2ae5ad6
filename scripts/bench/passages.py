#!/usr/bin/env python3
"""Whether the passage that answers is among the first, over documents, in the order of search and as it is read.

    scripts/bench/passages.py --folders FOLDERS --home HOME

The questions are those of `training_questions/documents_calibration.jsonl`; FOLDERS and HOME as for
`scripts/calibrate_pointing.py`. A passage answers if it holds at least half of the words that answer. Prints the share
of questions with such a passage among the first 1, 2, 3, 4 by each order, and the median seconds of
searching and of ordering.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from training.calibration.pointing import document_questions, question_over_text
from training.grading import share

_FIRST = (1, 2, 3, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folders", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    given = parser.parse_args()
    os.environ["ATOMR_HOME"] = str(given.home)
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.reasoning.retrieval import CANDIDATES
    from atomr_local.sources.protocol import Request, SourceName

    rows = [row for row in document_questions(given.folders) if row["answerable"]]
    found: dict[str, Counter[int]] = {"search": Counter(), "read": Counter()}
    seconds: dict[str, list[float]] = {"search": [], "read": []}
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        with Assistant.open(text_index=corpus, sources=("text",)) as assistant:
            assistant.preload()
            for row in (row for row in rows if row["corpus"] == corpus):
                question = row["question"]
                with question_over_text(assistant, question) as tools:
                    source = tools.retriever.sources[SourceName.TEXT]
                    began = time.perf_counter()
                    request = Request(question, question, top_k=CANDIDATES)
                    searched = source.retrieve(request, tools.cancellation).evidence
                    between = time.perf_counter()
                    read = tools.reader.likeliest(question, searched, max(_FIRST))
                seconds["search"].append(between - began)
                seconds["read"].append(time.perf_counter() - between)
                for way, evidence in (("search", searched), ("read", read)):
                    holds = [share(row["quote"], item.text) >= 0.5 for item in evidence]
                    found[way].update({first: any(holds[:first]) for first in _FIRST})
    print(f"{len(rows)} questions; among the first " + ", ".join(map(str, _FIRST)))
    for way, counts in found.items():
        shares = " ".join(f"{100 * counts[first] / len(rows):5.1f}" for first in _FIRST)
        print(f"{way:7} {shares}   {median(seconds[way]):.3f} s")


if __name__ == "__main__":
    main()
