"""Question sets for the benchmarks: which questions, asked of which indexes, as runs of `atomr eval run`."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.datasets import read_records
from atomr_lab.evaluation.runs import write_file

from atomr_local.errors import InputError

NATURAL_DEV = Path(__file__).resolve().parents[1] / "training_questions" / "natural_dev.jsonl"
SET_HELP = "NAME QUESTIONS[:CORPUS] TEXT_INDEX [GRAPH_INDEX]; may be given several times"
_QUESTIONS = "questions.jsonl"


@dataclass(frozen=True)
class QuestionSet:
    """Questions, and the indexes that they are asked of.

    Attributes:
        graph_index: empty where text alone is asked.
        corpus: only the lines with this "corpus"; empty: all.
    """

    name: str
    questions: Path
    text_index: str
    graph_index: str = ""
    corpus: str = ""

    @property
    def sources(self) -> str:
        return "text,graph" if self.graph_index else "text"

    def options(self) -> list[str]:
        """The indexes as options of `atomr eval run`."""
        graph = ["--graph-index", self.graph_index] if self.graph_index else []
        return ["--sources", self.sources, "--text-index", self.text_index, *graph, "--no-web"]


def natural_sets(text_alone: bool = False) -> list[QuestionSet]:
    """The development questions by what they are asked of; `text_alone`: without the graphs."""
    asked = [
        QuestionSet("starter", NATURAL_DEV, "starter", "starter", "starter"),
        QuestionSet("2wiki", NATURAL_DEV, "2wiki", "2wiki", "2wiki"),
        QuestionSet("hotpot", NATURAL_DEV, "hotpot400", "", "hotpot400"),
        QuestionSet("musique", NATURAL_DEV, "musique", "", "musique"),
        QuestionSet("no-question", NATURAL_DEV, "starter", "starter", "none"),
    ]
    return [replace(one, graph_index="") for one in asked] if text_alone else asked


def question_set(values: Sequence[str]) -> QuestionSet:
    """The set that `--set` names.

    Raises:
        InputError: there are too few or too many values, or the name cannot be a directory's.
    """
    if not 3 <= len(values) <= 4:
        raise InputError(f"--set takes {SET_HELP.partition(';')[0]}, not {' '.join(values)!r}")
    name, questions, *indexes = values
    if Path(name).name != name or name.startswith("."):
        raise InputError(f"{name!r} cannot be the name of a directory")
    path, _, corpus = questions.rpartition(":")
    if path and not Path(questions).exists():
        return replace(QuestionSet(name, Path(path), *indexes), corpus=corpus)
    return QuestionSet(name, Path(questions), *indexes)


def question_sets(given: Sequence[Sequence[str]] | None, text_alone: bool = False) -> list[QuestionSet]:
    """The sets that `--set` names, or the natural development questions.

    Raises:
        InputError: one is none, or two have the same name.
    """
    if not given:
        return natural_sets(text_alone)
    asked = [question_set(values) for values in given]
    if len({one.name for one in asked}) < len(asked):
        raise InputError("two sets have the same name")
    return [replace(one, graph_index="") for one in asked] if text_alone else asked


def changed_by(options: Sequence[str]) -> dict[str, Any]:
    """The settings that KEY=VALUE of a command line name, as :func:`.schema.load_settings` takes them.

    Raises:
        InputError: one has no "=".
    """
    changed: dict[str, Any] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals:
            raise InputError(f"{option!r} is no setting", hint="Write KEY=VALUE, such as top_k=5.")
        group, dot, name = key.partition(".")
        if dot:
            changed.setdefault(group, {})[name] = value
        else:
            changed[key] = value
    return changed


def prepared(asked: QuestionSet, out: Path) -> Path:
    """The set's questions as a file in `out`, as `atomr eval run` reads them.

    All members of a list (`expects.several`) become one answer, for naming one of them is not the whole answer; they
    are kept as "members". Of a corpus, the questions are put into an order by their words, so that the first N are a
    random part.

    Raises:
        InputError: the file cannot be read, or holds no question of the corpus.
    """
    records = [record.fields for record in read_records(asked.questions)]
    if asked.corpus:
        records = [fields for fields in records if fields.get("corpus") == asked.corpus]
        records.sort(key=lambda fields: hashlib.blake2b(str(fields.get("question")).encode()).digest())
    if not records:
        raise InputError(f"{asked.questions} holds no questions of the corpus {asked.corpus!r}")
    out.mkdir(parents=True, exist_ok=True)
    path = out / _QUESTIONS
    write_file(path, "".join(json.dumps(_as_asked(fields), ensure_ascii=False) + "\n" for fields in records))
    return path


def _as_asked(fields: dict[str, Any]) -> dict[str, Any]:
    answers, expects = fields.get("answers"), fields.get("expects")
    if isinstance(expects, dict) and expects.get("several") is True and isinstance(answers, list) and len(answers) > 1:
        fields = {**fields, "answers": [", ".join(map(str, answers))], "members": answers}
    if "titles" in fields and "gold_titles" not in fields:
        fields = {**fields, "gold_titles": fields["titles"]}
    return fields


def run_set(
    asked: QuestionSet,
    questions: Path,
    out: Path,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] = ("-m", "atomr_local"),
) -> None:
    """`atomr eval run` into `out`, or what is left of it; its report is in that directory.

    Args:
        program: what Python runs, as arguments.

    Raises:
        subprocess.CalledProcessError: it failed, and has told why.
    """
    command = [
        sys.executable, *program, "eval", "run", "--questions", str(questions), "--out", str(out),
        *asked.options(), *options,
    ]  # fmt: skip
    subprocess.run(command, env=os.environ | dict(environment or {}), check=True, stdout=subprocess.DEVNULL)
