"""The rules of a tree, each broken on its own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from support.tree_examples import COMPARISON, OUTLINE, PAPER, trees

from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Literal, Node, Operator, OperatorCall, References, Tree
from atomr_local.tree.paper import parse_paper
from atomr_local.tree.validation import Limits, check, validate


@pytest.mark.parametrize("tree", [parse_compact(OUTLINE), parse_compact(COMPARISON), parse_paper(PAPER)])
def test_good_trees_have_no_problems(tree: Tree) -> None:
    assert validate(tree) == []
    check(tree)


def test_a_lone_root_is_a_plan() -> None:
    check(Tree(Node(0, "Who wrote [1] and Emma?")))


@pytest.mark.parametrize(
    ("text", "node_id", "message"),
    [
        ("0. q\n1. a [1]", 1, "node 1 refers to itself"),
        ("0. q\n1. a [7]", 1, "node 1 refers to [7], which is not in the plan"),
        ("0. q\n1. a [0]", 1, "node 1 refers to [0], which is answered only later"),
        ('0. q\n1. a = Search([2])\n2. b = Search("b")', 1, "node 1 refers to [2], which is answered only later"),
        ("0. q\n1. a [2]\n2. b [1]", 1, "node 1 refers to [2], which is answered only later"),
        ('0. q\n1. a\n 2. b = Relate([1], "r")', 2, "node 2 refers to [1], which is answered only later"),
        ('0. q = Search("on [1]")', 0, "node 0 refers to [1], which is not in the plan"),
        ('0. q\n1. a = Direct("add [2]")', 1, "node 1 refers to [2], which is not in the plan"),
        ('0. q\n1. a = Search("a", "b", "c")', 1, "node 1: Search takes 1 or 2 arguments, not 3"),
        ('0. q\n1. a = Relate("a")', 1, "node 1: Relate takes 2 or 3 arguments, not 1"),
        ('0. q\n1. a = Filter("a", "b", "c")', 1, "node 1: Filter takes 2 arguments, not 3"),
        ('0. q\n1. a = Search("a", " ")', 1, "node 1: argument 2 of Search is empty"),
    ],
)
def test_a_broken_rule_is_named(text: str, node_id: int, message: str) -> None:
    tree = parse_compact(text)
    problems = [problem for problem in validate(tree) if problem.fatal]
    assert (problems[0].node_id, problems[0].message) == (node_id, message)
    with pytest.raises(TreeError) as caught:
        check(tree)
    assert message in caught.value.message


def test_references_to_anything_answered_before_are_fine() -> None:
    text = '0. q\n1. a\n 3. c = Search("c")\n2. b of [3] and [1]\n 4. d = Relate([3], "d")\n 5. e [1]'
    assert validate(parse_compact(text)) == []


def test_a_direct_node_without_references_is_only_a_warning() -> None:
    tree = parse_compact("0. q\n1. Is the sky blue?")
    problem = validate(tree)[0]
    assert not problem.fatal
    assert problem.node_id == 1
    check(tree)


def test_limits() -> None:
    search = OperatorCall(Operator.SEARCH, (Literal("x"),))
    wide = Tree(Node(0, "q", children=tuple(Node(i, "x", search) for i in range(1, 14))))
    assert [p.message for p in validate(wide)] == ["node 0 has 13 children; at most 12 are allowed"]
    assert validate(wide, Limits(fan_out=13)) == []
    assert [p.message for p in validate(wide, Limits(13, 1, 13))] == ["the plan has 14 nodes; at most 13 are allowed"]
    deep = Node(9, "x", search)
    for i in range(8, -1, -1):
        deep = Node(i, "q", children=(deep,))
    assert [p.message for p in validate(Tree(deep))] == ["the plan is 9 levels deep; at most 8 are allowed"]


def test_trees_that_no_notation_can_say() -> None:
    search = OperatorCall(Operator.SEARCH, (Literal("x"),))
    tree = Tree(
        Node(
            5,
            " ",
            search,
            (Node(1, "a", search), Node(1, "b", search), Node(-2, "c", OperatorCall(Operator.SEARCH, ()))),
        )
    )
    messages = {problem.message for problem in validate(tree)}
    assert {
        "the root is numbered 5, not 0",
        "number 1 stands for two nodes",
        "number -2 is negative",
        "node 5 has no question",
        "node 5 has an operator and also questions below it",
        "node -2: Search takes 1 or 2 arguments, not 0",
    } <= messages
    empty = Tree(Node(0, "q", children=(Node(1, "a", OperatorCall(Operator.SEARCH, (References(()),))),)))
    assert [p.message for p in validate(empty)] == ["node 1: argument 1 of Search is empty"]


def test_check_names_five_problems_at_most() -> None:
    tree = parse_compact("0. q\n" + "\n".join(f"{i}. a [99]" for i in range(1, 9)))
    with pytest.raises(TreeError, match=r"; and 3 more$"):
        check(tree)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=100)
@given(trees())
def test_messages_are_one_printable_line(tree: Tree) -> None:
    for problem in validate(tree, Limits(3, 1, 2)):
        assert problem.message.isprintable()
        assert len(problem.message) < 120
