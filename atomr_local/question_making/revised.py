"""What is left of a question that a person has revised: its gold plan and facts only where they still answer it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from atomr_local.evaluation.gold_chain import mentions
from atomr_local.evaluation.metrics import same_value
from atomr_local.language.names import split_qualifier
from atomr_local.question_making.lines import Line
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.nodes import Literal
from atomr_local.tree.operations import Operation

_POSSESSIVE = re.compile(r"['’]s?(?=\s)")
# As `atomr eval run` reads a question without plan and chain.
_WITHOUT: dict[str, Any] = {"plan": None, "hops": None, "evidences": [], "gold_titles": []}


def revised_fields(line: Line, question: str, answers: Sequence[str]) -> dict[str, Any]:
    """The line in its new words: "revised_from" is the question as it was. Where the gold plan does not hold any more,
    the line has neither plan nor facts, and "without_plan" says why."""
    fields = {**line.fields, "question": question, "answers": list(answers), "revised_from": line.question}
    if reason := outdated(line, question, answers):
        fields |= _WITHOUT | {"without_plan": reason}
    return fields


def outdated(line: Line, question: str, answers: Sequence[str]) -> str:
    """Why the gold plan of a question does not answer its revision; "" if it does, as far as words tell, or if there is
    none.

    It does if its answer is still one of the answers, in any form, and the question still names what the plan sets out
    from and the value that it compares.
    """
    if not line.plan:
        return ""
    if not any(same_value(answer, line.answers[0]) for answer in answers):
        return f"the answer was {line.answers[0]}"
    wordings = question, _POSSESSIVE.sub("", question)
    missing = next((name for name in _named(line) if not any(mentions(text, name) for text in wordings)), "")
    return f"the question does not name {missing}" if missing else ""


def _named(line: Line) -> Iterator[str]:
    yield split_qualifier(line.hops[0].head)[0]
    for node in parse_compact(line.plan, line.question).nodes():
        call = node.operation
        if call is not None and call.operation is Operation.IS:
            yield from (argument.text for argument in call.operands if isinstance(argument, Literal))
