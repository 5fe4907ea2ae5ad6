"""Shorthand plans: where a Search is put in, what it is called, and that nothing else changes."""

from __future__ import annotations

import pytest
from fake_parts import FakeBackbone

from atomr_local.planning.examples import ExampleLibrary
from atomr_local.planning.planner import Planner
from atomr_local.planning.shorthand import descriptor, find_name, renumbered, with_searches
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.nodes import Tree
from atomr_local.tree.validation import Limits, validate


def expanded(question: str, *lines: str) -> Tree:
    tree = with_searches(parse_compact("\n".join(lines), question))
    assert validate(tree, Limits()) == []
    return tree


def test_a_step_among_others_becomes_a_question_with_two_steps_below() -> None:
    tree = expanded(
        "Who is the father of the director of film Petra?",
        '1. Who directed Petra? = Relate("Petra", "director")',
        '2. Who is the father of [1]? = Relate([1], "father")',
    )
    assert to_compact(tree).splitlines() == [
        "1. Who directed Petra?",
        ' 3. What is Petra? = Search("Petra", "film")',
        ' 4. Who directed [3]? = Relate([3], "director")',
        '2. Who is the father of [1]? = Relate([1], "father")',
    ]


def test_the_only_step_gets_its_search_beside_it() -> None:
    tree = expanded("Who is the father of Ann Lee?", '1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")')
    assert to_compact(tree).splitlines() == [
        '1. Who is Ann Lee? = Search("Ann Lee")',
        '2. Who is the father of [1]? = Relate([1], "father")',
    ]


def test_a_step_below_another_gets_its_search_beside_it_and_references_follow() -> None:
    tree = expanded(
        "Were the directors of Alpha and Beta born in the same year?",
        "1. When was the director of Alpha born?",
        ' 4. Who is the director of Alpha? = Relate("Alpha", "director")',
        ' 5. When was [4] born? = Relate([4], "date of birth")',
        "2. When was the director of Beta born?",
        ' 6. Who is the director of Beta? = Relate("Beta", "director")',
        ' 7. When was [6] born? = Relate([6], "date of birth")',
        "3. Are [1] and [2] the same?",
    )
    assert to_compact(tree).splitlines() == [
        "1. When was the director of Alpha born?",
        ' 4. What is Alpha? = Search("Alpha", "film")',
        ' 5. Who is the director of [4]? = Relate([4], "director")',
        ' 6. When was [5] born? = Relate([5], "date of birth")',
        "2. When was the director of Beta born?",
        ' 7. What is Beta? = Search("Beta", "film")',
        ' 8. Who is the director of [7]? = Relate([7], "director")',
        ' 9. When was [8] born? = Relate([8], "date of birth")',
        "3. Are [1] and [2] the same?",
    ]


def test_a_possessive_and_another_spelling_of_the_name_become_the_reference() -> None:
    tree = expanded("Who is José Pérez's wife?", '1. Who is Jose Perez\'s wife? = Relate("José Pérez", "spouse")')
    assert tree.node(2).question == "Who is [1]'s wife?"


def test_a_step_that_does_not_write_the_name_keeps_its_words() -> None:
    tree = expanded("Where was Ann Lee born?", '1. Where was she born? = Relate("Ann Lee", "place of birth")')
    assert tree.node(2).question == "Where was she born?"
    assert tree.node(2).references == (1,)


@pytest.mark.parametrize(
    "step",
    [
        '1. Which band plays? = Relate("Danish heavy metal band", "album")',  # a description is no name
        '1. What is the rest? = Relate("of the", "rest")',
        '1. Who is Ann Lee? = Search("Ann Lee")',
        '1. Who is the father? = Relate("the son of [2]", "father")\n2. Who is Ann Lee? = Search("Ann Lee")',
    ],
)
def test_steps_that_are_no_shorthand_stay_as_they_are(step: str) -> None:
    tree = parse_compact(step, "Which Danish heavy metal band of the rest has Ann Lee as its singer?")
    assert with_searches(tree) == tree


def test_expanding_twice_is_expanding_once() -> None:
    tree = expanded(
        "Who is the wife of the author of The Lady of the Camellias?",
        '1. Who wrote The Lady of the Camellias? = Relate("The Lady of the Camellias", "author")',
        '2. Who is the wife of [1]? = Relate([1], "spouse")',
    )
    assert with_searches(tree) == tree
    assert len(tree) == 5


def test_bracketed_numbers_of_the_users_question_are_left_alone() -> None:
    question = "Who is the father of Ann Lee [2]?"
    tree = expanded(question, '3. Who is the father of Ann Lee? = Relate("Ann Lee", "father")')
    assert tree.question == question
    assert renumbered(tree) == tree


@pytest.mark.parametrize(
    ("name", "relation", "question", "kind"),
    [
        ("Petra", "composer", "Who composed the film Petra?", "film"),
        ("Petra", "performer", "Who performed Petra?", "song"),
        ("Petra", "director", "Who directed the 1948 film Petra?", "1948 film"),
        ("Petra", "director", "Who directed the 1948 film of Petra?", "1948 film"),
        ("Ann Lee", "composer", "Who composed the songs of Ann Lee?", ""),
        ("Mercury", "days to orbit", "How many days does the planet Mercury take to orbit the Sun?", "planet"),
        ("Petra", "composer", "Who composed Petra (1996 Song)?", "1996 song"),
        ("Petra", "composer", "Who composed Petra?", ""),
        ("Petra", "director", "Nothing of it here?", "film"),
    ],
)
def test_the_kind_of_a_name_is_what_the_question_or_the_relation_says(
    name: str, relation: str, question: str, kind: str
) -> None:
    assert descriptor(name, relation, question) == kind


def test_a_name_is_found_without_its_parenthetical_and_its_accents() -> None:
    assert find_name("Zoë (film)", "Who made Zoe?") == 9
    assert find_name("Zoë", "Who made it?") == -1


def test_what_the_planner_gives_holds_the_searches_unless_they_make_it_too_large() -> None:
    written = '1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")'
    question = "Who is the father of Ann Lee?"

    def planned(nodes: int) -> Tree:
        planner = Planner(FakeBackbone(written), ExampleLibrary.shipped(), Limits(nodes=nodes))
        return planner.plan(question).tree

    assert len(planned(3)) == 3
    assert planned(2) == parse_compact(written, question)
