#!/usr/bin/env python3
"""Measure the tree against plain RAG on multi-hop questions, and print one table.

    scripts/bench/spine.py --data DIR --out DIR [--limit 100] [--runs NAME ...] [-- OPTION ...]

DIR holds qa/2wiki_train500_{questions,corpus}.jsonl, qa/2wiki_distractors_corpus.jsonl and
kg/2wiki_train_triples.jsonl. The indexes "2wiki" are built if they are missing. Every run resumes where it stopped.
What follows `--` goes to `atomr eval run`, such as `--model NAME`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.diagnosis import Stage
from atomr_lab.evaluation.markdown import COST_NAMES, comparison_markdown, table, with_interval
from atomr_lab.evaluation.report import build_report, compare_runs
from atomr_lab.evaluation.runs import write_file

from atomr_local.errors import AtomrError
from atomr_local.indexing.store import IndexKind, list_indexes

INDEX = "2wiki"
RUNS = {
    "rag-text": ("--strategy", "rag", "--sources", "text"),
    "rag-text-graph": ("--strategy", "rag", "--sources", "text,graph"),
    "atomr-text": ("--strategy", "atomr", "--sources", "text"),
    "atomr-text-graph": ("--strategy", "atomr", "--sources", "text,graph"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--runs", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("options", nargs="*", help="passed on to `atomr eval run`")
    arguments = parser.parse_args()
    qa, kg = arguments.data / "qa", arguments.data / "kg"
    ensure_index("text", qa / "2wiki_train500_corpus.jsonl", qa / "2wiki_distractors_corpus.jsonl")
    ensure_index("graph", kg / "2wiki_train_triples.jsonl")
    directories = {name: arguments.out / name for name in arguments.runs}
    for name, directory in directories.items():
        print(f"== {name}", file=sys.stderr)
        atomr(
            "eval", "run", "--questions", str(qa / "2wiki_train500_questions.jsonl"), "--out", str(directory),
            "--limit", str(arguments.limit), "--text-index", INDEX, "--graph-index", INDEX, "--no-web",
            *RUNS[name], *arguments.options,
        )  # fmt: skip
    first, *others = arguments.runs
    parts = [runs_table([(name, build_report(directory)) for name, directory in directories.items()])]
    for name in others:
        compared = compare_runs(directories[first], directories[name])
        parts.append(comparison_markdown(first, name, compared).rstrip())
    text = "\n\n".join(parts) + "\n"
    write_file(arguments.out / "table.md", text)
    print(text, end="")
    return 0


def runs_table(reports: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """One row a run: scores, cost, and the stages of its wrong answers.

    Args:
        reports: a name and what `build_report` returned, for each run.
    """
    head = ("run", "n", "EM", "cover-EM", "F1", "F1 of guesses", *COST_NAMES.values(), "wrong", *Stage)
    rows = []
    for name, report in reports:
        scores, wrong = report["scores"], report["diagnosis"]
        rows.append(
            (
                name,
                report["n"],
                *(with_interval(scores[metric]) for metric in ("em", "cover_em", "f1", "guess_f1")),
                *(f"{report['cost'][key]:,}" for key in COST_NAMES),
                wrong["wrong"],
                *(wrong["stages"][stage] for stage in Stage),
            )
        )
    return table(head, rows)


def ensure_index(kind: IndexKind, *inputs: Path) -> None:
    if any((entry.kind, entry.name, entry.problem) == (kind, INDEX, None) for entry in list_indexes()):
        return
    atomr(kind, "build", *map(str, inputs), "--name", INDEX)


def atomr(*arguments: str) -> None:
    """Run the command of this environment; its standard output is not ours."""
    command = (sys.executable, "-c", "from atomr_local.cli.main import main; main()", *arguments)
    subprocess.run(command, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AtomrError as error:
        sys.exit(str(error))
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    except KeyboardInterrupt:
        sys.exit(130)
