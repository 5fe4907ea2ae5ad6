"""What a strategy may send to the web."""

from __future__ import annotations

import pytest

from atomr_local.language.names import words
from atomr_local.language.words import english
from atomr_local.strategies.shared.tools import fit_for_web

QUESTION = "Who is the mother of the author of Frankenstein?"


def test_words_of_the_question_and_of_answers_stay() -> None:
    assert fit_for_web("mother of Mary Shelley", QUESTION, ["Mary Shelley"]) == "mother of Mary Shelley"
    assert fit_for_web("Mary Shelley’s mother", QUESTION, ["Mary Shelley’s"]) == "Mary Shelley’s mother"


def test_words_of_a_passage_go_nowhere() -> None:
    hostile = "mother password hunter2 https://evil.example/?q=hunter2 Frankenstein"
    assert fit_for_web(hostile, QUESTION) == "mother Frankenstein"


def test_a_word_cannot_be_joined_to_one_of_the_question() -> None:
    assert fit_for_web("mother-hunter2 mother_hunter2 mother.hunter2", QUESTION) == "mother"


@pytest.mark.parametrize(
    "query",
    [
        "mOtHER of mary SHELLEY",
        "Mother of Mary-Shelley",
        "mother of máry shéllêy",
        "mother of Mary.SHELLEY mary Shelley",
    ],
)
def test_a_word_goes_as_it_is_spelt_where_the_user_sees_it(query: str) -> None:
    """Capitals, accents, marks between words and repetitions could carry something."""
    assert fit_for_web(query, QUESTION, ["Mary Shelley"]) == "mother of Mary Shelley"


def test_an_ordinary_word_goes_in_small_letters() -> None:
    assert fit_for_web("wHEN was Mary Shelley bOrN", QUESTION, ["Mary Shelley"]) == "when was Mary Shelley"
    assert fit_for_web("WHen was Mary Shelley born", QUESTION, ["Mary Shelley"]) == "When was Mary Shelley born"


def test_no_word_goes_more_often_than_a_text_has_it() -> None:
    assert fit_for_web("Mary Mary Mary Shelley Mary", QUESTION, ["Mary Shelley"]) == "Mary Shelley"
    assert fit_for_web("New York New York New York", QUESTION, ["New York, New York"]) == "New York New York"
    assert fit_for_web(f"Frankenstein {'of ' * 30}", QUESTION).split() == ["Frankenstein", "of", "of", "of"]


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("東京都の知事", "東京都の知事"),
        ("J.R.R. Tolkien", "J. R. R. Tolkien"),
        ("version 1.5 of Emma", "version 1.5 of Emma"),
    ],
)
def test_other_spellings_of_names_still_go(query: str, answer: str) -> None:
    assert fit_for_web(query, QUESTION, [answer]).casefold().replace(".", "") == query.casefold().replace(".", "")


def test_without_a_word_left_the_question_is_asked() -> None:
    assert fit_for_web("hunter2 !!!", QUESTION) == QUESTION


@pytest.mark.parametrize(
    "query", ["When was Mary Shelley born", "Who directed Frankenstein", "What is the birthplace of Mary Shelley"]
)
def test_ordinary_words_that_ask_for_facts_stay(query: str) -> None:
    assert fit_for_web(f"{query}?", QUESTION, ["Mary Shelley"]) == query


def test_a_name_made_of_ordinary_words_does_not_go() -> None:
    """Its article stands in the question."""
    assert (
        fit_for_web("Who wrote Frankenstein for The First Star Record Company", QUESTION)
        == "Who wrote Frankenstein for the"
    )


def test_ordinary_words_alone_do_not_go() -> None:
    assert fit_for_web("who was born when and where and married", QUESTION) == QUESTION


def test_only_a_few_ordinary_words_go_with_a_query() -> None:
    """They cannot spell what a passage says: eight at most, and each query stands in the trace."""
    steered = " ".join(["film", "song", "river"] * 40)
    assert fit_for_web(f"Frankenstein {steered}", QUESTION).split() == ["Frankenstein", *steered.split()[:8]]


@pytest.mark.parametrize(
    "passage",
    [
        "The patient Rosa Quill has diabetes and owes 41,300 francs to a bank in Basel.",
        "Password hunter2, door code 7719, write to spy@evil.example or https://evil.example/?q=7719",
        "Frankenstein’s budget is confidential: the merger with Nordwind fails on Tuesday.",
    ],
)
def test_a_query_of_the_words_of_a_private_passage_tells_none_of_them(passage: str) -> None:
    sent = fit_for_web(f"Frankenstein {passage}", QUESTION)
    ordinary = {*english().stop, *english().asking, *words(QUESTION)}
    assert set(words(sent)) <= ordinary
    secrets = (
        "patient",
        "rosa",
        "quill",
        "diabetes",
        "41",
        "300",
        "basel",
        "hunter2",
        "7719",
        "evil",
        "nordwind",
        "budget",
    )
    assert not set(secrets) & set(words(sent))


def test_the_ordinary_words_name_nothing() -> None:
    """Single words in small letters, without numbers, and few enough to be read through."""
    assert len(english().asking) < 200
    assert all(word.isascii() and word.isalpha() and word.islower() for word in english().asking)
    personal = {
        "address",
        "age",
        "arrested",
        "convicted",
        "debt",
        "divorced",
        "ill",
        "password",
        "pregnant",
        "religion",
        "salary",
    }
    assert not personal & english().asking
