"""A plan may call a question foreign only where its words do not speak against that."""

from __future__ import annotations

import pytest

from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.reasoning.verdict.judge import planned_kind

PARAGRAPH = (
    "The allotment society met on the first Monday of March in the old chapel, and most of the members came in spite of "
    "the rain. The treasurer told them that the rent had gone up, that the pump had to be repaired, and that nobody had "
    "claimed the key of the shed since the autumn. After a long talk they agreed to pay for the pump out of the money of "
    "the summer fair. The secretary will write to the council about the path, which floods each spring, and the fence on "
    "the north side is to be painted by volunteers. When is the rent due?"
)


def planned(question: str, kind: str, *answers: str) -> Trace:
    root = NodeTrace(0, None, question, "root", answers=list(answers))
    return Trace(question, "atomr", {}, nodes=[root], expects={"type": kind, "several": False})


@pytest.mark.parametrize("question", ["What is the padlock code of the shed?", PARAGRAPH])
def test_english_is_a_question_whatever_the_plan_says(question: str) -> None:
    assert planned_kind(planned(question, "language")) == "question"


@pytest.mark.parametrize("question", ["Wer schrieb Hamlet?", "qui a écrit Hamlet?", "מי כתב את המלט?"])
def test_another_language_is_one_if_plan_and_words_say_so(question: str) -> None:
    assert planned_kind(planned(question, "language")) == "language"


def test_what_is_nothing_is_so_unless_a_page_answers_it() -> None:
    assert planned_kind(planned("asdfghjkl", "nothing")) == "nothing"
    assert planned_kind(planned("Emma", "nothing", "a novel")) == "question"
    assert planned_kind(planned("Who wrote Emma?", "person")) == "question"
