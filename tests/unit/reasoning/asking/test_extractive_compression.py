from __future__ import annotations

import pytest

from atomr_local.reasoning.asking.asking import GAP, cut_passage, word_budgets

FILLER = "The garden had many plants of every kind and was known well beyond the valley."
TEXT = f"Ann Lee was a Welsh painter. {FILLER} {FILLER} She married the poet Bob Ray in 1921. {FILLER}"


def test_a_short_text_stays_whole() -> None:
    assert cut_passage("Who?", "Ann Lee", TEXT, 500) == TEXT


@pytest.mark.parametrize("question", ["Who is the spouse of Ann Lee?", "Whom did Ann Lee marry?", "wife of Bob Ray"])
def test_the_sentence_that_tells_is_kept_with_the_first_one(question: str) -> None:
    cut = cut_passage(question, "Ann Lee", TEXT, 20)
    assert cut == f"Ann Lee was a Welsh painter. {GAP} She married the poet Bob Ray in 1921."


def test_what_the_title_says_already_is_no_reason_to_keep_a_sentence() -> None:
    text = f"A painter. {FILLER} Ann Lee, Ann Lee and again Ann Lee had a garden. She died in Rome."
    assert "died in Rome" in cut_passage("Where did Ann Lee die?", "Ann Lee", text, 8)


def test_a_sentence_over_the_budget_is_cut_between_words() -> None:
    assert cut_passage("Who?", "x", "one two three four five six.", 3) == "one two three"


@pytest.mark.parametrize("text", ["", "   ", "…", "\u202e", "a" * 10_000, "? " * 500])
def test_odd_texts_are_cut_without_failing(text: str) -> None:
    assert len(cut_passage("Who is it?", "", text, 10).split()) <= max(10, 1)


def test_budgets_prefer_the_first_passage_of_a_look_up() -> None:
    assert word_budgets(70, 3, whole=False) == [70, 35, 35]
    assert word_budgets(70, 2, whole=True) == [49, 49]
    assert word_budgets(1, 2, whole=True) == [1, 1]
    assert word_budgets(70, 0, whole=False) == []
