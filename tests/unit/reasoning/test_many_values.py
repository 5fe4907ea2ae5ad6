"""A step with thousands of values: the answer holds them all, a question and a prompt the first and their number."""

from __future__ import annotations

from atomr_local.reasoning.results import MOST_TOLD, Result, fill_question, resolve_arguments
from atomr_local.sources.protocol import Value, ValueKind
from atomr_local.tree.compact import parse_compact

PLAN = '1. Who won the prize? = Relate("Prize", "winner")\n2. Where was [1] born? = Relate([1], "place of birth")'
NUMBER = 10_000


def winners(number: int) -> Result:
    return Result(tuple(Value(f"Person {n}", ValueKind.ENTITY, f"https://example.org/{n}") for n in range(number)))


def test_a_question_names_the_first_values_and_how_many_more_there_are() -> None:
    tree = parse_compact(PLAN, "Where were the winners born?")
    few, many = winners(MOST_TOLD), winners(NUMBER)
    assert fill_question(tree, "Where was [1] born?", {1: few}) == f"Where was {few.answer} born?"
    filled = fill_question(tree, "Where was [1] born?", {1: many})
    assert filled == f"Where was {few.answer} and {NUMBER - MOST_TOLD} more born?"
    assert many.answer.count("Person") == len(many.texts) == NUMBER


def test_no_answer_is_told_as_before() -> None:
    assert Result().told == Result().answer == "Unknown"


def test_runs_are_of_single_values_whatever_the_question_says() -> None:
    tree = parse_compact(PLAN, "Where were the winners born?")
    runs, dropped = resolve_arguments(tree, tree.node(2), {1: winners(NUMBER)}, 300)
    assert len(runs) == 300 and runs[299][0].text == "Person 299"
    assert dropped == [f"{NUMBER - 300} of {NUMBER} combinations of values left out (limit 300)"]
