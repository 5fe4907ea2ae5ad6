from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.article_indexes import build_articles
from support.fake_embedder import FakeEmbedder
from support.homes import home_fixtures

from atomr_local.indexing.store import index_path
from atomr_local.sources.protocol import Request, Value
from atomr_local.sources.text import TextSource
from atomr_local.sources.text_hits import behind, names_found
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

QUESTION = "The inventor of the zorbograph was born by a river: which?"
# The page that is asked for shares no word with the question: only the first page names it.
PAGES = {
    "Zorbograph": "The zorbograph is an instrument whose inventor was Ilda Marrek of Tosswick.",
    "Tosswick": "Tosswick lies on the Quell, among orchards.",
    **{f"Mill{i}": f"A mill with {i} wheels grinds corn." for i in range(12)},
}


def build(home: Path) -> None:
    for vectors in ("now", "later"):
        build_articles(home, vectors, PAGES, vectors=vectors)


built_home, copied_home = home_fixtures(build)


def opened(name: str) -> TextSource:
    return TextSource(index_path("text", name), FakeEmbedder())


def titles(source: TextSource, **chosen: Any) -> list[str]:
    found = source.retrieve(Request(QUESTION, QUESTION, **chosen), Cancellation()).evidence
    return [item.title for item in found]


@pytest.mark.parametrize("vectors", ["now", "later"])
def test_a_page_that_only_the_first_hit_names_is_found(
    copied_home: Path, vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = opened(vectors)
    found = titles(source, top_k=10)
    assert "Zorbograph" in found[:3]
    assert "Tosswick" in found
    monkeypatch.setattr("atomr_local.sources.text.names_found", lambda *_: [])
    without = titles(source, top_k=10)
    assert "Tosswick" not in without
    assert found[: len(without[:3])] == without[:3], "the first passages keep their places"
    source.close()


@pytest.mark.parametrize(
    "chosen",
    [
        {"top_k": 3},
        {"top_k": 10, "mode": "words"},
        {"top_k": 10, "mode": "dense"},
        {"top_k": 10, "operator": Operator.SEARCH, "arguments": (Value("Zorbograph"),)},
    ],
    ids=["few passages", "words", "dense", "operator"],
)
def test_where_it_cannot_help_nothing_is_searched_again(
    copied_home: Path, chosen: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = opened("now")
    asked: list[str] = []
    by_words = source._by_words

    def counted(terms: str, *part: Any) -> list[int]:
        asked.append(terms)
        return by_words(terms, *part)

    monkeypatch.setattr(source, "_by_words", counted)
    assert titles(source, **chosen)
    assert len(asked) == (0 if chosen.get("mode") == "dense" else 1)
    titles(source, top_k=10)
    assert "Tosswick" in asked[-1]
    source.close()


def test_the_names_of_earlier_passages_and_of_more_go_first() -> None:
    passages = [("Alpha Page", "It names Carla Dorn, too."), ("Beta Page", "It names Carla Dorn. So does Emil Fisk.")]
    assert names_found("a question", passages) == ["Carla Dorn", "Alpha Page", "Beta Page", "Emil Fisk"]


@pytest.mark.parametrize(
    ("query", "passages"),
    [
        ("Who was Carla Dorn?", [("Carla Dorn", "She wrote. The end.")]),
        ("question", []),
        ("question", [("", "no capital letters at all")]),
        ("question", [("UNO", "the USA, then the EU")]),
    ],
)
def test_no_names(query: str, passages: Sequence[tuple[str, str]]) -> None:
    assert names_found(query, passages) == []


def test_hostile_titles_are_only_words(tmp_path: Path) -> None:
    hostile = {
        "Zorbograph": 'The zorbograph of "Ilda OR Marrek" AND (Tosswick:* \x1b[31m NOT Quell^9 names ' + "A" * 9000
    }
    source = TextSource(build_articles(tmp_path, "hostile", PAGES | hostile), FakeEmbedder())
    assert titles(source, top_k=8)
    source.close()


def test_others_stay_behind_the_first_in_their_proportion() -> None:
    assert behind([3.0, 1.0], [8.0, 4.0]) == pytest.approx([0.99, 0.495])
    assert behind([1.0], []) == []
