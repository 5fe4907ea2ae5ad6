#!/usr/bin/env python3
"""What each means is worth: every question set with all of them on, and with each alone switched off.

    scripts/bench/ablation.py --set NAME QUESTIONS TEXT_INDEX [GRAPH_INDEX] [--set ...] --out DIR
                              [--off KEY ...] [--last-fifth] [--limit N] [--table] [-- OPTION ...]

A set with a graph index is asked over text and graph, else over text alone. KEY is a setting that is on or off, such
as means.beam; without --off, every one in the settings group `means`. Each row is a run of `atomr eval run` in
DIR/SET/KEY (DIR/SET/all for the one with all on), resumed where it stopped; what follows `--` goes to it, such as
`--model NAME`. Prints one Markdown table, also in DIR/ablation.md. Differences are paired by question, the run with
the means off minus the one with all on: below zero, the means helps.

    scripts/bench/ablation.py --set 2wiki questions.jsonl 2wiki 2wiki --last-fifth --out runs/ablation
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from atomr_local.errors import AtomrError, InputError
from atomr_local.evaluation.comparison import compare_runs
from atomr_local.evaluation.datasets import load_questions
from atomr_local.evaluation.report import build_report
from atomr_local.evaluation.run_directory import write_file
from atomr_local.settings import Settings

ALL_ON = "all"
# Which source to ask is only chosen where there are two.
_NEED_TWO_SOURCES = {"means.source_rules"}
_HEAD = ("set", "off", "n", "EM", "F1", "seconds", "F1, off − on", "p", "EM, off − on", "p")


@dataclass(frozen=True)
class QuestionSet:
    name: str
    questions: Path
    text_index: str
    graph_index: str = ""

    @property
    def sources(self) -> str:
        return "text,graph" if self.graph_index else "text"


def switches(keys: Sequence[str] = ()) -> list[str]:
    """The keys, each a setting that is on or off; those of `means` where none is given.

    Raises:
        InputError: a key is no such setting.
    """
    known = _booleans(Settings)
    for key in keys:
        if key not in known:
            raise InputError(f"{key} is no setting that is on or off", hint=f"There are: {', '.join(known)}.")
    return list(dict.fromkeys(keys)) or [key for key in known if key.startswith("means.")]


def _booleans(model: type[BaseModel], prefix: str = "") -> list[str]:
    found = []
    for name, field in model.model_fields.items():
        if field.annotation is bool:
            found.append(f"{prefix}{name}")
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found += _booleans(field.annotation, f"{prefix}{name}.")
    return found


def environment(keys: Sequence[str], off: str) -> dict[str, str]:
    """The variables that switch `off` off and the other keys on."""
    return {f"ATOMR_{key.replace('.', '__').upper()}": str(key != off).lower() for key in keys}


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
    offset, count = last_fifth(asked.questions) if given.last_fifth else (0, None)
    limits = [limit for limit in (given.limit, count) if limit is not None]
    command = [
        sys.executable, "-m", "atomr_local", "eval", "run", "--questions", str(asked.questions),
        "--out", str(given.out / asked.name / off), "--offset", str(offset), "--sources", asked.sources,
        "--text-index", asked.text_index, "--no-web",
        *(("--graph-index", asked.graph_index) if asked.graph_index else ()),
        *(("--limit", str(min(limits))) if limits else ()),
        *given.options,
    ]  # fmt: skip
    print(f"== {asked.name}, {'all on' if off == ALL_ON else f'{off} off'}", file=sys.stderr, flush=True)
    subprocess.run(command, env=os.environ | environment(keys, off), check=True, stdout=subprocess.DEVNULL)


def table(sets: Sequence[QuestionSet], keys: Sequence[str], out: Path) -> str:
    """One row for every run that has answered something."""
    lines = [_HEAD, ("---",) * len(_HEAD)]
    for asked in sets:
        base = out / asked.name / ALL_ON
        for off in runs_of(asked, keys):
            directory = out / asked.name / off
            if not (directory / "predictions.jsonl").exists():
                continue
            report = build_report(directory)
            figures = [_interval(report["scores"][metric]) for metric in ("em", "f1")]
            row = [asked.name, "–" if off == ALL_ON else off, str(report["n"]), *figures]
            row.append(f"{report['cost']['seconds']:.1f}")
            if off != ALL_ON and (base / "predictions.jsonl").exists():
                compared = compare_runs(base, directory)
                for metric in ("f1", "em"):
                    difference = compared[metric]["difference"]
                    row += [_interval(difference), f"{difference['p']:.3f}"]
            lines.append((*row, *[""] * (len(_HEAD) - len(row))))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _interval(figures: Mapping[str, Any]) -> str:
    return f"{figures['value']:.1f} [{figures['low']:.1f}, {figures['high']:.1f}]"


def question_set(values: Sequence[str]) -> QuestionSet:
    """The set that `--set` names.

    Raises:
        InputError: there are too few or too many values, or the name cannot be a directory's.
    """
    if not 3 <= len(values) <= 4:
        raise InputError(f"--set takes NAME QUESTIONS TEXT_INDEX [GRAPH_INDEX], not {' '.join(values)!r}")
    name, questions, *indexes = values
    if Path(name).name != name or name.startswith("."):
        raise InputError(f"{name!r} cannot be the name of a directory")
    return QuestionSet(name, Path(questions), *indexes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", dest="sets", nargs="+", action="append", required=True, metavar="VALUE")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--off", nargs="+", default=[], metavar="KEY")
    parser.add_argument("--last-fifth", action="store_true", help="ask only the development split, by file order")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--table", action="store_true", help="only make the table of what is there")
    parser.add_argument("options", nargs="*", help="passed on to `atomr eval run`")
    given = parser.parse_args()
    sets, keys = [question_set(values) for values in given.sets], switches(given.off)
    failed = False
    try:
        for asked in sets if not given.table else ():
            for off in runs_of(asked, keys):
                run(asked, off, keys, given)
    except subprocess.CalledProcessError as error:
        print(f"stopped: {error}", file=sys.stderr)
        failed = True
    text = table(sets, keys, given.out)
    given.out.mkdir(parents=True, exist_ok=True)
    write_file(given.out / "ablation.md", text)
    print(text, end="")
    return int(failed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AtomrError as error:
        sys.exit(f"{error.title}: {error.message}\n{error.hint}".rstrip())
    except KeyboardInterrupt:
        sys.exit(130)
