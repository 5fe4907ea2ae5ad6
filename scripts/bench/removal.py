#!/usr/bin/env python3
"""Removal test: questions whose answer is taken away from the sources. How many are declined, and what is said of it?

    scripts/bench/removal.py QUESTIONS --out DIR [--plans FILE] [--limit N] [--text-index NAME] [--graph-index NAME]
                             [--sources text,graph]

Nothing is built anew: what the sources find is filtered for each question. Away are the gold pages (`gold_titles` or
`titles` of the question's line), every passage that holds a gold answer, and every graph answer that is one. Questions
with closed answers (yes, no) and such without gold pages are left out: there is nothing to take away from them.

DIR is a run as of `atomr eval run`, of questions without an answer: its report says how many are declined, its
predictions give the reasons. Resumed where it stopped. Prints the share declined with its 95% interval, and the
answers that were given all the same.

    scripts/bench/removal.py scripts/training_questions/natural_dev.jsonl --limit 200 --out runs/removed
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from atomr_local import Assistant
from atomr_local.cancellation import Cancellation
from atomr_local.errors import AtomrError, InputError
from atomr_local.evaluation.bootstrap import mean_interval
from atomr_local.evaluation.datasets import Question, question_of, read_predictions
from atomr_local.evaluation.description import describe_run
from atomr_local.evaluation.markdown import write_report
from atomr_local.evaluation.metrics import normalize_answer
from atomr_local.evaluation.plans import load_plans
from atomr_local.evaluation.records import read_records
from atomr_local.evaluation.report import build_report
from atomr_local.evaluation.run_directory import PREDICTIONS_FILE
from atomr_local.evaluation.runner import run
from atomr_local.indexing.names import base_key
from atomr_local.reasoning.events import Event
from atomr_local.reasoning.support import holds
from atomr_local.reasoning.trace import PlanOrigin
from atomr_local.settings import load_settings
from atomr_local.sources.protocol import Evidence, KnowledgeSource, Request, Retrieval, SourceName
from atomr_local.tree.nodes import Tree
from atomr_local.tree.validation import Limits

_CLOSED = {"yes", "no"}
_MORE = 6  # pieces that are asked for besides, so that what is taken away is made up for


class Without:
    """A source that finds neither the gold pages nor the answers of the question at hand."""

    def __init__(self, source: KnowledgeSource) -> None:
        self._source = source
        self.answers: tuple[str, ...] = ()
        self.pages: frozenset[str] = frozenset()

    @property
    def name(self) -> SourceName:
        return self._source.name

    @property
    def description(self) -> str:
        return self._source.description

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        """See :class:`KnowledgeSource`."""
        found = self._source.retrieve(replace(request, top_k=request.top_k + _MORE), cancellation)
        gold = {base_key(answer) for answer in self.answers}
        if any(base_key(value.text) in gold for value in found.values):
            return replace(found, evidence=(), values=(), relation_score=0.0, decided=False)
        return replace(found, evidence=tuple(item for item in found.evidence if not self._away(item))[: request.top_k])

    def close(self) -> None:
        self._source.close()

    def _away(self, item: Evidence) -> bool:
        page = item.source is SourceName.TEXT and base_key(item.title) in self.pages
        return page or any(holds(answer, item) for answer in self.answers)


class Removing:
    """An assistant whose sources lack the answer of whatever is asked."""

    def __init__(self, assistant: Assistant, gold: Mapping[str, Question]) -> None:
        """`gold`: the questions as they were, by their text."""
        self._assistant = assistant
        self._gold = gold

    def load(self) -> None:
        """Open model and indexes, and put the filter before the sources."""
        self._assistant.preload()
        sources = self._assistant.parts.sources
        sources.update({name: Without(source) for name, source in sources.items()})

    def ask(self, question: str, *, plan: Tree | None = None, plan_origin: PlanOrigin = "user") -> Iterator[Event]:
        """See :class:`atomr_local.evaluation.runner.Asker`."""
        gold = self._gold[question]
        for source in self._assistant.parts.sources.values():
            assert isinstance(source, Without)
            source.answers, source.pages = gold.answers, frozenset(map(base_key, gold.gold_titles))
        return self._assistant.ask(question, plan=plan, plan_origin=plan_origin)

    def cancel(self) -> None:
        self._assistant.cancel()


def removable(path: Path) -> list[Question]:
    """The questions of the file whose answer can be taken away, with their gold pages.

    Raises:
        InputError: the file is not a question set, or holds none of them.
    """
    found = []
    for record in read_records(path):
        titles = record.fields.get("gold_titles") or record.fields.get("titles") or []
        record.fields["gold_titles"] = titles
        question = question_of(record)
        closed = any(normalize_answer(answer) in _CLOSED for answer in question.answers)
        if question.gold and question.gold_titles and not closed:
            found.append(question)
    if not found:
        raise InputError(f"{path} holds no question whose answer can be taken away", hint="gold_titles are needed.")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plans", type=Path, help="JSON lines: id, plan; ask only these, with them")
    parser.add_argument("--limit", type=int, help="of the questions whose answer can be taken away")
    parser.add_argument("--text-index", default="")
    parser.add_argument("--graph-index", default="")
    parser.add_argument("--sources", default="text,graph")
    given = parser.parse_args(arguments)
    try:
        settings = load_settings(
            text_index=given.text_index, graph_index=given.graph_index, sources=tuple(given.sources.split(","))
        )
        gold = removable(given.questions)[: given.limit]
        limits = settings.limits
        bounds = Limits(nodes=limits.nodes, depth=limits.depth, fan_out=limits.fan_out)
        plans = load_plans(given.plans, gold, bounds) if given.plans else None
        gold = [question for question in gold if plans is None or question.id in plans]
        asked = [replace(question, answers=(), answerable=False) for question in gold]
        description = {**describe_run(settings, given.questions, given.plans), "removed": "gold pages and answers"}
        with Assistant.open(settings) as assistant:
            removing = Removing(assistant, {question.question: question for question in gold})
            run(removing, asked, given.out, description=description, plans=plans, before=removing.load)
        print(f"The report is {write_report(given.out, build_report(given.out))}", file=sys.stderr)
    except AtomrError as error:
        print(f"{error.title}: {error.message}", file=sys.stderr)
        return 1
    predictions = read_predictions(given.out / PREDICTIONS_FILE)
    told = mean_interval([float(not item.predicted) for item in predictions])
    print(f"{told.value:.1f}% [{told.low:.1f}, {told.high:.1f}] of {len(predictions)} declined")
    for item in predictions:
        if item.predicted:
            print(f"answered: {item.question} → {item.predicted}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
