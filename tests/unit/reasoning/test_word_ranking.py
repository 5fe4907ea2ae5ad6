from __future__ import annotations

import math
from collections import Counter

import pytest
from support.fake_facts import fact
from support.fake_parts import passage

from atomr_local.reasoning.ranking import Ranking
from atomr_local.reasoning.source_access import bm25, ranked_by_words
from atomr_local.system.cancellation import Cancellation


def test_the_score_is_bm25_by_hand() -> None:
    texts = [Counter(["lake", "arn", "deep"]), Counter(["lake", "lake", "orm", "cold", "small"]), Counter(["hill"])]
    scores = bm25(["arn", "lake"], texts)
    # Mean length 3; "arn" is in one of three texts, "lake" in two, for which the weight would be negative.
    rare = math.log(2.5 / 1.5)
    assert scores[0] == pytest.approx(rare * 2.2 / (1 + 1.2), abs=1e-5)
    assert scores[1] == pytest.approx(1e-6 * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 5 / 3)), abs=1e-9)
    assert scores[2] == 0.0
    assert bm25(["x"], []) == []


def test_passages_and_facts_come_in_one_list_whatever_form_their_words_have() -> None:
    lee = fact("Ann Lee", "director", "Emma Road")
    film, road = passage("Emma Road", "It was directed by Ann Lee."), passage("Roads", "A road leads somewhere.")
    town = passage("Besk", "Besk is a town.")
    found = ranked_by_words("Who directed films with Lee?", [town, road, film, lee], 2)
    assert {item.title for item in found} == {"Emma Road", "Ann Lee"}
    assert ranked_by_words("zebra", [town, road], 2) == [town, road], "ties stay in their order"


def test_nearest_without_an_embedder_keeps_the_order() -> None:
    one, two = passage("A", "a"), passage("B", "b")
    assert Ranking().nearest("b", [one, two], 1, Cancellation()) == [one]
