"""Whom evidence is about: by titles, names, pronouns and rows."""

from __future__ import annotations

from typing import Any

import pytest

from atomr_local.reasoning.reading.checks import About, about, row_alone, tells_kinship, told_of_namesake
from atomr_local.sources.protocol import Evidence

COSIMA = (
    "Cosima Wagner was a theatre director. She was born in Bellagio. Her father was Franz Liszt. She married Richard "
    "Wagner. The father, Franz Liszt, was born in Raiding."
)
FRANCE = (
    "France is a country in Europe. Its capital is Paris. It borders Belgium and Spain. The euro is used in Belgium."
)
TABLE = "Name: Joan Carter; Plot: 12; Phone: 555-0112\nName: Omar Haddad; Plot: 14; Phone: 555-0147"
BARE = "Joan Carter | 12 | 555-0112\nOmar Haddad | 14 | 555-0147"


def piece(title: str, text: str, **locator: Any) -> Evidence:
    return Evidence("text", title, text, 1.0, "", locator, "e1")


def told(name: str, answer: str, title: str, text: str, **locator: Any) -> About:
    return about([name], [answer], [piece(title, text, **locator)])


@pytest.mark.parametrize(
    ("name", "answer", "title", "text"),
    [
        ("Richard Wagner", "Leipzig", "Richard Wagner", "He was born in Leipzig."),
        ("The Hobbit", "1937", "Hobbit", "It appeared in 1937."),
        ("Get Low (song)", "Dillon Francis", "Get Low (2014 song)", "It is by Dillon Francis."),
        ("J. R. R. Tolkien", "Bloemfontein", "John Ronald Reuel Tolkien", "He was born in Bloemfontein."),
        ("J.R.R. Tolkien", "Bloemfontein", "J. R. R. Tolkien", "He was born in Bloemfontein."),
        ("South-East Asia", "rice", "Southeast Asia", "Its staple is rice."),
        ("Sooraj R. Barjatya", "Mumbai", "Sooraj Barjatya", "He was born in Mumbai."),
        ("Samuel Clemens", "Florida", "Mark Twain", "Mark Twain (born Samuel Langhorne Clemens) was born in Florida."),
        # Named where the answer stands.
        ("Richard Wagner", "Leipzig", "Leipzig", "Richard Wagner was born in Leipzig."),
        ("Richard Wagner", "1876", "Bayreuth", "Wagner's festival began in 1876."),
        ("Paris", "Seine", "Rivers of France", "The Seine flows through Paris."),
        # By a pronoun that goes back to the name, past others of its kind.
        ("Jane Austen", "Steventon", "Emma", "Emma is a novel. Its author is Jane Austen. She was born in Steventon."),
        ("Ann Lee", "Rome", "Local news", "Ann Lee is a painter. She paints. Her home is in Rome."),
    ],
)
def test_evidence_about_the_one_asked_about_is_accepted(name: str, answer: str, title: str, text: str) -> None:
    assert told(name, answer, title, text) == About(True)


@pytest.mark.parametrize(
    ("name", "answer", "title", "text", "whom"),
    [
        ("Richard Wagner", "Franz Liszt", "Cosima Wagner", COSIMA, "Cosima Wagner"),
        ("Paris", "Belgium", "France", FRANCE, "France"),
        ("Louis XIV", "1754", "Louis XVI", "He was born in 1754.", "Louis XVI"),
        ("The Black Market (film)", "B. Ray", "The Black Cat", "The Black Cat was made by B. Ray.", "The Black Cat"),
        ("Omar Haddad", "555-0112", "Minutes", "Joan Carter has 555-0112. Omar Haddad has a plot.", "Joan Carter"),
        ("Omar Haddad", "12", "Minutes", "Joan Carter joined. Her plot is 12. Omar Haddad left.", "Joan Carter"),
    ],
)
def test_evidence_about_another_is_refused_and_says_whom(
    name: str, answer: str, title: str, text: str, whom: str
) -> None:
    locator = {"file": "minutes.txt"} if title == "Minutes" else {}
    assert told(name, answer, title, text, **locator) == About(False, whom)


@pytest.mark.parametrize(
    ("names", "answers", "title", "text"),
    [
        (["Wagner"], ["Franz Liszt"], "Cosima Wagner", COSIMA),  # she is a Wagner too
        (["the author of Emma"], ["Steventon"], "Jane Austen", "She was born in Steventon."),  # a description
        (["Richard Wagner"], ["yes"], "Cosima Wagner", COSIMA),
        (["Richard Wagner"], [], "Cosima Wagner", COSIMA),
        (["Richard Wagner"], ["Verdi"], "Cosima Wagner", COSIMA),  # not there at all
        (["Richard Wagner"], ["Richard Wagner"], "Cosima Wagner", COSIMA),
        ([], ["Franz Liszt"], "Cosima Wagner", COSIMA),
        (["", "  ", "(?)"], ["Franz Liszt"], "", COSIMA),
        (["Hiroshima"], ["Boeing B-29"], "Enola Gay", "The Enola Gay is a Boeing B-29. It bombed Hiroshima."),
        (["Paris"], ["2 million"], "France", "France is large. Its capital is Paris. The city has 2 million people."),
        (["Uganda"], ["Ann Lee"], "Leader of Opposition (Uganda)", "The current leader is Ann Lee."),
    ],
)
def test_what_cannot_be_told_stays_open(names: list[str], answers: list[str], title: str, text: str) -> None:
    assert about(names, answers, [piece(title, text)]).subject is None


def test_a_longer_name_is_another_where_a_page_has_exactly_the_name() -> None:
    son = piece("John Quincy Adams", "He was born in Braintree.")
    assert about(["John Adams"], ["Braintree"], [son]).subject
    found = [son, piece("John Adams", "A president.")]
    assert about(["John Adams"], ["Braintree"], [son], found) == About(False, "John Quincy Adams")
    paris = piece("Paris Hilton", "She was born in New York City.")
    found = [paris, piece("Paris", "Paris is a city.")]
    assert about(["Paris"], ["New York City"], [paris], found) == About(False, "Paris Hilton")
    life = piece("George Washington in war", "He crossed the Delaware.")
    assert about(["George Washington"], ["Delaware"], [life], [life, piece("George Washington", "")]).subject


def test_one_piece_about_the_one_asked_about_is_enough_and_all_answers_must_be_anothers() -> None:
    other, own = piece("Cosima Wagner", COSIMA), piece("Richard Wagner", "He knew Franz Liszt, and lived in Bellagio.")
    assert about(["Richard Wagner"], ["Franz Liszt"], [other, own]).subject
    assert about(["Richard Wagner"], ["Franz Liszt", "Bellagio"], [other]).subject is False
    assert about(["Richard Wagner"], ["Franz Liszt", "Vienna"], [other]).subject is None


def test_headings_and_redirects_name_the_subject() -> None:
    for locator in ({"section": "Omar Haddad"}, {"heading": "Omar Haddad"}, {"table": "Omar Haddad"}):
        assert told("Omar Haddad", "14", "Members", "The plot is 14.", **locator).subject
    assert told("Bombay", "Marathi", "Mumbai", "Its language is Marathi.", redirect="Bombay").subject
    assert told("Bombay", "Marathi", "Mumbai", "Its language is Marathi.", redirect=7, section=3).subject is False


@pytest.mark.parametrize("text", [TABLE, BARE, f"Members\n{TABLE}\n\nThe chairman keeps the keys."])
def test_a_value_of_anothers_row_is_refused_and_the_right_row_told(text: str) -> None:
    assert told("Omar Haddad", "555-0147", "Members", text).subject
    found = told("Omar Haddad", "555-0112", "Members", text)
    assert (found.subject, found.whom, found.where) == (False, "Joan Carter", "row")
    assert "555-0147" in found.row
    assert "555-0112" not in row_alone(piece("Members", text), found.row).text.splitlines()[-1]


def test_a_row_alone_keeps_names_of_columns_that_stand_above() -> None:
    text = "Name | Plot | Phone\nJoan Carter | 12 | 555-0112\nOmar Haddad | 14 | 555-0147"
    row = told("Omar Haddad", "555-0112", "Members", text).row
    assert row_alone(piece("Members", text), row).text == "Name | Plot | Phone\nOmar Haddad | 14 | 555-0147"


def test_two_rows_of_the_one_asked_about_are_not_chosen_between() -> None:
    found = told("Omar Haddad", "555-0112", "Members", f"{TABLE}\nName: Omar Haddad; Plot: 9; Phone: 555-0001")
    assert (found.subject, found.row) == (False, "")


def test_columns_may_be_the_subjects() -> None:
    text = "Field: Phone; Joan Carter: 555-0112; Omar Haddad: 555-0147\nField: Plot; Joan Carter: 12; Omar Haddad: 14"
    assert told("Omar Haddad", "555-0147", "Members", text).subject
    found = told("Omar Haddad", "555-0112", "Members", text)
    assert (found.subject, found.whom, found.row) == (False, "Joan Carter", "")


def test_the_table_of_the_subjects_own_page_is_about_it() -> None:
    assert told("Richard Wagner", "Minna", "Richard Wagner", "Name: Richard Wagner; Born: 1813\nWife: Minna").subject
    # The row is nobody's that was asked about, and neither is the one asked about in the table.
    assert told("Li Wei", "555-0112", "Members", TABLE).subject is None


def test_a_single_row_is_one_where_the_place_says_so() -> None:
    found = told("Omar Haddad", "555-0112", "Members", "Joan Carter; 12; 555-0112", cells="A2:C2")
    assert found.subject is None
    assert told("Joan Carter", "555-0112", "Members", "Joan Carter; 12; 555-0112", cells="A2:C2").subject


def test_other_scripts_and_odd_text_do_not_fail() -> None:
    assert told("王羲之", "临沂", "王羲之", "生于临沂。").subject
    assert told("王羲之", "临沂", "书法", "王羲之生于临沂。").subject
    for text in ("", "\n\n", ". . .", "| | |\n| | |", "; ; ;", "\ud800 Franz Liszt", "(" * 500 + "Franz Liszt"):
        assert told("Richard Wagner", "Franz Liszt", "", text).subject is not True


@pytest.mark.parametrize(
    ("name", "answer", "text", "of_another"),
    [
        ("Richard Wagner", "Franz Liszt", "His wife, Cosima Wagner, was the daughter of Franz Liszt.", True),
        ("Richard Wagner", "Leipzig", "He was born in Leipzig.", False),
        ("Richard Wagner", "Leipzig", "Richard Wagner, brother of Albert Wagner, was born in Leipzig.", False),
        ("Charles Darwin", "Robert Darwin", "He was the fifth child of Robert Darwin.", False),
        ("Erasmus Darwin", "Susannah", "Susannah was the mother of Charles Darwin.", True),
    ],
)
def test_a_sentence_that_names_a_namesake_alone_may_tell_of_that_one(
    name: str, answer: str, text: str, of_another: bool
) -> None:
    assert told_of_namesake(name, [answer], text) is of_another


@pytest.mark.parametrize(
    ("question", "text", "tells"),
    [
        ("Who was Charles Darwin's mother?", "Emma Darwin was the wife of Charles Darwin.", False),
        ("Who was Charles Darwin's mother?", "He was the son of Susannah Wedgwood.", True),
        ("Who was the wife of Charles Darwin?", "In 1839 he married Emma Wedgwood.", True),
        ("Who was Liszt's teacher?", "He studied with Carl Czerny.", True),
        ("Who was his grandfather?", "He was the son of Robert Darwin.", False),
        ("Who wrote Emma?", "Emma is a novel.", True),
    ],
)
def test_a_relation_between_people_is_told_in_its_words(question: str, text: str, tells: bool) -> None:
    assert tells_kinship(question, text) is tells


def test_a_longer_name_is_anothers_where_a_page_has_exactly_the_name() -> None:
    general = piece(
        "Thomas-Alexandre Dumas", "Thomas-Alexandre Dumas was a general. He was the son of Marie-Cessette Dumas."
    )
    own = piece("Alexandre Dumas", "He wrote novels.")
    for found, subject in (([general, own], False), ([general], True)):
        assert about(["Alexandre Dumas"], ["Marie-Cessette Dumas"], [general], found).subject is subject
