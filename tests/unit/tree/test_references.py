"""References: filling them in, who depends on whom, what may run side by side."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from support.tree_examples import COMPARISON, OUTLINE, trees

from atomr_local.tree.compact import parse_compact
from atomr_local.tree.nodes import Literal, References, Tree
from atomr_local.tree.references import (
    dependencies,
    dependents,
    fill,
    fill_all,
    fill_argument,
    ready_order,
    references_in,
)


def test_fill_replaces_once_and_leaves_unknown_ids() -> None:
    assert fill("Is [1] the son of [2] or [3]?", {1: "[2]", 2: r"\1 & Co."}) == r"Is [2] the son of \1 & Co. or [3]?"
    assert fill("[12] [1] [01] [12345] [a] []", {1: "x"}) == "[12] x x [12345] [a] []"
    assert fill_all(("[1]", "[2]"), {1: "x", 2: ""}) == ("x", "")


def test_fill_argument() -> None:
    assert fill_argument(Literal("son of [1]"), {1: "A"}) == "son of A"
    assert fill_argument(References((1, 2, 3)), {1: "A", 3: "C"}) == "A, [2], C"


def test_references_in_order_each_once() -> None:
    assert references_in("[3] and [1], then [3] again, not [2.1]") == (3, 1)


def test_dependencies_and_dependents() -> None:
    tree = parse_compact(OUTLINE)
    assert dependencies(tree)[1] == {3, 4}
    assert dependencies(tree)[6] == {5}
    assert dependents(tree, 3) == {4, 1, 5, 6, 2, 0}
    assert dependents(tree, 5) == {6, 2, 0}
    assert dependents(tree, 0) == set()
    with pytest.raises(KeyError):
        dependents(tree, 9)


def test_references_in_an_instruction_count() -> None:
    assert 4 in dependents(parse_compact(COMPARISON), 3)


def test_ready_order() -> None:
    assert ready_order(parse_compact(OUTLINE)) == [(3,), (4,), (1,), (5,), (6,), (2,), (0,)]
    assert ready_order(parse_compact(COMPARISON)) == [(1, 7), (8,), (2, 3), (4,), (0,)]


@settings(derandomize=True, deadline=None, max_examples=100)
@given(trees())
def test_ready_order_holds_every_node_once_whatever_refers_to_what(tree: Tree) -> None:
    order = [node_id for wave in ready_order(tree) for node_id in wave]
    assert sorted(order) == sorted(node.id for node in tree.nodes())


def test_a_circle_of_references_ends() -> None:
    tree = parse_compact("0. q\n1. a [2]\n2. b [1]")
    assert [node_id for wave in ready_order(tree) for node_id in wave] == [1, 2, 0]
    assert dependents(tree, 1) == {2, 0}
