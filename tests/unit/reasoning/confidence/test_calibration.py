"""One probability of several signals."""

from __future__ import annotations

import math
from typing import Any

import pytest

from atomr_local.reasoning import confidence as names
from atomr_local.reasoning.confidence import FEATURES, Calibration, LogisticModel, LogisticTerm, confidence_word

GOOD = {"reading": 0.95, "null": 0.02, "verify": 0.97, "support": 1.0, "agree": 1.0, "named": 0.0}
BAD = {"reading": 0.4, "null": 0.7, "verify": 0.2, "support": 0.0, "agree": 0.0, "named": 0.0}
MODEL: dict[str, Any] = {
    "features": ["verify", "support"],
    "coefficients": [1.0, 2.0],
    "means": [0.0, 0.5],
    "missing": [-0.5, 0.25],
    "intercept": 0.1,
}


def logistic(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def test_a_model_of_a_card_weighs_what_is_there_and_what_is_not() -> None:
    model = LogisticModel.from_card(MODEL)
    assert model is not None
    assert model.probability({"verify": 0.75, "support": 1.0}) == pytest.approx(logistic(0.1 + math.log(3) + 1.0))
    assert model.probability({"support": 0.0}) == pytest.approx(logistic(0.1 - 0.5 - 1.0))
    assert model.probability({"verify": math.nan, "other": 3.0}) == pytest.approx(logistic(0.1 - 0.5 + 0.25))


def test_knots_make_it_monotone_and_are_met_exactly() -> None:
    model = LogisticModel.from_card({**MODEL, "knots": [[0.2, 0.1], [0.5, 0.1], [0.8, 0.9]]})
    assert model is not None
    values = [model.probability({"verify": share / 50, "support": 0.5}) for share in range(51)]
    assert values == sorted(values)
    assert (min(values), max(values)) == (0.1, 0.9)


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        {},
        {**MODEL, "features": "verify"},
        {**MODEL, "features": ["verify", "shoe size"]},
        {**MODEL, "features": [["verify"], "support"]},
        {**MODEL, "features": ["verify"]},
        {**MODEL, "coefficients": [1.0, float("inf")]},
        {**MODEL, "coefficients": [1.0, "2"]},
        {**MODEL, "means": [1.0]},
        {**MODEL, "missing": None},
        {**MODEL, "intercept": 10**400},
        {**MODEL, "knots": [[0.2, 0.3], [0.2, 0.4]]},
        {**MODEL, "knots": [[0.2, 0.9], [0.4, 0.4]]},
        {**MODEL, "knots": [[0.2, 0.9], [0.4, 1.4]]},
        {**MODEL, "knots": [0.2]},
        {**MODEL, "features": ["verify"] * 100, "coefficients": [1.0] * 100, "means": [0] * 100, "missing": [0] * 100},
    ],
)
def test_what_is_no_model_is_none(given: object) -> None:
    assert LogisticModel.from_card(given) is None
    assert Calibration.from_card({"calibration": {"model": {"tree": given}}}) == Calibration()


@pytest.mark.parametrize(
    "card",
    [
        {},
        {"calibration": None},
        {"calibration": []},
        {"calibration": {"tree": [1], "direct": "ab", "sure": float("nan")}},
        {"calibration": {"tree": [1, float("inf")], "direct": [None, 1]}},
        {"calibration": {"tree": [10**400, 1], "sure": -(10**400)}},
        {"calibration": {"tree": "12", "direct": {"0": 1, "1": 2}, "sure": "0.5", "model": 3}},
        {"calibration": {"settled_articles": "0.9"}},
        {"calibration": {"settled_articles": 10**400}},
    ],
)
def test_a_card_without_usable_numbers_leaves_the_default(card: dict[str, Any]) -> None:
    assert Calibration.from_card(card) == Calibration()


def test_a_cards_numbers_are_taken() -> None:
    made = Calibration.from_card({"calibration": {"model": {"tree": MODEL, "step": MODEL}, "sure": 0.8, "accept": 0.7}})
    expected = LogisticModel(0.1, (LogisticTerm("verify", 1.0, 0.0, -0.5), LogisticTerm("support", 2.0, 0.5, 0.25)))
    assert made.tree == made.step == expected
    assert (made.sure, made.accept) == (0.8, 0.7)
    assert made.direct == Calibration().direct
    assert made.settled_articles is None
    articles = Calibration.from_card({"calibration": {"settled_articles": 0.9, "accept_pointed": 0.6}})
    assert (articles.settled_articles, articles.accept_articles) == (0.9, 0.6)
    assert Calibration.from_card({"calibration": {"accept_articles": 0.7}}).accept_articles == 0.7
    assert Calibration.from_card({"calibration": {"model": {"tree": MODEL}}}).accept == 0.5


@pytest.mark.parametrize("way", ["tree", "direct", "step", "memory"])
def test_without_a_card_good_signals_are_surer_than_bad_ones(way: str) -> None:
    def of(given: dict[str, float]) -> float:
        if way == "memory":
            return Calibration().of_whole({**given, "memory": 1.0})
        probability: float = getattr(Calibration(), way).probability(given)
        return probability

    assert 0 < of(BAD) < of({}) < of(GOOD) < 1
    for name, value in GOOD.items():
        other = GOOD | {name: 1.0 - value}
        assert of(other) < of(GOOD), name
    assert Calibration().of_whole({**GOOD, "memory": 1.0}) < Calibration().of_whole(GOOD)


def test_every_feature_takes_every_number_that_a_signal_may_be() -> None:
    for feature in FEATURES.values():
        assert all(math.isfinite(feature(value)) for value in (-1.0, 0.0, 0.5, 1.0, 1e9))


@pytest.mark.parametrize("model", [Calibration().tree, Calibration().direct, Calibration().step, LogisticModel(60.0)])
def test_an_answer_despite_a_failed_source_is_never_well_supported(model: LogisticModel) -> None:
    given = {names.READING: 1.0, names.LINK: 1.0, names.RELATION: 1.0, names.LEAVES: 1.0, names.SUPPORT: 1.0}
    assert model.probability({**given, names.FAILED_SOURCE: 1.0}) < model.probability(given)
    assert confidence_word(model.probability({**given, names.FAILED_SOURCE: 1.0})) != "well supported"
    assert model.probability({**given, names.FAILED_SOURCE: 0.0}) == model.probability(given)
