"""RoHT's tree: names in the questions, a parent above each chain, operators at the leaves."""

from __future__ import annotations

import pytest

from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.natural import flattened, outer_references, program, skeleton, with_parents, without_searches
from atomr_local.tree.validation import validate

QUESTION = "0. Which film has the director who was born first, Emma Road or Ulm Street?"
FLAT = f"""{QUESTION}
1. Who directed Emma Road? = Relate("Emma Road", "director")
2. When was [1] born? = Relate([1], "date of birth")
3. Who directed Ulm Street? = Relate("Ulm Street", "director")
4. When was [3] born? = Relate([3], "date of birth")
5. Which is earlier, [2] or [4]? = Compare([2], [4], "earlier")"""
TREE = f"""{QUESTION}
6. When was the director of Emma Road born?
 1. Who directed Emma Road? = Relate("Emma Road", "director")
 2. When was [1] born? = Relate([1], "date of birth")
7. When was the director of Ulm Street born?
 3. Who directed Ulm Street? = Relate("Ulm Street", "director")
 4. When was [3] born? = Relate([3], "date of birth")
5. Which is earlier, [6] or [7]? = Compare([6], [7], "earlier")"""


def test_a_chain_has_a_parent_that_gives_its_answer() -> None:
    tree = with_parents(parse_compact(FLAT))
    assert to_compact(tree, with_root=True) == TREE
    assert not [problem for problem in validate(tree) if problem.fatal]
    assert with_parents(tree) == tree, "made once, the tree stays"


def test_a_chain_of_three_is_one_tree_over_the_other() -> None:
    plan = (
        '0. Where?\n1. Who directed A? = Relate("A", "director")\n2. Who is the mother of [1]? = Relate([1], "mother")\n'
        '3. Where was [2] born? = Relate([2], "place of birth")\n4. In which country is [3]? = Relate([3], "country")'
    )
    assert to_compact(with_parents(parse_compact(plan)), with_root=True).split("\n")[1:4] == [
        "6. Where was the mother of the director of A born?",
        " 5. Who is the mother of the director of A?",
        '  1. Who directed A? = Relate("A", "director")',
    ]


def test_a_step_that_several_build_on_stays_beside_them() -> None:
    plan = '0. How old?\n1. Who directed A? = Relate("A", "director")\n2. When was [1] born? = Relate([1], "birth")\n' \
        '3. When did [1] die? = Relate([1], "death")\n4. How long is it from [2] to [3]? = Difference([2], [3])'  # fmt: skip
    tree = with_parents(parse_compact(plan))
    assert to_compact(tree, with_root=True) == plan


def test_names_melt_into_the_questions_that_use_them() -> None:
    plan = """0. Who is the mother of the author of Frankenstein?
1. Who wrote Frankenstein?
 3. Who or what is Frankenstein? = Search("Frankenstein", "novel")
 4. Who wrote [3]? = Relate([3], "author")
2. Who is the mother of [1]? = Relate([1], "mother")"""
    melted = without_searches(parse_compact(plan))
    assert to_compact(melted, with_root=True).split("\n")[1:] == [
        "1. Who wrote Frankenstein?",
        ' 4. Who wrote Frankenstein (novel)? = Relate("Frankenstein (novel)", "author")',
        '2. Who is the mother of [1]? = Relate([1], "mother")',
    ]
    kept = to_compact(without_searches(parse_compact(plan), keep=[3]), with_root=True)
    assert kept == plan.replace("0. ", "0. ", 1)
    plain = to_compact(without_searches(parse_compact(plan.replace(', "novel"', ""))), with_root=True)
    assert plain.split("\n")[1:] == [
        '1. Who wrote Frankenstein? = Relate("Frankenstein", "author")',
        '2. Who is the mother of [1]? = Relate([1], "mother")',
    ]


def test_flat_is_the_leaves_in_order() -> None:
    assert to_compact(flattened(parse_compact(TREE)), with_root=True) == FLAT
    assert flattened(parse_compact("0. Where?")) == parse_compact("0. Where?")


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (1, "Search-Relate"),
        (2, "Search-Relate"),
        (6, "Search-Relate-Relate"),
        (0, "Search-Relate-Relate-Search-Relate-Relate-SelectBetween"),
    ],
)
def test_the_skeleton_of_a_question(node: int, expected: str) -> None:
    tree = parse_compact(TREE)
    assert skeleton(tree, tree.node(node)) == expected


def test_without_operators_or_without_an_end_there_is_no_program() -> None:
    plain = parse_compact("0. Where?\n1. Who directed A?\n2. Where was [1] born?")
    assert skeleton(plain, plain.root) == "" and program(plain, plain.node(2)) == []
    open_end = parse_compact(
        '0. Do A and B differ?\n1. Who? = Relate("A", "director")\n2. Who? = Relate("B", "director")'
    )
    assert skeleton(open_end, open_end.root) == ""
    assert skeleton(parse_compact("0. Where?"), parse_compact("0. Where?").root) == ""


def test_what_a_question_rests_on_outside_of_it() -> None:
    tree = parse_compact(TREE)
    assert outer_references(tree.node(6)) == () and outer_references(tree.node(5)) == (6, 7)
    assert outer_references(tree.node(2)) == (1,)
