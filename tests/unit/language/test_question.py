"""The reading of a question: each part where it is said, and left open where another word stands in its place."""

from __future__ import annotations

import pytest

from atomr_local.language.question import read_question


def test_a_question_is_read_once() -> None:
    assert read_question("Who wrote Emma?") is read_question("Who wrote Emma?")
    assert read_question("Who wrote Emma?") == read_question("Who wrote Emma?") != read_question("Who wrote Emma")


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What is the capital of Chad?", ("capital", "Chad")),
        ("What was the date of birth of Ann Lee ?", ("date", "birth of Ann Lee")),
        ("What's the motto of Belgium?", ("motto", "Belgium")),
        ("Who is Ann Lee's father?", ("father", "Ann Lee")),
        ("which is Chad’s capital", ("capital", "Chad")),
    ],
)
def test_the_relation_asked_for_and_its_subject(question: str, first: tuple[str, str]) -> None:
    assert read_question(question).relations[0] == first


@pytest.mark.parametrize(
    "question",
    [
        "What is Chad?",
        "Who wrote the history of Chad?",
        "Where is the capital of Chad?",
        "What is the capital? Of Chad?",
        "Who is in Ann Lee's band?",
        "What is a capital of Chad?",
        "The capital of Chad",
    ],
)
def test_no_relation_where_none_is_asked_for_as_a_value(question: str) -> None:
    assert read_question(question).relations == ()


@pytest.mark.parametrize("question", ["How many films did she direct?", "What was the total number of films?"])
def test_a_question_that_counts(question: str) -> None:
    assert read_question(question).counts


@pytest.mark.parametrize("question", ["What is the atomic number of iron?", "How much is it?", "Who has many films?"])
def test_a_question_that_does_not_count(question: str) -> None:
    assert not read_question(question).counts and read_question(question).counted == ""


def test_what_is_counted() -> None:
    assert read_question("How many square miles has Chad?").counted == "square miles has "
    assert read_question("How many silent films did she direct?").counted_noun == "films"
    assert read_question("Number of novels written by her").counted_noun == "novels"
    assert read_question("What films did she direct?").counted_noun == ""


def test_the_relation_whose_values_are_counted() -> None:
    assert read_question("number of children").number_of == "children"
    assert read_question("the total number of the films").number_of == "films"
    for wording in ("atomic number", "number of", "number", "children"):
        assert read_question(wording).number_of == ""


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was Ann Lee born?", "time"),
        ("In which year did it end?", "time"),
        ("How many people live there?", "count"),
        ("How tall is it?", "quantity"),
        ("What is her nationality?", "country"),
        ("Which town is it in?", "place"),
        ("Whom did she marry?", "person"),
        ("The man who sold it", ""),
        ("What whence and somewhere?", ""),
        ("How old is it?", ""),
        ("Name the countryside", ""),
    ],
)
def test_the_kind_of_values_asked_for(question: str, kind: str) -> None:
    assert read_question(question).value_kind == kind


@pytest.mark.parametrize(
    ("question", "level"),
    [
        ("In which country was Ann born?", "country"),
        ("what African nation is it?", "country"),
        (" Which state is it in?", "state"),
        ("Which stately home is it?", ""),
        ("Who is the head of state?", ""),
        ("Country of Emma?", ""),
        ("Which film of that country is it?", ""),
    ],
)
def test_the_kind_of_region_asked_for(question: str, level: str) -> None:
    assert read_question(question).level == level


@pytest.mark.parametrize(
    ("question", "sought"),
    [
        ("Who wrote Emma?", "person"),
        ("Name an actor born in Ghent", "person"),
        ("What is a film by Ann Lee?", "work"),
        ("Which lake is in Chad?", "place"),
        ("What film genre is it?", ""),
        ("What is the genre of the film?", ""),
        ("What was written by the actor?", ""),
        ("Is the film old?", ""),
        ("", ""),
    ],
)
def test_the_class_of_what_is_sought(question: str, sought: str) -> None:
    assert read_question(question).sought == sought


@pytest.mark.parametrize(
    ("question", "directions"),
    [
        ("Which is the largest?", {"larger"}),
        ("Who is older, Ann or Bob?", {"earlier"}),
        ("Which is newer and shorter?", {"later", "smaller"}),
        ("Which is more recent or less known?", set()),
        ("Which forest is honest?", set()),
        ("Who is the best?", set()),
    ],
)
def test_the_directions_of_what_is_compared(question: str, directions: set[str]) -> None:
    assert read_question(question).directions == directions


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("population in 2010", "population"),
        ("capital as of 1 May 1950, then", "capital then"),
        ("mayor during the 1990s", "mayor"),
        ("on Golden Pond", None),
        ("in the house of 12 May's", None),
        ("during the war", None),
        ("in 12 films", None),
    ],
)
def test_the_time_that_is_named(text: str, rest: str | None) -> None:
    found, time = read_question(text).time
    assert (found, time is None) == (text if rest is None else rest, rest is None)
    assert time is None or time.latest == ("as of" in text)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Was Ann Lee born in Oslo?", ("Ann Lee", "Oslo")),
        ("Who is Ann Lee's father?", ("Ann Lee",)),
        ("What is a black hole?", ("black hole",)),
        ("What is wrong with the pump?", ("the pump",)),
        ("Who is he?", ()),
        ("Where and when?", ()),
    ],
)
def test_the_names_in_a_question(question: str, names: tuple[str, ...]) -> None:
    assert read_question(question).names == names
