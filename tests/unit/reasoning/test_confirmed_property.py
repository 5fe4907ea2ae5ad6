"""The step that a yes/no plan has left out is put in, and only there."""

from __future__ import annotations

import pytest

from atomr_local.reasoning.planning.plan_repairs import with_confirmed_property
from atomr_local.tree.compact import parse_compact, to_compact


def repaired(question: str, *steps: str) -> list[str]:
    lines = (f"0. {question} = Answer(yes/no)", *(f"{place}. {step}" for place, step in enumerate(steps, 1)))
    tree = with_confirmed_property(parse_compact("\n".join(lines), question))
    return to_compact(tree).split("\n")[1:]


@pytest.mark.parametrize(
    ("question", "found", "value", "label"),
    [
        ("Was the director of Jaws born in Cincinnati?", 'Who directed Jaws? = Relate("Jaws", "director")', "Cincinnati", "place of birth"),
        ("Was the director of Jaws born on December 18, 1946?", 'Who directed Jaws? = Relate("Jaws", "director")', "December 18, 1946", "date of birth"),
        ("Did Jaws' composer die in Los Angeles?", 'Who composed Jaws? = Relate("Jaws", "composer")', "Los Angeles", "place of death"),
        ("Did the composer of Jaws die of pneumonia?", 'Who composed Jaws? = Relate("Jaws", "composer")', "pneumonia", "cause of death"),
        ("Is the author of Jaws buried in Princeton Cemetery?", 'Who wrote Jaws? = Relate("Jaws", "author")', "Princeton Cemetery", "place of burial"),
        ("Is Jaws's author a citizen of Spain?", 'Who wrote Jaws? = Relate("Jaws", "author")', "Spain", "country of citizenship"),
    ],
)  # fmt: skip
def test_the_property_that_the_question_names_is_looked_up(question: str, found: str, value: str, label: str) -> None:
    steps = repaired(question, found, f'Is [1] the same as {value}? = Is([1], "{value}", "same")')
    assert steps[0] == f"1. {found}"
    assert steps[1] == f'2. What is the {label} of [1]? = Relate([1], "{label}")'
    assert steps[2] == f'3. Is [2] {value}? = Is([2], "{value}", "same")'


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Was the director of the 1947 film Mr. District Attorney born in Ohio?", "Mr. District Attorney (1947 film)"),
        ("Did the director of the duchess Maria of Austria die in Ohio?", "Maria"),
        ("Was the director of Café Müller born in Ohio?", "Cafe Muller"),
    ],
)
def test_names_are_found_however_the_plan_writes_them(question: str, name: str) -> None:
    steps = repaired(
        question, f'Who directed it? = Relate("{name}", "director")', 'Is [1] it? = Is([1], "Ohio", "same")'
    )
    assert steps[1].endswith(('Relate([1], "place of birth")', 'Relate([1], "place of death")'))


@pytest.mark.parametrize(
    ("asked", "relation", "label", "value"),
    [
        ("Was [1] born on November 17, 1886?", "birth date", "date of birth", "November 17, 1886"),
        ("Was [1] born in Rome?", "birthplace of", "place of birth", "Rome"),
        ("Did [1] die of tuberculosis?", "death", "cause of death", "tuberculosis"),
    ],
)
def test_a_look_up_that_asks_for_yes_or_no_is_followed_by_the_comparison(
    asked: str, relation: str, label: str, value: str
) -> None:
    question = asked.replace("[1]", "the director of Jaws")
    steps = repaired(
        question, 'Who directed Jaws? = Relate("Jaws", "director")', f'{asked} = Relate([1], "{relation}")'
    )
    assert steps[1:] == [
        f'2. What is the {label} of [1]? = Relate([1], "{label}")',
        f'3. Is [2] {value}? = Is([2], "{value}", "same")',
    ]


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        pytest.param("Was Jaws directed by Ann Lee?", ['Who directed Jaws? = Relate("Jaws", "director")', 'Is [1] Ann Lee? = Is([1], "Ann Lee", "same")'], id="the person is asked for"),
        pytest.param("Is the author of Jaws called Peter?", ['Who wrote Jaws? = Relate("Jaws", "author")', 'Is [1] Peter? = Is([1], "Peter", "same")'], id="a name"),
        pytest.param("Was Ann Lee born in Paris?", ['Where was Ann Lee born? = Relate("Ann Lee", "place of birth")', 'Is [1] Paris? = Is([1], "Paris", "same")'], id="one hop"),
        pytest.param("Was Jaws released in 1975?", ['When was Jaws released? = Relate("Jaws", "publication date")', 'Is [1] 1975? = Is([1], "1975", "same")'], id="one hop to a date"),
        pytest.param("Was the director of Jaws married in Paris?", ['Who directed Jaws? = Relate("Jaws", "director")', 'Is [1] Paris? = Is([1], "Paris", "same")'], id="no property of the table"),
        pytest.param("Was the director of Jaws born before 1950?", ['Who directed Jaws? = Relate("Jaws", "director")', 'Is [1] before 1950? = Is([1], "1950", "earlier")'], id="an order"),
        pytest.param("Was the director of Jaws known in Rome?", ['Who directed Jaws? = Relate("Jaws", "director")', 'Was [1] known in Rome? = Relate([1], "known")'], id="no property, looked up"),
        pytest.param("Where was the director of Jaws born?", ['Who directed Jaws? = Relate("Jaws", "director")', 'Where was [1] born? = Relate([1], "place of birth")'], id="not for yes or no"),
        pytest.param("Was the director of Jaws born where Ann Lee was?", ['Who directed Jaws? = Relate("Jaws", "director")', 'Where was Ann Lee born? = Relate("Ann Lee", "place of birth")', 'Are they the same? = Is([1], [2], "same")'], id="two steps"),
        pytest.param("Was the director of Jaws born in Paris?", ['Who directed Jaws? = Relate("Jaws", "director")', 'Where was [1] born? = Relate([1], "place of birth")', 'Is [2] Paris? = Is([2], "Paris", "same")'], id="nothing left out"),
    ],
)  # fmt: skip
def test_other_plans_stay_as_they_are(question: str, steps: list[str]) -> None:
    assert repaired(question, *steps) == [f"{place}. {step}" for place, step in enumerate(steps, 1)]


def test_a_hostile_value_is_no_pattern() -> None:
    value = "((((.*"
    steps = repaired(f"Was the director of Jaws born in {value}?", 'Who directed Jaws? = Relate("Jaws", "director")', f'Is [1] it? = Is([1], "{value}", "same")')  # fmt: skip
    assert 'Relate([1], "place of birth")' in steps[1]
