"""Shorthand plans: where a Search is put in, what it is called, and that nothing else changes."""

from __future__ import annotations

import pytest
from support.fake_parts import FakeBackbone

from atomr_local.reasoning.planning.coverage import find_name, with_searches
from atomr_local.reasoning.planning.examples import ExampleLibrary
from atomr_local.reasoning.planning.planner import Planner
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.nodes import Tree, renumbered
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
        ' 3. Who or what is Petra? = Search("Petra")',
        ' 4. Who directed [3]? = Relate([3], "director")',
        '2. Who is the father of [1]? = Relate([1], "father")',
    ]


def test_the_only_step_gets_its_search_beside_it() -> None:
    tree = expanded("Who is the father of Ann Lee?", '1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")')
    assert to_compact(tree).splitlines() == [
        '1. Who or what is Ann Lee? = Search("Ann Lee")',
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
        ' 4. Who or what is Alpha? = Search("Alpha")',
        ' 5. Who is the director of [4]? = Relate([4], "director")',
        ' 6. When was [5] born? = Relate([5], "date of birth")',
        "2. When was the director of Beta born?",
        ' 7. Who or what is Beta? = Search("Beta")',
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
    ("head", "relation", "search"),
    [
        ("Hamlet (1948 film)", "director", 'Search("Hamlet", "1948 film")'),
        ("Mercury (planet)", "days to orbit", 'Search("Mercury", "planet")'),
        ("Petra", "director", 'Search("Petra")'),
        # What has a director need not be a film, what has a performer no song, and a comma ends no name.
        ("NASA Ames", "director", 'Search("NASA Ames")'),
        ("Swan Lake", "performer", 'Search("Swan Lake")'),
        ("Portland, Oregon", "population", 'Search("Portland, Oregon")'),
        ("Ann Lee", "father", 'Search("Ann Lee")'),
        ("(500) Days of Summer", "director", 'Search("(500) Days of Summer")'),
    ],
)
def test_what_a_name_is_stands_behind_it_in_parentheses_and_is_never_guessed(
    head: str, relation: str, search: str
) -> None:
    tree = expanded(
        f"What about the film, song, planet or city {head}?", f'1. It of {head}? = Relate("{head}", "{relation}")'
    )
    assert to_compact(tree).splitlines() == [
        f"1. Who or what is {head}? = {search}",
        f'2. It of [1]? = Relate([1], "{relation}")',
    ]


def test_operations_follow_the_steps_that_they_rest_on() -> None:
    tree = expanded(
        "Which was published first, Emma or Dracula?",
        "0. Which was published first, Emma or Dracula? = Answer(work)",
        '1. When was Emma published? = Relate("Emma (novel)", "publication date")',
        '2. When was Dracula published? = Relate("Dracula", "publication date")',
        '3. Which was published first? = Compare([1], [2], "earlier")',
        '4. Is that the earlier one of 1900? = Is([3], "1900", "same")',
    )
    assert to_compact(tree).splitlines() == [
        "0. Which was published first, Emma or Dracula? = Answer(work)",
        "1. When was Emma published?",
        ' 5. Who or what is Emma (novel)? = Search("Emma", "novel")',
        ' 6. When was [5] published? = Relate([5], "publication date")',
        "2. When was Dracula published?",
        ' 7. Who or what is Dracula? = Search("Dracula")',
        ' 8. When was [7] published? = Relate([7], "publication date")',
        '3. Which was published first? = Compare([1], [2], "earlier")',
        '4. Is that the earlier one of 1900? = Is([3], "1900", "same")',
    ]


@pytest.mark.parametrize("name", ["iPhone", "eBay", "7up"])
def test_names_with_small_first_letters_are_names(name: str) -> None:
    assert len(with_searches(parse_compact(f'1. Who made {name}? = Relate("{name}", "maker")', f"{name}?"))) == 3


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
