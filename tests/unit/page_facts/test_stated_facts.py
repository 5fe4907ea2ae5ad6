"""Facts that a page states of its own subject, and not of someone else."""

from __future__ import annotations

import pytest

from atomr_local.page_facts import wordings
from atomr_local.page_facts.wordings import mention, short_answer, stated_facts, usable_name, wording_of


def told(title: str, text: str) -> dict[str, str]:
    return {fact.relation: fact.value for fact in stated_facts(title, text)}


def test_the_sentence_holds_the_whole_value() -> None:
    [fact] = list(stated_facts("The Lake", "The Lake is a film directed by Ann B. Lee. It was a success."))
    assert fact.said == "The Lake is a film directed by Ann B. Lee."


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        (
            "Ann Lee",
            "Ann Lee (born 3 May 1901) was a painter. She was born in York, England. Lee married Bob Poe in 1920.",
            {"date of birth": "3 May 1901", "place of birth": "York, England", "spouse": "Bob Poe"},
        ),
        # brackets behind the name hold other names and a life
        (
            "Ann II",
            "Ann II (Ann Maria; 5 May 1747 – 1 March 1792) was Queen of York.",
            {"date of birth": "5 May 1747", "date of death": "1 March 1792"},
        ),
        # who wrote what a film was made from did not write the film
        ("The Lake", "The Lake is a film. It was adapted from a play by Ann Lee.", {}),
        ("The Lake", "The Lake is a novel by Ann Lee.", {"author": "Ann Lee"}),
    ],
)
def test_facts_of_the_subject(title: str, text: str, expected: dict[str, str]) -> None:
    assert told(title, text) == expected
    assert told("The Lake", "The Lake is a 1931 American film.")["publication date"] == "1931"


def test_where_it_stands_and_the_sentence() -> None:
    text = "The Lake is a film. It was directed by Ann Lee."
    [fact] = stated_facts("The Lake", text)
    assert text[fact.start : fact.end] == "Ann Lee"
    assert fact.said == "It was directed by Ann Lee."


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("The Lake", "The Lake is a novel. The author, Ann Lee, was born in York."),
        ("The Lake", "The Lake is a novel by Ann Lee, who was born in York."),
        ("The Lake", "The Lake is a painting. The painter, Ann Lee, was born in York."),
        ("Lake and Hill", "It is a novel. And the painter was born in York."),
        ("Ann Lee", "Ann Lee was a painter. Her husband, Bob Poe, was born in York."),
        ("Ann Lee", "Ann Lee was a painter. Bob Poe was born in York."),
        ("Ann Lee", "Ann Lee was a painter. She married a man who died on 3 May 1901."),
        ("The Lake", "The Lake is a film by Ann Lee (3 May 1901 in York – 4 June 1980 in Leeds)."),
    ],
)
def test_what_is_said_of_someone_else_is_left_out(title: str, text: str) -> None:
    assert not {"place of birth", "date of death"} & told(title, text).keys()


@pytest.mark.parametrize(
    "text",
    [
        "Ann was the son of King John V of Nassau.",
        "Ann was the wife of Henry Lee fils.",
        "Ann married Henry Lee, 5th Earl of York, in 1900.",
        "Ann was born in Washington, D.C. and was a painter.",
        "Ann studied at the College of York & Leeds.",
        "Ann (born 3 May 1901 or 1902) was a painter.",
    ],
)
def test_a_name_that_is_cut_short_is_left_out(text: str) -> None:
    assert told("Ann", text) == {}


@pytest.mark.parametrize(
    ("title", "text", "several"),
    [
        ("The Hill", "The Hill is a film directed by Ann Lee and Jim Kay.", True),
        ("The Hill", "The Hill is a film directed by Ann Lee and released in May.", False),
        ("Ann", "Ann received the Nobel Prize in Physics and the Nobel Prize in Chemistry.", True),
        ("Ann", "Ann graduated from York College and Leeds School.", True),
    ],
)
def test_a_second_value_is_noticed(title: str, text: str, several: bool) -> None:
    [one] = stated_facts(title, text)
    assert one.several is several


@pytest.mark.parametrize("name", ["", "x", "a[3]", "{x}", 'The "Lake"', "Who?", "12", "a\x1b[2Jb", "x" * 90])
def test_names_that_cannot_stand_in_a_question(name: str) -> None:
    assert not usable_name(name)


def test_short_answers() -> None:
    assert short_answer("3 May 1901")
    assert short_answer("one two three four five")
    assert not short_answer("one two three four five six")
    assert not short_answer("a\nb")
    assert not short_answer("")


# How relations are asked for.


def test_every_wording_has_its_slots() -> None:
    worded, _ = wordings._tables()
    assert len(worded) > 50
    for label, one in worded.items():
        assert one.question or one.count, label
        for form in (one.question, one.description, one.yes_no, one.count):
            assert form == "" or form.count("{x}") == 1, label
        assert one.yes_no == "" or ("{value}" in one.yes_no) != ("{when}" in one.yes_no), label
        for form in (one.question, one.yes_no, one.count):
            assert form == "" or form.endswith("?"), label


@pytest.mark.parametrize(
    "label", ["instance of", "sex or gender", "", "ISO 3166-1 code", "part of", "located in", "x" * 50]
)
def test_relations_that_are_not_asked_for(label: str) -> None:
    assert wording_of(label) is None


def test_a_relation_without_an_entry_is_asked_for_by_its_label() -> None:
    found = wording_of("favourite colour")
    assert found is not None
    assert found.asks("Ann Lee") == "What is the favourite colour of Ann Lee?"
    assert found.description == "the favourite colour of {x}"
    assert found.yes_no == found.count == ""


def test_names_with_a_kind() -> None:
    assert mention("Hamlet (1948 film)") == "the 1948 film Hamlet"
    assert mention("Hamlet") == "Hamlet"
    assert mention("Paris (Texas)") == "Paris (Texas)"
