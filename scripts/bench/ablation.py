#!/usr/bin/env python3
"""What each feature and each rule of English is worth: every question set with all of them, and with each alone off.

    scripts/bench/ablation.py --out DIR [--set NAME QUESTIONS[:CORPUS] TEXT_INDEX [GRAPH_INDEX]] ...
                              [--off KEY ...] [--rules] [--last-fifth] [--limit N] [--table] [-- OPTION ...]

Without --set, the natural development questions, as in answers.py. A set with a graph index is asked over text and
graph, else over text alone. KEY is a setting that is on or off, such as features.beam, or a rule of English, such as
rule.countries (see without_rule.py); without --off, every setting in the group `features`, with --rules every rule too.
Each row is a run of `atomr eval run` in DIR/SET/KEY (DIR/SET/all for the one with all on), resumed where it stopped;
what follows `--` goes to it, such as `--model NAME`. --limit is of each set; of a corpus these are a random part.

Prints one Markdown table, also in DIR/ablation.md. Differences are paired by question, the run with the feature off
minus the one with all on: below zero, the feature helps. With several sets, the rows "all" are of all of them together.

    scripts/bench/ablation.py --out runs/ablation --rules --limit 15
    scripts/bench/ablation.py --set 2wiki questions.jsonl 2wiki 2wiki --last-fifth --out runs/ablation
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

from atomr_lab.evaluation.datasets import Prediction, load_questions
from atomr_lab.evaluation.metrics import mean_interval
from atomr_lab.evaluation.report import (
    Pair,
    confidence_figures,
    declining_figures,
    metric_values,
    paired_figures,
    pairs_of,
    scored,
)
from atomr_lab.evaluation.runs import RunDirectory
from programs import publish, run_program
from pydantic import BaseModel
from question_sets import SET_HELP, QuestionSet, prepared, question_set, question_sets, run_set
from without_rule import RULES

from atomr_local.errors import InputError
from atomr_local.settings.schema import Settings

ALL_ON = "all"
# Which source to ask is only chosen where there are two.
_NEED_TWO_SOURCES = {"features.source_rules"}
_RULE = "rule."
_PROGRAM = Path(__file__).resolve().with_name("without_rule.py")
_HEAD = (
    "set", "off", "n", "EM", "F1", "F1 of guesses", "precision", "coverage", "unanswerable declined", "AUROC",
    "seconds", "F1 of guesses, off − on", "p", "F1, off − on", "p",
)  # fmt: skip

__all__ = ["question_set"]


def switches(keys: Sequence[str] = ()) -> list[str]:
    """The keys, each a setting that is on or off or a rule; the settings of `features` where none is given.

    Raises:
        InputError: a key is neither.
    """
    known = [*_booleans(Settings), *rules()]
    for key in keys:
        if key not in known:
            raise InputError(f"{key} is no setting that is on or off", hint=f"There are: {', '.join(known)}.")
    return list(dict.fromkeys(keys)) or [key for key in known if key.startswith("features.")]


def _booleans(model: type[BaseModel], prefix: str = "") -> list[str]:
    found = []
    for name, field in model.model_fields.items():
        if field.annotation is bool:
            found.append(f"{prefix}{name}")
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found += _booleans(field.annotation, f"{prefix}{name}.")
    return found


def rules() -> list[str]:
    return [f"{_RULE}{name}" for name in RULES]


def environment(keys: Sequence[str], off: str) -> dict[str, str]:
    """The variables that switch `off` off and the other settings on."""
    settings = (key for key in keys if not key.startswith(_RULE))
    return {f"ATOMR_{key.replace('.', '__').upper()}": str(key != off).lower() for key in settings}


def runs_of(asked: QuestionSet, keys: Sequence[str]) -> list[str]:
    """Names of the set's runs: all on first, then each key that can matter."""
    return [ALL_ON, *(key for key in keys if asked.graph_index or key not in _NEED_TWO_SOURCES)]


def last_fifth(questions: Path) -> tuple[int, int]:
    """Offset and number of the development split."""
    count = len(load_questions(questions))
    return count * 4 // 5, count - count * 4 // 5


def run(asked: QuestionSet, off: str, keys: Sequence[str], given: argparse.Namespace) -> None:
    """Ask the set, or what is left of it.

    Raises:
        subprocess.CalledProcessError: `atomr eval run` failed; it has told why.
    """
    questions = prepared(asked, given.out / asked.name) if asked.corpus else asked.questions
    offset, count = last_fifth(questions) if given.last_fifth else (0, None)
    limits = [limit for limit in (given.limit, count) if limit is not None]
    options = ["--offset", str(offset), *(("--limit", str(min(limits))) if limits else ()), *given.options]
    print(f"== {asked.name}, {'all on' if off == ALL_ON else f'{off} off'}", file=sys.stderr, flush=True)
    program = [str(_PROGRAM), off.removeprefix(_RULE)] if off.startswith(_RULE) else ["-m", "atomr_local"]
    run_set(asked, questions, given.out / asked.name / off, options, environment(keys, off), program)


def table(sets: Sequence[QuestionSet], keys: Sequence[str], out: Path) -> str:
    """One row for every run that has answered something, and for all sets together."""
    rows, sums = [], dict[str, tuple[list[Prediction], list[Pair]]]()
    for asked in sets:
        base = out / asked.name / ALL_ON
        for off in runs_of(asked, keys):
            directory = out / asked.name / off
            if not (directory / "predictions.jsonl").exists():
                continue
            items = RunDirectory(directory).predictions()
            pairs = pairs_of(base, directory) if off != ALL_ON and (base / "predictions.jsonl").exists() else []
            rows.append(_row(asked.name, off, items, pairs))
            summed = sums.setdefault(off, ([], []))
            summed[0].extend(items)
            summed[1].extend(pairs)
    if len(sets) > 1:
        rows += [_row("all", off, items, pairs) for off, (items, pairs) in sums.items()]
    return "".join(f"| {' | '.join(line)} |\n" for line in (_HEAD, ("---",) * len(_HEAD), *rows))


def _row(name: str, off: str, items: Sequence[Prediction], pairs: Sequence[Pair]) -> tuple[str, ...]:
    declined, told = declining_figures(items), confidence_figures(items)
    seconds = [item.fields.get("seconds") for item in items]
    known = [float(value) for value in seconds if isinstance(value, int | float)]
    row = [
        name,
        "–" if off == ALL_ON else off,
        str(len(items)),
        *(
            _interval(asdict(mean_interval(metric_values(scored(items), metric))))
            for metric in ("em", "f1", "guess_f1")
        ),
        f"{declined['precision']['value']:.1f}",
        f"{declined['coverage']['value']:.1f}",
        f"{declined['unanswerable']['declined']} of {declined['unanswerable']['n']}",
        "–" if told is None else f"{told['auroc']['value']:.2f}",
        f"{statistics.fmean(known):.1f}" if known else "–",
    ]
    if pairs:
        figures = paired_figures(pairs)
        for metric in ("guess_f1", "f1"):
            difference = figures[metric]["difference"]
            row += [_interval(difference), f"{difference['p']:.3f}"]
    return (*row, *[""] * (len(_HEAD) - len(row)))


def _interval(figures: Mapping[str, Any]) -> str:
    return f"{figures['value']:.1f} [{figures['low']:.1f}, {figures['high']:.1f}]"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", dest="sets", nargs="+", action="append", metavar="VALUE", help=SET_HELP)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--off", nargs="+", default=[], metavar="KEY")
    parser.add_argument("--rules", action="store_true", help="switch every rule of English off, too")
    parser.add_argument("--last-fifth", action="store_true", help="ask only the development split, by file order")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--table", action="store_true", help="only make the table of what is there")
    parser.add_argument("options", nargs="*", help="passed on to `atomr eval run`")
    given = parser.parse_args()
    sets = question_sets(given.sets)
    keys = switches(given.off)
    keys += [key for key in rules() if given.rules and key not in keys]
    failed = False
    try:
        for asked in sets if not given.table else ():
            for off in runs_of(asked, keys):
                run(asked, off, keys, given)
    except subprocess.CalledProcessError as error:
        print(f"stopped: {error}", file=sys.stderr)
        failed = True
    text = table(sets, keys, given.out)
    publish(text, given.out / "ablation.md")
    return int(failed)


if __name__ == "__main__":
    run_program(main)
