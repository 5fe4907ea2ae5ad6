"""The compact notation: what it reads, what it refuses and why, and that nothing is lost."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.tree_examples import COMPARISON, OUTLINE, questions, trees

from atomr_local.tree.compact import parse_compact, split_compact, to_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Literal, Node, NodeKind, Operator, OperatorCall, References, Tree


def test_reads_the_published_example() -> None:
    tree = parse_compact(OUTLINE)
    assert tree.question == "Who is the father-in-law of Queen Hyojeong?"
    assert [node.id for node in tree.nodes()] == [0, 1, 2, 3, 4, 5, 6]
    assert tree.parent_of(4) == 1
    assert tree.node(4).call == OperatorCall(Operator.RELATE, (References((3,)), Literal("husband")))
    assert tree.node(1).kind is NodeKind.PARENT


def test_depth_may_be_any_number_of_spaces_and_numbers_any_order() -> None:
    tree = parse_compact(COMPARISON)
    assert tree.parent_of(8) == 2
    assert tree.node(3).call == OperatorCall(Operator.FILTER, (References((1, 8)), Literal("is round")))
    assert tree.node(4).instruction == "Given answers of [3], compare the diameters"
    assert tree.node(4).references == (3,)


def test_root_line_may_be_left_out_where_the_question_is_known() -> None:
    body = OUTLINE.split("\n", 1)[1]
    tree = parse_compact(body, "Who is the father-in-law of Queen Hyojeong?")
    assert tree == parse_compact(OUTLINE)
    assert to_compact(tree) == body
    assert to_compact(tree, with_root=True) == OUTLINE


def test_root_line_wins_over_the_question() -> None:
    assert parse_compact("0. A?\n1. B?", "C?").question == "A?"


def test_a_lone_root_is_always_written() -> None:
    tree = Tree(Node(0, "Who wrote Emma?", OperatorCall(Operator.SEARCH, (Literal("Emma"),))))
    assert to_compact(tree) == '0. Who wrote Emma? = Search("Emma")'
    assert parse_compact(to_compact(tree)) == tree


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_blank_lines_and_trailing_spaces_do_not_matter(newline: str) -> None:
    text = newline + (newline * 2).join(line + "  " for line in OUTLINE.split("\n")) + newline
    assert parse_compact(text) == parse_compact(OUTLINE)


def test_escapes_are_rarely_visible() -> None:
    question = 'Is "2 = 2" true of [3] (a Search for C:\\x)? = yes'
    tree = Tree(Node(0, "q", children=(Node(1, question),)))
    assert to_compact(tree) == '1. Is "2 = 2" true of [3] (a Search for C:\\\\x)? = yes'


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", None, "empty"),
        ("1. A?", None, "root is missing"),
        ("0. A?\n\t1. B?", 2, "tab"),
        ("0. A?\nno number", 2, "not of the form"),
        ("0. A?\n1.", 2, "cut off"),
        ("0. A?\n1", 2, "cut off"),
        ("0. A?\n01. B?", 2, "not of the form"),
        ("0. A?\n12345. B?", 2, "not of the form"),
        ("0. A?\n2.1 B?", 2, "not of the form"),
        ("0. A?\n1. B?\n\n1. C?", 4, "taken by line 2"),
        ("0. A?\n1. B?\n0. C?", 3, "taken by line 1"),
        ("0. A?\n1. B?\n    2. C?\n  3. D?", 4, "indented unlike"),
        ('0. A?\n1. B? = Search("b")\n 2. C?', 3, "node 1 has an operator"),
        ('0. A? = Search("a")\n1. C?', 2, "node 0 has an operator"),
        ('0. A?\n1. = Search("b")', 2, "node 1 has no question"),
        ('0. A?\n1. B? = Lookup("b")', 2, "unknown operator Lookup"),
        ('0. A?\n1. B? = Filter(Search("b"), "c")', 2, "inside another"),
        ("0. A?\n1. B? = Search()", 2, "empty argument"),
        ('0. A?\n1. B? = Search("b",)', 2, "empty argument"),
        ('0. A?\n1. B? = Search("b") or so', 2, "unexpected text"),
        ('0. A?\n1. B? = Direct("")', 2, "empty text"),
        ("0. A?\n1. B? = Direct([1])", 2, "one quoted text"),
        ("0. A?\n1. B? = Search(" + ", ".join(['"x"'] * 9) + ")", 2, "more than 8"),
    ],
)
def test_refuses_with_line_and_reason(text: str, line: int | None, reason: str) -> None:
    with pytest.raises(TreeError, match=reason) as caught:
        parse_compact(text)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


_CUT = 'Who is [3]\'s husband? = Relate([3], "husband")'


@pytest.mark.parametrize("length", range(_CUT.index(" =") + 2, len(_CUT)))
def test_a_line_cut_off_in_its_operator_is_named(length: int) -> None:
    with pytest.raises(TreeError) as caught:
        parse_compact(f"0. A?\n3. B?\n4. {_CUT[:length]}")
    assert caught.value.line == 3


@pytest.mark.parametrize("end", ["4. Who is [3", "4. Who is [", "4. ", "4.", "4", " "])
def test_a_line_cut_off_elsewhere(end: str) -> None:
    text = f"0. A?\n3. B?\n{end}"
    if not end.strip():
        assert len(parse_compact(text)) == 2
        return
    with pytest.raises(TreeError) as caught:
        parse_compact(text)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('Search("Hamilton Evans "Tony" James")', ('Hamilton Evans "Tony" James',)),
        ('Search("first "Spider-Man\' film")', ("first \"Spider-Man' film",)),
        (
            'Search("Carl Benjamin "Ben\' Eielson", "air force base")',
            ("Carl Benjamin \"Ben' Eielson", "air force base"),
        ),
        ('Search("a \\"b\\", \\"c\\"", "d")', ('a "b", "c"', "d")),
        ('Relate("India", "capital in " + [1])', ("India", "capital in [1]")),
        ('Relate("Nintendo", "limit on" [1])', ("Nintendo", "limit on [1]")),
        ("Search(Queen Hyojeong)", ("Queen Hyojeong",)),
        ('Search("AC\\DC" )', ("AC\\DC",)),
        ('Search("x", "film")]', ("x", "film")),
        ('Search("a (b), c")', ("a (b), c",)),
    ],
)
def test_reads_quoting_that_has_one_reading(written: str, arguments: tuple[str, ...]) -> None:
    call = parse_compact(f"0. A? = {written}").root.call
    assert call is not None
    assert call.arguments == tuple(Literal(argument) for argument in arguments)


def test_split_numbers_the_lines_of_each_tree() -> None:
    parts = split_compact(f"\n{OUTLINE}\n\n{COMPARISON}\n")
    assert [line for line, _ in parts] == [2, 10]
    assert [parse_compact(text) for _, text in parts] == [parse_compact(OUTLINE), parse_compact(COMPARISON)]
    assert split_compact(" \n") == []


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=250)
@given(trees())
def test_no_tree_is_lost(tree: Tree) -> None:
    text = to_compact(tree, with_root=True)
    assert parse_compact(text) == tree
    assert parse_compact(to_compact(tree), tree.question) == tree
    assert all(c.isprintable() or c in "\n\u200c\u200d" or c.isspace() for c in text)
    text.encode()


@settings(derandomize=True, deadline=None, max_examples=250)
@given(questions, questions)
@example(" = Search(", "= S")
@example("x =", "a = Direct")
@example("\\[1", "[12")
@example("\u00a0x\u3000", "\\\\[")
def test_no_question_is_lost(leaf: str, operator_leaf: str) -> None:
    call = OperatorCall(Operator.SEARCH, (Literal(leaf),))
    tree = Tree(Node(0, leaf, children=(Node(1, leaf), Node(2, operator_leaf, call))))
    assert parse_compact(to_compact(tree, with_root=True)) == tree


@settings(derandomize=True, deadline=None, max_examples=250)
@given(
    st.text()
    | st.text(' \n\t0123."=[](),\\SearchRltFiDc')
    | st.lists(st.sampled_from([*OUTLINE.split("\n"), *COMPARISON.split("\n"), "  ", "9. x"])).map("\n".join)
)
def test_any_text_is_a_tree_or_a_tree_error(text: str) -> None:
    try:
        tree = parse_compact(text, "q?")
    except TreeError as error:
        assert "\n" not in error.message
    else:
        assert parse_compact(to_compact(tree, with_root=True)) == tree


_HOSTILE = {
    "deep": "0. q\n" + "\n".join(f"{' ' * i}{i}. x" for i in range(1, 500)),
    "many": "0. q\n" + "\n".join(f"{i}. x" for i in range(1, 9_999)),
    "quotes unclosed": "0. q = Search(" + '"' * 190_000,
    "strings": "0. q = Search(" + '"" ' * 60_000,
    "pieces": "0. q = Search(" + "[1] + " * 30_000,
    "calls in calls": "0. q = " + "Search(" * 25_000,
    "escapes": "0. q = Search(" + '"\\' * 90_000,
    "assignments": "0. q" + " = S" * 45_000,
    "spaces": "0. q = Search(" + " " * 190_000,
    "spaces after a string": '0. q = Search("a"' + " " * 190_000 + "x",
    "brackets": "0. q" + "[" * 190_000,
    "long": "x" * 200_001,
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_hostile_text_is_refused_quickly(name: str) -> None:
    started = time.perf_counter()
    with pytest.raises(TreeError):
        parse_compact(_HOSTILE[name])
    assert time.perf_counter() - started < 5


def test_a_very_long_argument_is_read_quickly() -> None:
    started = time.perf_counter()
    call = parse_compact("0. q = Search(" + '"' * 190_000 + ")").root.call
    assert time.perf_counter() - started < 5
    assert call is not None
    assert call.arguments == (Literal('"' * 189_998),)


def test_only_text_is_read() -> None:
    with pytest.raises(TreeError):
        parse_compact(b"0. q")  # type: ignore[arg-type]
