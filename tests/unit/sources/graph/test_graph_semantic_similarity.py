"""Linking and relations by meaning: asked where words do not decide, and never missed where there is no embedder."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.graph_world import Asker, open_world, world_fixture
from support.starter_parts import starter_embedder

from atomr_local.errors import MissingPartError, ModelError
from atomr_local.indexing.graph_index.names.database import PropertyRow
from atomr_local.language.properties import PROPERTY
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.properties.matching import PropertyMatcher
from atomr_local.sources.graph.properties.selection import score_properties
from atomr_local.sources.graph.semantic_similarity import SemanticSimilarity

NAMESAKES = """
Mercury (planet) | description | innermost member of the Solar System
Mercury (planet) | orbits | Sun
Mercury (god) | description | Roman deity of trade
Mercury (god) | father | Jupiter
Mercury (element) | description | liquid metal with the symbol Hg
Mercury (element) | discovered | antiquity
Hamlet | instance of | play
Hamlet | author | William Shakespeare
Hamlet (1948 film) | instance of | film
Hamlet (1948 film) | director | Laurence Olivier
Get Low | performer | Dillon Francis
Get Low (Lil Jon song) | performer | Lil Jon
"""
# Each word of a topic points the same way.
TOPICS = ("planet innermost solar world", "god deity divinity", "element liquid metal substance", "film movie picture")


class TopicEmbedder:
    """Knows a few topics, so that tests say what is alike; notes what it is asked."""

    identity, dimensions = "topics", len(TOPICS) + 1

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy as np

        with self._lock:
            self.batches.append(list(texts))
        vectors = np.full((len(texts), self.dimensions), 0.01, dtype=np.float32)
        for row, text in enumerate(texts):
            for number, topic in enumerate(TOPICS):
                vectors[row, number] += len(set(topic.split()) & set(text.casefold().split()))
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


opened = world_fixture(NAMESAKES)


@pytest.fixture(scope="module")
def world(opened: Asker) -> GraphSource:
    return opened.source


def first(source: GraphSource, name: str, descriptor: str) -> str:
    return source.graph.label(source.linker.link(name, descriptor)[0].entity.iri)


@pytest.mark.parametrize(
    ("name", "descriptor", "label"),
    [
        ("Mercury", "divinity", "Mercury (god)"),
        ("Mercury", "nearest world", "Mercury (planet)"),
        ("Mercury", "chemical substance", "Mercury (element)"),
        ("Mercury (substance)", "", "Mercury (element)"),
        ("Hamlet", "movie", "Hamlet (1948 film)"),
    ],
)
def test_namesakes_are_told_apart_by_meaning(world: GraphSource, name: str, descriptor: str, label: str) -> None:
    source = GraphSource(world.graph, TopicEmbedder)  # type: ignore[arg-type]
    assert first(source, name, descriptor) == label


def test_what_meaning_tells_apart_is_no_guess(world: GraphSource) -> None:
    by_words, by_meaning = GraphSource(world.graph), GraphSource(world.graph, TopicEmbedder)  # type: ignore[arg-type]
    guess, sure = (source.linker.link("Mercury", "divinity")[0].score for source in (by_words, by_meaning))
    assert guess < 0.6 < 0.8 < sure
    # What is like none of them leaves the guess a guess.
    assert by_meaning.linker.link("Mercury", "xyzzy")[0].score == guess


def test_the_embedder_is_not_asked_where_words_decide(world: GraphSource) -> None:
    def unwanted() -> Any:
        pytest.fail("words decide here")

    source = GraphSource(world.graph, unwanted)
    assert first(source, "Mercury", "Roman deity") == "Mercury (god)"
    assert first(source, "Hamlet (1948 film)", "") == "Hamlet (1948 film)"
    assert [c.name for c in source.linker.link("Mercury")] == [c.name for c in world.linker.link("Mercury")]
    assert source.linker.link("Venus", "divinity") == []


def test_descriptions_are_encoded_once_and_in_one_batch(world: GraphSource) -> None:
    embedder = TopicEmbedder()
    source = GraphSource(world.graph, lambda: embedder)
    for _ in range(3):
        first(source, "Mercury", "divinity")
    assert [len(batch) for batch in embedder.batches] == [4]
    first(source, "Mercury", "chemical substance")
    assert embedder.batches[1:] == [["chemical substance"]]


@pytest.mark.parametrize("broken", ["gone", "damaged", "garbage", "fails later"])
def test_a_broken_embedder_leaves_words_and_says_so_once(world: GraphSource, broken: str) -> None:
    class Broken(TopicEmbedder):
        def encode(self, texts: Sequence[str]) -> Any:
            if broken == "garbage":
                return []
            raise RuntimeError("the session is gone")

    def give() -> Any:
        if broken == "gone":
            raise MissingPartError("there is no embedder")
        if broken == "damaged":
            raise ModelError("weights are cut off")
        return Broken()

    told: list[str] = []
    source, words = GraphSource(world.graph, give, told.append), GraphSource(world.graph)
    for name, descriptor in [("Mercury", "divinity"), ("Hamlet", "movie"), ("Get Low (Dillon Francis Song)", "")]:
        assert source.linker.link(name, descriptor) == words.linker.link(name, descriptor)
    ask = Asker(source)
    assert ask.relate("Mercury (planet)", "goes around") == Asker(words).relate("Mercury (planet)", "goes around")
    assert len(told) == 1
    assert "words alone" in told[0]


def test_a_qualifier_that_the_graph_lacks_finds_the_bare_name(world: GraphSource) -> None:
    for source in (GraphSource(world.graph), GraphSource(world.graph, TopicEmbedder)):  # type: ignore[arg-type]
        assert first(source, "Get Low (Dillon Francis And Dj Snake Song)", "") == "Get Low"


def test_threads_get_what_one_gets(world: GraphSource) -> None:
    asked = [("Mercury", descriptor) for descriptor in ("divinity", "nearest world", "chemical substance", "xyzzy")] * 8
    alone = GraphSource(world.graph, TopicEmbedder)  # type: ignore[arg-type]
    expected = [alone.linker.link(*pair) for pair in asked]
    embedder = TopicEmbedder()
    shared = GraphSource(world.graph, lambda: embedder)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda pair: shared.linker.link(*pair), asked)) == expected


def test_the_cache_is_bounded_and_forgets_what_is_oldest() -> None:
    embedder = TopicEmbedder()
    semantic = SemanticSimilarity(lambda: embedder, kept=2)
    semantic.vectors(["planet"])
    semantic.vectors(["god"])
    semantic.vectors(["planet"])
    semantic.vectors(["film"])  # god goes
    assert embedder.batches == [["planet"], ["god"], ["film"]]
    assert semantic.similarities("god", ["planet", "film", "deity"]) == pytest.approx([0.03, 0.03, 1.0], abs=0.05)
    assert embedder.batches[3:] == [["god", "deity"]]


def test_nothing_is_compared_without_an_embedder() -> None:
    semantic = SemanticSimilarity(None)
    assert not semantic.usable
    assert semantic.vectors(["one"]) is None
    assert semantic.similarities("one", ["two"]) is None


def test_long_and_hostile_texts_are_compared(world: GraphSource) -> None:
    source = GraphSource(world.graph, TopicEmbedder)  # type: ignore[arg-type]
    for descriptor in ("divinity " * 5_000, "\x00 \ud800 divinity", '"; DROP TABLE name; divinity'):
        assert first(source, "Mercury", descriptor) == "Mercury (god)"


# -- relations

LABELS = {"P20": "place of death", "P19": "place of birth", "P106": "occupation", "P57": "director"}


def rows() -> list[PropertyRow]:
    return [PropertyRow(PROPERTY + pid, label, "", (), 1, 0, 0, 0) for pid, label in LABELS.items()]


@pytest.mark.slow
def test_what_is_asked_for_is_judged_by_meaning_too() -> None:
    embedder = starter_embedder()
    matcher = PropertyMatcher(rows(), SemanticSimilarity(lambda: embedder))
    own = [(PROPERTY + pid, False) for pid in LABELS]
    asked = ("line of work", "what did Ada do for a living?", "Ada")
    by_words = score_properties(matcher, *asked, own, semantic=False)
    by_meaning = score_properties(matcher, *asked, own, semantic=True)
    assert {item.match.property for item in by_meaning} == {prop for prop, _ in own}
    assert by_meaning == sorted(by_meaning, key=lambda item: -item.probability)
    assert by_meaning[0].match.property == PROPERTY + "P106"
    assert by_meaning[0].probability > next(
        item.probability for item in by_words if item.match.property == PROPERTY + "P106"
    )
    assert score_properties(PropertyMatcher(rows()), *asked, own, semantic=True) == []  # there is no embedder
    assert score_properties(matcher, *asked, [], semantic=True) == []  # the entity has nothing


def test_the_starter_s_embedder_tells_namesakes_apart(world: GraphSource) -> None:
    embedder = starter_embedder()
    source = GraphSource(world.graph, lambda: embedder)
    assert first(source, "Hamlet", "stage drama") == "Hamlet"
    assert first(source, "Mercury", "chemical substance") == "Mercury (element)"
    assert first(source, "Mercury", "mythological figure") == "Mercury (god)"


@pytest.mark.slow
def test_relate_takes_what_the_question_means(tmp_path: Path) -> None:
    embedder = starter_embedder()
    world = open_world(
        tmp_path,
        "Fracture | film editor | Ann Dee\nFracture | cast member | Bob\nFracture | genre | drama\n"
        "Fracture | filming location | Rome\nFracture | country of origin | Italy",
    )
    by_words, by_meaning = Asker(GraphSource(world.graph)), Asker(GraphSource(world.graph, lambda: embedder))
    asked = ("Fracture", "where the camera stood", "Where was the camera put for Fracture?")
    assert by_words.relate(*asked) == []
    assert by_meaning.relate(*asked) == ["Rome"]
    assert by_words.relate("Fracture", "the hands behind it", "Who edited the film Fracture?") == ["Ann Dee"]
    assert by_meaning.relate("Fracture", "the hands behind it", "What is it about Fracture?") == []
    world.close()
