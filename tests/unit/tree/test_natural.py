"""Plans as natural questions: what becomes of the operators."""

from __future__ import annotations

import pytest

from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.natural import natural


def made(plan: str, question: str = "Q?", keep: tuple[int, ...] = ()) -> str:
    tree = natural(parse_compact(plan, question), keep)
    assert natural(tree) == tree  # once more changes nothing
    return to_compact(tree)


def test_operators_go_and_references_stay() -> None:
    plan = '1. Who wrote Emma? = Relate("Emma", "author")\n2. Where was [1] born? = Relate([1], "place of birth")'
    assert made(plan) == "1. Who wrote Emma?\n2. Where was [1] born?"


def test_a_search_for_a_name_melts_into_the_questions_that_refer_to_it() -> None:
    plan = (
        '1. Who composed Swan Lake?\n 4. What is Swan Lake? = Search("Swan Lake", "ballet")\n'
        ' 5. Who composed [4]? = Relate([4], "composer")\n2. Where was [1] born? = Relate([1], "place of birth")'
    )
    # What is left below step 1 asks the same: it is no decomposition.
    assert made(plan) == "1. Who composed Swan Lake?\n2. Where was [1] born?"


def test_a_question_with_one_part_is_answered_like_it() -> None:
    plan = '1. Who created Miss Marple? = Relate("Miss Marple", "creator")'
    assert made(plan, "the lady who came up with miss marple?") == "0. the lady who came up with miss marple?"


def test_a_search_that_nothing_refers_to_is_a_question() -> None:
    plan = '1. Who is Ann Lee? = Search("Ann Lee")\n2. Who is Eve Lee? = Search("Eve Lee")'
    assert made(plan) == "1. Who is Ann Lee?\n2. Who is Eve Lee?"


def test_a_last_step_that_only_computes_is_the_question_itself() -> None:
    births = (
        '1. When was Ann born? = Relate("Ann", "date of birth")\n2. When was Eve born? = Relate("Eve", "date of birth")'
    )
    assert made(f'{births}\n3. Who is older? = Compare([1], [2], "earlier")') == (
        "1. When was Ann born?\n2. When was Eve born?"
    )
    named = f'{births}\n3. Which is earlier, [1] or [2]? = Compare([1], [2], "earlier")'
    assert made(named).endswith("3. Which is earlier, [1] or [2]?")
    used = f'{births}\n3. Who is older? = Compare([1], [2], "earlier")\n4. Where was [3] born? = Relate([3], "place of birth")'
    assert "3. Who is older? ([1], [2])" in made(used)


def test_a_step_named_by_a_correction_stays() -> None:
    plan = '1. Who is Ann Lee? = Search("Ann Lee")\n2. Where was [1] born? = Relate([1], "place of birth")'
    assert made(plan) == "0. Q?"
    assert made(plan, keep=(1,)) == "1. Who is Ann Lee?\n2. Where was [1] born?"


@pytest.mark.parametrize("plan", ["1. Who wrote Emma?", "1. Who?\n 3. Who is it?\n2. Where is [1]?"])
def test_a_plan_without_operators_is_not_changed(plan: str) -> None:
    assert made(plan) == plan
