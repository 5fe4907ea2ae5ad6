"""The last step of a plan gives the answer in the form that the question asks for, or is left as it is."""

from __future__ import annotations

import pytest

from atomr_local.language.question import read_question
from atomr_local.reasoning.planning.plan_repairs import in_asked_form
from atomr_local.tree.compact import parse_compact, to_compact

AREAS = '1. What is the area of Slovenia? = Relate("Slovenia", "area")\n2. What is the area of Lebanon? = Relate("Lebanon", "area")\n'
HEIGHT = '1. How high is Lhotse? = Relate("Lhotse", "elevation")'
PEOPLE = (
    '1. When was Ann born? = Relate("Ann", "date of birth")\n2. When was Bob born? = Relate("Bob", "date of birth")\n'
)
DIED = '1. When did Ann Lee die? = Relate("Ann Lee", "date of death")'
OPERAS = '1. Which operas? = Relate("Verdi", "operas")\n2. When was [1] first performed? = Relate([1], "first performance")\n'


def plan(understood: str, expects: str, steps: str, typed: str) -> list[str]:
    tree = in_asked_form(parse_compact(f"0. {understood} = Answer({expects})\n{steps}", typed), read_question(typed))
    return to_compact(tree).split("\n")


@pytest.mark.parametrize(
    "question", ["Is Slovenia or Lebanon the bigger place?", "Which is bigger, is it Lebanon or Slovenia?"]
)
def test_a_choice_between_two_things_is_a_comparison(question: str) -> None:
    made = plan(question, "yes/no", AREAS + '3. Which is bigger? = Is([1], [2], "larger")', question)
    assert made[0].endswith("= Answer(thing)")
    assert made[-1] == '3. Which is bigger? = Compare([1], [2], "larger")'


@pytest.mark.parametrize(
    ("question", "last"),
    [
        ("Is Slovenia bigger than Lebanon?", 'Is([1], [2], "larger")'),
        ("Is Slovenia bigger than Lebanon or not?", 'Is([1], [2], "larger")'),
        ("Are Slovenia or Lebanon the same size?", 'Is([1], [2], "same")'),
    ],
)
def test_what_asks_for_yes_or_no_stays(question: str, last: str) -> None:
    made = plan(question, "yes/no", AREAS + f"3. Is it? = {last}", question)
    assert (made[0].endswith("= Answer(yes/no)"), made[-1]) == (True, f"3. Is it? = {last}")


def test_a_date_is_not_cut_down_to_its_day() -> None:
    part = DIED + '\n2. Which day is that? = Part([1], "day")'
    assert plan("On which date did Ann Lee die?", "date", part, "when")[1:] == [DIED]
    assert plan("On which day of the month did Ann Lee die?", "number", part, "when")[-1].endswith('Part([1], "day")')
    month = DIED + '\n2. Which month is that? = Part([1], "month")'
    assert plan("In which month did Ann Lee die?", "date", month, "when")[-1].endswith('Part([1], "month")')
    year = DIED + '\n2. Which year is that? = Part([1], "year")'
    assert plan("In which year did Ann Lee die?", "year", year, "when")[-1].endswith('Part([1], "year")')


@pytest.mark.parametrize("listed", ["thing, several", "work, several"])
def test_how_many_counts_what_the_steps_list(listed: str) -> None:
    made = plan("What are the operas of Verdi?", listed, OPERAS.splitlines()[0], "How many operas did Verdi write?")
    assert made[0] == "0. How many operas did Verdi write? = Answer(number)"
    assert made[-1] == "2. How many are in [1]? = Count([1])"
    dated = OPERAS + '3. Which after 1850? = Select([2], "1850", "later")'
    made = plan("Which operas?", listed, dated, "How many operas did Verdi write after 1850?")
    assert made[-1] == "4. How many are in [3]? = Count([3])"


@pytest.mark.parametrize(
    ("typed", "expects", "steps"),
    [
        ("What are the operas of Verdi?", "work, several", OPERAS.splitlines()[0]),
        ("How many people live in Turin?", "number", '1. How many? = Relate("Turin", "population")'),
        ("How many people live in Turin?", "thing", '1. How many? = Relate("Turin", "population")'),
        ("How many operas did Verdi write?", "number", OPERAS.splitlines()[0] + "\n2. How many? = Count([1])"),
    ],
)
def test_only_a_list_that_is_to_be_counted_is(typed: str, expects: str, steps: str) -> None:
    assert plan(typed, expects, steps, typed)[1:] == steps.splitlines()


@pytest.mark.parametrize(
    ("typed", "steps", "last"),
    [
        ("lhotse's height, but in feet", HEIGHT, '2. How much is [1] in feet? = Convert([1], "feet")'),
        ("put Lhotse's height into feet", HEIGHT + '\n2. How much is that? = Convert([1], "height")',
         '2. How much is that? = Convert([1], "feet")'),
        ("Lhotse's height in feet", HEIGHT + '\n2. How much is that? = Convert([1], "ft")',
         '2. How much is that? = Convert([1], "ft")'),
        ("How high is Lhotse in Nepal?", HEIGHT, HEIGHT),
        ("How high is Lhotse in all?", HEIGHT, HEIGHT),
        ("Lhotse's height in feet or in miles", HEIGHT, HEIGHT),
    ],
)  # fmt: skip
def test_a_quantity_is_given_in_the_unit_that_the_question_names(typed: str, steps: str, last: str) -> None:
    assert plan("How high is Lhotse?", "quantity", steps, typed)[-1] == last


@pytest.mark.parametrize(("typed", "expects"), [("Who lives in feet?", "person"), ("How many live in feet?", "number")])
def test_what_is_no_quantity_is_not_converted(typed: str, expects: str) -> None:
    assert plan(typed, expects, HEIGHT, typed)[-1] == HEIGHT


@pytest.mark.parametrize(
    ("words", "bound", "written", "direction"),
    [
        ("in the 1860s", "1860s", "earlier", "same"),
        ("in 1862", "1862", "later", "same"),
        ("before 1860", "1860", "later", "earlier"),
        ("after 1860", "1860", "later", "later"),
        ("not before 1860", "1860", "earlier", "earlier"),
        ("around 1860", "1860", "earlier", "earlier"),
        ("in a theatre", "large", "same", "same"),
    ],
)
def test_what_is_selected_by_time_follows_the_words_of_the_step(
    words: str, bound: str, written: str, direction: str
) -> None:
    last = f'3. Which of them were first performed {words}? = Select([2], "{bound}", "{written}")'
    made = plan("Which operas?", "work, several", OPERAS + last, "operas?")
    assert made[-1].endswith(f'Select([2], "{bound}", "{direction}")')


def test_a_plan_without_steps_stays() -> None:
    assert plan("Tell me about Lhotse.", "summary", "", "lhotse in feet") == [
        "0. Tell me about Lhotse. = Answer(summary)"
    ]


TWO = '1. When did A open? = Relate("A", "opening")\n2. When did B open? = Relate("B", "opening")\n'


@pytest.mark.parametrize(
    ("typed", "written", "direction"),
    [
        ("a or b, the newer of them", "earlier", "later"),
        ("whose birthday came earlier, A's or B's", "later", "earlier"),
        ("the oldest of A and B", "later", "earlier"),
        ("which is longer, a or b", "smaller", "larger"),
        ("the shortest of a and b", "larger", "smaller"),
        ("which film with an older director is newer", "earlier", "earlier"),  # two comparatives: nobody knows
        ("which opened first, a or b", "later", "later"),
        ("the more recent of a and b", "smaller", "smaller"),
        ("who was older, a or b", "smaller", "smaller"),  # of ages or of dates of birth
        ("a's brother or b", "later", "later"),
    ],
)
def test_the_direction_is_the_one_that_the_person_asked_for(typed: str, written: str, direction: str) -> None:
    made = plan("Which one?", "thing", TWO + f'3. Which? = Compare([1], [2], "{written}")', typed)
    assert made[-1] == f'3. Which? = Compare([1], [2], "{direction}")'
    top = plan("Which one?", "thing", TWO + f'3. Which? = Top([1], [2], "{written}", 2)', typed)
    assert top[-1].endswith(f'"{direction}", "2")')


def test_a_comparison_for_yes_or_no_says_whether_the_first_that_the_question_names_is_it() -> None:
    compared = '3. Which is older? = Compare([1], [2], "earlier")'
    made = plan("Was Ann older than Bob?", "yes/no", PEOPLE + compared, "Was Ann older than Bob?")
    assert made[-1] == '3. Which is older? = Is([1], [2], "earlier")'
    made = plan("Was Bob older than Ann?", "yes/no", PEOPLE + compared, "Was Bob older than Ann?")
    assert made[-1] == '3. Which is older? = Is([2], [1], "earlier")'
    for choice, expects in (("Who was older, Ann or Bob?", "person"), ("Was Ann or Bob older?", "yes/no")):
        assert plan(choice, expects, PEOPLE + compared, choice)[-1] == compared
