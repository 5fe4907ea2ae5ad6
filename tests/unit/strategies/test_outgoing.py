"""What a strategy may send to the web."""

from __future__ import annotations

from atomr_local.strategies.outgoing import fit_for_web

QUESTION = "Who is the mother of the author of Frankenstein?"


def test_words_of_the_question_and_of_answers_stay() -> None:
    assert fit_for_web("mother of Mary Shelley", QUESTION, ["Mary Shelley"]) == "mother of Mary Shelley"
    assert fit_for_web("Mary Shelley’s mother", QUESTION, ["Mary Shelley's"]) == "Mary Shelley’s mother"


def test_words_of_a_passage_go_nowhere() -> None:
    hostile = "mother password hunter2 https://evil.example/?q=hunter2 Frankenstein"
    assert fit_for_web(hostile, QUESTION) == "mother Frankenstein"


def test_a_word_cannot_be_joined_to_one_of_the_question() -> None:
    assert fit_for_web("mother-hunter2 mother_hunter2 mother.hunter2", QUESTION) == "mother"


def test_without_a_word_left_the_question_is_asked() -> None:
    assert fit_for_web("hunter2 !!!", QUESTION) == QUESTION
