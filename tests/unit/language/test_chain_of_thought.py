"""Sentences of a chain of thought."""

from __future__ import annotations

import pytest

from atomr_local.language.sentences import gives_answer, only_concludes, search_words


@pytest.mark.parametrize(
    "sentence",
    [
        "So the answer is Paris.",
        "thus, Ann Lee was older.",
        "That is the same person.",
        "1901 - 1850 = 51.",
        "Hence no.",
    ],
)
def test_a_conclusion_tells_nothing_to_look_up(sentence: str) -> None:
    assert only_concludes(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Sofia is the capital of Bulgaria.",
        "Ann Lee sang so well.",
        "Henceforth Ltd. is a firm.",
        "The 1960-61 season was long.",
        "So Far is an album by Ann Lee.",
    ],
)
def test_a_fact_is_no_conclusion(sentence: str) -> None:
    assert not only_concludes(sentence)


def test_a_sentence_that_gives_the_answer() -> None:
    assert gives_answer("So the Answer is: Paris.")
    assert not gives_answer("She answers letters.")


def test_words_that_only_ask_are_not_searched_for() -> None:
    assert search_words("Who wrote Emma, and when?") == "wrote Emma, and"
    assert search_words("The Who are a band") == "The are a band"
