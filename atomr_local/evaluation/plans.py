"""Plans given with a question set, to measure execution without planning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from atomr_local.evaluation.datasets import Question, id_of
from atomr_local.evaluation.records import DatasetRecord, read_records
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Tree
from atomr_local.tree.validation import Limits, validate


def load_plans(path: Path, questions: Sequence[Question], limits: Limits) -> dict[str, Tree]:
    """The plans, by question id, of a JSON lines file of {"id", "plan": compact notation}.

    Plans for other questions are skipped, unread.

    Raises:
        InputError: naming the file and line of a plan that is missing, not valid, or there twice.
    """
    asked = {question.id: question for question in questions}
    plans: dict[str, Tree] = {}
    for record in read_records(path):
        key = id_of(record)
        if key in plans:
            raise record.error(f"the id {key!r} occurs twice")
        if key in asked:
            plans[key] = _plan(record, asked[key], limits)
    return plans


def _plan(record: DatasetRecord, question: Question, limits: Limits) -> Tree:
    try:
        tree = parse_compact(record.text("plan"), question.question)
    except TreeError as error:
        raise record.error(f"the plan is not valid: {error}") from error
    problems = validate(tree, limits)
    if problems:
        raise record.error(f"the plan is not valid: {problems[0].message}")
    return tree
