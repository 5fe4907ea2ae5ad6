"""Which questions ask of a collection as a whole, and which only look so."""

from __future__ import annotations

from datetime import date

import pytest

from atomr_local.language.collection_questions import CollectionQuestion, collection_question

TODAY = date(2024, 5, 8)  # a Wednesday


def read(question: str) -> CollectionQuestion | None:
    return collection_question(question, lambda name: name.casefold() in {"notes", "letters"}, TODAY)


@pytest.mark.parametrize(
    ("question", "form", "held"),
    [
        ("How many files mention honey?", "count", {"mention": "honey"}),
        ("how many notes contain the word honey", "count", {"mention": "the word honey", "noun": "note"}),
        ("Which files are about travel?", "list", {"about": "travel"}),
        ("which document is the one about old trains", "list", {"about": "old trains", "noun": "document"}),
        ("Where is Ann Lee mentioned?", "list", {"mention": "Ann Lee"}),
        ("How many letters do I have in this folder?", "count", {"noun": "letter"}),
        ("what is in this collection?", "list", {}),
        ("which documents do you have about bees", "list", {"about": "bees"}),
        ("the latest report about the mill", "newest", {"about": "the mill", "noun": "report"}),
        ("What's the oldest note on wasps?", "oldest", {"about": "wasps"}),
        ("which note was edited most recently", "newest", {"changed": True}),
        ("List the notes tagged garden", "list", {"tag": "garden"}),
        ("How many files are in letters?", "count", {"folder": "letters"}),
        ("How many files are in the budget folder?", "count", {"folder": "budget"}),
        ("total of the Amount column in expenses.csv", "sum", {"column": "Amount", "table": "expenses.csv"}),
        ("What is the average price in prices?", "average", {"column": "price", "table": "prices"}),
    ],
)
def test_what_is_asked_of_the_documents_is_read(question: str, form: str, held: dict[str, object]) -> None:
    found = read(question)
    assert found is not None
    assert found.form == form
    assert {name: getattr(found, name) for name in held} == held


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("List the invoices from March", date(2024, 3, 1), date(2024, 3, 31)),
        ("List the invoices from June", date(2023, 6, 1), date(2023, 6, 30)),
        ("which files were created in 2023", date(2023, 1, 1), date(2023, 12, 31)),
        ("which notes since 3 May 2024 mention honey", date(2024, 5, 3), None),
        ("which notes mention honey before 2020", None, date(2019, 12, 31)),
        ("list the letters between May 2021 and July 2021", date(2021, 5, 1), date(2021, 7, 31)),
    ],
)
def test_times_are_read_as_days(question: str, first: date | None, last: date | None) -> None:
    found = read(question)
    assert found is not None
    assert found.period is not None
    assert (found.period.first, found.period.last) == (first, last)


def test_a_year_inside_of_what_is_mentioned_is_no_time() -> None:
    found = read("which files mention the flood of 1953")
    assert found is not None
    assert (found.mention, found.period) == ("the flood of 1953", None)


@pytest.mark.parametrize(
    "question",
    [
        "How many hens may I keep?",
        "which countries border France",
        "list the steps to reset",
        "How many documents must I hand in?",
        "which documents do I need for a visa?",
        "which file do I edit to add a route",
        "How many pages does the report have?",
        "which people note the weather",
        "what are log files?",
        "what are the plans for 2024?",
        "how many minutes does it take?",
        "What post on the island did he hold?",
        "Where do plasma waves occur?",
        "list the invoices from 31 February 2024",
        "Who wrote the report about the mill?",
        "What does the report say about the mill?",
        "",
    ],
)
def test_what_asks_for_contents_is_left(question: str) -> None:
    assert read(question) is None


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("Which files mention honey but not bees?", "do not hold a word"),
        ("Summarise all my notes", "cannot be summed up"),
        ("What is the longest document?", "by size"),
    ],
)
def test_what_cannot_be_told_is_declined_by_name(question: str, why: str) -> None:
    found = read(question)
    assert found is not None
    assert found.form == "declined"
    assert why in found.problem
