"""Typed operations and the expected answer: what is read, what is refused by which rule, and that nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from support.tree_examples import OPERATIONS, expectations, operations, trees

from atomr_local.tree.calls import AnswerType, Expects, format_expects, parse_expects
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Literal, Node, NodeKind, References, Tree
from atomr_local.tree.operations import Operation, OperationCall, format_operation, parse_operation
from atomr_local.tree.paper import parse_paper, published, to_paper
from atomr_local.tree.validation import validate


def test_the_outline_holds_operations_and_the_expected_answer() -> None:
    tree = parse_compact(OPERATIONS)
    assert tree.expects == Expects(AnswerType.WORK, several=True)
    compare = tree.node(3)
    assert compare.kind is NodeKind.OPERATION
    assert compare.operation == OperationCall(Operation.COMPARE, (References((1,)), References((2,))), ("earlier",))
    assert compare.references == (1, 2)
    assert tree.node(5).operation.unit == "hours"  # type: ignore[union-attr]
    assert not validate(tree)
    assert to_compact(tree) == OPERATIONS


def test_a_plan_may_be_the_question_alone() -> None:
    tree = parse_compact("0. Who wrote Emma? = Answer(person)", "who wrote emma")
    assert tree.is_direct
    assert (tree.question, tree.expects) == ("Who wrote Emma?", Expects(AnswerType.PERSON))
    assert not validate(tree)
    assert not parse_compact(OPERATIONS).is_direct


def test_line_0_is_written_where_it_states_the_answer() -> None:
    tree = Tree(Node(0, "q", children=(Node(1, "a"),), expects=Expects(AnswerType.YES_NO)))
    assert to_compact(tree) == "0. q = Answer(yes/no)\n1. a"
    assert to_compact(Tree(Node(0, "q", children=(Node(1, "a"),)))) == "1. a"


@given(operations())
def test_every_operation_is_read_as_it_was_written(call: OperationCall) -> None:
    assert parse_operation(format_operation(call)) == call


@given(expectations)
def test_every_expectation_is_read_as_it_was_written(expects: Expects) -> None:
    assert parse_expects(format_expects(expects)) == expects


@settings(max_examples=60)
@given(trees())
def test_the_published_notation_keeps_the_question_and_what_it_rests_on(tree: Tree) -> None:
    try:
        entries = to_paper(tree)
    except TreeError:
        return
    again = parse_paper(entries)
    assert again == published(tree)
    for node in tree.nodes():
        if node.operation is not None:
            assert again.node(node.id).question == node.question
            assert set(node.operation.references) <= set(again.node(node.id).references)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('compare([1], [3], "earlier")', 'Compare([1], [3], "earlier")'),
        ("Compare([1], [3], earlier)", 'Compare([1], [3], "earlier")'),
        ('Compare([1, 3], "Earlier")', 'Compare([1], [3], "earlier")'),
        ('Compare("earlier", [1], [3])', 'Compare([1], [3], "earlier")'),
        ('Compare("[1]", "[3]", "largest")', 'Compare([1], [3], "larger")'),
        ('Compare("[1] and [3]", "before")', 'Compare([1], [3], "earlier")'),
        ('Top([2], 3, "larger")', 'Top([2], "larger", "3")'),
        ('Top([2], "larger", 3).', 'Top([2], "larger", "3")'),
        ('Select([2], 1820, "earlier than")', 'Select([2], "1820", "earlier")'),
        ('Select([2], "larger", "6000000")', 'Select([2], "6000000", "larger")'),
        ('Is([1], "later", "later")', 'Is([1], "later", "later")'),
        ("IS([1], [2], same)", 'Is([1], [2], "same")'),
        ("Part([1], years)", 'Part([1], "year")'),
        ("Difference([1], [2])", "Difference([1], [2])"),
        ("Difference([1], [2], years)", 'Difference([1], [2], "years")'),
        ("Convert([1], square  metres)", 'Convert([1], "square metres")'),
        ("count([4])", "Count([4])"),
    ],
)
def test_what_has_one_reading_is_read(written: str, read: str) -> None:
    assert format_operation(parse_operation(written)) == read


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("Compare([1], [3])", "Compare needs one of the words earlier, later, smaller, larger"),
        ('Compare([1], [3], "older")', "Compare needs one of the words"),
        ('Compare([1], [3], "same")', "Compare needs one of the words"),
        ('Compare([1], [3], "earlier", "later")', "operand 3 of Compare must be a reference"),
        ('Compare("Emma", [1], "earlier")', "operand 1 of Compare must be a reference"),
        ('Compare("earlier")', "Compare takes 1 to 7 operands, not 0"),
        ('Top([1], "larger")', "Top needs a number from 1 to 100"),
        ('Top([1], "larger", "0")', "Top needs a number from 1 to 100"),
        ('Select([1], "larger")', "Select takes 2 to 7 operands, not 1"),
        ('Select("1820", [1], "earlier")', "operand 1 of Select must be a reference"),
        ('Select([1], "the [2]", "earlier")', "a text that refers to a step"),
        ('Is("1900", "1901", "earlier")', "operand 1 of Is must be a reference"),
        ('Is([1], [2], [3], "same")', "Is takes 2 operands, not 3"),
        ("All([1])", "All takes 2 to 8 operands, not 1"),
        ("Difference([1], [1])", "Difference names [1] twice"),
        ("Difference([1])", "Difference takes 2 operands, not 1"),
        ('Ratio([1], [2], "percent")', "Ratio takes 2 operands, not 3"),
        ("Count([1], [2])", "Count takes 1 operands, not 2"),
        ('Part([1], "hour")', "Part needs one of the words year, month, day, decade, century"),
        ("Convert([1])", "Convert needs a unit"),
        ('Convert([1], "' + "x" * 50 + '")', "Convert needs a unit"),
        ("Count(Union([1], [2]))", "unknown operator Union"),
        ('Count(Relate([1], "child"))', "an operator stands inside Count"),
        ("Count([1]", "cut off"),
        ("Each([1], )", "empty argument"),
    ],
)
def test_what_is_not_surely_understood_is_refused_by_its_rule(written: str, rule: str) -> None:
    with pytest.raises(TreeError) as caught:
        parse_operation(written)
    assert rule in caught.value.message


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Answer(person)", "Answer(person)"),
        ("answer(Place, Several)", "Answer(place, several)"),
        ('Answer("persons", "several")', "Answer(person, several)"),
        ("Answer(people)", "Answer(person)"),
        ("Answer(yes/no).", "Answer(yes/no)"),
        ("Answer(Yes or no)", "Answer(yes/no)"),
        ("Answer(organization)", "Answer(organisation)"),
    ],
)
def test_other_names_of_answer_types_are_read(written: str, read: str) -> None:
    assert format_expects(parse_expects(written)) == read


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("Answer(", "cut off"),
        ("Answer()", "no known type"),
        ("Answer(animal)", "no known type of answer, animal: use one of person, place"),
        ("Answer(person, several, sorted)", 'a type and at most the word "several"'),
    ],
)
def test_unknown_answer_types_are_refused(written: str, rule: str) -> None:
    with pytest.raises(TreeError) as caught:
        parse_compact(f"0. q = {written}")
    assert rule in caught.value.message


@pytest.mark.parametrize(
    ("plan", "rule"),
    [
        ("0. q\n1. a = Answer(person)", "Answer belongs to line 0"),
        ("0. q\n1. a\n2. b = Count([1])\n 3. c", "node 2 has an operator and cannot have questions below it"),
        ("0. q\n1. a = Sear", "not an operator"),
        ("0. q\n1. a = Comp", "not an operator"),
    ],
)
def test_lines_that_hold_no_plan(plan: str, rule: str) -> None:
    with pytest.raises(TreeError, match=rule):
        parse_compact(plan)


_TWO = '0. q\n1. a = Relate("A", "date")\n2. b = Relate("B", "date")\n'


@pytest.mark.parametrize(
    ("plan", "rule"),
    [
        (_TWO + "3. c = Count([4])\n4. d = Count([1])", "node 3 refers to [4], which is answered only later"),
        (_TWO + "3. c = Count([9])", "node 3 refers to [9], which is not in the plan"),
        (_TWO + "3. c = Count([3])", "node 3 refers to itself"),
        (_TWO + "3. c = Count([1])\n4. d = All([3], [2])", "All cannot take [3], which gives a number"),
        (_TWO + '3. c = Is([1], [2], "same")\n4. d = Sum([1], [3])', "Sum cannot take [3], which gives yes/no"),
        (_TWO + '3. c = Count([1])\n4. d = Part([3], "year")', "Part cannot take [3], which gives a number"),
        ("0. hello = Answer(nothing)\n1. a = Count([1])", "a plan that expects nothing has no steps"),
    ],
)
def test_trees_that_break_a_rule_of_operations(plan: str, rule: str) -> None:
    problems = [problem.message for problem in validate(parse_compact(plan)) if problem.fatal]
    assert any(rule in problem for problem in problems), problems


def test_what_the_types_can_hold_and_no_plan_may_say() -> None:
    call = OperationCall(Operation.COUNT, (References((1, 2)),))
    found = parse_compact(_TWO + "3. c").node(1)
    expecting = Node(2, "b", call=found.call, expects=Expects(AnswerType.PLACE))
    tree = Tree(Node(0, "q", children=(found, expecting, Node(3, "c", found.call, operation=call))))
    problems = [problem.message for problem in validate(tree)]
    assert "node 3: operand 1 of Count must refer to one step" in problems
    assert "node 3 has more than one operator, operation or instruction" in problems
    assert "node 2 states the expected answer, which only the question itself may" in problems
    rooted = Tree(Node(0, "q", found.call, expects=Expects(AnswerType.PLACE)))
    assert "the question has an operator and also states the expected answer" in [p.message for p in validate(rooted)]


def test_words_are_found_by_what_they_say() -> None:
    assert parse_operation('Top([2], "larger", "3")').number == 3
    assert parse_operation('Is([2], [1], "among")').direction == "among"
    assert parse_operation('Part([2], "century")').part == "century"
    assert parse_operation("Count([2])").direction is None
    moved = parse_operation('Select([2], "1820", "earlier")').with_operands(
        lambda one: one if isinstance(one, Literal) else References((7,))
    )
    assert format_operation(moved) == 'Select([7], "1820", "earlier")'
