"""Typed operations and line 0 on the screen: drawn, told in the detail pane, edited and checked."""

from __future__ import annotations

import pytest
from rich.text import Text

from atomr_local.reasoning.trace.events import planned
from atomr_local.settings.schema import LimitSettings
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tui.question.correction import check_plan, operation_of, with_step
from atomr_local.tui.question.state import NodeView
from atomr_local.tui.screens.ask.plan_editor import _plan_text
from atomr_local.tui.widgets.node_panel import describe
from atomr_local.tui.widgets.reasoning_view import label_of

PLAN = (
    "0. Which was published first, Emma or Dracula? = Answer(work)\n"
    '1. When was Emma published? = Relate("Emma", "publication date")\n'
    '2. When was Dracula published? = Relate("Dracula", "publication date")\n'
    '3. Which was published first? = Compare([1], [2], "earlier")'
)
TREE = parse_compact(PLAN)
TYPED = "emma or dracula, which one came first"


def view(node_id: int) -> NodeView:
    return NodeView(TREE.node(node_id), planned(TREE, TREE.node(node_id)))


def shown(node_id: int, asked: str = "") -> str:
    return "\n".join(part.plain for part in describe(view(node_id), asked) if isinstance(part, Text))


def test_an_operation_stands_before_its_question_in_the_tree() -> None:
    label = label_of(view(3))
    assert "Compare Which was published first?" in label.plain


def test_the_detail_pane_tells_the_operation_and_what_the_question_expects() -> None:
    assert 'operation: Compare([1], [2], "earlier")' in shown(3)
    assert "expects: Answer(work)" in shown(0, TYPED)
    assert f"asked as: {TYPED}" in shown(0, TYPED)
    assert "asked as" not in shown(0, TREE.question)
    assert "asked as" not in shown(1, TYPED)


def test_the_editor_shows_line_0_and_checks_operations() -> None:
    text = _plan_text(TREE, TYPED)
    assert text == PLAN
    assert check_plan(text, TYPED, LimitSettings()).tree == TREE
    wrong = check_plan(text.replace('"earlier"', '"older"'), TYPED, LimitSettings())
    assert wrong.tree is None
    assert "Compare needs one of the words earlier, later, smaller, larger" in wrong.problems[0]
    unknown = check_plan(text.replace("Answer(work)", "Answer(animal)"), TYPED, LimitSettings())
    assert "no known type of answer" in unknown.problems[0]


def test_line_0_appears_where_the_question_was_understood_otherwise() -> None:
    plain = parse_compact("1. Who is [2]?", "Who is it?")
    assert _plan_text(plain, "Who is it?") == "1. Who is [2]?"
    assert _plan_text(plain, "who's that").startswith("0. Who is it?\n")


def test_a_step_becomes_another_operation_and_a_look_up_again() -> None:
    assert operation_of(TREE.node(3)) == ("Compare", '[1], [2], "earlier"')
    changed = with_step(TREE, 3, "How far apart?", "Difference", '[1], [2], "years"')
    assert to_compact(changed).splitlines()[3] == '3. How far apart? = Difference([1], [2], "years")'
    back = with_step(changed, 3, "Who?", "Relate", '[1], "author"')
    assert (back.node(3).operation, back.node(3).call is None) == (None, False)
    assert with_step(TREE, 0, "Which came first?", "", "").expects == TREE.expects
    with pytest.raises(TreeError, match="Count takes 1 operands"):
        with_step(TREE, 3, "How many?", "Count", "[1], [2]")
