from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.fake_parts import FakeBackbone, toolbox

from atomr_local.assistant.session import Session, quiet
from atomr_local.errors import Cancelled, ModelError
from atomr_local.reasoning.ranking import Ranking, fuse_ranks
from atomr_local.settings.schema import load_settings
from atomr_local.sources import reranking
from atomr_local.sources.protocol import Evidence
from atomr_local.system.cancellation import Cancellation

VECTORS = {
    "Which?": (1.0, 0.0),
    "A: far": (0.0, 1.0),  # cosine 0
    "B: near": (3.0, 4.0),  # cosine 0.6
    "C: nearer": (4.0, 3.0),  # cosine 0.8
    "D: near": (6.0, 8.0),  # cosine 0.6 again, at twice the length
    "E: broken": (math.nan, 0.0),
    "F: nothing": (0.0, 0.0),
}


class Vectors:
    identity, dimensions, backend = "hand", 2, "hand"

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy as np

        return np.asarray([VECTORS[text] for text in texts])


class Scores:
    def __init__(self, *scores: float) -> None:
        self.given = scores
        self.asked: list[tuple[str, list[str]]] = []

    def scores(self, query: str, passages: Sequence[str], cancellation: Cancellation) -> list[float]:
        self.asked.append((query, list(passages)))
        return list(self.given[: len(passages)])


def piece(title: str, text: str, source: str = "text", number: str = "") -> Evidence:
    return Evidence(source, title, text, 0.5, "q", {"passage": title}, number)


def titles(found: Sequence[Evidence]) -> str:
    return "".join(item.title for item in found)


PIECES = [piece(*text.split(": ")) for text in VECTORS if ":" in text]


def test_the_nearest_to_the_question_goes_first() -> None:
    ranked = Ranking(embedder=Vectors()).ranked("Which?", PIECES[:3], 5, Cancellation())
    assert titles(ranked) == "CBA"
    assert titles(Ranking(embedder=Vectors()).ranked("Which?", PIECES[:3], 1, Cancellation())) == "C"


def test_ties_keep_the_order_given_and_what_is_no_number_comes_last() -> None:
    distinct = [piece("D", "near"), piece("B", "near")]
    assert titles(Ranking(embedder=Vectors()).ranked("Which?", distinct, 5, Cancellation())) == "D", "the same wording"
    pieces = [PIECES[4], PIECES[5], PIECES[1], PIECES[2]]
    assert titles(Ranking(embedder=Vectors()).ranked("Which?", pieces, 5, Cancellation())) == "CBFE"


def test_the_nearest_are_told_by_the_embedder_alone_though_there_is_a_cross_encoder() -> None:
    ranking = Ranking(lambda: Scores(0.9, 0.5, 0.1), Vectors())
    assert titles(ranking.nearest("Which?", PIECES[:3], 2, Cancellation())) == "CB"


def test_the_cross_encoder_decides_where_there_is_one() -> None:
    scores = Scores(0.1, 0.9, 0.9)
    ranking = Ranking(lambda: scores, Vectors())
    assert titles(ranking.ranked("Which?", PIECES[:3], 5, Cancellation())) == "BCA"
    assert scores.asked == [("Which?", ["A: far", "B: near", "C: nearer"])]


def test_without_either_the_order_given_stays_and_duplicates_go() -> None:
    text = "The lake is deep and lies in Lombardy."
    pieces = [piece("Site", text, "web"), piece("Lake", text.upper()), piece("Year", "1950"), piece("Other", "1951")]
    assert [item.title for item in Ranking().ranked("Which?", pieces, 5, Cancellation())] == ["Site", "Year", "Other"]
    assert [item.title for item in Ranking().ranked("Which?", pieces, 2, Cancellation())] == ["Site", "Year"]
    assert (
        Ranking().ranked("Which?", [], 3, Cancellation()) == Ranking().ranked("Which?", pieces, 0, Cancellation()) == []
    )


def test_together_only_several_sources_are_ranked() -> None:
    ranking = Ranking(embedder=Vectors())
    alone, several = PIECES[:3], [piece("A", "far"), piece("B", "near", "graph"), piece("C", "nearer")]
    assert titles(ranking.together("Which?", alone, Cancellation())) == "ABC"
    assert titles(ranking.together("Which?", several, Cancellation())) == "CBA"


def test_the_cross_encoder_is_not_asked_for_before_there_is_something_to_rank() -> None:
    def refuse() -> None:
        raise ModelError("the reranker is not a directory")

    ranking = Ranking(refuse)
    assert ranking.ranked("Which?", [], 3, Cancellation()) == []
    with pytest.raises(ModelError):
        ranking.ranked("Which?", PIECES, 3, Cancellation())


def test_cancelled_ranking() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        Ranking().ranked("Which?", PIECES, 3, cancellation)


def test_ranks_are_fused_by_the_sum_of_their_reciprocals() -> None:
    a, b, c, d = (piece(name, name) for name in "abcd")
    # b: 1/4 + 1/3 = 0.583; a: 1/3 + 1/5 = 0.533; c: 1/5 + 1/4 = 0.45; d: 1/6 = 0.167
    lists = [[a, b, c], [b, c, a, d]]
    assert titles(fuse_ranks(lists, 10)) == "bacd"
    assert titles(fuse_ranks(lists, 2)) == "ba"
    # Found by three queries at rank 2 (0.75) goes before found by two first (0.667).
    assert titles(fuse_ranks([[a, b], [c, b], [a, b]], 3)) == "bac"
    assert fuse_ranks([], 3) == fuse_ranks([[], []], 3) == []


def test_one_passage_is_the_same_in_every_list() -> None:
    once = piece("a", "text", number="e1")
    again = Evidence("text", "a", "text", 0.9, "another query", {"passage": "a", "span": [0, 4]}, "e1")
    assert titles(fuse_ranks([[piece("b", "b"), once], [piece("c", "c"), again]], 1)) == "a"
    assert titles(fuse_ranks([[piece("x", "x"), piece("a", "a")], [piece("y", "y"), piece("a", "a")]], 1)) == "a"
    # Twice in one list counts once: 1/3 against 1/4 + 1/4.
    a, b = piece("a", "a"), piece("b", "b")
    assert titles(fuse_ranks([[a, a, a], [piece("c", "c"), b], [piece("d", "d"), b]], 2)) == "ba"


def test_a_toolbox_ranks_with_what_the_parts_have() -> None:
    assert toolbox("Q?", FakeBackbone()).ranking.ranked("Q?", PIECES[:2], 5, Cancellation()) == PIECES[:2]
    parts = Session(load_settings())
    parts._embedder = Vectors()
    source: Any = object()
    # The embedder is at hand where the text index is; for graph and web alone it is not loaded.
    assert titles(parts.ranking({"text": source}).ranked("Which?", PIECES[:3], 5, Cancellation())) == "CBA"
    assert titles(parts.ranking({"graph": source}).ranked("Which?", PIECES[:3], 5, Cancellation())) == "ABC"


def test_a_reranker_that_is_not_there_is_told_when_it_is_needed() -> None:
    parts = Session(load_settings(retrieval={"reranker": "/nowhere"}))
    with pytest.raises(Exception, match="not a directory"):
        parts.ranking({}).ranked("Which?", PIECES[:3], 5, Cancellation())


def test_the_sources_and_the_ranking_share_one_cross_encoder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reranking, "check_cross_encoder", lambda _directory: None)
    parts = Session(load_settings(retrieval={"reranker": str(tmp_path)}))
    shared = parts._source_tools(quiet).reranker()
    assert shared is not None
    monkeypatch.setattr(shared, "scores", Scores(0.1, 0.9, 0.9).scores)
    assert titles(parts.ranking({}).ranked("Which?", PIECES[:3], 5, Cancellation())) == "BCA"
    parts.reconfigure(load_settings())
    assert parts._source_tools(quiet).reranker() is None, "the one of other settings is not kept"
