"""The scorer against hand-computed values and against the published figures."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from atomr_lab.evaluation.datasets import Prediction, read_predictions, summarize
from atomr_lab.evaluation.metrics import Score, cover_match, exact_match, same_value, score_answer, token_f1
from hypothesis import given
from hypothesis import strategies as st
from support.places import SHARED

from atomr_local.language.names import answer_key

PUBLISHED = {
    "2wiki_test_500": (496, 66.33, 82.86, 78.75),
    "hotpotqa_test_500": (481, 56.13, 64.03, 71.31),
    "musique_test_500": (456, 20.83, 32.68, 35.88),
    "crag_test_500": (500, 62.00, 67.00, 71.39),
    "blendqa_445": (445, 24.94, 33.71, 42.63),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_equals_the_published_scorer(name: str) -> None:
    file = SHARED / "predictions" / f"{name}.jsonl"
    if not file.exists():
        pytest.skip(f"{file} is not here")
    predictions = read_predictions(file)
    summary = summarize(predictions)
    assert (summary.n, summary.em, summary.cover_em, summary.f1) == PUBLISHED[name]
    assert summary.guess_f1 == summary.f1
    answered = sum(bool(item.predicted.strip()) for item in predictions)
    assert summary.coverage == round(100 * answered / summary.n, 2)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Beatles", "beatles"),
        ("  An   Apple a day ", "apple day"),
        ("St. John's College, Cambridge", "st johns college cambridge"),
        ("fifth-generation", "fifth generation"),
        ("Poznań '56", "poznań 56"),
        ("ÉMILE", "émile"),
        ("$23,468.60", "2346860"),
        ("A", "a"),
        ("The The", "the the"),
        ("?!", "?!"),
        ("", ""),
        ("Theatre of Athens", "theatre of athens"),
    ],
)
def test_normal_form(text: str, normal: str) -> None:
    assert answer_key(text) == normal


@pytest.mark.parametrize(
    ("predicted", "gold", "em", "cover", "f1"),
    [
        ("the Wembley Stadium", "Wembley Stadium", True, True, 1.0),
        ("Wembley Stadium, London", "Wembley Stadium", False, True, 2 * (2 / 3) / (2 / 3 + 1)),
        ("Hollywood", "Hollywood, California", False, False, 2 / 3),
        ("London London", "London", False, True, 2 / 3),  # a repeated token counts once against one in the gold
        ("Paris", "London", False, False, 0.0),
        ("", "London", False, False, 0.0),
        ("yes, they are", "yes", False, True, 0.0),  # HotpotQA: a closed answer is right or wrong
        ("no", "No.", True, True, 1.0),
        ("no", "no man's land", False, False, 0.0),
        ("", "A", False, False, 0.0),  # an Unknown is not right because the gold is an article
        ("The", "A", False, False, 0.0),
        ("a", "A", True, True, 1.0),
    ],
)
def test_scores_by_hand(predicted: str, gold: str, em: bool, cover: bool, f1: float) -> None:
    assert exact_match(predicted, gold) is em
    assert cover_match(predicted, gold) is cover
    assert token_f1(predicted, gold) == pytest.approx(f1)


def test_an_answer_takes_its_best_gold_metric_by_metric() -> None:
    score = score_answer("1,201 feet", ["366 m", "1,201 ft"])
    assert score == Score(em=0.0, cover_em=0.0, f1=0.5)
    assert score_answer("Stanley Hall", ["G. Stanley Hall", "Stanley Hall"]) == Score(1.0, 1.0, 1.0)


def test_means_are_rounded_percentages() -> None:
    summary = summarize(
        [
            Prediction("Who?", "Ann", ("Ann",), Score(1, 1, 1), guess="Ann", guess_score=Score(1, 1, 1)),
            Prediction("Who?", "Ann B", ("Ann",), Score(0, 1, 0.5), guess="Ann B", guess_score=Score(0, 1, 0.5)),
            Prediction("Who?", "", ("Ann",), Score(0, 0, 0), guess="Ann", guess_score=Score(1, 1, 1)),
        ]
    )
    assert asdict(summary) == {
        "n": 3, "em": 33.33, "cover_em": 66.67, "f1": 50.0, "guess_f1": 83.33, "precision": 75.0, "coverage": 66.67
    }  # fmt: skip
    assert set(asdict(summarize([])).values()) == {0}


def test_without_gold_only_nothing_is_right() -> None:
    assert score_answer("", ()) == Score(1.0, 1.0, 1.0)
    assert score_answer("Ann", ()) == Score(0.0, 0.0, 0.0)


def test_what_cannot_be_answered_counts_in_precision_and_coverage_alone() -> None:
    right = Prediction("Who?", "Ann", ("Ann",), Score(1, 1, 1), guess="Ann", guess_score=Score(1, 1, 1))
    wrong = Prediction("Why?", "Bob", (), Score(0, 0, 0), guess="Bob", answerable=False)
    declined = Prediction("Why?", "", (), Score(1, 1, 1), answerable=False)
    summary = summarize([right, wrong, declined])
    assert (summary.n, summary.f1, summary.precision, summary.coverage) == (3, 100.0, 50.0, 66.67)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1987-10-05", "October 5, 1987", True),
        ("5 October 1987", "October 5, 1987", True),
        ("1987", "October 5, 1987", False),
        ("Emile Chautard", "Émile Chautard", True),
        ("341.0 m", "341 metres", True),
        ("341 m", "341 ft", False),
        ("", "October 5, 1987", False),
        ("Get Low", "Get Low (song)", False),
    ],
)
def test_same_value(one: str, other: str, same: bool) -> None:
    assert same_value(one, other) is same
    assert same_value(other, one) is same


@given(st.text(), st.text())
def test_any_text_can_be_scored(predicted: str, gold: str) -> None:
    score = score_answer(predicted, [gold])
    assert 0 <= score.f1 <= 1
    assert score.em <= score.cover_em
    assert token_f1(predicted, gold) == token_f1(gold, predicted)
    if score.em and answer_key(gold):
        assert score.f1 == 1


@given(st.text())
def test_normal_forms_are_stable_up_to_articles(text: str) -> None:
    assert exact_match(text, f" {text.upper().lower()} ") or text.upper().lower() != text.lower()
