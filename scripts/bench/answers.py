#!/usr/bin/env python3
"""What the program answers, declines and guesses, beside plain RAG: the tables of docs/answers.md.

    scripts/bench/answers.py --out DIR [--set NAME QUESTIONS[:CORPUS] TEXT_INDEX [GRAPH_INDEX]] ...
                             [--strategies atomr rag] [--text-alone] [--limit N] [--table] [-- OPTION ...]

Without --set, the natural development questions: on the starter, on passages of 2WikiMultihopQA (both with the graph of
that name, unless --text-alone), HotpotQA and MuSiQue, and what is no question. A set without a graph index is asked
over text alone. Every run is one of `atomr eval run`, in DIR/SET/STRATEGY, resumed where it stopped; what follows `--`
goes to it. --limit is of each set; of a corpus these are a random part, always the same.

Prints Markdown tables, also in DIR/answers.md: each set and all; the paired differences of the first strategy minus the
second, with 95% bootstrap intervals; and the first strategy by kind of question.

    scripts/bench/answers.py --out runs/natural
    scripts/bench/answers.py --out runs/natural-text --text-alone
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.datasets import Prediction, summarize
from atomr_lab.evaluation.metrics import mean_interval
from atomr_lab.evaluation.report import (
    Pair,
    confidence_figures,
    declining_figures,
    is_right,
    metric_values,
    paired_figures,
    pairs_of,
    scored,
)
from atomr_lab.evaluation.runs import RunDirectory
from programs import publish, run_program
from question_sets import SET_HELP, QuestionSet, prepared, question_sets, run_set

ALL, TEXT_ALONE = "all", "all on text alone"
# Kinds of questions whose answer is computed, or chosen from several.
COMPUTED = {
    "differences": ("difference", "difference_of_dates", "age"),
    "filters": ("filter", "select"),
    "superlatives": ("superlative", "top"),
    "counts": ("count", "count_if"),
    "lists": ("list",),
    "parts of dates": ("date_part", "in_year"),
}
_COMPARED = {"guess_f1": "F1 of guesses", "f1": "F1", "coverage": "coverage"}


def directory(out: Path, asked: QuestionSet, strategy: str) -> Path:
    return out / asked.name / strategy


def ask(sets: Sequence[QuestionSet], given: argparse.Namespace) -> None:
    """Run what is not there yet.

    Raises:
        subprocess.CalledProcessError: a run failed; it has told why.
    """
    for asked in sets:
        questions = prepared(asked, given.out / asked.name)
        for strategy in given.strategies:
            print(f"== {asked.name}, {strategy}", file=sys.stderr, flush=True)
            limit = ["--limit", str(given.limit)] if given.limit else []
            options = ["--strategy", strategy, *limit, *given.options]
            run_set(asked, questions, directory(given.out, asked, strategy), options)


def groups(sets: Sequence[QuestionSet], out: Path, strategy: str) -> dict[str, list[Prediction]]:
    """The predictions of each set that has some, and of all together."""
    found = {asked.name: RunDirectory(directory(out, asked, strategy)).predictions() for asked in sets}
    return _with_sums({name: items for name, items in found.items() if items}, sets)


def pairs(sets: Sequence[QuestionSet], out: Path, first: str, second: str) -> dict[str, list[Pair]]:
    """What both strategies predicted, second and first, by set and together."""
    found: dict[str, list[Pair]] = {}
    for asked in sets:
        runs = [directory(out, asked, strategy) for strategy in (second, first)]
        if all((run / "predictions.jsonl").exists() for run in runs):
            found[asked.name] = pairs_of(*runs)
    return _with_sums(found, sets)


def _with_sums(found: dict[str, list[Any]], sets: Sequence[QuestionSet]) -> dict[str, list[Any]]:
    sums = {name: list(items) for name, items in found.items()}
    on_text = [asked.name for asked in sets if asked.name in found and not asked.graph_index]
    if 1 < len(on_text) < len(found):
        sums[TEXT_ALONE] = [item for name in on_text for item in found[name]]
    if len(found) > 1:
        sums[ALL] = [item for items in found.values() for item in items]
    return sums


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))


def sets_table(by_strategy: Mapping[str, Mapping[str, Sequence[Prediction]]]) -> str:
    head = (
        "questions", "strategy", "n", "F1 of guesses", "F1", "precision", "coverage", "right lost",
        "unanswerable declined", "AUROC", "ECE", "coverage at 90%", "seconds",
    )  # fmt: skip
    names = dict.fromkeys(name for found in by_strategy.values() for name in found)
    rows = [
        [name, strategy, *_figures(found[name])]
        for name in names
        for strategy, found in by_strategy.items()
        if name in found
    ]
    return table(head, rows)


def _figures(items: Sequence[Prediction]) -> list[str]:
    declined, told = declining_figures(items), confidence_figures(items)
    can = [item for item in items if item.answerable]
    f1 = [interval(asdict(mean_interval(metric_values(can, metric)))) if can else "–" for metric in ("guess_f1", "f1")]
    confidence = ["–"] * 3
    if told is not None:
        confidence = [f"{told['auroc']['value']:.2f}", f"{told['ece']['value']:.2f}"]
        confidence.append(f"{told['coverage_at_90']['value']:.0f}")
    seconds = [item.fields.get("seconds") for item in items]
    known = [float(value) for value in seconds if isinstance(value, int | float)]
    lost, cannot = declined["answerable"], declined["unanswerable"]
    return [
        str(len(items)),
        *f1,
        interval(declined["precision"]) if any(item.predicted for item in items) else "–",
        f"{declined['coverage']['value']:.1f}",
        f"{lost['right_declined']} of {lost['right']}",
        f"{cannot['declined']} of {cannot['n']}",
        *confidence,
        f"{statistics.fmean(known):.1f}" if known else "–",
    ]


def pairs_table(found: Mapping[str, Sequence[Pair]], first: str, second: str) -> str:
    head = ("questions", "n", "figure", first, second, f"{first} − {second}", "p")
    rows = []
    for name, items in found.items():
        figures = paired_figures(items)  # the second side is the first strategy
        for key, shown in _COMPARED.items():
            item, told = figures[key], figures[key]["difference"]
            values = (f"{item['second']:.1f}", f"{item['first']:.1f}", interval(told), f"{told['p']:.3f}")
            rows.append([name, str(figures["n"]), shown, *values])
        precise = [figures["precision"][side] for side in ("second", "first")]
        shown_precise = ["–" if value is None else f"{value:.1f}" for value in precise]
        rows.append([name, str(figures["n"]), "precision", *shown_precise, "", ""])
    return table(head, rows)


def kinds_table(items: Sequence[Prediction]) -> str:
    """By kind, the most frequent first, and the kinds that are computed together."""
    by_kind: dict[str, list[Prediction]] = {}
    for item in items:
        by_kind.setdefault(str(item.fields.get("kind") or item.fields.get("type") or "(none)"), []).append(item)
    ordered = sorted(by_kind.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    rows = [[kind, *_kind_row(group)] for kind, group in ordered]
    kinds = {kind for several in COMPUTED.values() for kind in several}
    if computed := [item for kind, group in ordered if kind in kinds for item in group]:
        rows.append([f"{', '.join(COMPUTED)} together", *_kind_row(computed)])
    head = ("kind", "n", "right", "F1 of guesses", "F1", "precision", "coverage", "unanswerable declined")
    return table(head, rows)


def _kind_row(items: Sequence[Prediction]) -> list[str]:
    told, declined = summarize(items), declining_figures(items)["unanswerable"]
    can = [item for item in items if item.answerable]
    return [
        str(len(items)),
        f"{sum(map(is_right, can))} of {len(can)}" if can else "–",
        f"{told.guess_f1:.1f}" if can else "–",
        f"{told.f1:.1f}" if can else "–",
        f"{told.precision:.1f}" if any(item.predicted for item in items) else "–",
        f"{told.coverage:.1f}",
        f"{declined['declined']} of {declined['n']}" if declined["n"] else "–",
    ]


def interval(figures: Mapping[str, Any]) -> str:
    return f"{figures['value']:.1f} [{figures['low']:.1f}, {figures['high']:.1f}]"


def report(sets: Sequence[QuestionSet], out: Path, strategies: Sequence[str]) -> str:
    """All tables over what has been answered."""
    by_strategy = {strategy: groups(sets, out, strategy) for strategy in strategies}
    parts = [sets_table(by_strategy)]
    for other in strategies[1:]:
        parts.append(pairs_table(pairs(sets, out, strategies[0], other), strategies[0], other))
    first = by_strategy[strategies[0]]
    every = first.get(ALL) or [item for items in first.values() for item in items]
    if every:
        can = scored(every)
        right = [float(is_right(item)) for item in can]
        parts.append(f"Right guesses of {strategies[0]}: {interval(asdict(mean_interval(right)))}% of {len(can)}\n")
        parts.append(kinds_table(every))
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", dest="sets", nargs="+", action="append", metavar="VALUE", help=SET_HELP)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the sets only these")
    parser.add_argument("--strategies", nargs="+", default=["atomr", "rag"], metavar="NAME")
    parser.add_argument("--text-alone", action="store_true", help="ask no graph")
    parser.add_argument("--limit", type=int, help="of each set")
    parser.add_argument("--table", action="store_true", help="only make the tables of what is there")
    parser.add_argument("options", nargs="*", help="passed on to `atomr eval run`")
    given = parser.parse_args(arguments)
    sets = question_sets(given.sets, given.text_alone)
    sets = [asked for asked in sets if not given.only or asked.name in given.only]
    failed = False
    try:
        if not given.table:
            ask(sets, given)
    except subprocess.CalledProcessError as error:
        print(f"stopped: {error}", file=sys.stderr)
        failed = True
    text = report(sets, given.out, given.strategies)
    publish(text, given.out / "answers.md")
    return int(failed)


if __name__ == "__main__":
    run_program(main)
