#!/usr/bin/env python3
"""Removal test: questions whose answer is taken away from the sources. How many are declined, and what is said of it?

    scripts/bench/removal.py --out DIR [--set NAME QUESTIONS[:CORPUS] TEXT_INDEX [GRAPH_INDEX]] ...
                             [--away page|fact] [--limit N] [--table] [-- KEY=VALUE ...]

Without --set, the natural development questions, as in answers.py. Nothing is built anew: what the sources find is
filtered for each question. Of two ways to take the answer away,

- page (default): the gold pages (`gold_titles` or `titles` of the question's line), in the text and as entities of the
  graph, and whatever else holds a gold answer;
- fact: only what holds a gold answer. The pages stay where they do not: the trail ends at the last step.

Left out are closed answers (yes, no), questions without gold pages, and with --away fact those whose plan computes the
answer: no page holds it. With --away page such a question loses its pages alone.

DIR/SET is a run as of `atomr eval run`, of questions without an answer, and resumed where it stopped; --limit is of
each set, KEY=VALUE a setting. Prints what was said, by set and by kind, also in DIR/removal.md: a right answer was
found elsewhere all the same. Then every wrong answer and some reasons.

    scripts/bench/removal.py --out runs/removed --limit 50
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from atomr_lab.evaluation.datasets import DatasetRecord, Prediction, Question, question_of, read_records
from atomr_lab.evaluation.metrics import mean_interval, score_answer
from atomr_lab.evaluation.report import is_right
from atomr_lab.evaluation.runs import RunDirectory, describe_run, run
from programs import publish, run_program
from question_sets import SET_HELP, QuestionSet, changed_by, prepared, question_sets

from atomr_local import Assistant
from atomr_local.errors import InputError
from atomr_local.language.names import answer_key, base_key
from atomr_local.reasoning.reading.checks import holds
from atomr_local.reasoning.trace.events import Event, Finished
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.sources.protocol import Evidence, KnowledgeSource, Request, Retrieval
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Tree

_CLOSED = {"yes", "no"}
_MORE = 6  # pieces that are asked for besides, so that what is taken away is made up for
_REASONS_SHOWN = 12
_TAKEN = "taken.jsonl"


@dataclass(frozen=True)
class Removable:
    """A question, and what is taken away for it.

    Attributes:
        answers: whatever holds one of them is taken away.
        pages: keys of the titles that are taken away.
    """

    question: Question
    answers: tuple[str, ...]
    pages: frozenset[str]


class Without:
    """A source that finds neither the gold pages nor the answers of the question at hand."""

    def __init__(self, source: KnowledgeSource) -> None:
        self._source = source
        self.answers: tuple[str, ...] = ()
        self.pages: frozenset[str] = frozenset()
        self.taken = 0

    @property
    def name(self) -> str:
        return self._source.name

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        """See :class:`KnowledgeSource`."""
        found = self._source.retrieve(replace(request, top_k=request.top_k + _MORE), cancellation)
        gold = {base_key(answer) for answer in self.answers}
        kept = tuple(item for item in found.evidence if not self._away(item))
        self.taken += len(found.evidence) - len(kept)
        about = found.linked is not None and base_key(found.linked.text) in self.pages
        if about or any(base_key(value.text) in gold for value in found.values):
            self.taken += 1
            return Retrieval(link_score=0.0 if about else found.link_score)
        return replace(found, evidence=kept[: request.top_k])

    def close(self) -> None:
        self._source.close()

    def _away(self, item: Evidence) -> bool:
        return base_key(item.title) in self.pages or any(holds(answer, item) for answer in self.answers)


class Removing:
    """An assistant whose sources lack the answer of whatever is asked."""

    def __init__(self, assistant: Assistant, gold: Sequence[Removable], out: Path) -> None:
        """`out`: how much was taken away from each question is kept there."""
        self._assistant = assistant
        self._gold = {item.question.question: item for item in gold}
        self._out = out

    def load(self) -> None:
        """Open model and indexes, and put the filter before the sources."""
        self._assistant.preload()
        sources = self._assistant.parts.sources
        sources.update({name: Without(source) for name, source in sources.items()})

    def ask(self, question: str, *, plan: Tree | None = None, plan_origin: PlanOrigin = "user") -> Iterator[Event]:
        """See :class:`atomr_lab.evaluation.runs.Asker`."""
        gold = self._gold[question]
        filters = [source for source in self._assistant.parts.sources.values() if isinstance(source, Without)]
        for source in filters:
            source.answers, source.pages, source.taken = gold.answers, gold.pages, 0
        for event in self._assistant.ask(question, plan=plan, plan_origin=plan_origin):
            if isinstance(event, Finished):
                line = {"id": gold.question.id, "taken": sum(source.taken for source in filters)}
                with (self._out / _TAKEN).open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(line) + "\n")
            yield event

    def cancel(self) -> None:
        self._assistant.cancel()


def removable(path: Path, away: str) -> list[Removable]:
    """The questions of a prepared file whose answer can be taken away; none where there are none.

    Raises:
        InputError: the file is not a question set.
    """
    found = []
    for record in read_records(path):
        question = question_of(record)
        computed = _computed(record)
        closed = any(answer_key(answer) in _CLOSED for answer in question.answers)
        if not question.gold or not question.gold_titles or closed or (computed and away == "fact"):
            continue
        members = record.fields.get("members")
        answers = tuple(map(str, members)) if isinstance(members, list) else question.answers
        pages = frozenset(map(base_key, question.gold_titles)) if away == "page" else frozenset[str]()
        found.append(Removable(question, () if computed else answers, pages))
    return found


def _computed(record: DatasetRecord) -> bool:
    plan = record.fields.get("plan")
    if not isinstance(plan, str):
        return False
    try:
        return any(node.operation is not None for node in parse_compact(plan, record.text("question")).nodes())
    except TreeError as error:
        raise record.error(f'"plan" cannot be read: {error}') from error


def ask(asked: QuestionSet, gold: Sequence[Removable], questions: Path, given: argparse.Namespace) -> None:
    """Ask what is not asked yet.

    Raises:
        AtomrError: one question after the other failed, or the run cannot go on.
    """
    out = given.out / asked.name
    settings = with_settings(asked, given.options)
    unanswerable = [replace(item.question, answers=(), answerable=False) for item in gold]
    description = {**describe_run(settings, questions), "removed": given.away}
    with Assistant.open(settings) as assistant:
        removing = Removing(assistant, gold, out)
        run(
            removing, unanswerable, out, description=description, before=removing.load,
            on_progress=lambda made: print(
                f"[{made.done}/{made.total}] {sanitize_line(made.question.question)} → "
                f"{sanitize_line(made.predicted) or 'not found'}", file=sys.stderr, flush=True,
            ),
        )  # fmt: skip


def with_settings(asked: QuestionSet, options: Sequence[str]) -> Settings:
    """The settings of the set, and KEY=VALUE of the command line.

    Raises:
        InputError: one of these has no "=".
        SettingsError: a value is not usable.
    """
    sources = tuple(asked.sources.split(","))
    named = {"text_index": asked.text_index, "graph_index": asked.graph_index, "sources": sources}
    return load_settings(**named, **changed_by(options))


@dataclass(frozen=True)
class Said:
    """What was said of a question whose answer had been taken away.

    Attributes:
        prediction: judged by the gold answers that the question really has.
        taken: whether anything was taken away; False where the sources came upon nothing of it.
    """

    name: str
    prediction: Prediction
    taken: bool

    @property
    def what(self) -> str:
        """ "declined", "right" or "wrong"."""
        if not self.prediction.predicted:
            return "declined"
        return "right" if is_right(self.prediction) else "wrong"

    @property
    def kind(self) -> str:
        return str(self.prediction.fields.get("kind") or self.prediction.fields.get("type") or "(none)")


def said(asked: QuestionSet, gold: Sequence[Removable], out: Path) -> list[Said]:
    """What the run in `out` holds so far.

    Raises:
        InputError: a file of it is damaged.
    """
    taken: dict[str, int] = {}
    if (out / _TAKEN).exists():
        for record in read_records(out / _TAKEN):
            taken[record.text("id")] = int(record.fields.get("taken", 0))
    by_id = {item.question.id: item.question for item in gold}
    found = []
    for item in RunDirectory(out).predictions():
        if (question := by_id.get(item.id)) is not None:
            judged = replace(
                item, gold=question.answers, answerable=True, score=score_answer(item.predicted, question.answers),
                guess_score=score_answer(item.guess, question.answers),
            )  # fmt: skip
            found.append(Said(asked.name, judged, taken.get(item.id, 1) > 0))
    return found


def report(found: Sequence[Said]) -> str:
    """The tables, the wrong answers, and reasons for declining."""
    head = ("questions", "n", "declined", "right, found elsewhere", "wrong", "confidence: right", "wrong", "declined")
    counted = [item for item in found if item.taken]
    rows = [(name, *_row([i for i in counted if i.name == name])) for name in dict.fromkeys(i.name for i in counted)]
    rows.append(("all", *_row(counted)))
    kinds = dict.fromkeys(sorted((item.kind for item in counted), key=[i.kind for i in counted].count, reverse=True))
    parts = [
        _table(head, rows),
        _table(("kind", *head[1:]), [(kind, *_row([i for i in counted if i.kind == kind])) for kind in kinds]),
    ]
    if len(counted) < len(found):
        parts.append(f"Of {len(found) - len(counted)} further questions the sources came upon nothing to take away.\n")
    answered = [item for item in counted if item.what != "declined"]
    shown = sorted(answered, key=lambda item: -(item.prediction.confidence or 0.0))
    parts.append("".join(map(_line, shown)))
    reasons = dict.fromkeys(str(i.prediction.fields.get("reason")) for i in counted if i.what == "declined")
    parts.append("".join(f"- {sanitize_line(reason)}\n" for reason in list(reasons)[:_REASONS_SHOWN]))
    return "\n".join(part for part in parts if part)


def _row(items: Sequence[Said]) -> list[str]:
    groups = {what: [i for i in items if i.what == what] for what in ("declined", "right", "wrong")}
    told = mean_interval([float(item.what == "declined") for item in items])
    figures = asdict(told)
    return [
        str(len(items)),
        f"{figures['value']:.1f}% [{figures['low']:.1f}, {figures['high']:.1f}]",
        str(len(groups["right"])),
        str(len(groups["wrong"])),
        *(_confidence(groups[what]) for what in ("right", "wrong", "declined")),
    ]


def _confidence(items: Sequence[Said]) -> str:
    told = [item.prediction.confidence for item in items if item.prediction.confidence is not None]
    return f"{statistics.fmean(told):.2f}" if told else "–"


def _line(item: Said) -> str:
    made = item.prediction
    told = "" if made.confidence is None else f" ({made.confidence:.2f})"
    text = f"{made.question} → {made.predicted}{told}; gold: {' / '.join(made.gold)}"
    return f"- {item.what}: {sanitize_line(text)}\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", dest="sets", nargs="+", action="append", metavar="VALUE", help=SET_HELP)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the sets only these")
    parser.add_argument("--away", choices=("page", "fact"), default="page")
    parser.add_argument("--limit", type=int, help="of each set, of the questions whose answer can be taken away")
    parser.add_argument("--table", action="store_true", help="only report what is there")
    parser.add_argument("options", nargs="*", metavar="KEY=VALUE", help="settings")
    given = parser.parse_args(arguments)
    found: list[Said] = []
    for asked in question_sets(given.sets):
        if given.only and asked.name not in given.only:
            continue
        questions = prepared(asked, given.out / asked.name)
        gold = removable(questions, given.away)[: given.limit]
        if not gold:
            print(f"{asked.name}: nothing can be taken away; gold_titles are needed", file=sys.stderr)
            continue
        if not given.table:
            print(f"== {asked.name}", file=sys.stderr, flush=True)
            ask(asked, gold, questions, given)
        found += said(asked, gold, given.out / asked.name)
    if not found:
        raise InputError("no question of which the answer can be taken away")
    publish(report(found), given.out / "removal.md")
    return 0


if __name__ == "__main__":
    run_program(main)
