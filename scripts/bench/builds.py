#!/usr/bin/env python3
"""How many plans and answers change from one build of llama.cpp to another, by kind of question.

    scripts/bench/builds.py --data ../shared/data --out DIR [--variants zen4 skylakex haswell]
                            [--share 0.25] [--plans] [--table]

The README's command builds a CPU backend for each generation of processors; `llm.cpu_variant` chooses one. Each
variant named here (default: zen4, skylakex and haswell, as far as this processor can run them) answers, by plans of
its own, the starter's twenty questions and 180 development questions (SETS below), in a process of its own. What a
variant answers to a set is a run in DIR/VARIANT/SET as `atomr eval run` makes it: it resumes where it stopped. The
indexes "builds" are made if they are missing; ATOMR_HOME says where. Settings are taken from the environment, such as
ATOMR_LLM__WEIGHTS=Q8_0. --share 0.25 asks only the first quarter of each development set.

With --plans questions are planned and not answered (a third of the time): DIR/VARIANT/SET/plans.jsonl.

Prints Markdown, also in DIR/builds.md: for each pair of variants how many plans and answers differ among the
questions that all have answered; for each variant EM, token F1 and seconds; and the questions whose answers differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.datasets import Question, load_questions
from atomr_lab.evaluation.runs import describe_run, run
from programs import publish, run_program

from atomr_local.assistant.assistant import Assistant
from atomr_local.errors import InputError
from atomr_local.indexing.store import STARTER, IndexKind, list_indexes
from atomr_local.language.names import answer_key
from atomr_local.models.llama.engine import variants
from atomr_local.system import paths
from atomr_local.system.sanitize import sanitize_line

INDEX = "builds"
PLANS = "plans.jsonl"
DEFAULT = ("zen4", "skylakex", "haswell")
CORPORA = ("2wiki_train500", "hotpot_train100", "musique_train100")


@dataclass(frozen=True)
class QuestionSet:
    """Attributes: file: below the data directory; empty: the starter's questions."""

    name: str
    file: str
    offset: int
    count: int
    sources: tuple[str, ...]


# The last fifths of the sets (development questions), and what comes before them as far as more are needed.
SETS = (
    QuestionSet("starter", "", 0, 20, ("text", "graph")),
    QuestionSet("2wiki-graph", "qa/2wiki_train500_questions.jsonl", 400, 60, ("text", "graph")),
    QuestionSet("2wiki-text", "qa/2wiki_train500_questions.jsonl", 460, 40, ("text",)),
    QuestionSet("hotpot", "qa/hotpot_train100_questions.jsonl", 60, 40, ("text",)),
    QuestionSet("musique", "qa/musique_train100_questions.jsonl", 60, 40, ("text",)),
)


@dataclass(frozen=True)
class Answered:
    """One question under one variant."""

    question: str
    kind: str
    plan: str
    answers: tuple[str, ...]
    f1: float
    em: float
    seconds: float
    read: int
    written: int

    @property
    def normal(self) -> tuple[str, ...]:
        """The answers as the scorer compares them, in any order."""
        return tuple(sorted(map(answer_key, self.answers)))


def usable(wanted: Sequence[str]) -> list[str]:
    """Those of the variants that this processor can run.

    Raises:
        InputError: fewer than two: there is nothing to compare.
    """
    from atomr_local.models.llama.engine import library, library_directory

    known = [variant.name for variant in variants(library_directory(library())) if variant.score > 0]
    chosen = [name for name in wanted if name in known]
    if len(chosen) < 2:
        raise InputError(
            f"of {', '.join(wanted)} this processor and this build of llama.cpp can run {', '.join(chosen) or 'none'}",
            hint=f"There are: {', '.join(known) or 'no variants; build llama.cpp with the README command'}.",
        )
    return chosen


def ensure_index(kind: IndexKind, *inputs: Path) -> None:
    if any((entry.kind, entry.name, entry.problem) == (kind, INDEX, None) for entry in list_indexes()):
        return
    command = (sys.executable, "-m", "atomr_local", kind, "build", *map(str, inputs), "--name", INDEX)
    subprocess.run(command, check=True, stdout=sys.stderr)


def ask(variant: str, data: Path, out: Path, share: float, only_plans: bool) -> None:
    """Answer or plan all sets in this process, whose environment names the variant."""
    with Assistant.open() as assistant:
        for asked in SETS:
            index = INDEX if asked.file else STARTER
            file = data / asked.file if asked.file else paths.starter_knowledge_dir() / "questions.jsonl"
            count = max(1, round(asked.count * share)) if asked.file else asked.count
            questions = load_questions(file, offset=asked.offset, limit=count)
            if only_plans:
                plan(assistant, questions, out / variant / asked.name / PLANS)
                continue
            assistant.reconfigure(text_index=index, graph_index=index, sources=asked.sources)
            description = describe_run(assistant.settings, file)
            print(f"== {variant}, {asked.name}", file=sys.stderr, flush=True)
            run(assistant, questions, out / variant / asked.name, description=description, before=assistant.preload,
                on_progress=lambda progress: print(
                    f"{progress.done}/{progress.total} {progress.trace.totals.seconds:.1f} s "
                    f"{progress.question.question} → {progress.predicted}", file=sys.stderr, flush=True))  # fmt: skip


def plan(assistant: Assistant, questions: Sequence[Question], file: Path) -> None:
    """Add the plans that the file does not hold yet."""
    file.parent.mkdir(parents=True, exist_ok=True)
    known = {line["question"] for line in _lines(file)}
    with file.open("a", encoding="utf-8") as stream:
        for question in questions:
            if question.question not in known:
                made = assistant.plan(question.question)
                line = {"question": question.question, "plan": made.compact, "confidence": made.confidence}
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
                stream.flush()


def planned(out: Path, names: Sequence[str]) -> str:
    """How many plans differ, among the questions that all have planned; empty where none has."""
    plans = {
        name: {(asked.name, line["question"]): line["plan"] for asked in SETS
               for line in _lines(out / name / asked.name / PLANS)}
        for name in names
    }  # fmt: skip
    common = [key for key in plans[names[0]] if all(key in known for known in plans.values())]
    lines = []
    for first, second in combinations(names, 2) if common else ():
        cells = []
        for kind in ("all", *_kinds(common)):
            keys = [key for key in common if kind in ("all", key[0])]
            changed = sum(plans[first][key] != plans[second][key] for key in keys)
            cells.append(f"{kind} {changed} of {len(keys)}")
        lines.append(f"Planned only, plans that differ, {first} – {second}: {', '.join(cells)}\n")
    return "".join(lines)


def answered(directory: Path, kind: str) -> Iterator[Answered]:
    """What a run has answered so far; nothing before it begins."""
    predictions = _lines(directory / "predictions.jsonl")
    traces = {trace["question"]: trace for trace in _lines(directory / "traces.jsonl")}
    for line in predictions:
        trace = traces[sanitize_line(line["question"])]
        totals = trace["totals"]
        yield Answered(
            trace["question"], kind, trace["plan"]["compact"], tuple(trace["answers"]), line["f1"], line["em"],
            totals["seconds"], totals["evaluated_tokens"], totals["generated_tokens"],
        )  # fmt: skip


def _lines(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    found = []
    for number, line in enumerate(lines):
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            if number + 1 < len(lines):  # the last one may be being written
                raise
    return found


def table(out: Path, names: Sequence[str]) -> str:
    runs = {
        name: {(one.kind, one.question): one for asked in SETS for one in answered(out / name / asked.name, asked.name)}
        for name in names
    }
    common = [key for key in next(iter(runs.values())) if all(key in run for run in runs.values())]
    lines = ["| variants | " + " | ".join(f"{kind}" for kind in ("all", *_kinds(common))) + " |"]
    lines.append("|---" * (2 + len(_kinds(common))) + "|")
    for first, second in combinations(names, 2):
        cells = []
        for kind in ("all", *_kinds(common)):
            pairs = [(runs[first][key], runs[second][key]) for key in common if kind in ("all", key[0])]
            plans = sum(one.plan != other.plan for one, other in pairs)
            answers = sum(one.normal != other.normal for one, other in pairs)
            cells.append(f"{plans} plans, {answers} answers of {len(pairs)}")
        lines.append(f"| {first} – {second} | {' | '.join(cells)} |")
    lines += ["", "| variant | EM | F1 | seconds a question | tokens read | written |", "|---|---|---|---|---|---|"]
    for name in names:
        asked = [runs[name][key] for key in common]
        em, f1 = _mean(100 * one.em for one in asked), _mean(100 * one.f1 for one in asked)
        figures = [_mean(getattr(one, name) for one in asked) for name in ("seconds", "read", "written")]
        lines.append(f"| {name} | {em:.1f} | {f1:.1f} | {figures[0]:.2f} | {figures[1]:.0f} | {figures[2]:.0f} |")
    changed = [key for key in common if len({runs[name][key].normal for name in names}) > 1]
    if changed:
        lines += ["", f"Questions whose answer changes ({len(changed)} of {len(common)}):", ""]
    for key in changed:
        told = "; ".join(f"{name}: {', '.join(runs[name][key].answers) or 'Unknown'}" for name in names)
        plans = len({runs[name][key].plan for name in names})
        lines.append(f"- {key[0]}: {key[1]} ({'other plans' if plans > 1 else 'one plan'}) → {told}")
    return "\n".join(lines) + "\n"


def _kinds(keys: Iterable[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(kind for kind, _ in keys))


def _mean(values: Iterable[float]) -> float:
    counted = list(values)
    return sum(counted) / len(counted) if counted else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--variants", nargs="+", default=list(DEFAULT))
    parser.add_argument("--share", type=float, default=1.0, help="of each development set")
    parser.add_argument("--table", action="store_true", help="only make the table of what is there")
    parser.add_argument("--plans", action="store_true", help="plan, do not answer")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        ask(given.variants[0], given.data, given.out, given.share, given.plans)
        return 0
    names = given.variants if given.table else usable(given.variants)
    if not given.table and not given.plans:
        ensure_index("text", *(given.data / f"qa/{name}_corpus.jsonl" for name in CORPORA))
        ensure_index("graph", given.data / "kg/2wiki_train_triples.jsonl")
    for name in names if not given.table else ():
        command = [sys.executable, __file__, "--one", "--variants", name, "--data", str(given.data)]
        command += ["--out", str(given.out), "--share", str(given.share), *(["--plans"] * given.plans)]
        subprocess.run(command, check=True, env=os.environ | {"ATOMR_LLM__CPU_VARIANT": name})
    text = f"{table(given.out, names)}\n{planned(given.out, names)}".rstrip() + "\n"
    publish(text, given.out / "builds.md")
    return 0


if __name__ == "__main__":
    run_program(main)
