#!/usr/bin/env python3
"""Whole dialogues: are follow-up questions answered, each after what the program itself answered before?

    scripts/bench/dialogues.py --out DIR [--only CORPUS ...] [--limit N] [--reference] [--table] [-- KEY=VALUE ...]

Asked are our own dialogues (scripts/training_questions/dialogues.jsonl) that are kept out of training and whose pages
are in one of the corpora that the natural development questions are asked of, with the indexes of that corpus. The
turns of a dialogue are asked one after the other, as typed, as `atomr ask --continue` does: what was understood and
answered before is what the program made of it, right or wrong. --reference puts each question as a person would, so
that it stands alone: the difference is what rewriting loses.

DIR/CORPUS is a run as of `atomr eval run`, resumed where it stopped; --limit is of each corpus' dialogues, KEY=VALUE a
setting. Prints the figures of first and of follow-up questions, also in DIR/dialogues.md, and the wrong guesses.

    scripts/bench/dialogues.py --out runs/dialogues
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from answers import interval, sets_table
from atomr_lab.evaluation.datasets import DatasetRecord, Prediction, Question
from atomr_lab.evaluation.metrics import mean_interval
from atomr_lab.evaluation.report import is_right
from atomr_lab.evaluation.runs import RunDirectory, describe_run, run
from programs import publish, run_program
from question_sets import QuestionSet, changed_by, natural_sets
from rewriting import NOTHING, OURS, held_out

from atomr_local import Assistant
from atomr_local.assistant.history.trace_import import parse_trace
from atomr_local.errors import InputError
from atomr_local.reasoning.conversation import Conversation
from atomr_local.reasoning.trace.events import Event, Finished
from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
from atomr_local.settings.schema import load_settings
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.nodes import Tree

_FIRST, _FOLLOW_UP = "first question", "follow-up"


@dataclass(frozen=True)
class Turn:
    """One question of a dialogue.

    Attributes:
        question: as typed.
        reference: how a person would put it so that it stands alone.
        before: ids of the turns before it.
    """

    question: Question
    reference: str
    before: tuple[str, ...]


def turns_of(path: Path, corpus: str, limit: int | None = None) -> list[Turn]:
    """The turns of the dialogues about pages of the corpus that are kept out of training.

    Turns that ask nothing, such as "thanks", are left out.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    found: list[Turn] = []
    dialogues = [(record.line, lines) for record, lines in held_out(path) if _corpora(record) == {corpus}]
    for number, lines in dialogues[:limit]:
        before: tuple[str, ...] = ()
        for place, line in enumerate(lines):
            if not line.answer:
                continue
            name = f"{number}.{place}"
            answers = () if line.answer == NOTHING else (line.answer,)
            kind = _FOLLOW_UP if before else _FIRST
            question = Question(name, line.typed, answers, answerable=bool(answers), kind=kind)
            found.append(Turn(question, line.meant, before))
            before = (*before, name)
    return found


def _corpora(record: DatasetRecord) -> set[str]:
    pages = record.fields.get("pages")
    if not isinstance(pages, list) or not all(isinstance(page, dict) for page in pages):
        raise record.error('"pages" is no list of pages')
    return {str(page.get("corpus")) for page in pages}


class Talking:
    """An assistant that is asked the turns of dialogues, in their order."""

    def __init__(
        self,
        assistant: Callable[..., Iterator[Event]],
        turns: Sequence[Turn],
        traces: dict[str, Trace],
        reference: bool,
    ) -> None:
        """
        Args:
            assistant: answers a question; takes `conversation` and `understood` as `Assistant.ask` does.
            turns: what is asked, in this order.
            traces: of the turns answered by an earlier run, by id; those answered now are added.
            reference: put each question as the reference does.
        """
        self._ask = assistant
        self._turns = iter(turns)
        self._traces = traces
        self._reference = reference

    def ask(self, question: str, *, plan: Tree | None = None, plan_origin: PlanOrigin = "user") -> Iterator[Event]:
        """See :class:`atomr_lab.evaluation.runs.Asker`."""
        turn = next(self._turns)
        earlier = Conversation.of(self._traces[name] for name in turn.before if name in self._traces)
        conversation = earlier if earlier.turns else None
        understood = turn.reference if self._reference else None
        for event in self._ask(question, conversation=conversation, understood=understood):
            if isinstance(event, Finished):
                self._traces[turn.question.id] = event.trace
            yield event

    def cancel(self) -> None:
        """Nothing is to be done: leaving the events early cancels the question."""


def ask(asked: QuestionSet, turns: Sequence[Turn], given: argparse.Namespace) -> None:
    """Ask what is not asked yet.

    Raises:
        AtomrError: one question after the other failed, or the run cannot go on.
    """
    out = given.out / asked.name
    named = {"text_index": asked.text_index, "graph_index": asked.graph_index, "sources": asked.sources.split(",")}
    settings = load_settings(**named, **changed_by(given.options))
    answered = {str(line["id"]): _trace(line) for line in RunDirectory(out).traces()}
    done = {item.id for item in RunDirectory(out).predictions()}
    traces = {name: trace for name, trace in answered.items() if name in done}
    with Assistant.open(settings) as assistant:
        run(
            Talking(assistant.ask, [turn for turn in turns if turn.question.id not in done], traces, given.reference),
            [turn.question for turn in turns], out,
            description={**describe_run(settings, OURS), "reference": given.reference}, before=assistant.preload,
            on_progress=lambda made: print(
                f"[{made.done}/{made.total}] {sanitize_line(made.question.question)} → "
                f"{sanitize_line(made.predicted) or 'not found'}", file=sys.stderr, flush=True,
            ),
        )  # fmt: skip


def _trace(line: Mapping[str, Any]) -> Trace:
    return parse_trace({**line, "id": line["trace_id"]})


def report(found: Mapping[str, Sequence[Prediction]]) -> str:
    """The figures of first and follow-up questions, by corpus and together, and the wrong guesses."""
    every = [item for items in found.values() for item in items]
    shares = [f"{kind}: {_share([item for item in every if _kind(item) == kind])}\n" for kind in (_FIRST, _FOLLOW_UP)]
    groups = {**found, "all": every} if len(found) > 1 else dict(found)
    by_kind = {
        kind: {name: part for name, items in groups.items() if (part := [i for i in items if _kind(i) == kind])}
        for kind in (_FIRST, _FOLLOW_UP)
    }
    wrong = [item for item in every if item.answerable and not is_right(item)]
    return "\n".join((sets_table(by_kind), "".join(shares), "".join(map(_line, wrong))))


def _kind(item: Prediction) -> str:
    return str(item.fields.get("kind"))


def _share(items: Sequence[Prediction]) -> str:
    can = [item for item in items if item.answerable]
    if not can:
        return "none that has an answer"
    guessed = mean_interval([float(is_right(item)) for item in can])
    answered = mean_interval([float(is_right(item) and bool(item.predicted)) for item in can])
    shares = f"right guesses {interval(asdict(guessed))}%, given as answers {interval(asdict(answered))}%"
    return f"{len(can)} with an answer, {shares}"


def _line(item: Prediction) -> str:
    shown = item.guess or "nothing"
    return f"- {sanitize_line(f'{item.id} {item.question} → {shown}; gold: {item.gold[0]}')}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    corpora = {asked.corpus: asked for asked in natural_sets() if asked.corpus != "none"}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=corpora, default=list(corpora), metavar="CORPUS")
    parser.add_argument("--limit", type=int, help="of each corpus' dialogues")
    parser.add_argument("--reference", action="store_true", help="put each question so that it stands alone")
    parser.add_argument("--table", action="store_true", help="only report what is there")
    parser.add_argument("options", nargs="*", metavar="KEY=VALUE", help="settings")
    given = parser.parse_args(arguments)
    found: dict[str, list[Prediction]] = {}
    for corpus in given.only:
        asked = corpora[corpus]
        turns = turns_of(OURS, corpus, given.limit)
        if turns and not given.table:
            print(f"== {asked.name}", file=sys.stderr, flush=True)
            ask(asked, turns, given)
        if items := RunDirectory(given.out / asked.name).predictions():
            found[asked.name] = items
    if not found:
        raise InputError(f"{given.out} holds no answers")
    publish(report(found), given.out / "dialogues.md")
    return 0


if __name__ == "__main__":
    run_program(main)
